//! What the owner is asked for before a server can run, and what was answered.

use std::collections::BTreeMap;

/// Longest answer, in bytes.
const ANSWER_MAX: usize = 8 << 10;

/// What a value has to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Any text.
    #[default]
    Text,
    /// A decimal number.
    Number,
    /// `true` or `false`.
    Switch,
    /// The path of a file or folder.
    Path,
}

/// One thing the owner is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Input {
    /// What it is called: the variable, header or argument it is for.
    pub key: String,
    /// What its publisher says about it.
    pub about: String,
    /// Whether the server cannot do without.
    pub required: bool,
    /// Whether nobody may see it.
    pub secret: bool,
    /// Whether there may be several.
    pub many: bool,
    /// What holds where nothing is answered, as templates of the configuration.
    pub default: Option<Vec<String>>,
    /// The only values there may be; any where there are none.
    pub choices: Vec<String>,
    /// What a value has to be.
    pub format: Format,
    /// Smallest and largest number.
    pub bounds: (Option<f64>, Option<f64>),
}

/// Templates of the configuration, by the key of what was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers(BTreeMap<String, Vec<String>>);

/// An answer that cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAnswer {
    /// It is not one of the choices.
    #[error("{key} is one of {}", choices.join(", "))]
    Choice {
        /// What was asked for.
        key: String,
        /// What there is to choose from.
        choices: Vec<String>,
    },
    /// It is of another kind.
    #[error("{key} is {wanted}")]
    Format {
        /// What was asked for.
        key: String,
        /// What it has to be.
        wanted: String,
    },
    /// It is empty, too long, or more than one line.
    #[error("{key} is one line of at most {ANSWER_MAX} bytes, and not empty")]
    Line {
        /// What was asked for.
        key: String,
    },
    /// There are several.
    #[error("{key} takes one value")]
    Several {
        /// What was asked for.
        key: String,
    },
}

// === impl Input ===

impl Input {
    /// Whether these can be the answer. What refers to something is looked at when the server starts.
    ///
    /// # Errors
    /// [`BadAnswer`].
    pub fn check(&self, values: &[String]) -> Result<(), BadAnswer> {
        let key = || self.key.clone();
        if values.len() > 1 && !self.many {
            return Err(BadAnswer::Several { key: key() });
        }
        for value in values {
            let is_line = !value.is_empty() && !value.contains(|letter: char| letter.is_control());
            if !is_line || value.len() > ANSWER_MAX {
                return Err(BadAnswer::Line { key: key() });
            }
            if value.replace("$$", "").contains('$') {
                continue;
            }
            if !self.choices.is_empty() && !self.choices.contains(value) {
                let choices = self.choices.clone();
                return Err(BadAnswer::Choice {
                    key: key(),
                    choices,
                });
            }
            self.check_format(value)?;
        }
        Ok(())
    }

    fn check_format(&self, value: &str) -> Result<(), BadAnswer> {
        let wrong = |wanted: String| BadAnswer::Format {
            key: self.key.clone(),
            wanted,
        };
        match self.format {
            Format::Text | Format::Path => Ok(()),
            Format::Switch if matches!(value, "true" | "false") => Ok(()),
            Format::Switch => Err(wrong("true or false".to_owned())),
            Format::Number => {
                let number: f64 = value.parse().map_err(|_| wrong("a number".to_owned()))?;
                let (least, most) = self.bounds;
                if !number.is_finite() || least.is_some_and(|least| number < least) {
                    return Err(wrong(format!(
                        "a number of at least {}",
                        least.unwrap_or(f64::MIN)
                    )));
                }
                match most {
                    Some(most) if number > most => {
                        Err(wrong(format!("a number of at most {most}")))
                    }
                    _ => Ok(()),
                }
            }
        }
    }
}

/// One list in which a key stands once; where two things are called the same, the stricter holds.
pub(crate) fn joined(inputs: impl IntoIterator<Item = Input>) -> Vec<Input> {
    let mut all: Vec<Input> = Vec::new();
    for input in inputs {
        match all.iter_mut().find(|known| known.key == input.key) {
            Some(known) => {
                known.secret |= input.secret;
                known.required |= input.required;
                known.many &= input.many;
            }
            None => all.push(input),
        }
    }
    all
}

// === impl Answers ===

impl Answers {
    /// Takes an answer.
    pub fn put(&mut self, key: &str, values: Vec<String>) {
        self.0.insert(key.to_owned(), values);
    }

    /// What was answered, if something was.
    #[must_use]
    pub fn of(&self, key: &str) -> Option<&[String]> {
        let values = self.0.get(key)?;
        (!values.is_empty()).then_some(values.as_slice())
    }
}
