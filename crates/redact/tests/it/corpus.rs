//! A small corpus that the generator wrote once, so that a fall in recall is seen at once.

use crate::score::score;

/// 120 notes of the tuning set; `eval/generate.py dev 21 120` writes them anew.
const CORPUS: &str = include_str!("../../eval/corpus.jsonl");

#[test]
fn finds_what_it_found() {
    let score = score(CORPUS);
    assert!(score.spans.all > 500, "the corpus is whole");
    assert_eq!(score.roster.hit, score.roster.all, "{:?}", score.misses);
    assert!(score.patterned.percent() >= 99.5, "{:?}", score.misses);
    assert!(score.spans.percent() >= 98.8, "{:?}", score.misses);
    assert!(score.leaking.percent() <= 6.0, "{:?}", score.misses);
    assert!(score.words.percent() <= 5.0, "{:?}", score.lost);
}
