//! Words that mean nearly the same, for those who ask in other words than a description has.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use crate::words;

/// Lines of words. `=` begins those that can stand for each other, `~` those that belong together; two words
/// joined by `-` are found where they stand side by side.
const TABLE: &str = include_str!("synonyms.txt");
const SAME: f32 = 0.85;
const NEAR: f32 = 0.5;

/// The table, as stems.
#[derive(Debug)]
pub(crate) struct Synonyms {
    others: HashMap<String, Vec<(String, f32)>>,
    pairs: HashSet<String>,
}

/// The table, read once.
pub(crate) fn table() -> &'static Synonyms {
    static READ: OnceLock<Synonyms> = OnceLock::new();
    READ.get_or_init(|| Synonyms::read(TABLE))
}

// === impl Synonyms ===

impl Synonyms {
    fn read(table: &str) -> Self {
        let mut others: HashMap<String, Vec<(String, f32)>> = HashMap::new();
        let mut pairs = HashSet::new();
        for line in table.lines() {
            let mut line = line.split_whitespace();
            let weight = match line.next() {
                Some("=") => SAME,
                Some("~") => NEAR,
                _ => continue,
            };
            let group: Vec<String> = line.map(|word| key(word, &mut pairs)).collect();
            for word in &group {
                let known = others.entry(word.clone()).or_default();
                for other in group.iter().filter(|other| *other != word) {
                    match known.iter_mut().find(|(known, _)| known == other) {
                        Some((_, before)) => *before = before.max(weight),
                        None => known.push((other.clone(), weight)),
                    }
                }
            }
        }
        Self { others, pairs }
    }

    /// The words that may stand for a stem, and what they count.
    pub(crate) fn of(&self, stem: &str) -> &[(String, f32)] {
        self.others.get(stem).map_or(&[], Vec::as_slice)
    }

    /// Two stems that stand side by side as one word, if together they mean something of their own.
    pub(crate) fn pair(&self, first: &str, second: &str) -> Option<&str> {
        let joined = format!("{first}-{second}");
        self.pairs.get(&joined).map(String::as_str)
    }
}

fn key(word: &str, pairs: &mut HashSet<String>) -> String {
    match word.split_once('-') {
        None => words::stem(word),
        Some((first, second)) => {
            let pair = format!("{}-{}", words::stem(first), words::stem(second));
            pairs.insert(pair.clone());
            pair
        }
    }
}
