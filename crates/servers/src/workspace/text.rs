//! Texts of files: their encoding and their line endings.

/// How a file's text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Utf8Bom,
    Utf16Le,
    Utf16Be,
    /// Every byte is a letter: for what is text and not UTF-8. Nothing is lost
    /// on the way there and back.
    Latin1,
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

// === impl Encoding ===

impl Encoding {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Utf8 | Self::Utf8Bom => "utf-8",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
            Self::Latin1 => "latin-1",
        }
    }
}

/// The text of a file, or `None` where it is none.
pub(super) fn decode(bytes: &[u8]) -> Option<(String, Encoding)> {
    if let Some(rest) = bytes.strip_prefix(BOM) {
        let text = String::from_utf8(rest.to_vec()).ok()?;
        return Some((text, Encoding::Utf8Bom));
    }
    for (mark, encoding) in [
        (b"\xFF\xFE", Encoding::Utf16Le),
        (b"\xFE\xFF", Encoding::Utf16Be),
    ] {
        if let Some(rest) = bytes.strip_prefix(mark) {
            return Some((utf16(rest, encoding)?, encoding));
        }
    }
    if bytes.contains(&0) {
        return None;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Some((text.to_owned(), Encoding::Utf8)),
        Err(_) if looks_like_text(bytes) => {
            let text = bytes.iter().map(|byte| char::from(*byte)).collect();
            Some((text, Encoding::Latin1))
        }
        Err(_) => None,
    }
}

/// The bytes of a text, or `None` where the encoding lacks one of its letters.
pub(super) fn encode(text: &str, encoding: Encoding) -> Option<Vec<u8>> {
    let units = |to: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(to);
    Some(match encoding {
        Encoding::Utf8 => text.as_bytes().to_vec(),
        Encoding::Utf8Bom => [BOM, text.as_bytes()].concat(),
        Encoding::Utf16Le => b"\xFF\xFE"
            .iter()
            .copied()
            .chain(units(u16::to_le_bytes))
            .collect(),
        Encoding::Utf16Be => b"\xFE\xFF"
            .iter()
            .copied()
            .chain(units(u16::to_be_bytes))
            .collect(),
        Encoding::Latin1 => text
            .chars()
            .map(|letter| u8::try_from(u32::from(letter)).ok())
            .collect::<Option<_>>()?,
    })
}

/// Whether every line ends with CR LF, and there is one.
pub(super) fn is_crlf(text: &str) -> bool {
    let feeds = text.matches('\n').count();
    feeds > 0 && text.matches("\r\n").count() == feeds
}

/// The text with every line ending as LF.
pub(super) fn with_lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// The text, whose lines end with LF, with every line ending as CR LF.
pub(super) fn with_crlf(text: &str) -> String {
    text.replace('\n', "\r\n")
}

fn utf16(bytes: &[u8], encoding: Encoding) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let units = pairs.iter().map(|pair| match encoding {
        Encoding::Utf16Be => u16::from_be_bytes(*pair),
        _ => u16::from_le_bytes(*pair),
    });
    char::decode_utf16(units).collect::<Result<_, _>>().ok()
}

/// Text in an older encoding has few control characters; programs and pictures
/// have many.
fn looks_like_text(bytes: &[u8]) -> bool {
    let control = |byte: &&u8| matches!(byte, 0..=8 | 14..=26 | 28..=31 | 127);
    bytes.iter().filter(control).count() * 50 <= bytes.len()
}
