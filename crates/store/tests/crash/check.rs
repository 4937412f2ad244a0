//! Opens what a power failure left, and looks for what must be there.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use legation_store::{ApprovalState, LedgerRow, Store};

use crate::disk::{Disk, Fate, Image};
use crate::drive::{self, DATABASE, USES};
use crate::random::Random;
use crate::trace::{Operation, Trace};

/// What is tried in turn; the last two have the most forms.
const FATES: [Fate; 8] = [
    Fate::Torn,
    Fate::Any,
    Fate::First,
    Fate::Torn,
    Fate::AllButOne,
    Fate::Any,
    Fate::None,
    Fate::All,
];

/// One disk in so many is also written to.
const GO_ON: u64 = 8;

/// Threads that check.
const THREADS: usize = 2;

/// Disks that wait to be checked; each is a megabyte or two.
const WAITING: usize = 16;

/// What had been acknowledged when the power failed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    position: i64,
    counter: i64,
    grants: Vec<String>,
    denied: Vec<String>,
}

struct Job {
    image: Image,
    facts: Facts,
    /// The moment and the fate, for whoever repeats it.
    point: String,
    go_on: bool,
}

/// Tries `count` crash points, spread over all moments of the run; how many of
/// them differ from each other.
pub(crate) fn run(trace: &Trace, count: usize, seed: u64) -> Result<usize, String> {
    let (send, receive) = std::sync::mpsc::sync_channel::<Job>(WAITING);
    let receive = Mutex::new(receive);
    let failed: Mutex<Option<String>> = Mutex::new(None);
    let disks = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let folder = folder();
                loop {
                    let job = receive.lock().expect("whole").recv();
                    let Ok(job) = job else { break };
                    disks.fetch_add(1, Ordering::Relaxed);
                    if let Err(told) = check(folder.path(), &job) {
                        let told = format!("{}: {told}", job.point);
                        failed.lock().expect("whole").get_or_insert(told);
                    }
                }
            });
        }
        let stop = || failed.lock().expect("whole").is_some();
        imagine(trace, count, seed, &mut |job| {
            send.send(job).is_ok() && !stop()
        });
        drop(send);
    });
    match failed.into_inner().expect("whole") {
        Some(told) => Err(told),
        None => Ok(disks.into_inner()),
    }
}

/// Where files cost no disk, if there is such a place.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .expect("a folder")
}

/// Makes the disks and hands on those that are new, until nobody wants more.
fn imagine(trace: &Trace, count: usize, seed: u64, hand_on: &mut dyn FnMut(Job) -> bool) {
    let mut random = Random::new(seed);
    let mut disk = Disk::default();
    let mut facts = Facts::default();
    let mut known = HashSet::new();
    let mut points = 0;
    let moments = trace.operations.len();
    for (index, operation) in trace.operations.iter().enumerate() {
        disk.apply(index, operation);
        if let Operation::Fact(fact) = operation {
            facts.learn(fact);
        }
        // As many as bring the sum to this moment's share of the whole.
        let due = count * (index + 1) / moments - points;
        for turn in 0..due {
            let fate = FATES[(turn + index) % FATES.len()];
            points += 1;
            let image = disk.image(fate, &mut random);
            let mut hasher = DefaultHasher::new();
            (&image, facts.position, facts.counter, facts.grants.len()).hash(&mut hasher);
            facts.denied.len().hash(&mut hasher);
            if !known.insert(hasher.finish()) {
                continue;
            }
            let job = Job {
                image,
                facts: facts.clone(),
                point: format!("seed {seed}, operation {index}, {fate:?}, point {points}"),
                go_on: hasher.finish().is_multiple_of(GO_ON),
            };
            if !hand_on(job) {
                return;
            }
        }
    }
}

impl Facts {
    /// Those of a whole run.
    pub(crate) fn of(text: &str) -> Self {
        let mut facts = Self::default();
        text.lines().for_each(|fact| facts.learn(fact));
        facts
    }

