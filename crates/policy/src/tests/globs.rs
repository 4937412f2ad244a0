use crate::glob::Glob;

/// The definition of the language, slow and obvious.
fn reference(pattern: &[char], text: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some(('*', rest)) => (0..=text.len()).any(|at| reference(rest, &text[at..])),
        Some(('?', rest)) => !text.is_empty() && reference(rest, &text[1..]),
        Some((one, rest)) => text.first() == Some(one) && reference(rest, &text[1..]),
    }
}

fn words(alphabet: &[char], up_to: usize) -> Vec<Vec<char>> {
    let mut all = vec![vec![]];
    let mut last = all.clone();
    for _ in 0..up_to {
        last = last
            .iter()
            .flat_map(|word| {
                alphabet.iter().map(move |letter| {
                    let mut longer = word.clone();
                    longer.push(*letter);
                    longer
                })
            })
            .collect();
        all.extend(last.iter().cloned());
    }
    all
}

#[test]
fn every_short_pattern_agrees_with_the_reference() {
    let texts: Vec<(Vec<char>, String)> = words(&['a', 'é'], 6)
        .into_iter()
        .map(|text| (text.clone(), text.into_iter().collect()))
        .collect();
    for pattern in words(&['a', 'é', '*', '?'], 5) {
        let glob = Glob::compile(&pattern.iter().collect::<String>());
        for (letters, text) in &texts {
            assert_eq!(
                glob.matches(text),
                reference(&pattern, letters),
                "{pattern:?} on {text:?}"
            );
        }
    }
}

#[test]
fn a_hostile_text_costs_no_more_than_its_length() {
    // Exponential or cubic matching would never return from this.
    let glob = Glob::compile(&"*a?".repeat(150));
    assert!(!glob.matches(&"a".repeat(200)));
    let glob = Glob::compile(&format!("{}b", "*a".repeat(200)));
    assert!(!glob.matches(&"a".repeat(1 << 20)));
}

#[test]
fn names_are_compared_exactly() {
    for (pattern, text, expected) in [
        ("read_*", "read_file", true),
        ("read_*", "Read_file", false),
        ("file:///home/*", "file:///home/a/b?c", true),
        ("file:///home/*", "file:///etc/passwd", false),
        ("a.c", "abc", false),
        ("[ab]", "a", false),
        ("\\*", "*", false),
        ("*", "", true),
        ("?", "", false),
        ("?", "é", true),
    ] {
        assert_eq!(
            Glob::compile(pattern).matches(text),
            expected,
            "{pattern} on {text}"
        );
    }
}
