//! Whether a text looks drawn at random.

/// Least bits a character of what counts as random.
const BITS_MIN: f64 = 3.0;
/// Fewest and most characters of a value that a name makes suspect.
const LENGTH: std::ops::RangeInclusive<usize> = 8..=512;

/// Whether a value whose name says that it is a secret looks like one and not like prose, a
/// placeholder or a type.
pub(super) fn looks_random(text: &str) -> bool {
    LENGTH.contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic())
        && !is_placeholder(text)
        && mixed(text)
        && bits(text) >= BITS_MIN
}

/// Letters and digits, or letters of both cases inside a word.
fn mixed(text: &str) -> bool {
    let has = |wanted: fn(&u8) -> bool| text.as_bytes().iter().any(wanted);
    let letters = has(u8::is_ascii_alphabetic);
    letters && has(u8::is_ascii_digit)
}

/// What people write where a secret would stand.
fn is_placeholder(text: &str) -> bool {
    const WORDS: [&str; 16] = [
        "example",
        "placeholder",
        "changeme",
        "change-me",
        "your",
        "xxxx",
        "****",
        "<",
        "${",
        "{{",
        "dummy",
        "redacted",
        "masked",
        "process.env",
        "environ",
        "...",
    ];
    let lower = text.to_ascii_lowercase();
    WORDS.iter().any(|word| lower.contains(word))
}

/// Shannon entropy of the bytes, in bits each.
fn bits(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let all = f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX));
    let parts = counts.iter().filter(|count| **count > 0);
    parts
        .map(|count| f64::from(*count) / all)
        .map(|share| -share * share.log2())
        .sum()
}
