//! Heads that come again.

use std::fmt;
use std::ops::Range;

use super::digits;

/// A head that was read, to be known again: who sends many says the same in each but for how long its body is.
#[derive(Clone, Default)]
pub struct Again {
    text: Vec<u8>,
    /// Where the digits of its `Content-Length` stand; empty where it has none.
    length: Range<usize>,
}

// === impl Again ===

impl Again {
    /// Takes in a whole head, its empty line included. `length` is where the digits of its only
    /// `Content-Length` stand, if it has one.
    pub fn set(&mut self, text: &[u8], length: Range<usize>) {
        self.text.clear();
        self.text.extend_from_slice(text);
        self.length = length;
    }

    /// Knows no head any more.
    pub fn clear(&mut self) {
        self.text.clear();
        self.length = 0..0;
    }

    /// The head's text.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Whether `text` begins with this head to the byte, but for other digits of the same number in its
    /// `Content-Length`, which are taken over. Then, how long the body is said to be. How long it takes to tell says nothing of what stands in the
    /// head, credentials among others.
    pub fn begins(&mut self, text: &[u8]) -> Option<Option<u64>> {
        let text = text.get(..self.text.len())?;
        if text.is_empty() {
            return None;
        }
        let Range { start, end } = self.length;
        let is_same =
            same(&text[..start], &self.text[..start]) & same(&text[end..], &self.text[end..]);
        if !is_same {
            return None;
        }
        if start == end {
            return Some(None);
        }
        let length = digits(&text[start..end])?;
        self.text[start..end].copy_from_slice(&text[start..end]);
        Some(Some(length))
    }
}

impl fmt::Debug for Again {
    /// Without the text, in which credentials stand.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Again")
            .field("bytes", &self.text.len())
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

/// Whether two texts of one length are the same, in time that depends on nothing else.
fn same(one: &[u8], other: &[u8]) -> bool {
    let pairs = one.iter().zip(other);
    pairs.fold(0, |differ, (one, other)| differ | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(text: &str) -> Again {
        let length = text.find("120").map_or(0..0, |at| at..at + 3);
        let mut again = Again::default();
        again.set(text.as_bytes(), length);
        again
    }

    #[test]
    fn a_head_is_known_again_but_for_its_length() {
        let text = "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 120\r\nAuthorization: Bearer a\r\n\r\n";
        let mut again = known(text);
        for (digits, length) in [("120", 120), ("007", 7), ("999", 999)] {
            let next = text.replace("120", digits);
            for next in [next.clone(), next.clone() + "what follows"] {
                assert_eq!(again.begins(next.as_bytes()), Some(Some(length)));
                assert_eq!(again.text(), &next.as_bytes()[..text.len()]);
            }
        }
        for other in [
            &text[..text.len() - 1],
            "",
            &text.replace("120", "1e3"),
            &text.replace("120", "+20"),
            &text.replace("120", "1200"),
            &text.replace("120", "12"),
            &text.replace("Bearer a", "Bearer b"),
            &text.replace("POST", "post"),
            &text.replace("Host", "host"),
        ] {
            assert_eq!(known(text).begins(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn what_stands_in_a_head_is_not_printed() {
        let again = known("POST /mcp HTTP/1.1\r\nAuthorization: Bearer a1b2\r\n\r\n");
        let printed = format!("{again:?}");
        assert_eq!(printed, "Again { bytes: 50, length: 0..0, .. }");
    }

    #[test]
    fn a_head_without_a_length_is_known_as_a_whole_and_none_is_never() {
        let text = "GET /mcp HTTP/1.1\r\nHost: x\r\n\r\n";
        assert_eq!(known(text).begins(text.as_bytes()), Some(None));
        assert_eq!(known(text).begins(text.replace('x', "y").as_bytes()), None);
        let mut again = known(text);
        again.clear();
        assert_eq!(again.begins(text.as_bytes()), None);
        assert_eq!(again.begins(b""), None);
    }
}
