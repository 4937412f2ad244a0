//! Opening what a power failure left, at every moment of a run.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::disk::{Disk, Fate, Image};
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
pub trait Facts: Clone + Default + Hash + Send {
    /// Takes in one thing that the run said.
    fn learn(&mut self, fact: &str);
}

struct Job<F> {
    image: Image,
    facts: F,
    /// The moment and the fate, for whoever repeats it.
    point: String,
    go_on: bool,
}

/// Tries `count` crash points, spread over all moments of the run: `check` is given
/// a folder with what was left, what it must hold, and whether to go on with
/// it. Returns how many of them differ from each other.
///
/// # Errors
/// What the first check said that failed, and where.
pub fn explore<F: Facts>(
    trace: &Trace,
    count: usize,
    seed: u64,
    check: impl Fn(&Path, &F, bool) -> Result<(), String> + Sync,
) -> Result<usize, String> {
    let (send, receive) = std::sync::mpsc::sync_channel::<Job<F>>(WAITING);
    let receive = Mutex::new(receive);
    let failed: Mutex<Option<String>> = Mutex::new(None);
    let disks = AtomicUsize::new(0);
    let place = memory_folder()?;
    std::thread::scope(|scope| {
        for number in 0..THREADS {
            let own = place.path().join(number.to_string());
            let (receive, failed, disks, check) = (&receive, &failed, &disks, &check);
            scope.spawn(move || {
                loop {
                    let Ok(job) = locked(receive).recv() else {
                        break;
                    };
                    disks.fetch_add(1, Ordering::Relaxed);
                    if let Err(told) = try_one(&own, &job, check) {
                        let told = format!("{}: {told}", job.point);
                        locked(failed).get_or_insert(told);
                    }
                }
            });
        }
        imagine(trace, count, seed, &mut |job| {
            send.send(job).is_ok() && locked(&failed).is_none()
        });
        drop(send);
    });
    match locked(&failed).take() {
        Some(told) => Err(told),
        None => Ok(disks.into_inner()),
    }
}

/// Where files cost no disk, if there is such a place.
pub(crate) fn memory_folder() -> Result<tempfile::TempDir, String> {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .map_err(|error| error.to_string())
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn try_one<F>(
    place: &Path,
    job: &Job<F>,
    check: &impl Fn(&Path, &F, bool) -> Result<(), String>,
) -> Result<(), String> {
    let laid = std::fs::create_dir_all(place).and_then(|()| job.image.lay(place));
    laid.map_err(|error| format!("the disk cannot be laid down: {error}"))?;
    let checked = catch_unwind(AssertUnwindSafe(|| check(place, &job.facts, job.go_on)));
    checked.unwrap_or_else(|_| Err("it panicked".to_owned()))
}

/// Makes the disks and hands on those that are new, until nobody wants more.
fn imagine<F: Facts>(
    trace: &Trace,
    count: usize,
    seed: u64,
    hand_on: &mut dyn FnMut(Job<F>) -> bool,
) {
    let mut random = Random::new(seed);
    let mut disk = Disk::default();
    let mut facts = F::default();
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
            (&image, &facts).hash(&mut hasher);
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
