//! Whose data a message is about, by words. Words only choose among what the login may ask for
//! anyway; the gate decides on whose data a call really touches.

use std::borrow::Cow;

use crate::hub::{Business, Reference};

/// What the words say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whose<'b> {
    /// One entity that the login may ask about.
    One(&'b Business),
    /// Nothing in them says it.
    Unclear,
    /// Several are named; each has to be asked for by itself.
    Several,
    /// One is named that the login may not ask about.
    NotTheirs,
}

/// A deal that is named: its id, and its entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedDeal<'b> {
    pub(crate) id: Cow<'b, str>,
}

/// Whose data these words are about.
pub(crate) fn whose<'b>(text: &str, businesses: &'b [Business]) -> Whose<'b> {
    let text = Padded::of(text);
    let named: Vec<&Business> = businesses
        .iter()
        .filter(|business| is_named(&text, business))
        .collect();
    match named.as_slice() {
        [one] if one.is_allowed => Whose::One(one),
        [_] => Whose::NotTheirs,
        [] => {
            let mut allowed = businesses.iter().filter(|business| business.is_allowed);
            match (allowed.next(), allowed.next()) {
                // There is nothing that could be mistaken for it.
                (Some(only), None) => Whose::One(only),
                _ => Whose::Unclear,
            }
        }
        [..] if named.iter().any(|business| !business.is_allowed) => Whose::NotTheirs,
        [..] => Whose::Several,
    }
}

/// The deal that is named, the longest name first: "Sunrise II" is not "Sunrise".
pub(crate) fn deal<'b>(text: &str, businesses: &'b [Business]) -> Option<NamedDeal<'b>> {
    let text = Padded::of(text);
    let all = businesses.iter().filter(|business| business.is_allowed);
    let deals = all.flat_map(|business| business.deals.iter().map(move |deal| (business, deal)));
    deals
        .filter(|(_, (id, name))| text.has(id) || text.has(name))
        .max_by_key(|(_, (_, name))| name.chars().count())
        .map(|(_, (id, _))| NamedDeal { id: id.into() })
}

/// The deal among those of an answer that is named.
pub(crate) fn deal_among(text: &str, references: &[Reference]) -> Option<NamedDeal<'static>> {
    let text = Padded::of(text);
    let named = references
        .iter()
        .filter(|one| text.has(&one.id) || text.has(&one.name));
    named
        .max_by_key(|one| one.name.chars().count())
        .map(|one| NamedDeal {
            id: one.id.clone().into(),
        })
}

fn is_named(text: &Padded, business: &Business) -> bool {
    let words = business.words.iter().map(String::as_str);
    let accounts = business.accounts.iter().map(String::as_str);
    let deals = business.deals.iter();
    [business.id.as_str(), &business.name]
        .into_iter()
        .chain(words)
        .chain(accounts)
        .chain(deals.flat_map(|(id, name)| [id.as_str(), name.as_str()]))
        .any(|words| text.has(words))
}

/// Lower-case words with one space around each, so that whole words are found.
struct Padded(String);

// === impl Padded ===

impl Padded {
    fn of(text: &str) -> Self {
        let lower = text.to_lowercase();
        let words = lower.split(|c: char| !c.is_alphanumeric());
        let mut padded = " ".to_owned();
        for word in words.filter(|word| !word.is_empty()) {
            padded.push_str(word);
            padded.push(' ');
        }
        Self(padded)
    }

    fn has(&self, words: &str) -> bool {
        let words = Self::of(words);
        words.0.len() > 1 && self.0.contains(&words.0)
    }
}
