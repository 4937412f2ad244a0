//! From text to the words that are compared.

/// Words that say nothing of what a tool does.
const EMPTY: &[&str] = &[
    "a",
    "about",
    "all",
    "also",
    "an",
    "and",
    "any",
    "are",
    "as",
    "at",
    "be",
    "been",
    "being",
    "but",
    "by",
    "can",
    "could",
    "did",
    "do",
    "does",
    "each",
    "etc",
    "for",
    "from",
    "had",
    "has",
    "have",
    "he",
    "her",
    "here",
    "his",
    "how",
    "i",
    "if",
    "in",
    "into",
    "is",
    "it",
    "its",
    "just",
    "like",
    "may",
    "me",
    "might",
    "must",
    "my",
    "need",
    "no",
    "not",
    "now",
    "of",
    "on",
    "or",
    "our",
    "please",
    "shall",
    "she",
    "should",
    "so",
    "some",
    "somebody",
    "something",
    "such",
    "than",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "this",
    "those",
    "to",
    "tool",
    "too",
    "us",
    "very",
    "want",
    "was",
    "we",
    "were",
    "what",
    "when",
    "which",
    "will",
    "with",
    "would",
    "you",
    "your",
];
/// Longest word that is kept, in bytes; what is longer is no word.
const WORD_MAX: usize = 64;

/// The words of a text, as stems: `readFile`, `read_file` and `read-file` are two, and so is `reading files`.
/// A name with capitals inside is a word of its own too, because people write `github` for `GitHub`.
/// `emit` gets each with where it stands, so that neighbours can be told.
pub(crate) fn each(text: &str, emit: &mut dyn FnMut(usize, &str)) {
    let mut at = 0;
    for run in text.split(|c: char| !c.is_alphanumeric() && c != '\'') {
        let run = run.trim_matches('\'');
        let run = run.strip_suffix("'s").unwrap_or(run);
        if run.is_empty() || run.len() > WORD_MAX {
            continue;
        }
        // `PRs` is a plural, not two words.
        let short = run.strip_suffix('s').unwrap_or_default();
        let run = if !short.is_empty() && short.chars().all(char::is_uppercase) {
            short
        } else {
            run
        };
        let mut parts = 0;
        let mut rest = run;
        while !rest.is_empty() {
            let end = part_end(rest);
            let (part, after) = rest.split_at(end);
            rest = after;
            parts += 1;
            say(part, &mut at, emit);
        }
        if parts > 1 {
            say(run, &mut at, emit);
        }
    }
}

fn say(word: &str, at: &mut usize, emit: &mut dyn FnMut(usize, &str)) {
    let lower = word.replace('\'', "").to_lowercase();
    if EMPTY.binary_search(&lower.as_str()).is_ok() {
        return;
    }
    emit(*at, &stem(&lower));
    *at += 1;
}

/// Where the first word of a name ends: `readFile` after `read`, `HTTPHeader` after `HTTP`.
fn part_end(name: &str) -> usize {
    let mut before: Option<(usize, char)> = None;
    for (at, c) in name.char_indices() {
        if let Some((last, was)) = before {
            if was.is_lowercase() && c.is_uppercase() {
                return at;
            }
            if was.is_uppercase() && c.is_lowercase() && last > 0 {
                return last;
            }
        }
        before = Some((at, c));
    }
    name.len()
}

/// A word without what grammar put at its end. Not every form of a word gets the same stem; those that do not
/// are in the table of synonyms or are lost.
pub(crate) fn stem(word: &str) -> String {
    let mut stem = word.to_owned();
    if !word.is_ascii() || word.len() < 4 {
        return stem;
    }
    if stem.ends_with("ies") && stem.len() > 4 {
        stem.truncate(stem.len() - 3);
        stem.push('y');
    } else if ["sses", "shes", "ches", "xes", "zes"]
        .iter()
        .any(|end| stem.ends_with(end))
    {
        stem.truncate(stem.len() - 2);
    } else if stem.ends_with('s') && !["ss", "us", "is"].iter().any(|end| stem.ends_with(end)) {
        stem.truncate(stem.len() - 1);
    }
    for end in ["ations", "ation", "ingly", "edly", "ing", "ed", "ly"] {
        if let Some(head) = stem.strip_suffix(end)
            && head.len() > 2
            && head.bytes().any(|byte| b"aeiouy".contains(&byte))
        {
            let mut head = head.to_owned();
            if end.starts_with("ation") {
                head.push_str("at");
            }
            undouble(&mut head);
            stem = head;
            break;
        }
    }
    for (end, keep) in [("tion", 1), ("sion", 1)] {
        if stem.len() > end.len() + 2 && stem.ends_with(end) {
            stem.truncate(stem.len() - end.len() + keep);
        }
    }
    if stem.len() > 3 && stem.ends_with('e') {
        stem.truncate(stem.len() - 1);
    }
    if stem.len() > 3 && stem.ends_with('y') {
        stem.truncate(stem.len() - 1);
        stem.push('i');
    }
    stem
}

/// `planned` is `plan`; `called` and `passed` keep theirs.
fn undouble(stem: &mut String) {
    let bytes = stem.as_bytes();
    if let [.., a, b] = bytes
        && a == b
        && !b"lsz".contains(b)
        && !b"aeiou".contains(b)
    {
        stem.pop();
    }
}
