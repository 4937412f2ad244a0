//! The values that hold no others: strings, numbers and words.

use super::Scanner;
use crate::json::error::{JsonError, JsonFault};
use crate::json::text::{find_special, hex4};

impl Scanner<'_> {
    /// Reads up to and including the closing quote; whether anything was escaped.
    #[inline]
    pub(super) fn string(&mut self, key: bool) -> Result<bool, JsonError> {
        self.at = find_special(self.text, self.at);
        if self.text.get(self.at) == Some(&b'"') {
            self.at += 1;
            return Ok(false);
        }
        self.special_string(key)
    }

    /// As [`Scanner::string`], from the first character on that does not stand for itself.
    #[cold]
    fn special_string(&mut self, key: bool) -> Result<bool, JsonError> {
        let mut escaped = false;
        loop {
            self.at = find_special(self.text, self.at);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Ok(escaped);
                }
                b'\\' => {
                    escaped = true;
                    self.escape(key)?;
                }
                _ => return Err(self.fault(JsonFault::ControlCharacter)),
            }
        }
    }

    fn escape(&mut self, key: bool) -> Result<(), JsonError> {
        let Some(&kind) = self.text.get(self.at + 1) else {
            self.at = self.text.len();
            return Err(self.fault(JsonFault::UnexpectedEnd));
        };
        match kind {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {
                self.at += 2;
                Ok(())
            }
            b'u' => {
                let code = self.hex(self.at + 2)?;
                match code {
                    0 if key => return Err(self.fault(JsonFault::NulInKey)),
                    0xdc00..=0xdfff => return Err(self.fault(JsonFault::LoneSurrogate)),
                    0xd800..=0xdbff => {
                        let low = self.text.get(self.at + 6..self.at + 8) == Some(b"\\u");
                        if !low || !matches!(self.hex(self.at + 8)?, 0xdc00..=0xdfff) {
                            return Err(self.fault(JsonFault::LoneSurrogate));
                        }
                        self.at += 12;
                    }
                    _ => self.at += 6,
                }
                Ok(())
            }
            _ => Err(self.fault(JsonFault::BadEscape)),
        }
    }

    fn hex(&self, at: usize) -> Result<u32, JsonError> {
        hex4(self.text, at).ok_or_else(|| self.fault(JsonFault::BadEscape))
    }

    pub(super) fn number(&mut self) -> Result<(), JsonError> {
        let offset = self.at;
        let bad = || JsonError {
            offset,
            fault: JsonFault::BadNumber,
        };
        if self.text[self.at] == b'-' {
            self.at += 1;
        }
        let leading_zero = self.text.get(self.at) == Some(&b'0');
        let whole = self.digits();
        if whole == 0 || (leading_zero && whole > 1) {
            return Err(bad());
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            if self.digits() == 0 {
                return Err(bad());
            }
        }
        if matches!(self.text.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.text.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return Err(bad());
            }
        }
        Ok(())
    }

    /// Skips decimal digits; how many there were.
    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        self.at - start
    }

    pub(super) fn word(&mut self, word: &[u8]) -> Result<(), JsonError> {
        for expected in word {
            if self.text.get(self.at) != Some(expected) {
                return Err(self.unexpected());
            }
            self.at += 1;
        }
        Ok(())
    }
}
