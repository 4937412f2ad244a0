//! A little colour for code: comments, strings, numbers and the words that most languages share.
//!
//! A highlighter that knows grammars would be larger than the rest of the terminal, and would still
//! be wrong while half of a block has arrived.

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::Span;

/// Words that mean something in most of what people write.
const WORDS: &[&str] = &[
    "and",
    "as",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "def",
    "del",
    "do",
    "done",
    "elif",
    "else",
    "end",
    "enum",
    "esac",
    "except",
    "export",
    "extends",
    "false",
    "False",
    "fi",
    "finally",
    "fn",
    "for",
    "from",
    "func",
    "function",
    "if",
    "impl",
    "import",
    "in",
    "interface",
    "is",
    "lambda",
    "let",
    "loop",
    "match",
    "mod",
    "mut",
    "new",
    "nil",
    "None",
    "not",
    "null",
    "or",
    "package",
    "pass",
    "pub",
    "public",
    "private",
    "raise",
    "return",
    "self",
    "static",
    "struct",
    "super",
    "switch",
    "then",
    "this",
    "throw",
    "trait",
    "true",
    "True",
    "try",
    "type",
    "use",
    "var",
    "void",
    "where",
    "while",
    "with",
    "yield",
];

/// One line of code.
pub(super) fn painted(line: &str, language: &str) -> Vec<Span<'static>> {
    if matches!(language, "diff" | "patch") {
        return vec![Span::styled(line.to_owned(), of_diff(line))];
    }
    if matches!(language, "" | "text" | "txt" | "plain" | "md" | "markdown") {
        return vec![Span::raw(line.to_owned())];
    }
    let mut spans = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let (length, look) = next(rest, spans.is_empty());
        let (piece, after) = rest.split_at(length);
        spans.push(Span::styled(piece.to_owned(), look));
        rest = after;
    }
    spans
}

/// The look of a line of a diff.
pub(crate) fn of_diff(line: &str) -> Style {
    match line.chars().next() {
        Some('+') => Style::new().fg(Color::Green),
        Some('-') => Style::new().fg(Color::Red),
        Some('@') => Style::new().fg(Color::Cyan),
        _ => Style::new(),
    }
}

/// How long the next piece is, and its look.
fn next(rest: &str, is_first: bool) -> (usize, Style) {
    let faint = Style::new().add_modifier(Modifier::DIM);
    let begins = |sign: &str| rest.starts_with(sign);
    if begins("//") || begins("#") || (is_first && begins("--")) {
        return (rest.len(), faint);
    }
    let Some(first) = rest.chars().next() else {
        return (0, Style::new());
    };
    if matches!(first, '"' | '\'' | '`') {
        return (quoted(rest, first), Style::new().fg(Color::Green));
    }
    let is_word = |sign: char| sign.is_alphanumeric() || sign == '_';
    let end = |so: &dyn Fn(char) -> bool| rest.find(|sign| !so(sign)).unwrap_or(rest.len());
    if first.is_ascii_digit() {
        let length = end(&|sign| is_word(sign) || sign == '.');
        return (length, Style::new().fg(Color::Cyan));
    }
    if is_word(first) {
        let length = end(&is_word);
        let is_known = rest.get(..length).is_some_and(|word| WORDS.contains(&word));
        let look = match is_known {
            true => Style::new().fg(Color::Magenta),
            false => Style::new(),
        };
        return (length, look);
    }
    let plain = |sign: char| !is_word(sign) && !matches!(sign, '"' | '\'' | '`' | '#' | '/' | '-');
    (end(&plain).max(first.len_utf8()), Style::new())
}

/// The bytes of a string with its quotes; of the quote alone where it has no end in this line.
fn quoted(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, sign) in rest.char_indices().skip(1) {
        match sign {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if sign == quote => return at + sign.len_utf8(),
            _ => {}
        }
    }
    quote.len_utf8()
}
