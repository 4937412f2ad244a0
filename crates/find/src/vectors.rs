//! Documents and questions as directions that a model gave them: what means alike lies near each other.
//!
//! They stand beside words and never in their place: a model knows no name that was made up yesterday.

use std::collections::HashSet;
use std::sync::Arc;

use crate::Hit;

/// Most documents that count as near. There is always a nearest, so the words decide about the others.
const NEAR: usize = 10;
/// How many found by words come before each that is only near.
const WORDS: usize = 3;

/// A direction: a vector of length one.
pub type Direction = Arc<[f32]>;

/// The direction of a vector; `None` for one that has none.
#[must_use]
pub fn direction(vector: &[f32]) -> Option<Direction> {
    let length = vector.iter().map(|one| one * one).sum::<f32>().sqrt();
    let is_one = length.is_finite() && length > 0.0;
    is_one.then(|| vector.iter().map(|one| one / length).collect())
}

/// The documents next to a question, nearest first. Those of another size than the question are of
/// another model, and near to nothing.
#[must_use]
pub fn nearest(documents: &[Option<Direction>], question: &[f32]) -> Vec<Hit> {
    let mut hits: Vec<Hit> = documents
        .iter()
        .enumerate()
        .filter_map(|(at, document)| {
            let document = document.as_ref()?;
            let same = document.len() == question.len();
            let score = document.iter().zip(question).map(|(a, b)| a * b).sum();
            same.then_some(Hit { at, score })
        })
        .collect();
    // The sort is stable.
    hits.sort_by(|a, b| b.score.total_cmp(&a.score));
    hits.truncate(NEAR);
    hits
}

/// What two searches found, as one: in the order of the words, and after every few of those the nearest that has no
/// place yet. Places are not weighed against each other: a model that knows little would move what the words are sure of.
#[must_use]
pub fn fused(words: &[Hit], near: &[Hit]) -> Vec<Hit> {
    let mut placed = HashSet::new();
    let mut all = Vec::with_capacity(words.len() + near.len());
    let (mut words, mut near) = (words.iter(), near.iter());
    loop {
        let before = all.len();
        let is_new = |hit: &&Hit| placed.insert(hit.at);
        all.extend(words.by_ref().filter(is_new).take(WORDS).copied());
        let is_new = |hit: &&Hit| placed.insert(hit.at);
        all.extend(near.by_ref().filter(is_new).take(1).copied());
        if all.len() == before {
            return all;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(hits: &[Hit]) -> Vec<usize> {
        hits.iter().map(|hit| hit.at).collect()
    }

    #[test]
    fn what_means_alike_is_near() {
        let documents = [
            direction(&[1.0, 0.0]),
            direction(&[1.0, 1.0]),
            None,
            direction(&[0.0, 9.0]),
            direction(&[1.0, 0.0, 0.0]),
        ];
        let question = direction(&[0.1, 5.0]).expect("a direction");
        assert_eq!(places(&nearest(&documents, &question)), [3, 1, 0]);
        for none in [&[][..], &[0.0], &[f32::NAN, 1.0], &[f32::INFINITY]] {
            assert!(direction(none).is_none(), "{none:?}");
        }
    }

    #[test]
    fn both_ways_to_find_something_count() {
        let hits = |places: &[usize]| -> Vec<Hit> {
            let places = places.iter();
            places
                .map(|at| Hit {
                    at: *at,
                    score: 1.0,
                })
                .collect()
        };
        let found = fused(&hits(&[1, 2, 3, 4, 5, 6, 7]), &hits(&[6, 1, 9]));
        assert_eq!(places(&found), [1, 2, 3, 6, 4, 5, 7, 9]);
        assert_eq!(places(&fused(&hits(&[4, 7]), &hits(&[9, 7]))), [4, 7, 9]);
        assert_eq!(places(&fused(&hits(&[4, 7]), &[])), [4, 7]);
        assert_eq!(places(&fused(&[], &hits(&[3]))), [3]);
    }
}
