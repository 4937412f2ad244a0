//! What the inbox costs: keeping, pulling and starting, at ten thousand and at a
//! million records. `cargo run --release -p legation-inbox --example inbox_cost`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use legation_core::{Clock as _, Moment, SystemClock};
use legation_inbox::{Channel, ConsumerName, Inbox, Incoming, Kind, Options, Pull, Ungoverned};
use legation_keystore::Keystore;

const SIZES: [u64; 2] = [10_000, 1_000_000];
const PULLS: usize = 400;
const SINGLE: usize = 200;

#[expect(clippy::print_stdout, reason = "the numbers are what it is run for")]
fn main() {
    let dir = tempfile::tempdir().expect("a folder");
    let inbox = open(dir.path());
    let alone = time(|| {
        for at in 0..SINGLE {
            keep(&inbox, at..at + 1, "alone");
        }
    });
    let inbox = Arc::new(inbox);
    let together = time(|| {
        std::thread::scope(|scope| {
            for writer in 0..64 {
                let inbox = Arc::clone(&inbox);
                scope.spawn(move || {
                    for at in 0..SINGLE / 10 {
                        let at = writer * SINGLE + at;
                        keep(&inbox, at..at + 1, "together");
                    }
                });
            }
        });
    });
    let per_second = |count: usize, took: Duration| count as f64 / took.as_secs_f64();
    let (one, group) = (
        per_second(SINGLE, alone),
        per_second(64 * SINGLE / 10, together),
    );
    println!(
        "one at a time {one:.0}/s, 64 at a time {group:.0}/s, {:.1} times as many",
        group / one
    );
    drop(inbox);
    for size in SIZES {
        measure(dir.path(), size);
    }
}

#[expect(clippy::print_stdout, reason = "the numbers are what it is run for")]
fn measure(folder: &Path, size: u64) {
    let inbox = open(folder);
    let mut at = inbox.unread(&ConsumerName::new("nobody", None));
    while at < size {
        let end = (at + 5_000).min(size);
        let ids = usize::try_from(at).expect("few")..usize::try_from(end).expect("few");
        keep(&inbox, ids, "many");
        at = end;
    }
    drop(inbox);
    let mut inbox = None;
    let start = time(|| inbox = Some(open(folder)));
    let inbox = inbox.expect("opened");
    let pull = Pull {
        consumer: ConsumerName::new("bench", Some(&size.to_string())),
        since_id: None,
        limit: 20,
        mark_consumed: true,
        channel: None,
        entity: None,
        began: Moment::START,
        is_persons: false,
    };
    let mut times: Vec<Duration> = (0..PULLS)
        .map(|_| {
            time(|| {
                let began = Moment::now();
                let pull = Pull {
                    began,
                    ..pull.clone()
                };
                let pulled = inbox.pull(&pull).expect("pulled");
                assert_eq!(pulled.messages.len(), 20);
                pulled.handed.expect("handed").written();
            })
        })
        .collect();
    times.sort_unstable();
    println!(
        "{size} records: started in {start:?}, pull of 20 p50 {:?} p99 {:?}, {} MB resident",
        times[PULLS / 2],
        times[PULLS * 99 / 100],
        resident_mb()
    );
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

fn resident_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) / 1024
}
