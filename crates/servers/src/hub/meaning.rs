//! What tools and skills mean, as a model on one of the owner's machines has it.
//!
//! Vectors are made beside the calls, a few texts at a time, and kept by the digest of their text and
//! the name of the model; until all of an index are there, and whenever a question cannot be asked, the
//! words alone answer. Waiting for them was rejected: a search takes a millisecond, a model that is loaded
//! first takes a minute.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use legation_core::{OpContext, TaskSet};
use legation_find::{Direction, direction};
use legation_gate::Listing;
use sha2::{Digest as _, Sha256};

use super::finder::{Made, Words};

/// Texts of one request.
const BATCH: usize = 16;
/// Longest text that is asked about, in bytes: models read no more of one anyway.
const TEXT_MAX: usize = 2_000;
/// Most vectors that are kept of other lists than the last one.
const KNOWN_MAX: usize = 20_000;
/// How long a search waits for the vector of its question.
const QUESTION_MAX: Duration = Duration::from_secs(1);

/// Who makes vectors.
pub trait Embedder: Send + Sync + fmt::Debug {
    /// The vectors of what servers say of themselves, in the order of the texts; or what is wrong, in
    /// words for the owner.
    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, String>>;

    /// The vector of a question, which may hold whatever its caller's conversation holds; `None` where
    /// the rules keep that from the model.
    fn ask(
        &self,
        context: &OpContext,
        question: String,
    ) -> BoxFuture<'static, Result<Option<Vec<f32>>, String>>;

    /// What was kept of an earlier start.
    fn recall(&self) -> Vec<u8>;

    /// Keeps it for the next.
    fn keep(&self, vectors: &[u8]);
}

/// The vectors that were made so far.
#[derive(Debug)]
pub struct Meaning {
    embedder: Arc<dyn Embedder>,
    /// `provider/model`: vectors of one are nothing to another.
    model: String,
    tasks: TaskSet,
    known: Mutex<HashMap<Key, Direction>>,
    recalled: OnceLock<()>,
    works: AtomicBool,
    /// How many texts of how many have their vectors, while some are made.
    made: Mutex<Option<(usize, usize)>>,
    /// Why the words alone answer.
    wrong: Mutex<Option<String>>,
}

type Key = [u8; 32];

/// The vectors of an index, by the places of its lists.
#[derive(Debug)]
pub(super) struct Vectors {
    pub(super) tools: Vec<Option<Direction>>,
    pub(super) skills: Vec<Option<Direction>>,
}

// === impl Meaning ===

impl Meaning {
    /// The vectors of a model.
    #[must_use]
    pub fn new(embedder: Arc<dyn Embedder>, model: String, tasks: TaskSet) -> Self {
        Self {
            embedder,
            model,
            tasks,
            known: Mutex::default(),
            recalled: OnceLock::new(),
            works: AtomicBool::new(false),
            made: Mutex::default(),
            wrong: Mutex::default(),
        }
    }

