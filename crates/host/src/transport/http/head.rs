//! The head of an answer, and how its body is framed (RFC 9112).

use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;

use http::HeaderValue;
use legation_wire::headers;
use legation_wire::http1::{Again, Framing, digits, place};

/// Longest head of an answer, in bytes, and most of its headers.
const HEAD_MAX: usize = 64 * 1024;
const HEADERS_MAX: usize = 128;
/// Longest head that is remembered.
const KEPT_MAX: usize = 2 * 1024;

/// What an answer says before its body.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) kind: Kind,
    pub(super) framing: Framing,
    /// The connection may serve another request.
    pub(super) keep: bool,
    /// The body is compressed, or otherwise not what it stands for.
    pub(super) encoded: bool,
    /// `Location`.
    pub(super) location: Option<Box<str>>,
    /// `WWW-Authenticate`.
    pub(super) challenge: Option<String>,
    /// `DPoP-Nonce` (RFC 9449, section 9).
    pub(super) nonce: Option<Box<str>>,
    /// `Mcp-Session-Id`.
    pub(super) session: Option<HeaderValue>,
}

/// What a body is said to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Json,
    Events,
    /// Anything else, as it was sent.
    Other(Box<str>),
}

/// The last head of a connection. A server says the same before most answers but for how long
/// they are and, once a second, when.
#[derive(Debug, Default)]
pub(super) struct Last {
    came: Again,
    head: Option<Head>,
}

// === impl Last ===

impl Last {
    /// Reads a head that stands at the beginning of `text`, and how long it
    /// is; `None` when the rest of it has not come yet.
    ///
    /// # Errors
    /// What stands there is no HTTP/1, or could be read in more than one way.
    pub(super) fn parse(&mut self, text: &[u8]) -> io::Result<Option<(Head, usize)>> {
        if let Some(head) = &mut self.head
            && let Some(length) = self.came.begins(text)
        {
            if let Some(length) = length {
                head.framing = Framing::Length(length);
            }
            return Ok(Some((head.clone(), self.came.text().len())));
        }
        let Some((head, length, length_at)) = Head::read(text)? else {
            return Ok(None);
        };
        let is_kept = head.is_plain() && length <= KEPT_MAX;
        self.head = is_kept.then(|| head.clone());
        if is_kept {
            self.came.set(&text[..length], length_at);
        }
        Ok(Some((head, length)))
    }
}

// === impl Head ===

impl Head {
    /// Whether it says nothing but how an answer is framed.
    fn is_plain(&self) -> bool {
        // Of other statuses some have no body, whatever length they say.
        self.status == 200
            && !matches!(self.kind, Kind::Other(_))
            && self.location.is_none()
            && self.challenge.is_none()
            && self.nonce.is_none()
            && self.session.is_none()
    }

    /// The head, how long it is, and where the digits of its length stand, if that is said once.
    fn read(text: &[u8]) -> io::Result<Option<(Self, usize, Range<usize>)>> {
        let mut fields = [const { MaybeUninit::uninit() }; HEADERS_MAX];
        let mut answer = httparse::Response::new(&mut []);
        let parser = httparse::ParserConfig::default();
        let parsed = parser.parse_response_with_uninit_headers(&mut answer, text, &mut fields);
        let length = match parsed {
            Ok(httparse::Status::Complete(length)) if length <= HEAD_MAX => length,
            Ok(httparse::Status::Partial) if text.len() < HEAD_MAX => return Ok(None),
            Ok(_) => return Err(bad("the answer's head is too long")),
            Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        };
        let (Some(status), Some(version)) = (answer.code, answer.version) else {
            return Err(bad("the answer has no status"));
        };
        let mut head = Self {
            status,
            kind: Kind::Other(Box::default()),
            framing: Framing::Close,
            keep: version == 1,
            encoded: false,
            location: None,
            challenge: None,
            nonce: None,
            session: None,
        };
        let mut length_said = None;
        let mut length_at = 0..0;
        let mut chunked = false;
        for field in answer.headers.iter() {
            let (name, value) = (field.name, field.value.trim_ascii());
            if is(name, "content-length") {
                length_at = match length_said {
                    None => place(text, value),
                    Some(_) => 0..0,
                };
                length_said = Some(content_length(length_said, value)?);
            } else if is(name, "transfer-encoding") {
                // Others were not asked for (`TE`), nor is there one twice.
                if chunked || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(bad("the answer has a transfer coding that is not known"));
                }
                chunked = true;
            } else {
                head.field(name, value);
            }
        }
        head.framing = match (status, chunked, length_said) {
            (100..=199 | 204 | 304, _, _) => Framing::Length(0),
            (_, true, None) if version == 1 => Framing::Chunked,
            (_, true, _) => return Err(bad("the answer's length is said in two ways")),
            (_, false, Some(length)) => Framing::Length(length),
            (_, false, None) => Framing::Close,
        };
        head.keep &= head.framing != Framing::Close && status != 101;
        Ok(Some((head, length, length_at)))
    }

    fn field(&mut self, name: &str, value: &[u8]) {
        let text = || std::str::from_utf8(value).ok();
        if is(name, "content-type") {
            self.kind = Kind::read(text().unwrap_or_default());
        } else if is(name, "connection") {
            let mut options = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
            if options.any(|option| option.eq_ignore_ascii_case(b"close")) {
                self.keep = false;
            }
        } else if is(name, "content-encoding") {
            self.encoded |= !value.eq_ignore_ascii_case(b"identity");
        } else if is(name, "location") {
            self.location = text().map(Into::into);
        } else if is(name, "www-authenticate") {
            // Several are one list (RFC 9110, section 5.3).
            match (&mut self.challenge, text()) {
                (Some(before), Some(more)) => {
                    before.push_str(", ");
                    before.push_str(more);
                }
                (before, Some(first)) => *before = Some(first.to_owned()),
                (_, None) => {}
            }
        } else if is(name, "dpop-nonce") {
            self.nonce = text().map(Into::into);
        } else if is(name, headers::SESSION_ID.as_str()) {
            self.session = HeaderValue::from_bytes(value).ok();
        }
    }

    /// Whether the real answer follows (RFC 9110, section 15.2).
    pub(super) fn is_interim(&self) -> bool {
        (100..200).contains(&self.status) && self.status != 101
    }
}

// === impl Kind ===

impl Kind {
    fn read(text: &str) -> Self {
        let essence = text.split(';').next().unwrap_or("").trim();
        if essence.eq_ignore_ascii_case("application/json") {
            Self::Json
        } else if essence.eq_ignore_ascii_case("text/event-stream") {
            Self::Events
        } else {
            Self::Other(text.into())
        }
    }
}

fn is(name: &str, wanted: &str) -> bool {
    name.eq_ignore_ascii_case(wanted)
}

/// A `Content-Length`, which may be repeated but not with another number.
fn content_length(before: Option<u64>, value: &[u8]) -> io::Result<u64> {
    match (before, digits(value)) {
        (None, Some(length)) => Ok(length),
        (Some(before), Some(length)) if before == length => Ok(length),
        _ => Err(bad("the answer's Content-Length makes no sense")),
    }
}

pub(super) fn bad(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests;
