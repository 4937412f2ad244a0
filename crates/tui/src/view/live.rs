//! What stands below the conversation: what is being written, what waits, where one writes.

use legation_api::tasks::TaskView;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};
use unicode_width::UnicodeWidthChar as _;

use super::cells::{self, faint};
use super::{card, hints};
use crate::app::{App, COMMANDS, Cell, Item, KEYS, Link, Mode, Piece, Target, Who, matching};
use crate::text::{clip, columns, one_line, plain_of, wrapped};

/// Waiting tasks that are shown while nobody goes through them.
const WAITING_MAX: usize = 4;
/// Rows of what is being written that are shown before they are whole.
const OPEN_MAX: usize = 12;
/// Rows of the place where one writes.
const COMPOSER_MAX: usize = 8;
/// Before the first row of it, and as wide before the others.
const PROMPT: &str = "> ";

/// The lines, and where the cursor stands in them: row and column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Live {
    pub(crate) lines: Vec<Line<'static>>,
    pub(crate) cursor: Option<(usize, usize)>,
}

/// What stands below the conversation, in no more rows than there are. `has_open` says whether what
/// is being written is shown here, and not in the conversation above.
pub(crate) fn live(app: &App, has_open: bool) -> Live {
    let width = usize::from(app.columns).saturating_sub(1).max(8);
    // One row stays for what was said, so that nobody writes into the dark.
    let rows = usize::from(app.rows).saturating_sub(1).max(4);
    let mut below = Live::default();
    match &app.mode {
        Mode::Approval(shown) => {
            below.lines = card::card(app, shown, width, rows.saturating_sub(3));
            let pin_row = shown.pin.as_ref().and_then(|pin| {
                let row = below
                    .lines
                    .iter()
                    .position(|line| plain_of(line).starts_with("PIN:"))?;
                Some((row, 5 + pin.chars().count()))
            });
            below.cursor = pin_row;
        }
        Mode::Help => below.lines = help(width, rows.saturating_sub(2)),
        Mode::Tasks { selected } => below.lines = tasks(app, *selected, width, rows / 2),
        Mode::Pager { .. } => {}
        Mode::Compose => compose(app, width, rows, &mut below),
    }
    below.lines.push(status(app, width));
    below.lines.push(keys(app, width));
    below.lines.truncate(rows);
    let mut lines = Vec::new();
    let free = rows.saturating_sub(below.lines.len());
    let is_read = matches!(app.mode, Mode::Pager { .. });
    if has_open && free > 2 {
        lines = open(app, width, free.saturating_sub(2).min(OPEN_MAX));
    }
    if free > lines.len() && !is_read {
        lines.extend(active(app, width));
    }
    if let Some((row, _)) = &mut below.cursor {
        *row += lines.len();
    }
    lines.extend(below.lines);
    Live {
        lines,
        cursor: below.cursor,
    }
}

/// The end of what is being written and has not found its form, and calls that run.
fn open(app: &App, width: usize, rows: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (task, stream) in app.streams.iter() {
        let (text, from) = stream.open();
        if text.get(from..).is_none_or(|text| text.trim().is_empty()) {
            if stream.thought > 0 && stream.whole().is_empty() {
                let text = format!("  (thinking: {} words)", stream.thought);
                lines.push(Line::styled(text, faint()));
            }
            continue;
        }
        let is_named = from == 0 && !app.is_speaking(task);
        let print = crate::app::Print {
            cell: Cell {
                seq: None,
                task: Some(task.clone()),
                who: Who::Model,
                piece: Piece::Words(text),
                is_partial: false,
            },
            from,
            is_named,
        };
        lines.extend(cells::printed(&print, width));
    }
    for cell in app.transcript.running() {
        lines.extend(cells::tool(cell, width, false));
    }
    let above = lines.len().saturating_sub(rows);
    lines.split_off(above)
}

/// The line of what is worked on.
fn active(app: &App, width: usize) -> Vec<Line<'static>> {
    let Some(task) = app.queue.active() else {
        return Vec::new();
    };
    let mut facts = vec![format!("{} s", task.elapsed_seconds)];
    facts.extend(task.model.as_deref().map(one_line));
    facts.extend(task.token_usage.and_then(|usage| usage.output).map(tokens));
    let facts = facts.join(", ");
    let words = match task.progress.as_deref().filter(|_| width >= 60) {
        Some(progress) => format!("{} - {}", one_line(&task.title), one_line(progress)),
        None => one_line(&task.title),
    };
    let source = source(task);
    let facts = clip(&facts, width / 2);
    let room = width.saturating_sub(columns(&source) + columns(&facts) + 5);
    let strong = Style::new().add_modifier(Modifier::BOLD);
    vec![Line::from(vec![
        Span::styled("* ", Style::new().fg(Color::Yellow)),
        Span::styled(source, strong),
        Span::raw(format!(" {} ", clip(&words, room))),
        Span::styled(facts, faint()),
    ])]
}

