//! The index: which word is in which document, and how much it says there.

use std::collections::HashMap;

use crate::synonyms::{self, Synonyms};
use crate::words;

/// What is found: a tool, or a server.
#[derive(Debug, Clone, Copy, Default)]
pub struct Document<'a> {
    /// Its name, in any spelling.
    pub name: &'a str,
    /// What people read.
    pub title: &'a str,
    /// What it does.
    pub description: &'a str,
    /// The names of what it takes, divided by spaces.
    pub arguments: &'a str,
    /// What is said of those.
    pub about_arguments: &'a str,
    /// Whose it is.
    pub server: &'a str,
    /// What that says of itself.
    pub about_server: &'a str,
}

/// A document that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Its place among those that were indexed.
    pub at: usize,
    /// How well it fits; only good for comparing hits of one search.
    pub score: f32,
}

/// Documents, ready to be searched. It holds words and numbers and nothing of their text.
#[derive(Debug, Default)]
pub struct Index {
    words: HashMap<Box<str>, u32>,
    /// Where the places of a word begin, and after the last where they end.
    starts: Vec<u32>,
    places: Vec<Place>,
    documents: usize,
}

/// A document that has a word, and how much of it the word is.
#[derive(Debug, Clone, Copy)]
struct Place {
    document: u32,
    share: f32,
}

/// How much a word counts in a field, and how much a long field thins it.
#[derive(Debug, Clone, Copy)]
struct Field {
    weight: f32,
    thins: f32,
}

const FIELDS: [Field; 7] = [
    Field {
        weight: 4.0,
        thins: 0.3,
    },
    Field {
        weight: 2.0,
        thins: 0.3,
    },
    Field {
        weight: 1.5,
        thins: 0.6,
    },
    Field {
        weight: 0.7,
        thins: 0.5,
    },
    Field {
        weight: 0.3,
        thins: 0.7,
    },
    Field {
        weight: 2.0,
        thins: 0.0,
    },
    Field {
        weight: 0.1,
        thins: 0.7,
    },
];
/// How soon more of the same word stops to count.
const SATURATION: f32 = 2.0;
/// What a word counts that only begins like the one asked for.
const PREFIX: f32 = 0.5;
/// What a word of a question counts beside the pair it is part of.
const IN_PAIR: f32 = 0.3;
const PREFIX_MIN: usize = 3;
/// A hit must be at least this good, compared to the best.
const WORTH: f32 = 0.25;

/// A document's words while the index is made: word, field, how often.
struct Counted {
    words: Vec<(u32, u8, u32)>,
    lengths: [u32; FIELDS.len()],
}

// === impl Document ===

impl Document<'_> {
    fn fields(&self) -> [&str; FIELDS.len()] {
        [
            self.name,
            self.title,
            self.description,
            self.arguments,
            self.about_arguments,
            self.server,
            self.about_server,
        ]
    }
}

// === impl Index ===

