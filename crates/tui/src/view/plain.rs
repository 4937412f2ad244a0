//! The conversation in labelled lines, for screen readers and pipes: no drawing, no colour, nothing
//! that changes once it was said.

use crate::app::{Piece, Print, Who};

/// What is said, as lines without line ends.
pub(crate) fn plain(print: &Print) -> Vec<String> {
    let cell = &print.cell;
    match &cell.piece {
        Piece::Words(text) => {
            let label = match &cell.who {
                Who::You => "you".to_owned(),
                Who::Client(name) => name.clone(),
                Who::Model => "legation".to_owned(),
                Who::Hub => "hub".to_owned(),
            };
            let rest = text.get(print.from..).unwrap_or_default();
            let mut lines: Vec<String> = Vec::new();
            for row in rest.lines() {
                if row.trim().is_empty() {
                    continue;
                }
                lines.push(
                    match lines.is_empty() && print.is_named && print.from == 0 {
                        true => format!("{label}: {row}"),
                        false => format!("  {row}"),
                    },
                );
            }
            if cell.is_partial {
                lines.push("  (broken off here)".to_owned());
            }
            lines
        }
        Piece::Tool(call) => vec![format!("tool: {}: {}", call.title, call.end)],
        Piece::Note(text) => vec![format!("note: {}", text.replace('\n', " "))],
        Piece::Listing(rows) => rows.iter().map(|row| format!("  {row}")).collect(),
    }
}
