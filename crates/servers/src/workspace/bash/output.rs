//! What a command said: its beginning and its end.

use std::collections::VecDeque;

/// Bytes kept of the beginning.
const HEAD: usize = 64 << 10;
/// Bytes kept of the end, which says how it went.
const TAIL: usize = 192 << 10;
/// Longest line that is shown while it runs.
const SHOWN: usize = 200;

#[derive(Debug, Default)]
pub(super) struct Output {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    cut: u64,
    feeds: u64,
    bytes: u64,
}

// === impl Output ===

impl Output {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.feeds += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        let room = HEAD - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        if let Some(over) = self.tail.len().checked_sub(TAIL) {
            self.tail.drain(..over);
            self.cut += over as u64;
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn lines(&self) -> u64 {
        self.feeds
    }

    pub(super) fn is_cut(&self) -> bool {
        self.cut > 0
    }

    /// All of it, or its beginning and its end.
    pub(super) fn text(&self) -> String {
        let (front, back) = self.tail.as_slices();
        let tail = [front, back].concat();
        if self.cut == 0 {
            return String::from_utf8_lossy(&[&self.head[..], &tail].concat()).into_owned();
        }
        let (head, tail) = (
            String::from_utf8_lossy(&self.head),
            String::from_utf8_lossy(&tail),
        );
        format!("{head}\n[{} bytes left out]\n{tail}", self.cut)
    }

    /// The last line that says something.
    pub(super) fn last_line(&self) -> String {
        let mut end: Vec<u8> = self.tail.iter().rev().take(SHOWN * 4).copied().collect();
        end.reverse();
        if end.is_empty() {
            let from = self.head.len().saturating_sub(SHOWN * 4);
            end = self.head[from..].to_vec();
        }
        let text = String::from_utf8_lossy(&end);
        let line = text.lines().rev().find(|line| !line.trim().is_empty());
        line.unwrap_or_default().chars().take(SHOWN).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        let mut output = Output::default();
        output.add(b"first\n");
        for _ in 0..40 {
            output.add(&[b'x'; 16 << 10]);
        }
        output.add(b"\nlast\n\n");
        let text = output.text();
        assert!(text.starts_with("first\nx") && text.ends_with("x\nlast\n\n"));
        assert!(
            output.is_cut() && text.len() <= HEAD + TAIL + 64,
            "{}",
            text.len()
        );
        let left_out = output.bytes() - (HEAD + TAIL) as u64;
        assert!(text.contains(&format!("[{left_out} bytes left out]")));
        assert_eq!((output.lines(), output.last_line().as_str()), (4, "last"));
    }
}
