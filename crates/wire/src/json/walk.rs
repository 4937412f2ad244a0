//! Walks over text that was checked before: one level at a time, without copying.

use std::ops::Range;

use super::scan::Member;
use super::text::{name_end, string_end};

/// Calls `each` with every member of the object in `text` until it returns false.
pub(super) fn members(text: &[u8], mut each: impl FnMut(Member) -> bool) {
    let mut at = skip_space(text, 1);
    while text.get(at) == Some(&b'"') {
        let (key_end, escaped) = name_end(text, at + 1);
        let key = at + 1..key_end - 1;
        // Behind the name stands exactly one colon, perhaps with space around it.
        let start = skip_space(text, skip_space(text, key_end) + 1);
        let end = value_end(text, start);
        if !each(Member {
            key,
            escaped,
            value: start..end,
        }) {
            return;
        }
        at = next_item(text, end);
    }
}

/// Calls `each` with every element of the array in `text`.
pub(super) fn elements(text: &[u8], mut each: impl FnMut(Range<usize>)) {
    let mut at = skip_space(text, 1);
    while at < text.len() && text[at] != b']' {
        let end = value_end(text, at);
        each(at..end);
        at = next_item(text, end);
    }
}

/// From the end of a value to the start of the next one, or to the end of the container.
fn next_item(text: &[u8], end: usize) -> usize {
    let at = skip_space(text, end);
    if text.get(at) == Some(&b',') {
        skip_space(text, at + 1)
    } else {
        at
    }
}

/// Offset just behind the value that begins at `start`.
fn value_end(text: &[u8], start: usize) -> usize {
    match text.get(start) {
        Some(b'"') => string_end(text, start + 1),
        Some(b'{' | b'[') => container_end(text, start),
        _ => {
            let rest = &text[start.min(text.len())..];
            let length = rest
                .iter()
                .position(|byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r'));
            start + length.unwrap_or(rest.len())
        }
    }
}

fn container_end(text: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while let Some(byte) = text.get(at) {
        at += 1;
        match byte {
            b'"' => at = string_end(text, at),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    text.len()
}

fn skip_space(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = text.get(at) {
        at += 1;
    }
    at
}
