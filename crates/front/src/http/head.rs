//! The head of a request: where it ends, what it says, and how its body is
//! framed (RFC 9112).
//!
//! What could be read in more than one way is refused and its connection
//! closed, also where the specification would allow a guess: whoever stands
//! between a client and the hub may have guessed otherwise.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::OnceLock;

use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, Method, StatusCode};
use legation_wire::headers;
use legation_wire::http1::{self, Again, Fields, Framing, NotSole, digits, place};

/// Longest head of a request, in bytes, and most of its headers.
pub(super) const HEAD_MAX: usize = 64 * 1024;
const HEADERS_MAX: usize = 100;
/// How many empty lines may stand before a request (RFC 9112, section 2.2).
const EMPTY_MAX: usize = 4;

/// What every message of the modern era repeats of its body: looked for once in a head that comes
/// again and again.
static MIRRORS: [HeaderName; 3] = [headers::PROTOCOL_VERSION, headers::METHOD, headers::NAME];

/// A request's head, in its own text.
#[derive(Debug, Default)]
pub(super) struct Head {
    /// As it came.
    came: Again,
    pub(super) method: Method,
    target: Range<usize>,
    fields: Vec<Field>,
    /// The values of [`MIRRORS`], once one was asked for.
    mirrors: OnceLock<[Result<Option<Box<str>>, NotSole>; 3]>,
    /// How the request's body is framed.
    pub(super) framing: Option<Framing>,
    /// HTTP/1.1, and not 1.0.
    pub(super) is_11: bool,
    /// The client would use the connection again.
    pub(super) keep: bool,
    /// The client waits for `100 Continue` before it sends the body.
    pub(super) expects: bool,
}

/// Where a header stands.
#[derive(Debug)]
struct Field {
    name: Place,
    value: Place,
}

/// A part of a head's text, which is too short for more.
#[derive(Debug, Clone, Copy)]
struct Place {
    start: u32,
    end: u32,
}

/// What a request is about (RFC 9112, section 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target<'a> {
    /// The host of an address in full.
    pub(super) authority: Option<&'a str>,
    pub(super) path: &'a str,
    pub(super) query: Option<&'a str>,
}

/// A head that is answered with an error; the connection ends with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadHead {
    /// It is longer than allowed, or has too many headers.
    #[error("the request's head is too long")]
    TooLong,
    /// It is no HTTP/1.
    #[error("the request's head is malformed")]
    Malformed,
    /// It is of another version of HTTP.
    #[error("only HTTP/1.0 and HTTP/1.1 are spoken here")]
    Version,
    /// A line ends with a line feed alone.
    #[error("a line of the request's head has a bare line feed")]
    BareLineFeed,
    /// How long the body is cannot be told, or could be told in two ways.
    #[error("the length of the request's body is unclear")]
    Length,
    /// A transfer coding other than `chunked`.
    #[error("the request has a transfer coding that is not known here")]
    Coding,
    /// An expectation other than `100-continue`.
    #[error("the request expects what is not known here")]
    Expectation,
}

/// The end of a head, found piece by piece.
#[derive(Debug, Default)]
pub(super) struct Finder {
    /// Up to here it has been looked for.
    seen: usize,
    /// Where the line begins that is being looked at.
    line: usize,
    /// Empty lines before the request.
    empty: usize,
}

// === impl BadHead ===

impl BadHead {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::TooLong => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::Malformed | Self::BareLineFeed | Self::Length => StatusCode::BAD_REQUEST,
            Self::Version => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            Self::Coding => StatusCode::NOT_IMPLEMENTED,
            Self::Expectation => StatusCode::EXPECTATION_FAILED,
        }
    }
}

// === impl Finder ===