    fn learn(&mut self, fact: &str) {
        let (what, value) = fact.split_once(' ').expect("a fact has a value");
        let number = || value.parse().expect("a number");
        match what {
            "ledger" => self.position = number(),
            "counter" => self.counter = number(),
            "granted" => self.grants.push(value.to_owned()),
            "denied" => self.denied.push(value.to_owned()),
            other => panic!("{other} is no fact"),
        }
    }
}

/// Lays the disk down, opens it and looks.
fn check(folder: &Path, job: &Job) -> Result<(), String> {
    let path = lay(folder, &job.image).map_err(|error| error.to_string())?;
    let looked = catch_unwind(AssertUnwindSafe(|| look(&path, &job.facts, job.go_on)));
    looked.unwrap_or_else(|_| Err("the store panicked".to_owned()))
}

fn lay(folder: &Path, image: &Image) -> std::io::Result<PathBuf> {
    for entry in fs::read_dir(folder)? {
        fs::remove_file(entry?.path())?;
    }
    for (name, bytes) in image {
        fs::write(folder.join(name), bytes)?;
    }
    Ok(folder.join(DATABASE))
}

/// Opens a store that must hold these facts.
pub(crate) fn look(path: &Path, facts: &Facts, go_on: bool) -> Result<(), String> {
    let store = Store::open(path, drive::options())
        .map_err(|error| format!("it cannot be opened: {error:?}"))?;
    let rows = store
        .reader()
        .ledger_after(0, usize::MAX)
        .map_err(|error| format!("the ledger cannot be read: {error:?}"))?;
    if (rows.len() as i64) < facts.position {
        let lost = facts.position;
        return Err(format!(
            "{} rows are left of {lost} acknowledged",
            rows.len()
        ));
    }
    let uses = follow(&rows)?;
    let unread = |error| format!("it cannot be read: {error:?}");
    if store.counter_get("c").map_err(unread)? < facts.counter {
        return Err(format!("the counter was acknowledged at {}", facts.counter));
    }
    let grants = store.grant_list().map_err(unread)?;
    let found: HashSet<&str> = grants.iter().map(|grant| grant.id.as_str()).collect();
    if let Some(lost) = facts.grants.iter().find(|id| !found.contains(id.as_str())) {
        return Err(format!("the grant {lost} was acknowledged and is lost"));
    }
    for grant in &grants {
        let used = uses.get(grant.id.as_bytes()).copied().unwrap_or(0);
        if grant.uses_left != Some(USES - used) {
            let left = grant.uses_left;
            return Err(format!(
                "{} was used {used} times and has {left:?} left",
                grant.id
            ));
        }
    }
    let known: i64 = grants
        .iter()
        .map(|grant| USES - grant.uses_left.unwrap_or(0))
        .sum();
    if known != uses.values().sum::<i64>() {
        return Err("a record uses a grant that is not there".to_owned());
    }
    for id in &facts.denied {
        let found = store.approval_get(id).map_err(unread)?;
        if found.is_none_or(|approval| approval.state != ApprovalState::Denied) {
            return Err(format!("the approval {id} was denied and is not any more"));
        }
    }
    if go_on {
        drive::go_on(&store);
    }
    Ok(())
}

/// Checks that positions and chains are whole; how often each grant was used.
fn follow(rows: &[LedgerRow]) -> Result<HashMap<&[u8], i64>, String> {
    let mut ends: HashMap<&str, (i64, Vec<u8>)> = HashMap::new();
    let mut uses = HashMap::new();
    for (row, position) in rows.iter().zip(1..) {
        let end = ends.entry(row.entity.as_str()).or_insert((0, vec![0; 32]));
        let whole = row.position == position
            && row.seq == end.0 + 1
            && row.prev == end.1
            && row.hash == drive::hash(&row.prev, &row.bytes);
        if !whole {
            return Err(format!("the chain breaks at {}", row.position));
        }
        *end = (row.seq, row.hash.clone());
        if let Some(rest) = row.bytes.strip_prefix(b"use ") {
            let id = rest.split(|byte| *byte == b' ').next().unwrap_or_default();
            *uses.entry(id).or_insert(0) += 1;
        }
    }
    Ok(uses)
}
