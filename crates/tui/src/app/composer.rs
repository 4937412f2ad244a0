//! Where words are written.

/// Messages that can be had back.
const KEPT: usize = 200;

/// The text that is written, the place in it, and what was written before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Composer {
    text: String,
    /// In bytes, at the beginning of a character.
    at: usize,
    past: Vec<String>,
    /// Which of them is looked at, and what was being written.
    recalled: Option<(usize, String)>,
}

// === impl Composer ===

impl Composer {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Where the next character goes, in bytes.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Puts a text in place of what is written.
    pub(crate) fn set(&mut self, text: &str) {
        text.clone_into(&mut self.text);
        self.at = self.text.len();
        self.recalled = None;
    }

    /// Takes what is written.
    pub(crate) fn take(&mut self) -> String {
        self.at = 0;
        self.recalled = None;
        std::mem::take(&mut self.text)
    }

    /// Keeps a message, so that it can be had back.
    pub(crate) fn keep(&mut self, text: &str) {
        if self.past.last().is_none_or(|last| last != text) {
            self.past.push(text.to_owned());
        }
        let more = self.past.len().saturating_sub(KEPT);
        self.past.drain(..more);
    }

    /// The newest message that was kept and has this title, which ends with an ellipsis where it
    /// is only the beginning of the first line.
    pub(crate) fn kept(&self, title: &str) -> Option<&str> {
        let is_titled = |text: &str| {
            let line = text.trim().lines().next().unwrap_or_default().trim();
            match title.strip_suffix('…') {
                Some(beginning) => line.starts_with(beginning),
                None => line == title,
            }
        };
        let mut newest = self.past.iter().rev().map(|text| text.trim());
        newest.find(|text| is_titled(text))
    }

    pub(crate) fn insert(&mut self, text: &str) {
        self.text.insert_str(self.at, text);
        self.at += text.len();
    }

    pub(crate) fn backspace(&mut self) {
        let from = self.before();
        self.text.replace_range(from..self.at, "");
        self.at = from;
    }

    pub(crate) fn delete(&mut self) {
        let until = self.after();
        self.text.replace_range(self.at..until, "");
    }

    pub(crate) fn left(&mut self) {
        self.at = self.before();
    }

    pub(crate) fn right(&mut self) {
        self.at = self.after();
    }

    pub(crate) fn word_left(&mut self) {
        self.at = self.word_start();
    }

    pub(crate) fn word_right(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let word = rest
            .find(|sign: char| !sign.is_whitespace())
            .unwrap_or(rest.len());
        let end = rest
            .get(word..)
            .and_then(|rest| rest.find(char::is_whitespace))
            .map_or(rest.len(), |length| word + length);
        self.at += end;
    }

    /// Takes the word before the place away.
    pub(crate) fn rub_word(&mut self) {
        let from = self.word_start();
        self.text.replace_range(from..self.at, "");
        self.at = from;
    }

    pub(crate) fn home(&mut self) {
        self.at = self.line_start();
    }

    pub(crate) fn end(&mut self) {
        self.at = self.line_end();
    }

    /// Takes everything before the place in its line away.
    pub(crate) fn rub_line(&mut self) {
        let from = self.line_start();
        self.text.replace_range(from..self.at, "");
        self.at = from;
    }

    /// Takes everything behind the place in its line away.
    pub(crate) fn cut_line(&mut self) {
        let until = self.line_end();
        self.text.replace_range(self.at..until, "");
    }

    /// One line up; from the first, the message before.
    pub(crate) fn up(&mut self) {
        let start = self.line_start();
        if start == 0 {
            self.recall_older();
            return;
        }
        let column = self.column(start);
        let above = start - 1;
        let line = self.text.get(..above).and_then(|text| text.rfind('\n'));
        self.at = self.place(line.map_or(0, |at| at + 1), column);
    }

    /// One line down; from the last, the message after.
    pub(crate) fn down(&mut self) {
        let end = self.line_end();
        if end == self.text.len() {
            self.recall_newer();
            return;
        }
        let column = self.column(self.line_start());
        self.at = self.place(end + 1, column);
    }

    fn recall_older(&mut self) {
        let (next, written) = match &self.recalled {
            Some((0, _)) => return,
            Some((at, written)) => (*at - 1, written.clone()),
            None if self.past.is_empty() => return,
            None => (self.past.len() - 1, self.text.clone()),
        };
        self.look_at(next, written);
    }

    fn recall_newer(&mut self) {
        let Some((at, written)) = self.recalled.take() else {
            return;
        };
        match at + 1 < self.past.len() {
            true => self.look_at(at + 1, written),
            false => self.set(&written),
        }
    }

    fn look_at(&mut self, at: usize, written: String) {
        if let Some(text) = self.past.get(at).cloned() {
            self.set(&text);
            self.recalled = Some((at, written));
        }
    }

    fn before(&self) -> usize {
        let before = self.text.get(..self.at).unwrap_or_default();
        before.char_indices().next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        let rest = self.text.get(self.at..).unwrap_or_default();
        self.at + rest.chars().next().map_or(0, char::len_utf8)
    }

    fn word_start(&self) -> usize {
        let before = self.text.get(..self.at).unwrap_or_default();
        let word = before.trim_end();
        word.rfind(char::is_whitespace).map_or(0, |at| {
            at + word
                .get(at..)
                .and_then(|rest| rest.chars().next())
                .map_or(1, char::len_utf8)
        })
    }

    fn line_start(&self) -> usize {
        let before = self.text.get(..self.at).unwrap_or_default();
        before.rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        let rest = self.text.get(self.at..).unwrap_or_default();
        rest.find('\n').map_or(self.text.len(), |at| self.at + at)
    }

    /// Characters from the beginning of the line.
    fn column(&self, start: usize) -> usize {
        self.text
            .get(start..self.at)
            .map_or(0, |text| text.chars().count())
    }

    /// The place of a column in a line; its end where it is shorter.
    fn place(&self, start: usize, column: usize) -> usize {
        let line = self.text.get(start..).unwrap_or_default();
        let line = line.split('\n').next().unwrap_or_default();
        let length = line
            .char_indices()
            .nth(column)
            .map_or(line.len(), |(at, _)| at);
        start + length
    }
}
