//! What the inbox costs, one line of JSON for each number, for `cargo xtask bench --only inbox`:
//! `inbox_cost burst FOLDER`, `inbox_cost fill FOLDER RECORDS`, `inbox_cost read FOLDER`.
//!
//! Each part is a process of its own, so that none is measured with what another left in memory.
//! `fill` ends as a hub does that is killed: what came last is in no index.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use legation_core::{Clock as _, Moment, SystemClock};
use legation_inbox::{Channel, ConsumerName, Inbox, Incoming, Kind, Options, Pull, Ungoverned};
use legation_keystore::Keystore;
use serde_json::{Value, json};

/// Messages that one source brings, one at a time.
const SINGLE: usize = 200;
/// Sources that bring messages at once, and how many each.
const CROWD: usize = 64;
const EACH: usize = 40;
/// Messages that are brought at a time where it is not looked at how long that takes.
const BATCH: usize = 5_000;
/// Messages that are in no index when the process ends.
const LATE: usize = 10_000;
/// Messages of a pull.
const LIMIT: usize = 20;
/// Calls whose times are looked at, and those before them.
const PULLS: usize = 1_000;
const WARM_UP: usize = 50;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["burst", folder] => burst(Path::new(folder)),
        ["fill", folder, records] => fill(Path::new(folder), records.parse().expect("a number")),
        ["read", folder] => read(Path::new(folder)),
        _ => panic!("`burst FOLDER`, `fill FOLDER RECORDS` or `read FOLDER`"),
    }
}

/// One at a time, and many at once.
fn burst(folder: &Path) {
    let inbox = open(folder);
    let alone = time(|| {
        for at in 0..SINGLE {
            keep(&inbox, at..at + 1, "alone");
        }
    });
    let together = time(|| {
        std::thread::scope(|scope| {
            for writer in 0..CROWD {
                let inbox = &inbox;
                scope.spawn(move || {
                    for at in writer * EACH..(writer + 1) * EACH {
                        keep(inbox, at..at + 1, "together");
                    }
                });
            }
        });
    });
    let per_second = |count: usize, took: Duration| count as f64 / took.as_secs_f64();
    say(&json!({
        "alone_per_second": per_second(SINGLE, alone),
        "together_per_second": per_second(CROWD * EACH, together),
    }));
}

/// Grows the inbox to so many records.
fn fill(folder: &Path, records: usize) {
    let inbox = open(folder);
    let mut at = usize::try_from(inbox.unread(&nobody())).expect("few");
    let early = resident_kb();
    while at + LATE < records {
        let end = (at + BATCH).min(records - LATE);
        keep(&inbox, at..end, "many");
        at = end;
    }
    drop(inbox);
    let inbox = open(folder);
    keep(&inbox, at..records, "many");
    say(&json!({ "early_kb": early, "resident_kb": resident_kb() }));
    std::mem::forget(inbox);
}

/// Starts, and reads what there is.
fn read(folder: &Path) {
    let mut inbox = None;
    let after_a_kill = time(|| inbox = Some(open(folder)));
    drop(inbox.take());
    let mut starts: Vec<Duration> = (0..5)
        .map(|_| {
            drop(inbox.take());
            time(|| inbox = Some(open(folder)))
        })
        .collect();
    starts.sort_unstable();
    let inbox = inbox.expect("opened");
    let reader = ConsumerName::new("bench", None);
    let pull = || Pull {
        consumer: reader.clone(),
        since_id: None,
        limit: LIMIT,
        mark_consumed: true,
        channel: None,
        entity: None,
        began: Moment::now(),
        is_persons: false,
    };
    let before = resident_kb();
    let records = usize::try_from(inbox.unread(&nobody())).expect("few");
    let calls = (WARM_UP + PULLS).min(records / LIMIT);
    let mut times: Vec<Duration> = (0..calls)
        .map(|_| {
            let pull = pull();
            time(|| {
                let pulled = inbox.pull(&pull).expect("pulled");
                assert_eq!(pulled.messages.len(), LIMIT);
                // The answer was written out, and so the next call says that it arrived.
                pulled.handed.expect("handed out").written();
            })
        })
        .skip(WARM_UP)
        .collect();
    times.sort_unstable();
    let micros = |at: usize| times[at].as_secs_f64() * 1e6;
    say(&json!({
        "records": records,
        "after_a_kill_ms": after_a_kill.as_secs_f64() * 1e3,
        "start_ms": starts[starts.len() / 2].as_secs_f64() * 1e3,
        "pull_p50_us": micros(times.len() / 2),
        "pull_p99_us": micros(times.len() * 99 / 100),
        "started_kb": before,
        "resident_kb": resident_kb(),
    }));
}

fn nobody() -> ConsumerName {
    ConsumerName::new("nobody", None)
}

fn open(folder: &Path) -> Inbox {
    Inbox::open(Options {
        folder: folder.join("inbox"),
        keystore: Arc::new(Keystore::open(&folder.join("keys")).expect("keys")),
        clock: SystemClock::shared(),
        governor: Arc::new(Ungoverned),
    })
    .expect("opened")
}

fn keep(inbox: &Inbox, ids: std::ops::Range<usize>, what: &str) {
    let messages = ids.map(|id| Incoming {
        channel: Channel::parse(if id % 4 == 0 { "email" } else { "teams" }).expect("a channel"),
        chat_id: format!("chat-{}", id % 50),
        id: format!("{what}-{id}"),
        version: "1".to_owned(),
        kind: Kind::New,
        from: "Ada Example".to_owned(),
        ts: "2026-11-21T12:00:00Z".to_owned(),
        text: "A message of an ordinary length, as people send them all day long.".repeat(3),
        meta: BTreeMap::new(),
        entity: None,
    });
    inbox.append_blocking(messages.collect()).expect("kept");
}

fn time(work: impl FnOnce()) -> Duration {
    let start = SystemClock.now();
    work();
    SystemClock.now() - start
}

fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0)
}

#[expect(clippy::print_stdout, reason = "the numbers are what it is run for")]
fn say(line: &Value) {
    println!("{line}");
}
