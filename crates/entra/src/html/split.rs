//! Messages have a size. A longer one becomes several, parted between blocks
//! where that is possible, with every element that goes on opened again.

use super::pieces::escape;
use super::{Html, Piece};

/// A piece that fits into no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a part of {bytes} bytes cannot be split")]
pub struct Oversized {
    /// Its size.
    pub bytes: usize,
}

struct Packer {
    most: usize,
    /// The elements that are open, each as it was opened.
    open: Vec<(String, &'static str)>,
    current: String,
    /// How much of it only opens what was open before.
    prefix: usize,
    parts: Vec<String>,
}

// === impl Html ===

impl Html {
    /// As HTML in parts of at most `most` bytes.
    ///
    /// # Errors
    /// [`Oversized`] when a picture's or attachment's markup alone is larger.
    pub fn split(&self, most: usize) -> Result<Vec<String>, Oversized> {
        let mut packer = Packer {
            most,
            open: Vec::new(),
            current: String::new(),
            prefix: 0,
            parts: Vec::new(),
        };
        packer.all(&self.0)?;
        packer.flush();
        Ok(packer.parts)
    }
}

// === impl Packer ===

impl Packer {
    fn all(&mut self, pieces: &[Piece]) -> Result<(), Oversized> {
        let mut rest = pieces;
        while !rest.is_empty() {
            let (unit, after) = rest.split_at(unit_length(rest));
            self.unit(unit)?;
            rest = after;
        }
        Ok(())
    }

    /// One piece, or an element with all that is in it.
    fn unit(&mut self, unit: &[Piece]) -> Result<(), Oversized> {
        let mut html = String::new();
        unit.iter().for_each(|piece| piece.write(&mut html));
        if self.fits(html.len()) {
            self.current.push_str(&html);
            return Ok(());
        }
        if self.fits_alone(html.len()) {
            self.flush();
            self.current.push_str(&html);
            return Ok(());
        }
        match unit {
            [
                open @ Piece::Open { tag, .. },
                inner @ ..,
                Piece::Close { .. },
            ] => {
                let mut opened = String::new();
                open.write(&mut opened);
                // Room for the element and a little of what is in it.
                if !self.fits(opened.len() + tag.len() + 64) {
                    self.flush();
                }
                self.current.push_str(&opened);
                self.open.push((opened, tag));
                self.all(inner)?;
                self.open.pop();
                self.current.push_str(&format!("</{tag}>"));
                Ok(())
            }
            [Piece::Text(text)] => self.text(text),
            [Piece::Mention { name, .. }] => self.text(name),
            _ => Err(Oversized { bytes: html.len() }),
        }
    }

    /// A text that is longer than a message, parted between words.
    fn text(&mut self, text: &str) -> Result<(), Oversized> {
        let mut rest = text;
        while !rest.is_empty() {
            let room = self
                .most
                .saturating_sub(self.current.len() + self.closing());
            let cut = cut(rest, room);
            if cut == 0 {
                if self.current.len() == self.prefix {
                    return Err(Oversized { bytes: rest.len() });
                }
                self.flush();
                continue;
            }
            let (now, later) = rest.split_at(cut);
            escape(now, &mut self.current);
            rest = later;
            if !rest.is_empty() {
                self.flush();
            }
        }
        Ok(())
    }

    fn fits(&self, more: usize) -> bool {
        self.current.len() + more + self.closing() <= self.most
    }

    fn fits_alone(&self, more: usize) -> bool {
        let opening: usize = self.open.iter().map(|(opened, _)| opened.len()).sum();
        opening + more + self.closing() <= self.most
    }

    fn closing(&self) -> usize {
        self.open.iter().map(|(_, tag)| tag.len() + 3).sum()
    }

    fn flush(&mut self) {
        let has_more = self.current.len() > self.prefix;
        if has_more {
            for (_, tag) in self.open.iter().rev() {
                self.current.push_str(&format!("</{tag}>"));
            }
            self.parts.push(std::mem::take(&mut self.current));
        }
        self.current.clear();
        for (opened, _) in &self.open {
            self.current.push_str(opened);
        }
        self.prefix = self.current.len();
    }
}

/// How many pieces belong to the first one.
fn unit_length(pieces: &[Piece]) -> usize {
    let mut depth = 0usize;
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Open { .. } => depth += 1,
            Piece::Close { .. } => depth = depth.saturating_sub(1),
            Piece::Void { .. }
            | Piece::Text(_)
            | Piece::Mention { .. }
            | Piece::Attachment { .. }
            | Piece::Picture { .. }
            | Piece::NoPicture { .. } => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    pieces.len()
}

/// The longest beginning of a text that is at most `room` bytes when escaped,
/// up to a space if there is one in its second half.
fn cut(text: &str, room: usize) -> usize {
    let mut size = 0;
    let mut end = 0;
    let mut space = 0;
    for (at, c) in text.char_indices() {
        size += match c {
            '&' | '\'' => 5,
            '<' | '>' => 4,
            '"' => 6,
            c => c.len_utf8(),
        };
        if size > room {
            return if space > end / 2 { space } else { end };
        }
        end = at + c.len_utf8();
        if c.is_whitespace() {
            space = end;
        }
    }
    end
}
