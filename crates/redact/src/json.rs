//! JSON as it is written: which literals a document has and where.
//!
//! Documents are changed in place, literal by literal, so that numbers, order, spaces and repeated
//! members stay as they were sent, and so that depth costs no stack.

/// A string or number of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Literal {
    /// Its first byte, the quote included.
    pub(crate) start: usize,
    /// The byte behind it.
    pub(crate) end: usize,
    /// Whether it is the key of a member.
    pub(crate) key: bool,
    /// Whether it is a number.
    pub(crate) number: bool,
    /// The key it stands under, as an index of the list; items stand under their array's key.
    pub(crate) under: Option<usize>,
    /// The array or object it stands in; 0 is the document itself.
    pub(crate) container: usize,
}

/// The strings of a document; `None` where it is no JSON.
pub(crate) fn strings(document: &str) -> Option<Vec<Literal>> {
    let mut literals = literals(document)?;
    literals.retain(|literal| !literal.number);
    Some(literals)
}

/// The strings and numbers of a document, in their order; `None` where it is no JSON.
pub(crate) fn literals(document: &str) -> Option<Vec<Literal>> {
    let mut scanner = Scanner {
        bytes: document.as_bytes(),
        at: 0,
        found: Vec::new(),
        open: vec![],
        containers: 0,
    };
    scanner.document().then_some(scanner.found)
}

/// What a string literal means; `None` where it is no text (a lone surrogate).
pub(crate) fn decode(literal: &str) -> Option<String> {
    serde_json::from_str(literal).ok()
}

/// A text as a string literal.
pub(crate) fn encode(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

/// An array or object that is open.
struct Open {
    object: bool,
    number: usize,
    /// The key it stands under, and for an object the last key that was read.
    under: Option<usize>,
    key: Option<usize>,
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    found: Vec<Literal>,
    open: Vec<Open>,
    containers: usize,
}

// === impl Scanner ===

impl Scanner<'_> {
    /// Reads all of it; whether it is JSON.
    fn document(&mut self) -> bool {
        loop {
            // A value begins here.
            match self.next() {
                Some(b'{') => {
                    self.enter(true);
                    if self.peek() == Some(b'}') {
                        self.at += 1;
                        self.open.pop();
                    } else if self.key() {
                        continue;
                    } else {
                        return false;
                    }
                }
                Some(b'[') => {
                    self.enter(false);
                    if self.peek() == Some(b']') {
                        self.at += 1;
                        self.open.pop();
                    } else {
                        continue;
                    }
                }
                Some(b'"') if self.string(false) => {}
                Some(b'-' | b'0'..=b'9') => self.number(),
                Some(b't') if self.word(b"rue") => {}
                Some(b'f') if self.word(b"alse") => {}
                Some(b'n') if self.word(b"ull") => {}
                _ => return false,
            }
            match self.after() {
                Some(true) => {}
                Some(false) => return true,
                None => return false,
            }
        }
    }

    /// Reads what follows a value: whether another one does, `None` where neither may be.
    fn after(&mut self) -> Option<bool> {
        loop {
            let Some(open) = self.open.last() else {
                return self.peek().is_none().then_some(false);
            };
            let object = open.object;
            match (self.next()?, object) {
                (b',', true) => return self.key().then_some(true),
                (b',', false) => return Some(true),
                (b'}', true) | (b']', false) => {
                    self.open.pop();
                }
                _ => return None,
            }
        }
    }

    fn enter(&mut self, object: bool) {
        self.containers += 1;
        let under = self.under();
        self.open.push(Open {
            object,
            number: self.containers,
            under,
            key: None,
        });
    }

    fn under(&self) -> Option<usize> {
        self.open.last().and_then(|open| open.key.or(open.under))
    }

    /// Reads a member's key and its colon.
    fn key(&mut self) -> bool {
        if self.next() != Some(b'"') || !self.string(true) {
            return false;
        }
        let key = self.found.len() - 1;
        if let Some(open) = self.open.last_mut() {
            open.key = Some(key);
        }
        self.next() == Some(b':')
    }

    /// Reads the rest of a string whose quote was taken.
    fn string(&mut self, key: bool) -> bool {
        let start = self.at - 1;
        while let Some(&byte) = self.bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'"' => {
                    self.keep(start, key, false);
                    return true;
                }
                b'\\' => self.at += 1,
                0..=0x1f => return false,
                _ => {}
            }
        }
        false
    }

    fn number(&mut self) {
        let start = self.at - 1;
        while self
            .bytes
            .get(self.at)
            .is_some_and(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
        {
            self.at += 1;
        }
        self.keep(start, false, true);
    }

    fn keep(&mut self, start: usize, key: bool, number: bool) {
        let literal = Literal {
            start,
            end: self.at,
            key,
            number,
            under: if key { None } else { self.under() },
            container: self.open.last().map_or(0, |open| open.number),
        };
        self.found.push(literal);
    }

    fn word(&mut self, rest: &[u8]) -> bool {
        let whole = self.bytes[self.at..].starts_with(rest);
        self.at += rest.len();
        whole
    }

    fn skip(&mut self) {
        while self
            .bytes
            .get(self.at)
            .is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
        {
            self.at += 1;
        }
    }

    fn next(&mut self) -> Option<u8> {
        self.skip();
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn peek(&mut self) -> Option<u8> {
        self.skip();
        self.bytes.get(self.at).copied()
    }
}