fn tokens(count: u64) -> String {
    match count {
        0..=999 => format!("{count} tokens"),
        _ => format!("{}.{}k tokens", count / 1000, count % 1000 / 100),
    }
}

fn source(task: &TaskView) -> String {
    format!("[{}]", clip(&one_line(&task.source), 16))
}

/// Where words are written, what waits above it, and what a command may become.
fn compose(app: &App, width: usize, rows: usize, below: &mut Live) {
    let lines = &mut below.lines;
    let waiting = app.queue.waiting();
    let shown = waiting.iter().take(WAITING_MAX.min(rows / 4)).enumerate();
    lines.extend(shown.map(|(at, item)| waiting_line(at, item, width)));
    let more = waiting.len().saturating_sub(lines.len());
    if more > 0 {
        lines.push(Line::styled(format!("  and {more} more"), faint()));
    }
    let purpose = match &app.target {
        Target::Conversation => None,
        Target::Edit(_) | Target::EditHeld(_) => Some("change what waits:".to_owned()),
        Target::Steer(id) => Some(about(app, "say to", id)),
        Target::Answer(id) => {
            let question = app.queue.task(id).and_then(|task| task.question.clone());
            Some(format!(
                "answer: {}",
                one_line(&question.unwrap_or_default())
            ))
        }
    };
    if let Some(purpose) = purpose {
        let look = Style::new().fg(Color::Yellow);
        lines.extend(wrapped(&[Span::styled(purpose, look)], width, 0));
    }
    let found = matching(app.composer.text());
    for text in found.iter().take((rows / 3).min(6)) {
        let does = COMMANDS.iter().find(|(name, ..)| name == text);
        let does = does.map_or_else(String::new, |(_, takes, does)| {
            let takes = if takes.is_empty() {
                String::new()
            } else {
                format!(" {takes}")
            };
            format!("{takes}: {does}")
        });
        let line = clip(&format!("  {text}{does}"), width);
        lines.push(Line::styled(line, faint()));
    }
    let (text, cursor) = composer(app, width, rows);
    below.cursor = Some((lines.len() + cursor.0, cursor.1));
    lines.extend(text);
}

fn about(app: &App, what: &str, id: &str) -> String {
    let title = app.queue.task(id).map(|task| one_line(&task.title));
    format!("{what} \"{}\":", title.unwrap_or_default())
}

fn waiting_line(at: usize, item: &Item<'_>, width: usize) -> Line<'static> {
    let (source, state, title) = match item {
        Item::Task(task) => {
            let state = match task.status {
                legation_api::tasks::TaskState::Preempted => " (steps aside)",
                legation_api::tasks::TaskState::InputRequired => " (asks you)",
                _ => "",
            };
            (source(task), state, one_line(&task.title))
        }
        Item::Held(held) => ("[you]".to_owned(), " (waits here)", one_line(&held.text)),
    };
    let mark = format!("  {}. {source}{state} ", at + 1);
    let room = width.saturating_sub(columns(&mark));
    Line::from(vec![
        Span::styled(mark, faint()),
        Span::raw(clip(&title, room)),
    ])
}

/// The rows of what is written around the cursor, and where it stands.
fn composer(app: &App, width: usize, rows: usize) -> (Vec<Line<'static>>, (usize, usize)) {
    let room = width.saturating_sub(PROMPT.len() + 1).max(4);
    let mut lines: Vec<String> = vec![String::new()];
    let mut used = 0;
    let mut cursor = (0, 0);
    let text = app.composer.text();
    for (at, sign) in text.char_indices() {
        if at == app.composer.at() {
            cursor = (lines.len() - 1, used);
        }
        let wide = sign.width().unwrap_or(0);
        if sign == '\n' || used + wide > room {
            lines.push(String::new());
            used = 0;
        }
        if sign != '\n'
            && let Some(line) = lines.last_mut()
        {
            line.push(sign);
            used += wide;
        }
        // A cursor before a sign that went to the next row stands there too.
        if at == app.composer.at() && sign != '\n' && used == wide && lines.len() - 1 > cursor.0 {
            cursor = (lines.len() - 1, 0);
        }
    }
    if app.composer.at() == text.len() {
        cursor = (lines.len() - 1, used);
    }
    let height = COMPOSER_MAX.min(rows / 3).max(1);
    let above = (cursor.0 + 1).saturating_sub(height);
    let shown = lines.into_iter().enumerate().skip(above).take(height);
    let prompt = match app.link {
        Link::Live => Style::new().fg(Color::Green).add_modifier(Modifier::BOLD),
        Link::Connecting | Link::Gone(_) => faint(),
    };
    let shown = shown.map(|(at, line)| {
        let mark = if at == 0 { PROMPT } else { "  " };
        Line::from(vec![Span::styled(mark, prompt), Span::raw(line)])
    });
    let lines = shown.collect();
    (lines, (cursor.0 - above, PROMPT.len() + cursor.1))
}

/// The queue to be gone through.
fn tasks(app: &App, selected: usize, width: usize, rows: usize) -> Vec<Line<'static>> {
    let items = app.queue.items();
    if items.is_empty() {
        return vec![Line::styled(
            "nothing is worked on and nothing waits",
            faint(),
        )];
    }
    let selected = selected.min(items.len() - 1);
    let room = rows.max(3);
    let above = (selected + 1).saturating_sub(room);
    let shown = items.iter().enumerate().skip(above).take(room);
    let lines = shown.map(|(at, item)| {
        let mark = if at == selected { ">" } else { " " };
        let text = match item {
            Item::Task(task) => {
                let state = match task.status {
                    legation_api::tasks::TaskState::InProgress => "works",
                    other => other.as_str(),
                };
                format!("{mark} {} {state}: {}", source(task), one_line(&task.title))
            }
            Item::Held(held) => format!("{mark} [you] waits here: {}", one_line(&held.text)),
        };
        let look = match at == selected {
            true => Style::new().add_modifier(Modifier::BOLD),
            false => Style::new(),
        };
        Line::styled(clip(&text, width), look)
    });
    lines.collect()
}

