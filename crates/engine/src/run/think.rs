//! Thoughts that a model writes into its answer, kept apart from its words.
//!
//! Some servers tell thoughts in a field of their own; others leave the model's `<think>` in the
//! text, which comes in pieces that end anywhere. A mark counts only at the beginning of an answer:
//! further on it is something the model talks about.

/// What a model that thinks aloud begins with.
const OPEN: [&str; 4] = ["<think>", "<thinking>", "<reasoning>", "<thought>"];
const CLOSE: [&str; 4] = ["</think>", "</thinking>", "</reasoning>", "</thought>"];

/// Splits the text of one answer, however it is cut.
#[derive(Debug, Default)]
pub(crate) struct Think {
    place: Place,
    /// What may be the beginning of a mark; at most as long as one, or blank.
    held: String,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Words.
    Text(String),
    /// Thoughts.
    Reasoning(String),
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Nothing but blanks came.
    #[default]
    Beginning,
    /// In thoughts that end with this mark.
    Thoughts(&'static str),
    /// Behind thoughts, where blanks are no words.
    After,
    Words,
}

// === impl Think ===

impl Think {
    /// Takes more of the text.
    pub(crate) fn push(&mut self, text: &str) -> Vec<Piece> {
        self.held.push_str(text);
        let mut pieces = Vec::new();
        loop {
            match self.place {
                Place::Words => {
                    if !self.held.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut self.held)));
                    }
                    return pieces;
                }
                Place::Beginning => {
                    let begun = self.held.trim_start();
                    if let Some(mark) = OPEN.iter().position(|mark| begun.starts_with(mark)) {
                        self.held = begun[OPEN[mark].len()..].to_owned();
                        self.place = Place::Thoughts(CLOSE[mark]);
                    } else if OPEN.iter().any(|mark| mark.starts_with(begun)) {
                        return pieces;
                    } else {
                        self.place = Place::Words;
                    }
                }
                Place::Thoughts(mark) => {
                    let Some(at) = self.held.find(mark) else {
                        let safe = self.held.len() - open_end(&self.held, mark);
                        let rest = self.held.split_off(safe);
                        let thoughts = std::mem::replace(&mut self.held, rest);
                        if !thoughts.is_empty() {
                            pieces.push(Piece::Reasoning(thoughts));
                        }
                        return pieces;
                    };
                    let rest = self.held.split_off(at + mark.len());
                    self.held.truncate(at);
                    let thoughts = std::mem::replace(&mut self.held, rest);
                    if !thoughts.is_empty() {
                        pieces.push(Piece::Reasoning(thoughts));
                    }
                    self.place = Place::After;
                }
                Place::After => {
                    self.held = self.held.trim_start().to_owned();
                    if self.held.is_empty() {
                        return pieces;
                    }
                    self.place = Place::Words;
                }
            }
        }
    }

    /// The answer is over: what was held back is no mark.
    pub(crate) fn finish(&mut self) -> Option<Piece> {
        let held = std::mem::take(&mut self.held);
        let place = std::mem::replace(&mut self.place, Place::Words);
        if held.is_empty() {
            return None;
        }
        Some(match place {
            Place::Thoughts(_) => Piece::Reasoning(held),
            Place::Beginning | Place::After | Place::Words => Piece::Text(held),
        })
    }
}

/// The words of a whole answer, and its thoughts. A template may have begun the thoughts itself, so
/// that only their end is written.
pub(crate) fn split(text: &str) -> (String, String) {
    let begun = text.trim_start();
    if !OPEN.iter().any(|mark| begun.starts_with(mark)) {
        let end = CLOSE
            .iter()
            .filter_map(|mark| text.find(mark).map(|at| (at, mark.len())))
            .min();
        if let Some((at, length)) = end
            && !text[..at].contains("```")
        {
            return (
                text[at + length..].trim_start().to_owned(),
                text[..at].to_owned(),
            );
        }
    }
    let mut think = Think::default();
    let mut pieces = think.push(text);
    pieces.extend(think.finish());
    let (mut words, mut thoughts) = (String::new(), String::new());
    for piece in pieces {
        match piece {
            Piece::Text(text) => words.push_str(&text),
            Piece::Reasoning(text) => thoughts.push_str(&text),
        }
    }
    (words, thoughts)
}

/// How many bytes at the end of `text` may be the beginning of `mark`.
fn open_end(text: &str, mark: &str) -> usize {
    (1..mark.len())
        .rev()
        .find(|length| text.ends_with(&mark[..*length]))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
