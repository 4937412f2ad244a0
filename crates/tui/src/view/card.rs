//! An approval: who wants what, with what would change.

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};
use serde_json::Value;
use similar::TextDiff;

use super::cells::faint;
use crate::app::{App, Card, choices, listing_facts};
use crate::text::{clean, code, hard, one_line, wrapped};

/// Names under which tools take what is there and what shall be there.
const PAIRS: &[(&str, &str)] = &[
    ("old_string", "new_string"),
    ("old_str", "new_str"),
    ("old_text", "new_text"),
    ("oldText", "newText"),
    ("old", "new"),
    ("before", "after"),
    ("search", "replace"),
];
/// Names under which tools take a whole new text.
const WHOLE: &[&str] = &["content", "contents", "text", "file_text"];
/// Names of the file.
const PATHS: &[&str] = &["path", "file_path", "filePath", "file"];

/// The lines of a card that fit.
pub(super) fn card(app: &App, card: &Card, width: usize, rows: usize) -> Vec<Line<'static>> {
    let waiting = &card.waiting;
    let strong = Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD);
    let title = format!("{} {} waits for you", waiting.kind, waiting.id);
    let mut lines = wrapped(&[Span::styled(one_line(&title), strong)], width, 0);
    let mut body = Vec::new();
    for (name, value) in listing_facts(waiting) {
        // What was made of the arguments stands before them, and hides nothing of them.
        if name == "with" {
            for row in changes(&waiting.arguments).unwrap_or_default() {
                let look = code::of_diff(&row);
                body.extend(hard(&[Span::styled(row, look)], width));
            }
        }
        let spans = [Span::styled(format!("{name}: "), faint()), Span::raw(value)];
        body.extend(wrapped(&spans, width, 0));
    }
    let foot = foot(card, width);
    // Title and answers always stand there; what is between them moves.
    let room = rows.saturating_sub(lines.len() + foot.len() + 1).max(3);
    let last = body.len().saturating_sub(room);
    let above = card.above.min(last);
    let below = last - above;
    lines.extend(body.into_iter().skip(above).take(room));
    if above > 0 || below > 0 {
        let text = format!("({above} lines above, {below} below: Up, Down)");
        lines.push(Line::styled(text, faint()));
    }
    lines.extend(foot);
    if !card.is_armed(app.now_ms) {
        lines.push(Line::styled("(keys count in a moment)", faint()));
    }
    lines
}

/// The answers, or what is typed of a PIN.
fn foot(card: &Card, width: usize) -> Vec<Line<'static>> {
    if let Some(pin) = &card.pin {
        return vec![Line::from(format!(
            "PIN: {}",
            "*".repeat(pin.chars().count())
        ))];
    }
    if card.is_proposal() {
        return vec![Line::from("y certifies it with your PIN, n refuses it")];
    }
    let answers = choices(&card.waiting);
    let numbered = answers.iter().enumerate();
    let answers: Vec<String> = numbered
        .map(|(at, answer)| format!("{} {}", at + 1, one_line(answer)))
        .collect();
    wrapped(&[Span::raw(answers.join("  "))], width, 0)
}

/// What the arguments of an edit change, as a unified diff; `None` where they are no edit.
pub(super) fn changes(arguments: &str) -> Option<Vec<String>> {
    let value: Value = serde_json::from_str(arguments).ok()?;
    let path = PATHS.iter().find_map(|name| value.get(name)?.as_str());
    let mut rows = Vec::new();
    let edits = value.get("edits").and_then(Value::as_array);
    for edit in std::iter::once(&value).chain(edits.into_iter().flatten()) {
        let pair = PAIRS
            .iter()
            .find_map(|(old, new)| Some((edit.get(old)?.as_str()?, edit.get(new)?.as_str()?)));
        if let Some((old, new)) = pair {
            rows.extend(diff(old, new));
        }
    }
    if rows.is_empty() && path.is_some() {
        let whole = WHOLE.iter().find_map(|name| value.get(name)?.as_str())?;
        rows.extend(clean(whole).lines().map(|line| format!("+{line}")));
    }
    (!rows.is_empty()).then_some(rows)
}

fn diff(old: &str, new: &str) -> Vec<String> {
    let (old, new) = (clean(old), clean(new));
    let diff = TextDiff::from_lines(&old, &new);
    let unified = diff.unified_diff().context_radius(3).to_string();
    let rows = unified.lines().filter(|line| !line.starts_with('\\'));
    rows.map(str::to_owned).collect()
}
