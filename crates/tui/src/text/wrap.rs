//! Lines that fit.

use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use unicode_width::UnicodeWidthChar as _;

/// A sign with its look and its columns.
type Sign = (char, Style, usize);

/// The columns that a text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(|sign| sign.width().unwrap_or(0)).sum()
}

/// The text of a line, without its look.
pub(crate) fn plain_of(line: &Line<'_>) -> String {
    line.spans.iter().map(|span| &*span.content).collect()
}

/// A text in so many columns; a cut is shown.
pub(crate) fn clip(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut left = width.saturating_sub(1);
    for sign in text.chars() {
        let wide = sign.width().unwrap_or(0);
        if wide > left {
            break;
        }
        left -= wide;
        shown.push(sign);
    }
    if width > 0 {
        shown.push('\u{2026}');
    }
    shown
}

/// Words in lines of so many columns. The first line has `first` columns fewer, because something
/// stands there already.
pub(crate) fn wrapped(spans: &[Span<'_>], width: usize, first: usize) -> Vec<Line<'static>> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let mut line: Vec<Sign> = Vec::new();
    let mut used = first.min(width);
    let mut is_fresh = true;
    for (blank, word) in words(spans) {
        let wide = |signs: &[Sign]| signs.iter().map(|sign| sign.2).sum::<usize>();
        let (gap, length) = (wide(&blank), wide(&word));
        let gap = if is_fresh { 0 } else { gap };
        if used + gap + length <= width {
            if !is_fresh {
                line.extend(blank);
            }
            used += gap + length;
            line.extend(word);
            is_fresh = false;
            continue;
        }
        if !is_fresh || used > 0 {
            lines.push(joined(&line));
            line.clear();
            used = 0;
        }
        // A word that no line can hold is cut.
        for sign in word {
            if used + sign.2 > width && used > 0 {
                lines.push(joined(&line));
                line.clear();
                used = 0;
            }
            used += sign.2;
            line.push(sign);
        }
        is_fresh = false;
    }
    lines.push(joined(&line));
    lines
}

/// Signs in lines of so many columns, cut where they are full.
pub(crate) fn hard(spans: &[Span<'_>], width: usize) -> Vec<Line<'static>> {
    let width = width.max(2);
    let mut lines = Vec::new();
    let mut line = Vec::new();
    let mut used = 0;
    for sign in signs(spans) {
        if used + sign.2 > width {
            lines.push(joined(&line));
            line.clear();
            used = 0;
        }
        used += sign.2;
        line.push(sign);
    }
    lines.push(joined(&line));
    lines
}

fn signs<'a>(spans: &'a [Span<'_>]) -> impl Iterator<Item = Sign> + 'a {
    spans.iter().flat_map(|span| {
        let look = span.style;
        span.content
            .chars()
            .map(move |sign| (sign, look, sign.width().unwrap_or(0)))
    })
}

/// Words, each with the blanks before it. Wide signs may stand apart: their scripts know no blanks.
fn words(spans: &[Span<'_>]) -> Vec<(Vec<Sign>, Vec<Sign>)> {
    let mut found: Vec<(Vec<Sign>, Vec<Sign>)> = Vec::new();
    let mut blank = Vec::new();
    let mut is_open = false;
    for sign in signs(spans) {
        if sign.0 == ' ' {
            blank.push(sign);
            is_open = false;
            continue;
        }
        match found.last_mut() {
            Some((_, word)) if is_open && sign.2 < 2 => word.push(sign),
            _ => found.push((std::mem::take(&mut blank), vec![sign])),
        }
        is_open = sign.2 < 2;
    }
    found
}

fn joined(signs: &[Sign]) -> Line<'static> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    for (sign, look, _) in signs {
        match spans.last_mut() {
            Some(span) if span.style == *look => span.content.to_mut().push(*sign),
            _ => spans.push(Span::styled(sign.to_string(), *look)),
        }
    }
    Line::from(spans)
}
