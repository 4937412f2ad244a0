//! Whether a model's words say anything that their source does not.
//!
//! A word passes when it stands in the source or is one of a short list of words that name nothing.
//! The alternative, looking for names and numbers in the words, was rejected: a name in small
//! letters, a number in words or a new address looks like any other word, and would pass.

use std::collections::HashSet;

use crate::text::{Plain, words};

/// What a text says that its sources do not. The word is not part of `Display`: it may be a
/// person's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a word of it stands in none of its sources")]
pub struct Invented {
    /// The word.
    pub word: String,
}

/// Words that name nobody, nothing, no number and no time. Negations are not among them, so that
/// none is added.
const EMPTY: &str = "a about above across added after again against all along already also although always am among an and another any are around as ask asks at available be because been before being below between both but by called can come comes coming concerning could currently did do does doing done down during each either else enough ever every everything first follow following follows for from further gave get gets give given gives go goes going had has have having he her here him his how if in including into is it item items its itself just keep kept know known last later least let letter letters like list listed made mail make makes many may me mention mentioned mentions message messages might more most much must near need needed needs new next note now of off on once one only open or other our out over own part people per person please point points read ready regarding relating remain remains review same say says second see seen send sends sent set shall she should show shows since so some something soon still stands such take taken than that the their them then there these they thing things this those through to together too topic toward towards under up upon us use very via was way we well were what when where whether which while who whom whose why will wish with within would write writes wrote yet you your";

/// The first word of a text that stands in none of its sources.
///
/// # Errors
/// There is one.
pub fn check(text: &str, sources: &[&str]) -> Result<(), Invented> {
    let said: Vec<Plain> = sources.iter().map(|source| Plain::of(source)).collect();
    let mut known: HashSet<&str> = EMPTY.split(' ').collect();
    for source in &said {
        for word in source.words() {
            known.insert(word);
            known.extend(parts(word));
        }
    }
    let plain = Plain::of(text);
    let mut all = words_of(&plain);
    match all.find(|word| !is_said(word, &known)) {
        None => Ok(()),
        Some(word) => Err(Invented {
            word: word.to_owned(),
        }),
    }
}

fn words_of(plain: &Plain) -> impl Iterator<Item = &str> {
    plain.words()
}

/// A word with a number, an address or a time in it must stand there whole; others may stand there
/// in parts, or with another ending.
fn is_said(word: &str, known: &HashSet<&str>) -> bool {
    if known.contains(word) {
        return true;
    }
    if word.contains(|letter: char| letter.is_numeric() || letter == '@') || word.contains('.') {
        return false;
    }
    let mut parts = parts(word).peekable();
    parts.peek().is_some() && parts.all(|part| known.contains(part) || is_form(part, known))
}

/// The parts of a word that dashes and slashes bind.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    words(word)
        .flat_map(|word| word.split(['-', '/', '_', ',', ':']))
        .filter(|part| !part.is_empty())
}

/// Whether a plain word is another form of one that was said.
fn is_form(word: &str, known: &HashSet<&str>) -> bool {
    ["s", "ed", "d", "ing", "es"].iter().any(|ending| {
        let stem = word.strip_suffix(ending);
        let shorter = stem.is_some_and(|stem| stem.len() >= 4 && known.contains(stem));
        shorter || (word.len() >= 4 && known.contains(format!("{word}{ending}").as_str()))
    })
}