impl Index {
    /// Indexes documents; hits name them by their places.
    #[must_use]
    pub fn new<'a>(documents: impl Iterator<Item = Document<'a>>) -> Self {
        let synonyms = synonyms::table();
        let mut words: HashMap<Box<str>, u32> = HashMap::new();
        let counted: Vec<Counted> = documents
            .map(|document| count(&document, synonyms, &mut words))
            .collect();
        let total = counted.len().max(1) as f32;
        let mean: [f32; FIELDS.len()] = std::array::from_fn(|field| {
            let sum: u64 = counted
                .iter()
                .map(|one| u64::from(one.lengths[field]))
                .sum();
            (sum as f32 / total).max(1.0)
        });
        let mut by_word: Vec<Vec<Place>> = vec![Vec::new(); words.len()];
        for (document, one) in (0..).zip(&counted) {
            for same in one.words.chunk_by(|a, b| a.0 == b.0) {
                let often: f32 = same
                    .iter()
                    .map(|(_, field, times)| {
                        let slot = usize::from(*field);
                        let Field { weight, thins } = FIELDS[slot];
                        let length = one.lengths[slot] as f32 / mean[slot];
                        weight * *times as f32 / (1.0 - thins + thins * length)
                    })
                    .sum();
                by_word[same[0].0 as usize].push(Place {
                    document,
                    share: often / (SATURATION + often),
                });
            }
        }
        let mut starts = vec![0];
        let mut places = Vec::with_capacity(by_word.iter().map(Vec::len).sum());
        for of_word in &by_word {
            places.extend_from_slice(of_word);
            starts.push(u32::try_from(places.len()).unwrap_or(u32::MAX));
        }
        Self {
            words,
            starts,
            places,
            documents: counted.len(),
        }
    }

    /// The documents that fit the question, best first; those that fit alike in their own order.
    #[must_use]
    pub fn search(&self, question: &str) -> Vec<Hit> {
        let synonyms = synonyms::table();
        let mut scores = vec![0.0_f32; self.documents];
        let mut of_word = vec![0.0_f32; self.documents];
        let mut touched: Vec<u32> = Vec::new();
        for (asked, counts) in asked(question, synonyms) {
            let own = self.words.get(&*asked).copied();
            let known = own.map(|word| self.rarity(word));
            let others = synonyms.of(&asked).iter();
            let mut wanted: Vec<(u32, f32)> = others
                .filter_map(|(other, weight)| {
                    let word = *self.words.get(&**other)?;
                    // A word that is rare here only because its synonym is used says no more than that.
                    let rarity = self.rarity(word);
                    Some((
                        word,
                        weight * known.map_or(rarity, |known| rarity.min(known)),
                    ))
                })
                .collect();
            match own {
                Some(word) => wanted.push((word, self.rarity(word))),
                None => wanted.extend(self.beginning(&asked)),
            }
            for (word, weight) in wanted {
                for place in self.places_of(word) {
                    let score = &mut of_word[place.document as usize];
                    if *score == 0.0 {
                        touched.push(place.document);
                    }
                    *score = score.max(counts * weight * place.share);
                }
            }
            for document in touched.drain(..) {
                let document = document as usize;
                scores[document] += std::mem::take(&mut of_word[document]);
            }
        }
        ranked(&scores)
    }

    fn places_of(&self, word: u32) -> &[Place] {
        let word = word as usize;
        &self.places[self.starts[word] as usize..self.starts[word + 1] as usize]
    }

    /// How much a word says: the fewer documents have it, the more.
    fn rarity(&self, word: u32) -> f32 {
        let having = self.places_of(word).len() as f32;
        let total = self.documents as f32;
        (1.0 + (total - having + 0.5) / (having + 0.5)).ln()
    }

    /// Known words that begin like one that is not known, or that it begins with.
    fn beginning(&self, asked: &str) -> Vec<(u32, f32)> {
        let alike = |word: &str| {
            let (short, long) = if word.len() < asked.len() {
                (word, asked)
            } else {
                (asked, word)
            };
            short.chars().count() >= PREFIX_MIN && long.starts_with(short)
        };
        let words = self.words.iter().filter(|(word, _)| alike(word));
        words
            .map(|(_, word)| (*word, PREFIX * self.rarity(*word)))
            .collect()
    }
}

fn ranked(scores: &[f32]) -> Vec<Hit> {
    let best = scores.iter().copied().fold(0.0, f32::max);
    let hits = scores.iter().copied().enumerate();
    let mut hits: Vec<Hit> = hits
        .filter(|(_, score)| *score > 0.0 && *score >= best * WORTH)
        .map(|(at, score)| Hit { at, score })
        .collect();
    // The sort is stable.
    hits.sort_by(|a, b| b.score.total_cmp(&a.score));
    hits
}

/// The words of a question, each once, and what it counts. Two that mean something together are one more, beside
/// which they say little.
fn asked(question: &str, synonyms: &Synonyms) -> Vec<(String, f32)> {
    let mut asked: Vec<(String, f32)> = Vec::new();
    let mut before: Option<usize> = None;
    words::each(question, &mut |at, word| {
        let mut counts = 1.0;
        if let Some(last) = before
            && last + 1 == at
            && let Some(first) = asked.last_mut()
            && let Some(pair) = synonyms.pair(&first.0, word)
        {
            first.1 = IN_PAIR;
            counts = IN_PAIR;
            let pair = pair.to_owned();
            asked.push((pair, 1.0));
        }
        asked.push((word.to_owned(), counts));
        before = Some(at);
    });
    asked.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    asked.dedup_by(|again, first| again.0 == first.0);
    asked
}

fn count(
    document: &Document<'_>,
    synonyms: &Synonyms,
    words: &mut HashMap<Box<str>, u32>,
) -> Counted {
    let mut counted = Counted {
        words: Vec::new(),
        lengths: [0; FIELDS.len()],
    };
    for ((slot, text), field) in document.fields().into_iter().enumerate().zip(0_u8..) {
        let mut before: Option<String> = None;
        let mut number = |word: &str| {
            let known = words.get(word).copied();
            known.unwrap_or_else(|| {
                let next = u32::try_from(words.len()).unwrap_or(u32::MAX);
                words.insert(word.into(), next);
                next
            })
        };
        words::each(text, &mut |_, word| {
            counted.lengths[slot] += 1;
            if let Some(first) = &before
                && let Some(pair) = synonyms.pair(first, word)
            {
                counted.words.push((number(pair), field, 1));
            }
            counted.words.push((number(word), field, 1));
            before = Some(word.to_owned());
        });
    }
    counted.words.sort_unstable();
    counted.words.dedup_by(|again, first| {
        let same = (again.0, again.1) == (first.0, first.1);
        first.2 += if same { again.2 } else { 0 };
        same
    });
    counted
}
