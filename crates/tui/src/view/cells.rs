//! Entries of the conversation.

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};

use crate::app::{Cell, Piece, Print, Who};
use crate::text::{Prefix, clip, columns, hard, markdown, wrapped};

/// Lines of a result that are shown when it is unfolded.
const RESULT_MAX: usize = 200;

pub(super) fn faint() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

/// Who speaks, in brackets.
pub(super) fn name(who: &Who) -> String {
    match who {
        Who::You => "[you]".to_owned(),
        Who::Client(name) => format!("[{name}]"),
        Who::Model => "[legation]".to_owned(),
        Who::Hub => "[hub]".to_owned(),
    }
}

fn look_of(who: &Who) -> Style {
    let colour = match who {
        Who::You => Color::Green,
        Who::Client(_) => Color::Magenta,
        Who::Model => Color::Cyan,
        Who::Hub => Color::Yellow,
    };
    Style::new().fg(colour).add_modifier(Modifier::BOLD)
}

/// The name before the first line, and what stands before the others.
pub(super) fn prefix(who: &Who, is_named: bool) -> Prefix {
    let rest = vec![Span::raw("  ")];
    let first = match is_named {
        true => vec![Span::styled(format!("{} ", name(who)), look_of(who))],
        false => rest.clone(),
    };
    Prefix { first, rest }
}

/// What is shown for good, with the blank line that stands before it.
pub(crate) fn printed(print: &Print, width: usize) -> Vec<Line<'static>> {
    let mut lines = cell(&print.cell, width, false, print.is_named);
    if print.from > 0
        && let Piece::Words(text) = &print.cell.piece
    {
        let before = text.get(..print.from).unwrap_or_default();
        let shown = Cell {
            piece: Piece::Words(before.to_owned()),
            ..print.cell.clone()
        };
        let count = cell(&shown, width, false, print.is_named).len();
        lines.drain(..count.min(lines.len()));
        return lines;
    }
    let is_apart = print.is_named || !matches!(print.cell.piece, Piece::Tool(_));
    if is_apart && !lines.is_empty() {
        lines.insert(0, Line::default());
    }
    lines
}

/// An entry, as it is read again.
pub(super) fn cell(
    cell: &Cell,
    width: usize,
    is_unfolded: bool,
    is_named: bool,
) -> Vec<Line<'static>> {
    match &cell.piece {
        Piece::Words(text) => {
            let mut lines = match cell.who {
                Who::Model => markdown(text, width, prefix(&cell.who, is_named)),
                Who::You | Who::Client(_) | Who::Hub => words(text, width, &cell.who, is_named),
            };
            if cell.is_partial {
                lines.push(Line::styled("  (broken off here)", faint()));
            }
            lines
        }
        Piece::Tool(_) => {
            let mut lines = Vec::new();
            if is_named {
                lines.push(Line::styled(name(&Who::Model), look_of(&Who::Model)));
            }
            lines.extend(tool(cell, width, is_unfolded));
            lines
        }
        Piece::Note(text) => {
            let spans = [Span::styled(text.replace('\n', " "), faint())];
            below(wrapped(&spans, width.saturating_sub(2), 0), "* ")
        }
        Piece::Listing(rows) => {
            let rows = rows.iter().flat_map(|row| {
                let spans = [Span::raw(row.clone())];
                below(wrapped(&spans, width.saturating_sub(4), 0), "  ")
            });
            rows.collect()
        }
    }
}

/// Words of people, as they wrote them.
fn words(text: &str, width: usize, who: &Who, is_named: bool) -> Vec<Line<'static>> {
    let Prefix { first, rest } = prefix(who, is_named);
    let taken: usize = first.iter().map(|span| columns(&span.content)).sum();
    let mut lines = Vec::new();
    for (at, row) in text.lines().enumerate() {
        let extra = if at == 0 { taken.saturating_sub(2) } else { 0 };
        // What is set in keeps its place: it may be code.
        let indent: String = row.chars().take_while(|sign| *sign == ' ').collect();
        let spans = [Span::raw(row.trim_start().to_owned())];
        let room = width.saturating_sub(2 + indent.len()).max(8);
        for line in wrapped(&spans, room, extra) {
            let mut spans = if lines.is_empty() {
                first.clone()
            } else {
                rest.clone()
            };
            spans.push(Span::raw(indent.clone()));
            spans.extend(line.spans);
            lines.push(Line::from(spans));
        }
    }
    if lines.is_empty() {
        lines.push(Line::from(first));
    }
    lines
}

/// A call: one line, or with its arguments and result.
pub(super) fn tool(cell: &Cell, width: usize, is_unfolded: bool) -> Vec<Line<'static>> {
    let Piece::Tool(call) = &cell.piece else {
        return Vec::new();
    };
    let end = match call.is_over {
        true => format!(" {}", call.end),
        false => " ...".to_owned(),
    };
    let room = width.saturating_sub(4 + columns(&end)).max(8);
    let look = match call.is_good {
        true => faint(),
        false => Style::new().fg(Color::Red),
    };
    let mut lines = vec![Line::from(vec![
        Span::raw("  "),
        Span::styled(
            format!("[{}]", clip(&call.title, room)),
            Style::new().fg(Color::Blue),
        ),
        Span::styled(end, look),
    ])];
    if is_unfolded {
        for text in [&call.arguments, &call.result] {
            for row in text.lines().take(RESULT_MAX) {
                let spans = [Span::styled(row.to_owned(), faint())];
                lines.extend(below(hard(&spans, width.saturating_sub(4)), "    "));
            }
            let more = text.lines().count().saturating_sub(RESULT_MAX);
            if more > 0 {
                lines.push(Line::styled(format!("    ({more} more lines)"), faint()));
            }
        }
    }
    lines
}

/// Lines set in, with a mark before the first.
fn below(lines: Vec<Line<'static>>, mark: &'static str) -> Vec<Line<'static>> {
    let indent = " ".repeat(mark.len());
    let set_in = lines.into_iter().enumerate().map(|(at, line)| {
        let before = if at == 0 {
            mark.to_owned()
        } else {
            indent.clone()
        };
        let mut spans = vec![Span::styled(before, faint())];
        spans.extend(line.spans);
        Line::from(spans)
    });
    set_in.collect()
}
