use std::collections::HashMap;

use super::{Flag, LINES, Word, lists, look_up};

#[test]
fn every_word_has_what_all_lists_say_and_no_other_has_anything() {
    let mut said: HashMap<&str, Flag> = HashMap::new();
    for (number, (list, flags)) in lists().enumerate() {
        let lines = list.lines();
        let lines = lines.filter(|line| number < LINES.len() || !line.starts_with('#'));
        for word in lines.flat_map(str::split_ascii_whitespace) {
            *said.entry(word).or_default() |= flags;
        }
    }
    let fits = |(list, _): (&str, Flag)| list.len() < 1 << super::PLACE;
    assert!(lists().all(fits) && lists().count() < 1 << (31 - super::PLACE - super::TAG));
    assert!(said.len() > 80_000, "{} words", said.len());
    for (word, flags) in &said {
        assert_eq!(look_up(word), Word(*flags), "{word}");
    }
    for part in said.keys().filter_map(|word| word.get(..word.len() - 1)) {
        let known = said.get(part).copied().unwrap_or_default();
        assert_eq!(look_up(part), Word(known), "{part:?}");
    }
    assert_eq!(look_up("January"), look_up("january"));
    assert!(look_up("january").is(super::MONTH));
    assert_eq!(look_up("ja\u{301}nuary"), Word::default());
}