impl Finder {
    /// Where the head at the beginning of `text` ends; `None` when the rest of
    /// it has not come yet. To be shown the same text again with more behind it.
    ///
    /// # Errors
    /// It cannot become one.
    pub(super) fn find(&mut self, text: &[u8]) -> Result<Option<usize>, BadHead> {
        while let Some(next) = memchr::memchr(b'\n', &text[self.seen..]) {
            let end = self.seen + next;
            if end == self.line || text[end - 1] != b'\r' {
                return Err(BadHead::BareLineFeed);
            }
            let is_empty = end - 1 == self.line;
            let is_first = self.line == 2 * self.empty;
            self.seen = end + 1;
            self.line = end + 1;
            match (is_empty, is_first) {
                (true, true) if self.empty == EMPTY_MAX => return Err(BadHead::Malformed),
                (true, true) => self.empty += 1,
                (true, false) if end < HEAD_MAX => return Ok(Some(end + 1)),
                (true, false) => return Err(BadHead::TooLong),
                (false, _) => {}
            }
        }
        self.seen = text.len();
        if text.len() >= HEAD_MAX {
            return Err(BadHead::TooLong);
        }
        Ok(None)
    }
}

// === impl Head ===

impl Head {
    /// Forgets what was read.
    pub(super) fn clear(&mut self) {
        self.came.clear();
        self.fields.clear();
        self.mirrors = OnceLock::new();
        self.method = Method::GET;
        self.target = 0..0;
        self.framing = None;
        self.is_11 = true;
        self.keep = false;
        self.expects = false;
    }

    /// How long it is, in bytes.
    pub(super) fn length(&self) -> usize {
        self.came.text().len()
    }

    /// How long the head at the beginning of `text` is, if it is this one, which was read, but for
    /// the length of the body; that is taken over.
    pub(super) fn again(&mut self, text: &[u8]) -> Option<usize> {
        if let Some(length) = self.came.begins(text)? {
            self.framing = Some(Framing::Length(length));
        }
        Some(self.length())
    }

    /// Reads a whole head into this one's room, which was cleared.
    ///
    /// # Errors
    /// It is none, or could be read in more than one way.
    pub(super) fn read(&mut self, text: &[u8]) -> Result<(), BadHead> {
        let mut places = [const { MaybeUninit::uninit() }; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut []);
        let parsed = request.parse_with_uninit_headers(text, &mut places);
        match parsed {
            Ok(httparse::Status::Complete(length)) if length == text.len() => {}
            Err(httparse::Error::TooManyHeaders) => return Err(BadHead::TooLong),
            Err(httparse::Error::Version) => return Err(BadHead::Version),
            Ok(_) | Err(_) => return Err(BadHead::Malformed),
        }
        let (method, target) = (request.method, request.path);
        let method = method.ok_or(BadHead::Malformed)?;
        self.method = Method::from_bytes(method.as_bytes()).map_err(|_| BadHead::Malformed)?;
        self.target = place(text, target.ok_or(BadHead::Malformed)?.as_bytes());
        self.is_11 = request.version == Some(1);
        self.keep = self.is_11;
        let mut length = None;
        let mut length_at = 0..0;
        let mut is_chunked = false;
        for field in request.headers.iter() {
            let (name, value) = (field.name, field.value.trim_ascii());
            self.fields.push(Field {
                name: place(text, name.as_bytes()).into(),
                value: place(text, value).into(),
            });
            if is(name, &header::CONTENT_LENGTH) {
                if length.replace(content_length(value)?).is_some() {
                    return Err(BadHead::Length);
                }
                length_at = place(text, value);
            } else if is(name, &header::TRANSFER_ENCODING) {
                coding(value, self.is_11 && !is_chunked)?;
                is_chunked = true;
            } else if is(name, &header::CONNECTION) {
                self.connection(value);
            } else if is(name, &header::EXPECT) {
                if !value.eq_ignore_ascii_case(b"100-continue") {
                    return Err(BadHead::Expectation);
                }
                // HTTP/1.0 knows no interim answers (RFC 9110, section 10.1.1).
                self.expects = self.is_11;
            }
        }
        self.framing = match (is_chunked, length) {
            (true, Some(_)) => return Err(BadHead::Length),
            (true, None) => Some(Framing::Chunked),
            (false, length) => length.map(Framing::Length),
        };
        self.came.set(text, length_at);
        Ok(())
    }

