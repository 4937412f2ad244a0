//! Scores the engine on a corpus and measures its speed: `score NOTES.jsonl [show]`.
//!
//! One line a number, as JSON; with `show`, what leaked and which words were lost as well. A
//! corpus that is held out is never shown.

#[path = "../tests/it/score.rs"]
mod score;

use std::io::Write as _;
use std::time::Duration;

use legation_redact::{MemoryVault, Redactor, RedactorSpec};
use score::score;
use serde_json::json;

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let arguments: Vec<String> = arguments();
    let corpus = std::fs::read_to_string(&arguments[0])?;
    let result = score(&corpus);
    writeln!(out, "{}", corpus.lines().next().unwrap_or_default())?;
    for (name, share) in [
        ("roster", result.roster),
        ("patterned", result.patterned),
        ("spans", result.spans),
        ("leaking notes", result.leaking),
        ("words lost", result.words),
    ] {
        let line =
            json!({"name": name, "percent": share.percent(), "hit": share.hit, "all": share.all});
        writeln!(out, "{line}")?;
    }
    for (class, share) in &result.classes {
        let line =
            json!({"class": class, "percent": share.percent(), "hit": share.hit, "all": share.all});
        writeln!(out, "{line}")?;
    }
    let (speed, block) = speed(&corpus);
    writeln!(
        out,
        "{}",
        json!({"name": "speed", "megabytes_per_second": speed})
    )?;
    writeln!(out, "{}", json!({"name": "4 KiB", "milliseconds": block}))?;
    if arguments.get(1).is_some_and(|word| word == "show") {
        for miss in &result.misses {
            writeln!(out, "{miss}")?;
        }
        let mut lost: Vec<_> = result.lost.iter().collect();
        lost.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        writeln!(out, "{:?}", &lost[..lost.len().min(60)])?;
    }
    Ok(())
}

/// Megabytes a second over the corpus' texts, in pieces so small that the best run of each is
/// seldom interrupted; and milliseconds for 4 KiB.
fn speed(corpus: &str) -> (f64, f64) {
    let notes = corpus
        .lines()
        .skip(1)
        .filter_map(|line| serde_json::from_str::<score::Note>(line).ok());
    let text: String = notes
        .filter(|note| note.form == "text")
        .map(|note| note.text + "\n\n")
        .collect();
    let redactor = Redactor::build(&RedactorSpec::default()).expect("there is nothing to refuse");
    let run = |text: &str| {
        let started = now();
        let redacted = redactor.redact_text(text, &mut MemoryVault::new());
        assert!(!redacted.findings.is_empty() || text.is_empty());
        started.elapsed()
    };
    let best = |text: &str| {
        (0..100)
            .map(|_| run(text))
            .min()
            .unwrap_or(Duration::ZERO)
            .as_secs_f64()
    };
    let mut end = text.len().min(4096);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let size = f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX));
    let spent: f64 = pieces(&text).iter().map(|piece| best(piece)).sum();
    (size / spent / 1e6, best(&text[..end]) * 1e3)
}

/// A text in pieces of 32 KiB and a little more, parted at blank lines.
fn pieces(text: &str) -> Vec<&str> {
    const PIECE: usize = 32 * 1024;
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.len() > PIECE {
        let from = rest.ceil_char_boundary(PIECE);
        let end = rest[from..]
            .find("\n\n")
            .map_or(rest.len(), |blank| from + blank + 2);
        let (piece, behind) = rest.split_at(end);
        pieces.push(piece);
        rest = behind;
    }
    pieces.push(rest);
    pieces
}

#[expect(clippy::disallowed_methods, reason = "a measurement is of real time")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

fn arguments() -> Vec<String> {
    std::env::args().skip(1).collect()
}