    /// What the owner should know.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let model = &self.model;
        if let Some(wrong) = wrong.as_ref() {
            return Some(format!(
                "embeddings of {model}: {wrong}; find_tools goes by words alone"
            ));
        }
        let (made, all) = (*self.made())?;
        Some(format!(
            "embeddings of {model}: {made} of {all} are made; until all are, find_tools goes by words alone"
        ))
    }

    /// The direction of a question, where it may be asked.
    pub(super) async fn of(&self, context: &OpContext, query: &str) -> Option<Direction> {
        let asked = self.embedder.ask(context, shortened(query));
        let answer = match tokio::time::timeout(QUESTION_MAX, asked).await {
            Ok(answer) => answer,
            Err(_) => Err("the model took more than a second for a question".to_owned()),
        };
        direction(&self.told(answer)??)
    }

    /// Makes the vectors of an index beside the calls, unless that is under way.
    pub(super) fn learn(self: &Arc<Self>, made: &Arc<Made>) {
        if made.vectors.get().is_some() || self.works.swap(true, Ordering::AcqRel) {
            return;
        }
        let (meaning, made) = (Arc::clone(self), Arc::clone(made));
        self.tasks.spawn("embeddings", async move {
            meaning.learnt(&made).await;
            *meaning.made() = None;
            meaning.works.store(false, Ordering::Release);
        });
    }

    async fn learnt(&self, made: &Made) {
        let (sight, model) = (made.sight.clone(), self.model.clone());
        // Ten thousand definitions take some tenths of a second to read.
        let read_all = tokio::task::spawn_blocking(move || {
            let tools = texts(&model, &sight.tools, Words::of);
            (tools, texts(&model, &sight.skills, Words::of_skill))
        });
        let Ok((tools, skills)) = read_all.await else {
            return;
        };
        if self.recalled.get().is_none() {
            let embedder = Arc::clone(&self.embedder);
            let kept = tokio::task::spawn_blocking(move || embedder.recall()).await;
            self.known().extend(read(&kept.unwrap_or_default()));
            self.recalled.get_or_init(|| ());
        }
        let mut asked = HashSet::new();
        let missing: Vec<(Key, String)> = {
            let known = self.known();
            let all = tools.iter().chain(&skills);
            all.filter(|(key, _)| !known.contains_key(key) && asked.insert(*key))
                .cloned()
                .collect()
        };
        for (at, batch) in missing.chunks(BATCH).enumerate() {
            *self.made() = Some((at * BATCH, missing.len()));
            let texts = batch.iter().map(|(_, text)| text.clone()).collect();
            let answer = self.embedder.embed(texts).await;
            let Some(vectors) = self.told(answer) else {
                return;
            };
            let keys = batch.iter().map(|(key, _)| *key);
            let vectors = vectors.iter().map(|vector| direction(vector));
            let made = keys.zip(vectors);
            self.known()
                .extend(made.filter_map(|(key, vector)| Some((key, vector?))));
        }
        let vectors = {
            let known = self.known();
            let of = |texts: &[(Key, String)]| {
                let found = texts.iter().map(|(key, _)| known.get(key).cloned());
                found.collect()
            };
            Vectors {
                tools: of(&tools),
                skills: of(&skills),
            }
        };
        made.vectors.get_or_init(|| vectors);
        if !missing.is_empty() {
            let used: HashSet<Key> = tools.iter().chain(&skills).map(|(key, _)| *key).collect();
            let kept = {
                let mut known = self.known();
                // What is not offered to this caller is made again if it is needed.
                if known.len() > KNOWN_MAX {
                    known.retain(|key, _| used.contains(key));
                }
                written(&known)
            };
            let embedder = Arc::clone(&self.embedder);
            drop(tokio::task::spawn_blocking(move || embedder.keep(&kept)).await);
        }
    }

    /// Notes how the model does.
    fn told<T>(&self, answer: Result<T, String>) -> Option<T> {
        let (told, wrong) = match answer {
            Ok(told) => (Some(told), None),
            Err(why) => (None, Some(why)),
        };
        let mut before = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = &wrong
            && before.as_ref() != Some(why)
        {
            tracing::warn!(model = %self.model, why, "embeddings are not made; find_tools goes by words alone");
        }
        *before = wrong;
        told
    }

    fn made(&self) -> MutexGuard<'_, Option<(usize, usize)>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Key, Direction>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the model reads of each definition, with its key.
fn texts(
    model: &str,
    listing: &Listing,
    words: impl Fn(&legation_gate::Entry) -> Words,
) -> Vec<(Key, String)> {
    let entries = listing.entries.iter();
    entries
        .map(|entry| {
            let words = words(entry);
            let text = shortened(&format!(
                "{} {}: {}",
                words.name, words.title, words.description
            ));
            let key = Sha256::new()
                .chain_update(model)
                .chain_update([0])
                .chain_update(&text);
            (key.finalize().into(), text)
        })
        .collect()
}

fn shortened(text: &str) -> String {
    let mut end = text.len().min(TEXT_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

/// For each vector its key, its size and its numbers, little-endian.
fn written(known: &HashMap<Key, Direction>) -> Vec<u8> {
    let mut out = Vec::new();
    for (key, vector) in known {
        let size = u32::try_from(vector.len()).unwrap_or_default();
        out.extend_from_slice(key);
        out.extend_from_slice(&size.to_le_bytes());
        let numbers = vector.iter().take(size as usize);
        numbers.for_each(|one| out.extend_from_slice(&one.to_le_bytes()));
    }
    out
}

/// What [`written`] wrote, as far as it makes sense: the rest is made again.
fn read(mut bytes: &[u8]) -> Vec<(Key, Direction)> {
    let mut known = Vec::new();
    while let Some((key, rest)) = bytes.split_first_chunk::<32>()
        && let Some((size, rest)) = rest.split_first_chunk::<4>()
        && let Some(length) = (u32::from_le_bytes(*size) as usize).checked_mul(4)
        && let Some((numbers, rest)) = rest.split_at_checked(length)
    {
        let (numbers, _) = numbers.as_chunks::<4>();
        let vector: Vec<f32> = numbers.iter().map(|one| f32::from_le_bytes(*one)).collect();
        if let Some(vector) = direction(&vector) {
            known.push((*key, vector));
        }
        bytes = rest;
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_kept_and_damage_costs_only_time() {
        let one = direction(&[0.6, 0.8]).unwrap();
        let known = HashMap::from([([7; 32], Arc::clone(&one))]);
        let text = written(&known);
        let [(key, vector)] = &read(&text)[..] else {
            panic!("one vector");
        };
        assert_eq!((*key, vector.len()), ([7; 32], 2));
        assert!((vector[1] - one[1]).abs() < 1e-6);
        assert!(read(&text[..text.len() - 1]).is_empty());
        assert!(read(&[255; 40]).is_empty());
        assert!(read(&[]).is_empty());
    }
}
