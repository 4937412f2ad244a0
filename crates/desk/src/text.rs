//! Words in texts.

use std::fmt;

use legation_policy::governance::normalise;

/// A text as it is compared: compatibility forms and case do not matter.
#[derive(Clone, PartialEq, Eq)]
pub struct Plain(String);

// === impl Plain ===

impl Plain {
    /// Of a text as it was written.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(normalise(text))
    }

    /// Whether a word or phrase stands in it by itself, not as a part of another word.
    #[must_use]
    pub fn holds(&self, phrase: &str) -> bool {
        let phrase = normalise(phrase);
        if phrase.is_empty() {
            return false;
        }
        self.0.match_indices(&phrase).any(|(at, found)| {
            let before = self.0[..at].chars().next_back();
            let after = self.0[at + found.len()..].chars().next();
            ![before, after]
                .into_iter()
                .flatten()
                .any(char::is_alphanumeric)
        })
    }

    /// Its words: runs of letters and digits, with what binds them.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        words(&self.0)
    }
}

impl fmt::Debug for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plain({} bytes)", self.0.len())
    }
}

/// The words of a text: runs of letters, digits and what stands between two of them in numbers,
/// times, dates and addresses.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| {
        !letter.is_alphanumeric() && !matches!(letter, '.' | ',' | ':' | '/' | '-' | '@' | '_')
    })
    .map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric()))
    .filter(|word| !word.is_empty())
}

/// One line of at most so many characters.
#[must_use]
pub fn short(text: &str, most: usize) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.chars().count() > most {
            let cut: String = line.chars().take(most.saturating_sub(1)).collect();
            return format!("{}…", cut.trim_end());
        }
    }
    line
}
