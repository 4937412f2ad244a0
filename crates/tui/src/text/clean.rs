//! What is left of a text before it may reach a terminal.
//!
//! Whoever wrote it, a model, a server or a person elsewhere, must be able to write letters and
//! nothing else: no sequence that moves the cursor, no sign that turns or hides what stands beside
//! it, none that terminals count in different ways.

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

/// Signs that turn the direction of writing, join or select other signs, or show nothing at all.
fn is_hidden(sign: char) -> bool {
    matches!(
        sign,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'
            | '\u{200d}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}
