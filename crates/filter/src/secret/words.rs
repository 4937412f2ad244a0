//! The words of all patterns, and whether any is in a text.

use std::collections::HashMap;

use aho_corasick::automaton::{Automaton, OverlappingState};
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, Input, StartKind};

use super::patterns::PATTERNS;

/// One automaton for the words, whose case does not count.
pub(super) struct Words {
    automaton: DFA,
    any: Table,
    /// The pattern of each word.
    of: Vec<usize>,
}

/// The automaton as far as it says whether there is any word: once it has found one it stays there. What is read of it is a ninth of the
/// automaton's size, in three quarters of the time.
struct Table {
    /// What each byte is to it.
    classes: [u8; 256],
    /// The state after a state and a class, at their sum. As many as a state can be, so that none is out of bounds.
    next: Box<[u16; 1 << 16]>,
    start: u16,
    /// What a word can lie across, less one byte.
    across: usize,
}

/// The state of a [`Table`] that has found a word; what no state stands for leads there.
const FOUND: u16 = 0;
/// How many parts of a text are read side by side.
const PARTS: usize = 4;
/// How much is read of each part before it is asked whether there was a word.
const BLOCK: usize = 4 * 1024;

impl Words {
    /// Of all patterns; absent only with words that the tests would not let pass.
    pub(super) fn new() -> Option<Self> {
        let words = PATTERNS.iter().enumerate();
        let words =
            words.flat_map(|(index, pattern)| pattern.words.iter().map(move |word| (index, *word)));
        let (of, words): (Vec<usize>, Vec<&str>) = words.unzip();
        let automaton = DFA::builder()
            .start_kind(StartKind::Unanchored)
            .ascii_case_insensitive(true)
            .prefilter(false)
            .build(&words)
            .ok()?;
        let any = Table::new(&automaton, &words)?;
        Some(Self { automaton, any, of })
    }

    /// Whether one of them is in the text.
    pub(super) fn any(&self, text: &[u8]) -> bool {
        self.any.finds(text)
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

impl Table {
    /// `None` where it has more states than it has room for.
    fn new(automaton: &DFA, words: &[&str]) -> Option<Self> {
        let in_words = |byte: u8| {
            words
                .iter()
                .any(|word| word.bytes().any(|one| one.eq_ignore_ascii_case(&byte)))
        };
        // To the automaton all bytes that stand in no word are one, and so are both cases of a letter.
        let mut classes = [0; 256];
        let strange = (0..=u8::MAX).find(|byte| !in_words(*byte))?;
        let mut like = vec![strange];
        for byte in (0..=u8::MAX).filter(|byte| in_words(*byte)) {
            if !byte.is_ascii_uppercase() {
                classes[usize::from(byte)] = u8::try_from(like.len()).ok()?;
                like.push(byte);
            }
        }
        for byte in b'A'..=b'Z' {
            classes[usize::from(byte)] = classes[usize::from(byte.to_ascii_lowercase())];
        }
        let first = automaton.start_state(Anchored::No).ok()?;
        let place = |number: usize| u16::try_from(number * like.len()).ok();
        let mut next: Box<[u16; 1 << 16]> = vec![0; 1 << 16].into_boxed_slice().try_into().ok()?;
        let mut states = vec![first];
        let mut numbers = HashMap::from([(first, 1)]);
        let mut done = 0;
        while let Some(&state) = states.get(done) {
            done += 1;
            for (class, byte) in like.iter().enumerate() {
                let to = automaton.next_state(Anchored::No, state, *byte);
                if automaton.is_match(to) {
                    continue;
                }
                let number = *numbers.entry(to).or_insert_with(|| {
                    states.push(to);
                    states.len()
                });
                *next.get_mut(done * like.len() + class)? = place(number)?;
            }
        }
        Some(Self {
            classes,
            next,
            start: place(1)?,
            across: automaton.max_pattern_len().saturating_sub(1),
        })
    }

    fn step(&self, state: u16, byte: u8) -> u16 {
        let class = self.classes[usize::from(byte)];
        self.next[usize::from(state.wrapping_add(class.into()))]
    }

    /// Whether there is a word in the text.
    ///
    /// Each step waits for the one before, which is nearly all it does. Four that read a quarter each take little more
    /// time than one of them; the quarters overlap by what a word can lie across.
    fn finds(&self, text: &[u8]) -> bool {
        let each = (text.len() + (PARTS - 1) * self.across).div_ceil(PARTS);
        if each > text.len() {
            let end = text
                .iter()
                .fold(self.start, |at, byte| self.step(at, *byte));
            return end == FOUND;
        }
        let part = |index: usize| {
            let at = index * (each - self.across);
            &text[at.min(text.len() - each)..][..each]
        };
        let parts: [&[u8]; PARTS] = std::array::from_fn(part);
        let mut states = [self.start; PARTS];
        for from in (0..each).step_by(BLOCK) {
            for at in from..each.min(from + BLOCK) {
                for (state, part) in states.iter_mut().zip(parts) {
                    *state = self.step(*state, part[at]);
                }
            }
            if states.contains(&FOUND) {
                return true;
            }
        }
        false
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
    fn the_table_says_what_the_automaton_says() {
        let words = Words::new().unwrap();
        let all: Vec<&str> = PATTERNS
            .iter()
            .flat_map(|pattern| pattern.words)
            .copied()
            .collect();
        for word in &all {
            for text in [word.to_uppercase(), word.to_lowercase(), (*word).to_owned()] {
                // Each word, each part of one, and each with the beginning of another before it.
                for end in 0..=text.len() {
                    for before in [0, 1, 2].map(|most| &all[end % all.len()][..most]) {
                        let text = format!("{before}{}", &text[..end]);
                        let found = words.automaton.try_find(&Input::new(&text)).unwrap();
                        assert_eq!(words.any(text.as_bytes()), found.is_some(), "{text}");
                    }
                }
                let long = "\n".repeat(40_000) + &text + &"\n".repeat(20_000);
                assert!(words.any(long.as_bytes()), "{text}");
                assert!(!words.any(long.replace(&text, "").as_bytes()), "{text}");
            }
        }
    }

    #[test]
    fn every_byte_is_to_the_table_what_it_is_to_the_automaton() {
        let words = Words::new().unwrap();
        for byte in 0..=u8::MAX {
            for word in ["ghp_", "Q~", "://", "A3T", "PRIVATE KEY"] {
                for at in 0..=word.len() {
                    // In between, and in the place of one.
                    for over in [at, (at + 1).min(word.len())] {
                        let text = [&word.as_bytes()[..at], &[byte], &word.as_bytes()[over..]];
                        let text = text.concat();
                        let found = words.automaton.try_find(&Input::new(&text)).unwrap();
                        assert_eq!(words.any(&text), found.is_some(), "{text:?}");
                    }
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
