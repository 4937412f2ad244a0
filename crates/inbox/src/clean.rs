//! Text on its way in: what nobody sees goes, and nothing can close a tag.
//!
//! A client may show a message between tags of its own. With `<`, `>` and `&`
//! escaped no text can end them and go on as somebody else.

use std::borrow::Cow;

use legation_filter::hidden;

/// Escapes what markup is made of.
#[must_use]
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['<', '>', '&']) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            c => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// One line of at most `most` characters, for banners and logs; a cut is shown.
#[must_use]
pub fn summary(text: &str, most: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        let gap = usize::from(!line.is_empty());
        for c in (" ".chars().take(gap)).chain(word.chars()) {
            if count + 1 >= most {
                line.push('…');
                return line;
            }
            line.push(c);
            count += 1;
        }
    }
    line
}

/// Text as it is kept, at most `most` bytes of what was brought; whether it was
/// cut.
pub(crate) fn kept(text: &str, most: usize) -> (String, bool) {
    let end = text.floor_char_boundary(most);
    let clean = hidden::strip(&text[..end]);
    (escape(&clean).into_owned(), end < text.len())
}

/// A field of one line as it is kept.
pub(crate) fn kept_line(text: &str, most: usize) -> String {
    let (kept, _) = kept(text, most);
    if !kept.contains(['\n', '\r', '\t']) {
        return kept;
    }
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}
