//! Results too large for one message, cut into pages.

use std::fmt::Write as _;

/// A text cut into pages, and what stands in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spill {
    /// The pages in order; together they are the text.
    pub pages: Vec<String>,
    /// What the client reads instead: where the rest is, and how it begins.
    pub stub: String,
}

/// The URI of a page, from one; the first stands for the resource itself.
#[must_use]
pub fn uri(id: &str, page: usize) -> String {
    let mut uri = format!("legation://spill/{id}");
    if page > 1 {
        // Writing to a string cannot fail.
        let _written = write!(uri, "/{page}");
    }
    uri
}

/// The id and page of a spill's URI.
#[must_use]
pub fn parse_uri(uri: &str) -> Option<(&str, usize)> {
    let rest = uri.strip_prefix("legation://spill/")?;
    let (id, page) = match rest.split_once('/') {
        Some((id, page)) => (id, page.parse().ok().filter(|page| *page > 1)?),
        None => (rest, 1),
    };
    let legal = !id.is_empty()
        && id
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    legal.then_some((id, page))
}

/// Cuts a text into pages of at most `page_bytes` (at least four), at the end of a line where one
/// is near. `None` when it fits into one.
#[must_use]
pub fn spill(id: &str, text: &str, page_bytes: usize) -> Option<Spill> {
    let limit = page_bytes.max(4);
    if text.len() <= limit {
        return None;
    }
    let mut pages = Vec::new();
    let mut rest = text;
    while rest.len() > limit {
        let end = rest.floor_char_boundary(limit);
        let line = rest[..end].rfind('\n').map(|at| at + 1);
        let end = line.filter(|line| *line > end / 2).unwrap_or(end);
        pages.push(rest[..end].to_owned());
        rest = &rest[end..];
    }
    if !rest.is_empty() {
        pages.push(rest.to_owned());
    }
    let head = &text[..text.floor_char_boundary(limit.min(1 << 10))];
    let stub = format!(
        "{head}\n[The result has {} bytes and was put aside in {} pages. Read {} to {} for all of it.]",
        text.len(),
        pages.len(),
        uri(id, 1),
        uri(id, pages.len()),
    );
    Some(Spill { pages, stub })
}