fn help(width: usize, rows: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let keys = KEYS.iter().map(|(key, does)| ((*key).to_owned(), *does));
    let commands = COMMANDS
        .iter()
        .map(|(name, takes, does)| (format!("{name} {takes}").trim_end().to_owned(), *does));
    for (name, does) in keys.chain(commands) {
        let strong = Style::new().add_modifier(Modifier::BOLD);
        let spans = [Span::styled(name, strong), Span::raw(format!(" {does}"))];
        lines.extend(wrapped(&spans, width, 0));
    }
    if lines.len() > rows {
        lines.truncate(rows.saturating_sub(1));
        lines.push(Line::styled("(a higher window shows the rest)", faint()));
    }
    lines
}

/// The line of how everything is.
fn status(app: &App, width: usize) -> Line<'static> {
    if let Some(notice) = app.notice() {
        let look = Style::new().fg(Color::Yellow);
        return Line::styled(clip(&one_line(notice), width), look);
    }
    let mut facts = Vec::new();
    match &app.link {
        Link::Live => {}
        Link::Connecting => facts.push("looking for the hub ...".to_owned()),
        Link::Gone(why) => facts.push(format!("NO HUB ({why}), trying again")),
    }
    if !app.approvals.is_empty() {
        facts.push(counted(
            app.approvals.len(),
            "approval waits",
            "approvals wait",
        ));
    }
    if app.is_held {
        facts.push("agents held".to_owned());
    }
    let waiting = app.queue.waiting().len();
    if waiting > 0 {
        facts.push(format!("{waiting} queued"));
    }
    if app.unread > 0 {
        facts.push(format!("inbox {}", app.unread));
    }
    let model = app.model.as_ref().map(|(provider, model)| match model {
        Some(model) => format!("{provider}/{model}"),
        None => provider.clone(),
    });
    let known = app.engine.as_ref().and_then(|engine| engine.model.clone());
    match model.or(known) {
        Some(model) => facts.push(one_line(&model)),
        None if app.engine.is_some() => facts.push("no model".to_owned()),
        None => {}
    }
    let folder = app
        .session
        .as_ref()
        .and_then(|one| one.workspace.as_deref());
    facts.extend(folder.map(|folder| one_line(folder.rsplit('/').next().unwrap_or(folder))));
    Line::styled(clip(&facts.join(" | "), width), faint())
}

fn counted(count: usize, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    }
}

/// The keys that do something now, as many as fit.
fn keys(app: &App, width: usize) -> Line<'static> {
    let mut spans = Vec::new();
    let mut used = 0;
    for (key, does) in hints::hints(app) {
        let gap = if spans.is_empty() { 0 } else { 2 };
        let length = gap + columns(key) + 1 + columns(does);
        if used + length > width {
            break;
        }
        used += length;
        spans.push(Span::styled(" ".repeat(gap), faint()));
        let strong = Style::new().add_modifier(Modifier::BOLD);
        spans.push(Span::styled(key, strong));
        spans.push(Span::styled(format!(" {does}"), faint()));
    }
    Line::from(spans)
}