    fn connection(&mut self, value: &[u8]) {
        for option in value.split(|byte| *byte == b',') {
            let option = option.trim_ascii();
            if option.eq_ignore_ascii_case(b"close") {
                self.keep = false;
            } else if option.eq_ignore_ascii_case(b"keep-alive") && !self.is_11 {
                self.keep = true;
            }
        }
    }

    /// What the request is about.
    ///
    /// # Errors
    /// It is none of the forms that a server has to know.
    pub(super) fn target(&self) -> Result<Target<'_>, BadHead> {
        let text = self.came.text().get(self.target.clone());
        let text = text.and_then(|text| std::str::from_utf8(text).ok());
        Target::parse(text.unwrap_or_default()).ok_or(BadHead::Malformed)
    }

    /// Its headers in a map, for those who are asked too rarely to read the text.
    pub(super) fn to_map(&self) -> HeaderMap {
        let fields = self.fields.iter().filter_map(|field| {
            let name = HeaderName::from_bytes(self.part(field.name)).ok()?;
            let value = HeaderValue::from_bytes(self.part(field.value)).ok()?;
            Some((name, value))
        });
        let mut map = HeaderMap::with_capacity(self.fields.len());
        for (name, value) in fields {
            map.append(name, value);
        }
        map
    }

    fn part(&self, place: Place) -> &[u8] {
        &self.came.text()[place.range()]
    }
}

impl Fields for Head {
    fn each<'a>(&'a self, name: &HeaderName, mut with: impl FnMut(&'a [u8])) {
        let name = name.as_str().as_bytes();
        for field in &self.fields {
            // The text is only looked at where it may be the one.
            if field.name.range().len() == name.len()
                && self.part(field.name).eq_ignore_ascii_case(name)
            {
                with(self.part(field.value));
            }
        }
    }

    fn sole<'a>(&'a self, name: &HeaderName) -> Result<Option<&'a str>, NotSole> {
        let Some(at) = MIRRORS.iter().position(|mirror| mirror == name) else {
            return http1::sole(self, name);
        };
        let mirrors = self.mirrors.get_or_init(|| {
            let value =
                |at: usize| http1::sole(self, &MIRRORS[at]).map(|value| value.map(Box::from));
            std::array::from_fn(value)
        });
        mirrors[at]
            .as_ref()
            .map_or_else(|no| Err(*no), |value| Ok(value.as_deref()))
    }
}

// === impl Place ===

impl Place {
    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl From<Range<usize>> for Place {
    fn from(range: Range<usize>) -> Self {
        let short = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self {
            start: short(range.start),
            end: short(range.end),
        }
    }
}

// === impl Target ===

impl<'a> Target<'a> {
    /// Reads a target; `None` for what only a proxy is asked.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        // A fragment is the client's own business (RFC 9110, section 4.2.5).
        if text.contains('#') {
            return None;
        }
        let (authority, rest) = if text.starts_with('/') || text == "*" {
            (None, text)
        } else {
            let (scheme, rest) = text.split_once("://")?;
            if !(scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")) {
                return None;
            }
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            let (authority, rest) = rest.split_at(end);
            (Some(authority), rest)
        };
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (rest, None),
        };
        Some(Self {
            authority,
            path: if path.is_empty() { "/" } else { path },
            query,
        })
    }
}

fn is(name: &str, wanted: &HeaderName) -> bool {
    name.eq_ignore_ascii_case(wanted.as_str())
}

fn content_length(value: &[u8]) -> Result<u64, BadHead> {
    digits(value).ok_or(BadHead::Length)
}

/// Checks a `Transfer-Encoding`, of which there may be one, from HTTP/1.1 on.
fn coding(value: &[u8], allowed: bool) -> Result<(), BadHead> {
    let last = value.rsplit(|byte| *byte == b',').next();
    let ends = last.is_some_and(|last| last.trim_ascii().eq_ignore_ascii_case(b"chunked"));
    if !allowed || !ends {
        return Err(BadHead::Length);
    }
    if value.eq_ignore_ascii_case(b"chunked") {
        Ok(())
    } else {
        Err(BadHead::Coding)
    }
}

#[cfg(test)]
mod tests;
