//! `$VAR`, `${VAR}`, `${VAR:-default}`, `${keyring:NAME}` and `$$`.
//!
//! A name is `[A-Za-z_][A-Za-z0-9_]*`. A `$` that no name or brace follows is
//! itself, so that prices and patterns need no quoting. A default is taken as
//! it stands, and stands in for an empty value as well as for a missing one,
//! as in a shell. What a reference yields is not expanded again: the content
//! of a variable is data.

use std::borrow::Cow;
use std::fmt;

use thiserror::Error;

use super::keyring::{KEYRING, is_secret_name};

/// Text with references, as its author wrote it. It may be shown: what the
/// references stand for is not in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Template(Box<str>);

/// Like [`Template`], where literal text may be a secret itself: the values
/// of `env` and `headers`. Prints its references and hides the rest.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SecretTemplate(Box<str>);

/// A reference that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TemplateError {
    /// The variable has no value and the reference no default.
    #[error("the variable {variable} is not set")]
    Undefined {
        /// Its name.
        variable: Box<str>,
    },
    /// No secret of that name can be had and the reference has no default.
    #[error("there is no secret {name} in the keystore, or it cannot be opened")]
    NoSecret {
        /// Its name.
        name: Box<str>,
    },
    /// `${` without `}`.
    #[error("a reference is opened with ${{ and never closed")]
    Unclosed,
    /// `${…}` around something that is not a name, or not followed by `:-`.
    #[error("a reference in braces is none of ${{NAME}}, ${{NAME:-default}} and ${{keyring:NAME}}")]
    BadName,
}

enum Piece<'t> {
    Literal(&'t str),
    Reference {
        name: &'t str,
        default: Option<&'t str>,
    },
}

/// The pieces of a text, left to right.
struct Pieces<'t> {
    rest: &'t str,
}

/// Replaces every reference in `text` by what `lookup` knows of it.
pub(crate) fn expand<'e>(
    text: &str,
    lookup: impl Fn(&str) -> Option<Cow<'e, str>>,
) -> Result<String, TemplateError> {
    let mut out = String::with_capacity(text.len());
    for piece in (Pieces { rest: text }) {
        match piece? {
            Piece::Literal(literal) => out.push_str(literal),
            Piece::Reference { name, default } => match (lookup(name), default) {
                (Some(value), None) => out.push_str(&value),
                (Some(value), Some(_)) if !value.is_empty() => out.push_str(&value),
                (_, Some(default)) => out.push_str(default),
                (None, None) => return Err(missing(name)),
            },
        }
    }
    Ok(out)
}

fn missing(name: &str) -> TemplateError {
    match name.strip_prefix(KEYRING) {
        Some(secret) => TemplateError::NoSecret {
            name: secret.into(),
        },
        None => TemplateError::Undefined {
            variable: name.into(),
        },
    }
}

/// The names of the secrets that `text` refers to.
pub(crate) fn keyring_names(text: &str) -> impl Iterator<Item = &str> {
    let pieces = Pieces { rest: text }.flatten();
    pieces.filter_map(|piece| match piece {
        Piece::Reference { name, .. } => name.strip_prefix(KEYRING),
        Piece::Literal(_) => None,
    })
}

/// The text with its references spelled otherwise, and dollar signs that stand for themselves as they
/// are.
pub(crate) fn respelled<E>(
    text: &str,
    spell: impl Fn(&str, Option<&str>) -> Result<String, E>,
) -> Result<String, E>
where
    E: From<String>,
{
    let mut out = String::with_capacity(text.len());
    for piece in (Pieces { rest: text }) {
        match piece {
            Ok(Piece::Literal(literal)) => out.push_str(literal),
            Ok(Piece::Reference { name, default }) => out.push_str(&spell(name, default)?),
            Err(error) => return Err(E::from(error.to_string())),
        }
    }
    Ok(out)
}

/// `text` as a template that stands for it and nothing else.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('$', "$$")
}

/// What is wrong with `text` whatever the environment is.
pub(crate) fn first_problem(text: &str) -> Option<TemplateError> {
    Pieces { rest: text }.find_map(Result::err)
}

// === impl Template ===

impl Template {
    /// Takes text as written.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The text as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether expanding it can change it.
    pub fn has_references(&self) -> bool {
        self.0.contains('$')
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// === impl SecretTemplate ===

impl SecretTemplate {
    /// Takes text as written.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The text as written, literal secrets included.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SecretTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if first_problem(&self.0).is_some() {
            return f.write_str("****");
        }
        let mut after_stars = false;
        for piece in (Pieces { rest: &self.0 }).flatten() {
            match &piece {
                // The one literal that says nothing and explains much.
                Piece::Literal("Bearer ") => f.write_str("Bearer ")?,
                // `$$` cuts one literal in several pieces.
                Piece::Literal(_) if after_stars => {}
                Piece::Literal(_) => f.write_str("****")?,
                Piece::Reference { name, default } => {
                    let default = if default.is_some() { ":-****" } else { "" };
                    write!(f, "${{{name}{default}}}")?;
                }
            }
            after_stars = matches!(piece, Piece::Literal(text) if text != "Bearer ");
        }
        Ok(())
    }
}

impl fmt::Debug for SecretTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

// === impl Pieces ===

impl<'t> Iterator for Pieces<'t> {
    type Item = Result<Piece<'t>, TemplateError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let Some(after) = self.rest.strip_prefix('$') else {
            let end = self.rest.find('$').unwrap_or(self.rest.len());
            return Some(Ok(Piece::Literal(self.take(end))));
        };
        if let Some(braced) = after.strip_prefix('{') {
            let Some(close) = braced.find('}') else {
                self.rest = "";
                return Some(Err(TemplateError::Unclosed));
            };
            let inner = &braced[..close];
            self.rest = &braced[close + 1..];
            return Some(reference(inner).ok_or(TemplateError::BadName));
        }
        let name_len = name_len(after);
        if name_len > 0 {
            let name = &after[..name_len];
            self.rest = &after[name_len..];
            return Some(Ok(Piece::Reference {
                name,
                default: None,
            }));
        }
        // `$$` is one `$`; any other `$` stands for itself.
        let literal = &self.rest[..1];
        self.rest = after.strip_prefix('$').unwrap_or(after);
        Some(Ok(Piece::Literal(literal)))
    }
}

impl<'t> Pieces<'t> {
    fn take(&mut self, end: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }
}

fn reference(inner: &str) -> Option<Piece<'_>> {
    let end = match inner.strip_prefix(KEYRING) {
        Some(secret) => {
            let end = secret.find(":-").unwrap_or(secret.len());
            is_secret_name(&secret[..end]).then_some(KEYRING.len() + end)?
        }
        None => name_len(inner),
    };
    let (name, rest) = inner.split_at(end);
    if name.is_empty() {
        return None;
    }
    let default = match rest {
        "" => None,
        _ => Some(rest.strip_prefix(":-")?),
    };
    Some(Piece::Reference { name, default })
}

/// How many bytes of `text` are a variable's name.
fn name_len(text: &str) -> usize {
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return 0;
    }
    text.bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        .count()
}
