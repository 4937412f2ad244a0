//! Columns for people.

use legation_core::unseen::{ends_line, is_unseen};

/// Rows under headings, padded to the widest cell of each column.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

// === impl Table ===

impl Table {
    pub(crate) fn new(headings: &[&str]) -> Self {
        Self {
            rows: vec![headings.iter().map(|text| (*text).to_owned()).collect()],
        }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows
            .push(cells.into_iter().map(|cell| printable(&cell)).collect());
    }

    pub(crate) fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', width - cell.chars().count() + 2));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Text from a server or a file, safe on a terminal: control characters, and
/// those that are invisible or turn the direction of writing, are shown as
/// escapes.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if (character.is_control() && character != '\t') || is_deceptive(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// [`printable`], with its lines kept.
pub(crate) fn printable_lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(printable).collect();
    lines.join("\n")
}

/// A number with its noun.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{end}")
}

/// Whether a character shows nothing, or turns or ends a line, but for those that choose between a sign
/// and a picture of it, which stand in every second mail.
pub(crate) fn is_deceptive(character: char) -> bool {
    let chooses = matches!(character, '\u{fe0e}' | '\u{fe0f}');
    (is_unseen(character) && !chooses) || ends_line(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_nothing_repaints_the_terminal() {
        let mut table = Table::new(&["NAME", "STATUS"]);
        table.row(["files".to_owned(), "connected".to_owned()]);
        table.row(["a\u{1b}[2J".to_owned(), "failed".to_owned()]);
        table.row(["b\u{202e}c".to_owned(), "x".to_owned()]);
        let lines: Vec<String> = table.render().lines().map(str::to_owned).collect();
        assert_eq!(
            lines,
            [
                "NAME        STATUS",
                "files       connected",
                "a\\u{1b}[2J  failed",
                "b\\u{202e}c  x"
            ]
        );
    }
}
