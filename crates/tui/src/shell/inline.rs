//! Lines on a terminal that keeps its own scrollback.
//!
//! What is said for good is printed once, as any program prints, and belongs to the terminal from
//! then on: it can be scrolled, selected and searched as everything else there. Below it stand the
//! live lines, which are drawn over. All moves are relative to where the cursor is known to be.
//! Asking the terminal for its place instead, as libraries for inline screens do, fails over slow
//! lines and where nobody answers; moving a part of the screen loses lines of the scrollback in
//! several terminals.

use std::fmt::Write as _;

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::Line;

use crate::text::columns;
use crate::view::Live;

// Terminals that know it show everything between the two at once; the others ignore both.
const BEGIN: &str = "\u{1b}[?2026h\u{1b}[?25l";
const END: &str = "\u{1b}[?2026l";
const SHOW_CURSOR: &str = "\u{1b}[?25h";
const CLEAR_BELOW: &str = "\u{1b}[J";
const CLEAR_LINE: &str = "\u{1b}[2K";

/// What stands on the terminal.
#[derive(Debug, Default)]
pub(crate) struct Inline {
    has_colours: bool,
    /// The live lines as they were written, each with its columns.
    rows: Vec<(String, usize)>,
    /// In which of them the cursor is, and in which column.
    at: (usize, usize),
    is_cursor_shown: bool,
}

/// What becomes of the live lines when somebody else has the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    /// They are taken away.
    Clear,
    /// They were scrolled, overwritten or lost; nothing is known of them.
    Forget,
}

// === impl Inline ===

impl Inline {
    pub(crate) fn new(has_colours: bool) -> Self {
        Self {
            has_colours,
            ..Self::default()
        }
    }

    /// What is to be written so that the lines stand above and the live ones below.
    pub(crate) fn draw(&mut self, said: &[Line<'_>], live: &Live) -> String {
        let rows: Vec<(String, usize)> = live
            .lines
            .iter()
            .map(|line| {
                let wide = line.spans.iter().map(|span| columns(&span.content)).sum();
                (painted(line, self.has_colours), wide)
            })
            .collect();
        let wanted = live.cursor.filter(|(row, _)| *row < rows.len());
        let is_same = said.is_empty() && rows == self.rows;
        if is_same
            && wanted.is_some() == self.is_cursor_shown
            && wanted.is_none_or(|to| to == self.at)
        {
            return String::new();
        }
        let mut out = BEGIN.to_owned();
        if !said.is_empty() || rows.len() != self.rows.len() {
            self.anew(&mut out, said, &rows);
        } else {
            self.over(&mut out, &rows);
        }
        self.rows = rows;
        let to = wanted.unwrap_or((self.at.0, 0));
        self.go(&mut out, to);
        if wanted.is_some() {
            out.push_str(SHOW_CURSOR);
        }
        self.is_cursor_shown = wanted.is_some();
        out.push_str(END);
        out
    }

    /// Prints what was said where the live lines stood, and those below it.
    fn anew(&mut self, out: &mut String, said: &[Line<'_>], rows: &[(String, usize)]) {
        self.go(out, (0, 0));
        out.push_str(CLEAR_BELOW);
        for line in said {
            out.push_str(&painted(line, self.has_colours));
            out.push_str("\r\n");
        }
        for (at, (row, _)) in rows.iter().enumerate() {
            if at > 0 {
                out.push_str("\r\n");
            }
            out.push_str(row);
        }
        let last = rows.len().saturating_sub(1);
        self.at = (last, rows.last().map_or(0, |(_, wide)| *wide));
    }

    /// Writes the live lines that changed over what they were.
    fn over(&mut self, out: &mut String, rows: &[(String, usize)]) {
        for at in 0..rows.len() {
            let (Some(new), Some(old)) = (rows.get(at), self.rows.get(at)) else {
                continue;
            };
            if new != old {
                self.go(out, (at, 0));
                out.push_str(CLEAR_LINE);
                out.push_str(&new.0);
                self.at = (at, new.1);
            }
        }
    }

    fn go(&mut self, out: &mut String, to: (usize, usize)) {
        let (row, column) = to;
        let moved = match row.cmp(&self.at.0) {
            std::cmp::Ordering::Less => write!(out, "\u{1b}[{}A", self.at.0 - row),
            std::cmp::Ordering::Greater => write!(out, "\u{1b}[{}B", row - self.at.0),
            std::cmp::Ordering::Equal => Ok(()),
        };
        out.push('\r');
        let moved = moved.and_then(|()| match column {
            0 => Ok(()),
            _ => write!(out, "\u{1b}[{column}C"),
        });
        debug_assert!(moved.is_ok(), "a string takes everything");
        self.at = to;
    }

    /// The terminal has another width: what is wider than it stands in several rows now, as
    /// terminals break lines anew.
    pub(crate) fn resized(&mut self, width: usize) -> String {
        let width = width.max(1);
        let above = self.rows.iter().take(self.at.0);
        let rows: usize = above.map(|(_, wide)| wide.div_ceil(width).max(1)).sum();
        let row = rows + self.at.1.saturating_sub(1) / width;
        let mut out = String::new();
        self.at.0 = row;
        self.go(&mut out, (0, 0));
        out.push_str(CLEAR_BELOW);
        self.rows.clear();
        self.at = (0, 0);
        out
    }

    /// Somebody else has the terminal now.
    pub(crate) fn leave(&mut self, leave: Leave) -> String {
        let mut out = String::new();
        if leave == Leave::Clear {
            self.go(&mut out, (0, 0));
            out.push_str(CLEAR_BELOW);
        }
        out.push_str(SHOW_CURSOR);
        self.rows.clear();
        self.at = (0, 0);
        self.is_cursor_shown = false;
        out
    }
}

/// A line with its looks, and nothing that stays behind it.
fn painted(line: &Line<'_>, has_colours: bool) -> String {
    let mut out = String::new();
    for span in &line.spans {
        let look = sgr(line.style.patch(span.style), has_colours);
        if look.is_empty() {
            out.push_str(&span.content);
        } else {
            out.push_str(&look);
            out.push_str(&span.content);
            out.push_str("\u{1b}[0m");
        }
    }
    out
}

/// The sequence of a look. Colours are the terminal's own, so that they are read on any ground.
fn sgr(style: Style, has_colours: bool) -> String {
    let mut codes = Vec::new();
    let modifiers = [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::ITALIC, "3"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::CROSSED_OUT, "9"),
    ];
    for (modifier, code) in modifiers {
        if style.add_modifier.contains(modifier) {
            codes.push(code);
        }
    }
    let colour = style
        .fg
        .filter(|_| has_colours)
        .and_then(|colour| match colour {
            Color::Red => Some("31"),
            Color::Green => Some("32"),
            Color::Yellow => Some("33"),
            Color::Blue => Some("34"),
            Color::Magenta => Some("35"),
            Color::Cyan => Some("36"),
            _ => None,
        });
    codes.extend(colour);
    match codes.is_empty() {
        true => String::new(),
        false => format!("\u{1b}[{}m", codes.join(";")),
    }
}
