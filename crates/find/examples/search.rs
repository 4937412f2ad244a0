//! How long it takes to index ten thousand tools, and to search them.
//!
//! `search [ROUNDS]` prints one JSON object a line: what was done, and milliseconds.

use std::io::Write as _;
use std::time::Duration;

use legation_find::{Document, Index};

const TOOLS: usize = 10_000;
const QUESTIONS: &str = include_str!("../questions/tuned.tsv");
const VERBS: [&str; 8] = [
    "list", "get", "create", "update", "delete", "search", "send", "read",
];
const THINGS: [&str; 10] = [
    "file", "issue", "message", "invoice", "branch", "calendar", "customer", "page", "image",
    "table",
];

fn main() -> std::io::Result<()> {
    let rounds = std::env::args()
        .nth(1)
        .and_then(|rounds| rounds.parse().ok());
    let rounds: usize = rounds.unwrap_or(20);
    let texts: Vec<[String; 3]> = (0..TOOLS)
        .map(|at| {
            let (verb, thing) = (VERBS[at % 8], THINGS[at / 8 % 10]);
            [
                format!("{verb}_{thing}_{}", at / 80),
                format!(
                    "{verb} one or several {thing}s of system number {}. Use it when somebody asks for what \
                     happened there; it returns names, states and times as a list of at most a hundred.",
                    at / 80
                ),
                format!("system{}", at / 80),
            ]
        })
        .collect();
    let documents = || {
        texts.iter().map(|[name, description, server]| Document {
            name,
            description,
            server,
            arguments: "id limit cursor",
            about_arguments: "Which one. How many at most. Where to go on.",
            ..Document::default()
        })
    };
    let (index, made) = timed(|| Index::new(documents()));
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..rounds {
        for (question, _) in QUESTIONS.lines().filter_map(|line| line.split_once('\t')) {
            let (hits, took) = timed(|| index.search(question));
            assert!(hits.len() <= TOOLS, "more hits than tools");
            times.push(took);
        }
    }
    times.sort_unstable();
    let mut out = std::io::stdout().lock();
    let mut tell = |what: &str, took: Duration| {
        let ms = took.as_secs_f64() * 1000.0;
        writeln!(out, r#"{{"what":"{what}","ms":{ms:.3}}}"#)
    };
    tell("index made", made)?;
    tell("search p50", times[times.len() / 2])?;
    tell("search p99", times[times.len() * 99 / 100])
}

#[expect(
    clippy::disallowed_methods,
    reason = "a measurement takes the time itself"
)]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = std::time::Instant::now();
    let result = work();
    (result, begun.elapsed())
}
