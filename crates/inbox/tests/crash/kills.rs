//! Killing the writer in the middle of a burst, again and again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use legation_crash::Random;
use legation_inbox::{Follow, Seq};
use legation_keystore::Keystore;

use crate::book;
use crate::burst::{self, APART, SOURCES, cursor, got, pulled};
use crate::messages::{everything, incoming, number, text};
use crate::say;

/// A writer is killed within so many milliseconds: while it starts, or later. Where it gets
/// nowhere in that time, as on a busy machine, the next is given more.
const WITHIN_MS: usize = 60;
const WITHIN_MOST_MS: usize = 3_000;
/// How often what the inbox itself says is looked at too, in kills.
const OPENED_EVERY: usize = 25;

/// What was seen of the files so far.
#[derive(Default)]
struct Seen {
    last: u64,
    /// The record of each number.
    numbers: HashMap<u32, Seq>,
}

/// Kills so often; what was seen, in words.
pub(crate) fn run(kills: usize, seed: u64) -> Result<String, String> {
    say(&format!(
        "seed {seed}; repeat with `crash kills {kills} {seed}`"
    ));
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.map_err(|error| error.to_string())?;
    let place = folder.path();
    let mut random = Random::new(seed);
    let mut seen = Seen::default();
    let (mut busy, mut within) = (0, WITHIN_MS);
    for kill in 1..=kills {
        let point = |told: String| format!("seed {seed}, kill {kill}: {told}");
        let before = cursors(place);
        kill_one(place, &mut random, within).map_err(point)?;
        if cursors(place) == before {
            within = (within + within / 4).min(WITHIN_MOST_MS);
        } else {
            busy += 1;
            within = (within - within / 8).max(WITHIN_MS);
        }
        seen.look(place).map_err(point)?;
        if kill % OPENED_EVERY == 0 {
            opened(place, &seen).map_err(point)?;
        }
    }
    if busy * 4 < kills {
        return Err(format!("of {kills} writers only {busy} got anywhere"));
    }
    let offered = finish(place, &seen)?;
    Ok(format!(
        "{kills} kills ({busy} of them in a burst), {} messages: none lost, none twice; {offered} pulled once each",
        seen.numbers.len()
    ))
}

fn cursors(place: &Path) -> Vec<u32> {
    (0..SOURCES).map(|source| cursor(place, source)).collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the test starts itself to kill it"
)]
fn kill_one(place: &Path, random: &mut Random, within: usize) -> Result<(), String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut child = Command::new(this)
        .arg("burst")
        .arg(place)
        .arg(random.draw().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    // tidy: the moment of the kill is what is drawn
    std::thread::sleep(Duration::from_micros(1_000 * random.below(within) as u64));
    child.kill().map_err(|error| error.to_string())?;
    let ended = child
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    match ended.status.code() {
        // It did not end: it was killed.
        None => Ok(()),
        Some(_) => Err(String::from_utf8_lossy(&ended.stderr).into_owned()),
    }
}

impl Seen {
    /// Reads on in the files, as they lie there.
    fn look(&mut self, place: &Path) -> Result<(), String> {
        let keys = Keystore::open(&place.join("keys")).map_err(|error| error.to_string())?;
        let mut follow = Follow::after(&place.join("inbox"), Arc::new(keys), Seq(self.last));
        loop {
            let messages = follow.read(1_000).map_err(|error| error.to_string())?;
            if messages.is_empty() {
                break;
            }
            for message in messages {
                if message.seq.0 != self.last + 1 {
                    return Err(format!("{} comes after {}", message.seq, self.last));
                }
                self.last = message.seq.0;
                let number = number(&message)?;
                if message.text != text(number) {
                    return Err(format!("{number} says something else"));
                }
                if let Some(other) = self.numbers.insert(number, message.seq) {
                    return Err(format!("{number} is there twice: {other}, {}", message.seq));
                }
            }
        }
        for source in 0..SOURCES {
            let first = source * APART;
            let mut acknowledged = first..first + cursor(place, source);
            if let Some(lost) = acknowledged.find(|number| !self.numbers.contains_key(number)) {
                return Err(format!("{lost} was acknowledged and is lost"));
            }
        }
        Ok(())
    }
}

/// The inbox says the same as its files.
fn opened(place: &Path, seen: &Seen) -> Result<(), String> {
    let inbox = book::open(place, burst::clock(place)).map_err(|error| format!("{error:?}"))?;
    let kept = inbox.append_blocking(Vec::new());
    kept.map_err(|error| error.to_string())?;
    let announced = *inbox.announced().borrow();
    if announced != seen.last {
        return Err(format!("{announced} are announced of {}", seen.last));
    }
    for (number, seq) in seen.numbers.iter().take(500) {
        let added = inbox.append_blocking(vec![incoming(*number)]);
        let added = added.map_err(|error| error.to_string())?;
        if !added[0].duplicate || added[0].seq != *seq {
            return Err(format!("{number} is record {seq}, not {added:?}"));
        }
    }
    Ok(())
}

/// Everything is known and recorded, and the reader got each message once.
fn finish(place: &Path, seen: &Seen) -> Result<usize, String> {
    let inbox = book::open(place, burst::clock(place)).map_err(|error| format!("{error:?}"))?;
    let mut numbers: Vec<u32> = seen.numbers.keys().copied().collect();
    numbers.sort_unstable();
    for some in numbers.chunks(1_000) {
        let messages = some.iter().map(|number| incoming(*number));
        let added = inbox.append_blocking(messages.collect());
        let added = added.map_err(|error| error.to_string())?;
        if added.iter().any(|one| !one.duplicate) {
            return Err("brought again, something is kept twice".to_owned());
        }
    }
    let recorded = book::Book::read(place).map_err(|error| error.to_string())?;
    let all: BTreeMap<u64, bool> = everything(&inbox)?
        .into_iter()
        .map(|message| (message.seq.0, message.entity.is_none()))
        .collect();
    if let Some(lost) = all.keys().find(|seq| !recorded.contains(seq)) {
        return Err(format!("{lost} was announced and is not recorded"));
    }
    let mut offered = got(place);
    loop {
        let more = pulled(&inbox, offered.last().copied(), 500);
        if more.is_empty() {
            break;
        }
        offered.extend(more);
    }
    let once: BTreeSet<u64> = offered.iter().copied().collect();
    let wanted: BTreeSet<u64> = all
        .iter()
        .filter(|(_, own)| **own)
        .map(|(seq, _)| *seq)
        .collect();
    if once.len() != offered.len() || !offered.is_sorted() || once != wanted {
        return Err(format!(
            "{} messages were pulled, {} different ones, of {}",
            offered.len(),
            once.len(),
            wanted.len()
        ));
    }
    Ok(offered.len())
}
