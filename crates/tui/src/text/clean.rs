//! What is left of a text before it may reach a terminal.
//!
//! Whoever wrote it, a model, a server or a person elsewhere, must be able to write letters and
//! nothing else: no sequence that moves the cursor, no sign that turns or hides what stands beside
//! it, none that terminals count in different ways.

use legation_core::unseen::is_unseen;

/// Columns from one tab stop to the next.
const TAB: usize = 4;
/// Marks that one letter may carry; a tower of them would run into other lines.
const MARKS_MAX: usize = 3;

/// A text in which nothing is left but letters and line ends.
pub(crate) fn clean(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut column = 0;
    let mut marks = 0;
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        let wide = unicode_width::UnicodeWidthChar::width(sign).unwrap_or(0);
        match sign {
            '\r' if signs.peek() == Some(&'\n') => continue,
            '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                shown.push('\n');
                column = 0;
            }
            '\t' => {
                let stop = TAB - column % TAB;
                shown.extend(std::iter::repeat_n(' ', stop));
                column += stop;
            }
            _ if sign.is_control() => {
                shown.push(picture(sign));
                column += 1;
            }
            _ if is_hidden(sign) => continue,
            _ if wide == 0 => {
                marks += 1;
                if marks <= MARKS_MAX && column > 0 {
                    shown.push(sign);
                }
                continue;
            }
            _ => {
                shown.push(sign);
                column += wide;
            }
        }
        marks = 0;
    }
    shown
}

/// The same in one line, with single spaces.
pub(crate) fn one_line(text: &str) -> String {
    let cleaned = clean(text);
    let words: Vec<&str> = cleaned.split_whitespace().collect();
    words.join(" ")
}

/// A control character as a picture of it.
fn picture(sign: char) -> char {
    match u32::from(sign) {
        code @ 0..=0x1f => char::from_u32(0x2400 + code).unwrap_or('\u{fffd}'),
        0x7f => '\u{2421}',
        _ => '\u{fffd}',
    }
}

/// Whether a sign is left out. The one that keeps letters of cursive scripts apart stays: it is a part
/// of words, and takes no room.
fn is_hidden(sign: char) -> bool {
    sign != '\u{200c}' && is_unseen(sign)
}
