//! Finding tools by words.
//!
//! A word that few tools have says more than one that many have (inverse
//! document frequency), and a word in a name says more than one in a
//! description. An index kept between searches was rejected: reading a few
//! thousand definitions takes a millisecond, and searches are rare.

use std::collections::HashMap;

use legation_gate::Entry;
use legation_wire::json::Raw;

const NAME_WEIGHT: f64 = 3.0;
const TITLE_WEIGHT: f64 = 2.0;
/// What a word counts that only begins like the one searched for.
const PREFIX_WEIGHT: f64 = 0.5;
const PREFIX_MIN: usize = 3;

struct Words {
    name: Vec<String>,
    title: Vec<String>,
    description: Vec<String>,
}

/// The entries that have any word of the query, best first.
pub(super) fn search<'a>(entries: &'a [Entry], query: &str) -> Vec<&'a Entry> {
    let mut wanted = words(query);
    wanted.sort_unstable();
    wanted.dedup();
    let texts: Vec<Words> = entries.iter().map(read).collect();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for word in &wanted {
        let count = texts.iter().filter(|text| text.weight(word) > 0.0).count();
        known.insert(word, count);
    }
    let total = entries.len() as f64;
    let mut scored: Vec<(f64, &Entry)> = entries
        .iter()
        .zip(&texts)
        .filter_map(|(entry, text)| {
            let score: f64 = wanted
                .iter()
                .map(|word| {
                    let having = known.get(&**word).copied().unwrap_or_default() as f64;
                    text.weight(word) * (1.0 + total / (1.0 + having)).ln()
                })
                .sum();
            (score > 0.0).then_some((score, entry))
        })
        .collect();
    // The sort is stable: what scores alike stays in the order of the catalogue.
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().map(|(_, entry)| entry).collect()
}

// === impl Words ===

impl Words {
    fn weight(&self, wanted: &str) -> f64 {
        let of = |words: &[String]| {
            words
                .iter()
                .map(|word| likeness(word, wanted))
                .fold(0.0, f64::max)
        };
        NAME_WEIGHT * of(&self.name) + TITLE_WEIGHT * of(&self.title) + of(&self.description)
    }
}

fn likeness(word: &str, wanted: &str) -> f64 {
    if word == wanted {
        return 1.0;
    }
    let (short, long) = if word.len() < wanted.len() {
        (word, wanted)
    } else {
        (wanted, word)
    };
    if short.chars().count() >= PREFIX_MIN && long.starts_with(short) {
        PREFIX_WEIGHT
    } else {
        0.0
    }
}

fn read(entry: &Entry) -> Words {
    let text = |key: &str| {
        let raw = entry.raw.get(key);
        raw.as_ref()
            .and_then(Raw::to_str)
            .map(|text| words(&text))
            .unwrap_or_default()
    };
    Words {
        name: text("name"),
        title: text("title"),
        description: text("description"),
    }
}

/// Lower-case words; `readFile`, `read_file` and `read-file` are two.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was_lower = false;
    for c in text.chars() {
        let starts_word = was_lower && c.is_uppercase();
        if (starts_word || !c.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}
