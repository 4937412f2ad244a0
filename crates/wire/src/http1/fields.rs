//! Headers, however they are kept.

use http::header::{HeaderMap, HeaderName};

/// The headers of one request. A map of them costs an allocation and a hash for each, and is
/// worth it only where many are looked for; a server on the way of every call keeps their places
/// in the text they came in.
pub trait Fields {
    /// Calls `with` for every value under a name, whatever its case, in the order in which they
    /// came.
    fn each<'a>(&'a self, name: &HeaderName, with: impl FnMut(&'a [u8]));

    /// The one value under a name, without white space around it; `None` when there is none.
    ///
    /// # Errors
    /// There are more, or it is not visible ASCII and white space.
    fn sole<'a>(&'a self, name: &HeaderName) -> Result<Option<&'a str>, NotSole> {
        sole(self, name)
    }
}

/// What [`Fields::sole`] says where no more is known.
///
/// # Errors
/// As there.
pub fn sole<'a>(
    fields: &'a (impl Fields + ?Sized),
    name: &HeaderName,
) -> Result<Option<&'a str>, NotSole> {
    let mut found = None;
    let mut is_repeated = false;
    fields.each(name, |value| is_repeated |= found.replace(value).is_some());
    match found {
        _ if is_repeated => Err(NotSole::Repeated),
        None => Ok(None),
        Some(value) => text(trim(value)).map(Some).ok_or(NotSole::NoText),
    }
}

/// Why a header does not have one readable value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotSole {
    /// It has more than one.
    Repeated,
    /// It is no text.
    NoText,
}

fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// A header's value, if it is visible ASCII and white space.
pub fn text(value: &[u8]) -> Option<&str> {
    // Without a way out in between, many bytes are looked at at once.
    let is_text = value.iter().fold(true, |is_text, byte| {
        is_text & ((0x20..=0x7e).contains(byte) | (*byte == b'\t'))
    });
    if !is_text {
        return None;
    }
    std::str::from_utf8(value).ok()
}

// === impl HeaderMap ===

impl Fields for HeaderMap {
    fn each<'a>(&'a self, name: &HeaderName, with: impl FnMut(&'a [u8])) {
        let values = self.get_all(name).iter();
        values.map(http::HeaderValue::as_bytes).for_each(with);
    }
}
