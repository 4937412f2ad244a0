//! Tables: side by side where they fit, one entry below the other where they do not.

use pulldown_cmark::Alignment;
use ratatui_core::style::Modifier;
use ratatui_core::text::{Line, Span};

use super::{columns, wrapped};

/// Between two columns.
const BETWEEN: &str = " | ";
/// A column that holds words is made no narrower.
const COLUMN_MIN: usize = 6;
/// Before every line; it keeps a table apart from names and marks.
const INDENT: &str = "  ";

type Cell = Vec<Span<'static>>;

/// A table as it is read.
#[derive(Debug)]
pub(super) struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Cell>>,
    row: Vec<Cell>,
}

// === impl Table ===

impl Table {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self {
            alignments,
            rows: Vec::new(),
            row: Vec::new(),
        }
    }

    pub(super) fn cell(&mut self, spans: Cell) {
        self.row.push(spans);
    }

    pub(super) fn row_over(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    pub(super) fn lines(self, width: usize) -> Vec<Line<'static>> {
        let width = width.saturating_sub(INDENT.len());
        match self.widths(width) {
            Some(widths) => self.side_by_side(&widths),
            None => self.one_below_the_other(width),
        }
    }

    /// How wide each column is; `None` where they do not stand side by side.
    fn widths(&self, width: usize) -> Option<Vec<usize>> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths = vec![1; count];
        for row in &self.rows {
            for (cell, widest) in row.iter().zip(&mut widths) {
                *widest = (*widest).max(length(cell));
            }
        }
        let between = BETWEEN.len() * count.saturating_sub(1);
        let room = width.checked_sub(between)?;
        // The widest gives way first.
        while widths.iter().sum::<usize>() > room {
            let widest = widths.iter_mut().max()?;
            if *widest <= COLUMN_MIN {
                return None;
            }
            *widest -= 1;
        }
        Some(widths)
    }

    fn side_by_side(self, widths: &[usize]) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for (at, row) in self.rows.into_iter().enumerate() {
            let mut cells: Vec<Vec<Line<'static>>> = Vec::new();
            for (column, width) in widths.iter().enumerate() {
                let cell = row.get(column).map(Vec::as_slice).unwrap_or_default();
                cells.push(wrapped(&emphasised(cell, at == 0), *width, 0));
            }
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            for part in 0..height {
                let mut spans = vec![Span::raw(INDENT)];
                for (column, width) in widths.iter().enumerate() {
                    if column > 0 {
                        spans.push(Span::raw(BETWEEN));
                    }
                    let words = cells.get(column).and_then(|lines| lines.get(part));
                    let words = words.map(|line| line.spans.clone()).unwrap_or_default();
                    let is_last = column + 1 == widths.len();
                    let alignment = self.alignments.get(column).copied();
                    spans.extend(padded(words, *width, alignment, is_last));
                }
                lines.push(Line::from(spans));
            }
            if at == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
                lines.push(Line::from(format!("{INDENT}{}", rules.join("-|-"))));
            }
        }
        lines
    }

    fn one_below_the_other(mut self, width: usize) -> Vec<Line<'static>> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let head = self.rows.remove(0);
        let mut lines = Vec::new();
        for (at, row) in self.rows.into_iter().enumerate() {
            if at > 0 {
                lines.push(Line::from(INDENT));
            }
            for (column, cell) in row.into_iter().enumerate() {
                let mut spans =
                    emphasised(head.get(column).map(Vec::as_slice).unwrap_or(&[]), true);
                spans.push(Span::raw(": "));
                spans.extend(cell);
                for line in wrapped(&spans, width.max(COLUMN_MIN), 0) {
                    let mut spans = vec![Span::raw(INDENT)];
                    spans.extend(line.spans);
                    lines.push(Line::from(spans));
                }
            }
        }
        lines
    }
}

fn length(cell: &[Span<'_>]) -> usize {
    cell.iter().map(|span| columns(&span.content)).sum()
}

fn emphasised(cell: &[Span<'static>], is_head: bool) -> Cell {
    let mut spans = cell.to_vec();
    if is_head {
        for span in &mut spans {
            span.style = span.style.add_modifier(Modifier::BOLD);
        }
    }
    spans
}

fn padded(
    words: Vec<Span<'static>>,
    width: usize,
    alignment: Option<Alignment>,
    is_last: bool,
) -> Vec<Span<'static>> {
    let free = width.saturating_sub(length(&words));
    let before = match alignment {
        Some(Alignment::Right) => free,
        Some(Alignment::Center) => free / 2,
        Some(Alignment::Left | Alignment::None) | None => 0,
    };
    let after = if is_last { 0 } else { free - before };
    let blank = |count: usize| Span::raw(" ".repeat(count));
    let mut spans = vec![blank(before)];
    spans.extend(words);
    spans.push(blank(after));
    spans.retain(|span| !span.content.is_empty());
    spans
}
