//! Texts of an entry before the owner has answered: words of others, and places for answers.

use crate::input::Answers;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// Somebody else's words. They stand for themselves.
    Literal(String),
    /// A reference that is known to be harmless.
    Owners(String),
    /// What the owner answers to the input of this key.
    Input(String),
}

/// A text with places for answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text(Vec<Piece>);

/// Some words of a command line. All of them are there, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// What stands before each value.
    pub(crate) flag: Option<String>,
    /// The value; `None` for a flag by itself.
    pub(crate) text: Option<Text>,
    /// Inputs without whose answers it is left out, besides those of its text.
    pub(crate) needs: Vec<String>,
}

/// What a template that stands for `text` and nothing else is.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('$', "$$")
}

// === impl Text ===

impl Text {
    pub(crate) fn literal(text: impl Into<String>) -> Self {
        Self(vec![Piece::Literal(text.into())])
    }

    /// A template of the configuration, none of whose words are somebody else's.
    pub(crate) fn owners(template: &str) -> Self {
        Self(vec![Piece::Owners(template.to_owned())])
    }

    pub(crate) fn input(key: impl Into<String>) -> Self {
        Self(vec![Piece::Input(key.into())])
    }

    pub(crate) fn then(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// A text with `{names}`, each replaced by what `place` says; one it does not know stays.
    pub(crate) fn braced(text: &str, mut place: impl FnMut(&str) -> Option<Self>) -> Self {
        Self::cut(text, "{", &mut place)
    }

    /// The same for `${names}`.
    pub(crate) fn dollared(text: &str, mut place: impl FnMut(&str) -> Option<Self>) -> Self {
        Self::cut(text, "${", &mut place)
    }

    fn cut(text: &str, open: &str, place: &mut dyn FnMut(&str) -> Option<Self>) -> Self {
        let mut made = Self::default();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(open) {
            let found = after
                .split_once('}')
                .and_then(|(name, after)| Some((place(name)?, after)));
            made = made.then(Self::literal(before));
            match found {
                Some((text, after)) => {
                    made = made.then(text);
                    rest = after;
                }
                None => {
                    made = made.then(Self::literal(open));
                    rest = after;
                }
            }
        }
        made.then(Self::literal(rest))
    }

    /// What stands before the first `=`, where those are literal words, and the text behind it.
    pub(crate) fn split_at_equals(&self) -> Option<(String, Self)> {
        let mut name = String::new();
        for (at, piece) in self.0.iter().enumerate() {
            let Piece::Literal(literal) = piece else {
                return None;
            };
            if let Some((before, after)) = literal.split_once('=') {
                name.push_str(before);
                let rest = Self::literal(after).then(Self(self.0[at + 1..].to_vec()));
                return Some((name, rest));
            }
            name.push_str(literal);
        }
        None
    }

    /// The inputs it has places for.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Input(key) => Some(key.as_str()),
            Piece::Literal(_) | Piece::Owners(_) => None,
        })
    }

    /// As a template of the configuration; `None` where an answer is missing.
    pub(crate) fn filled(&self, answers: &Answers) -> Option<String> {
        self.0.iter().try_fold(String::new(), |mut text, piece| {
            match piece {
                Piece::Literal(literal) => text.push_str(&escaped(literal)),
                Piece::Owners(template) => text.push_str(template),
                Piece::Input(key) => text.push_str(&answers.of(key)?.join(",")),
            }
            Some(text)
        })
    }

    /// As [`Text::filled`], where each of several answers to the one input is a text of its own.
    fn values(&self, answers: &Answers) -> Option<Vec<String>> {
        let pieces: Vec<&Piece> = self
            .0
            .iter()
            .filter(|piece| **piece != Piece::Literal(String::new()))
            .collect();
        match pieces.as_slice() {
            [Piece::Input(key)] => Some(answers.of(key)?.to_vec()),
            _ => Some(vec![self.filled(answers)?]),
        }
    }
}

// === impl Word ===

impl Word {
    pub(crate) fn literal(text: &str) -> Self {
        Self {
            text: Some(Text::literal(text)),
            ..Self::default()
        }
    }

    /// The inputs it has places for.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.text.iter().flat_map(Text::keys)
    }

    /// As words of a command line, templates of the configuration.
    pub(crate) fn filled(&self, answers: &Answers) -> Vec<String> {
        if self.needs.iter().any(|key| answers.of(key).is_none()) {
            return Vec::new();
        }
        let flag = self.flag.as_deref().map(escaped);
        let Some(text) = &self.text else {
            return flag.into_iter().collect();
        };
        let values = text.values(answers).unwrap_or_default();
        let pairs = values.into_iter().map(|value| [flag.clone(), Some(value)]);
        pairs.flatten().flatten().collect()
    }
}
