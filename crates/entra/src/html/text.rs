//! From pieces to lines.

use super::Piece;
use super::pieces::picture;

#[derive(Default)]
struct Lines {
    text: String,
    /// Levels of quotation, each of which begins every line.
    quotes: usize,
    /// Lists that are open: the next number, or none for dots.
    lists: Vec<Option<u32>>,
    links: Vec<(usize, String)>,
    pre: usize,
    /// A space is due before the next word.
    space: bool,
    cells: usize,
}

pub(super) fn write(pieces: &[Piece], name: &dyn Fn(&str) -> Option<String>) -> String {
    let mut lines = Lines::default();
    for piece in pieces {
        match piece {
            Piece::Open { tag, href } => lines.open(tag, href.as_deref()),
            Piece::Close { tag } => lines.close(tag),
            Piece::Void { tag: "hr" } => {
                lines.line();
                lines.word("---");
                lines.line();
            }
            Piece::Void { .. } => lines.end_line(),
            Piece::Text(text) if lines.pre > 0 => lines.verbatim(text),
            Piece::Text(text) => lines.words(text),
            Piece::Mention { name, .. } => {
                lines.word(&format!("@{}", name.trim_start_matches('@')))
            }
            Piece::Attachment { id } => {
                let name = name(id).unwrap_or_else(|| "attachment".to_owned());
                lines.word(&format!("[{name}]"));
            }
            Piece::Picture { alt, .. } | Piece::NoPicture { alt } => lines.word(&picture(alt)),
        }
    }
    lines.finish()
}

// === impl Lines ===

impl Lines {
    fn open(&mut self, tag: &str, href: Option<&str>) {
        match tag {
            "p" | "div" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "table" => self.line(),
            "blockquote" => {
                self.line();
                self.quotes += 1;
            }
            "pre" => {
                self.line();
                self.pre += 1;
            }
            "ul" => {
                self.line();
                self.lists.push(None);
            }
            "ol" => {
                self.line();
                self.lists.push(Some(1));
            }
            "li" => self.item(),
            "tr" => {
                self.line();
                self.cells = 0;
            }
            "td" | "th" => {
                if self.cells > 0 {
                    self.word(" |");
                    self.space = true;
                }
                self.cells += 1;
            }
            "a" => {
                if let Some(href) = href {
                    self.flush_space();
                    self.links.push((self.text.len(), href.to_owned()));
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, tag: &str) {
        match tag {
            "p" | "div" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "table" | "tr" | "li" => {
                self.line();
            }
            "blockquote" => {
                self.line();
                self.quotes = self.quotes.saturating_sub(1);
            }
            "pre" => {
                self.pre = self.pre.saturating_sub(1);
                self.line();
            }
            "ul" | "ol" => {
                self.lists.pop();
                self.line();
            }
            "a" => {
                if let Some((start, href)) = self.links.pop() {
                    let shown = self.text.get(start..).unwrap_or_default().trim();
                    let plain = href.strip_prefix("mailto:").unwrap_or(&href);
                    if shown != plain && shown.trim_end_matches('/') != href.trim_end_matches('/') {
                        self.word(&format!(" ({href})"));
                    }
                }
            }
            _ => {}
        }
    }

    fn item(&mut self) {
        self.line();
        let depth = self.lists.len().saturating_sub(1);
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number += 1;
                mark
            }
            _ => "- ".to_owned(),
        };
        self.word(&"  ".repeat(depth.min(8)));
        self.word(&mark);
    }

    /// Words with one space between them, however many there were.
    fn words(&mut self, text: &str) {
        for (index, word) in text.split(is_space).enumerate() {
            self.space |= index > 0;
            if !word.is_empty() {
                self.word(word);
            }
        }
    }

    fn verbatim(&mut self, text: &str) {
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.end_line();
            }
            if !line.is_empty() {
                self.begin();
                self.text.push_str(line);
            }
        }
    }

    fn word(&mut self, word: &str) {
        self.flush_space();
        self.begin();
        self.text.push_str(word);
    }

    fn flush_space(&mut self) {
        if self.space && !self.at_start() && !self.text.ends_with(' ') {
            self.text.push(' ');
        }
        self.space = false;
    }

    fn begin(&mut self) {
        if self.at_start() {
            for _ in 0..self.quotes {
                self.text.push_str("> ");
            }
        }
    }

    fn at_start(&self) -> bool {
        self.text.is_empty() || self.text.ends_with('\n')
    }

    /// A new line, unless this one has nothing in it.
    fn line(&mut self) {
        self.space = false;
        if !self.at_start() {
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        self.space = false;
        let end = self.text.trim_end_matches([' ', '\t']).len();
        self.text.truncate(end);
        // More than one empty line says no more than one.
        if !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn finish(mut self) -> String {
        let end = self.text.trim_end().len();
        self.text.truncate(end);
        self.text
    }
}

/// What HTML calls white space, and the space that does not break.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}' | '\u{a0}')
}
