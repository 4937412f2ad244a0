//! The words of all patterns, and whether any is in a text.

use aho_corasick::automaton::{Automaton, OverlappingState};
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, Input, StartKind};

use super::patterns::PATTERNS;

/// One automaton for the words, whose case does not count.
pub(super) struct Words {
    automaton: DFA,
    /// The pattern of each word.
    of: Vec<usize>,
}

impl Words {
    /// Of all patterns; absent only with words that the tests would not let pass.
    pub(super) fn new() -> Option<Self> {
        let words = PATTERNS.iter().enumerate();
        let words =
            words.flat_map(|(index, pattern)| pattern.words.iter().map(move |word| (index, *word)));
        let (of, words): (Vec<usize>, Vec<&str>) = words.unzip();
        // Every result is read by it: a table is three times as fast as what is chosen for so many words, and larger.
        let automaton = DFA::builder()
            .start_kind(StartKind::Unanchored)
            .ascii_case_insensitive(true)
            .prefilter(false)
            .build(words)
            .ok()?;
        Some(Self { automaton, of })
    }

    /// Whether one of them is in the text.
    ///
    /// Each step of an automaton waits for the one before, which is nearly all it does. Four that read a quarter each take little more
    /// time than one of them; the quarters overlap by what a word can lie across.
    pub(super) fn any(&self, text: &[u8]) -> bool {
        let across = self.automaton.max_pattern_len().saturating_sub(1);
        let each = (text.len() + 3 * across).div_ceil(4);
        let Ok(start) = self.automaton.start_state(Anchored::No) else {
            return true;
        };
        if each > text.len() {
            return self.one(text);
        }
        let next = each - across;
        let quarter = |at: usize| &text[at.min(text.len() - each)..][..each];
        let rest = quarter(next)
            .iter()
            .zip(quarter(2 * next))
            .zip(quarter(3 * next));
        let [mut a, mut b, mut c, mut d] = [start; 4];
        for (&first, ((&second, &third), &fourth)) in quarter(0).iter().zip(rest) {
            a = self.automaton.next_state(Anchored::No, a, first);
            b = self.automaton.next_state(Anchored::No, b, second);
            c = self.automaton.next_state(Anchored::No, c, third);
            d = self.automaton.next_state(Anchored::No, d, fourth);
            // Special is what matches, and a state that an automaton without a prefilter and without anchors never enters.
            if [a, b, c, d]
                .iter()
                .any(|&state| self.automaton.is_special(state))
            {
                return true;
            }
        }
        false
    }

    /// The same, read from its beginning.
    fn one(&self, text: &[u8]) -> bool {
        let found = self.automaton.try_find(&Input::new(text).earliest(true));
        found.map_or(true, |found| found.is_some())
    }

    /// The patterns whose words are in the text, each once, as their words are met. Overlapping: one pattern's word may hide another's.
    pub(super) fn patterns(&self, text: &str) -> Vec<usize> {
        let (input, mut state) = (Input::new(text), OverlappingState::start());
        let (mut seen, mut found) = ([false; PATTERNS.len()], Vec::new());
        loop {
            let step = self.automaton.try_find_overlapping(&input, &mut state);
            if step.is_err() {
                return (0..PATTERNS.len()).collect();
            }
            let Some(hit) = state.get_match() else {
                return found;
            };
            let index = self.of[hit.pattern().as_usize()];
            if !std::mem::replace(&mut seen[index], true) {
                found.push(index);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_wherever_it_lies() {
        let words = Words::new().unwrap();
        let longest = PATTERNS.iter().flat_map(|pattern| pattern.words);
        let longest = longest.max_by_key(|word| word.len()).unwrap();
        for word in ["Q~", "gHp_", longest] {
            for length in 0..300 {
                let mut text = vec![b'x'; length];
                assert!(!words.any(&text), "{length}");
                for at in 0..=length.saturating_sub(word.len()) {
                    if length < word.len() {
                        continue;
                    }
                    text[at..at + word.len()].copy_from_slice(word.as_bytes());
                    assert!(words.any(&text), "{word} at {at} of {length}");
                    text[at..at + word.len()].fill(b'x');
                }
            }
        }
    }

    #[test]
    fn each_pattern_is_named_once() {
        let words = Words::new().unwrap();
        let found = words.patterns("sk-ant-1, sk-or-2, sk-3");
        let kinds: Vec<&str> = found.iter().map(|&index| PATTERNS[index].kind).collect();
        assert_eq!(kinds, ["openai-key", "anthropic-key", "openrouter-key"]);
        assert!(words.patterns("nothing of the kind").is_empty());
    }
}
