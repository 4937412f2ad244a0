//! The run that is traced: sources that bring messages, some of them again, two at
//! once; readers; days that pass and are taken out; closed and opened again between.
//!
//! What it was told is done it says aloud, one line a fact, in a file whose
//! writes stand in the trace between those of the inbox:
//! `try N,N`, `kept DAY N,N`, `acking SEQ,SEQ`, `taking SEQ`, `pruning DAY`.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use legation_core::clock::ManualClock;
use legation_core::{Clock as _, Moment, Wall};
use legation_crash::Random;
use legation_inbox::{ConsumerName, Inbox, Pull, Seq};

use crate::book;
use crate::messages::incoming;

pub(crate) const FACTS: &str = "facts";

/// 2026-11-21T23:59:00Z
const BEGUN_MS: i64 = 1_795_305_540_000;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How often something that fails is tried again before it counts as broken.
pub(crate) const PATIENCE: usize = 500;

/// How many rounds the inbox is open for at a time.
const SESSION: usize = 20;

/// The readers: one that asks, one that is pushed to.
pub(crate) fn readers() -> [ConsumerName; 2] {
    [ConsumerName::new("a", None), ConsumerName::new("b", None)]
}

struct Driver {
    facts: Mutex<File>,
    clock: Arc<ManualClock>,
    random: Random,
    /// Numbers given so far.
    made: u32,
    /// What the last call of the first reader returned.
    handed: Vec<Seq>,
    errors: Mutex<usize>,
}

/// Drives; how often the inbox said that it could not do something.
pub(crate) fn drive(folder: &Path, seed: u64, rounds: usize) -> usize {
    let mut driver = Driver {
        facts: Mutex::new(File::create(folder.join(FACTS)).expect("made")),
        clock: Arc::new(ManualClock::at(Wall(BEGUN_MS))),
        random: Random::new(seed),
        made: 0,
        handed: Vec::new(),
        errors: Mutex::default(),
    };
    let mut left = rounds;
    while left > 0 {
        let inbox = driver.open(folder);
        let session = left.min(SESSION);
        for _ in 0..session {
            driver.round(&inbox);
        }
        // Whatever was drawn, days are taken out in every run.
        for _ in 0..2 {
            driver.clock.advance(DAY);
            driver.bring(&inbox);
        }
        driver.prune(&inbox);
        left -= session;
    }
    driver.errors.into_inner().expect("whole")
}

// === impl Driver ===

impl Driver {
    fn say(&self, fact: &str) {
        let mut facts = self.facts.lock().expect("whole");
        let line = format!("{fact}\n");
        // In one call: each is one fact of the trace.
        for _ in 0..PATIENCE {
            // A short line is written whole or not at all.
            if facts.write_all(line.as_bytes()).is_ok() {
                return;
            }
            *self.errors.lock().expect("whole") += 1;
        }
        panic!("what is done cannot be said");
    }

    /// Does something until it works.
    fn until<T, E: std::fmt::Debug>(&self, mut what: impl FnMut() -> Result<T, E>) -> T {
        let mut last = None;
        for _ in 0..PATIENCE {
            match what() {
                Ok(done) => return done,
                Err(error) => {
                    *self.errors.lock().expect("whole") += 1;
                    last = Some(error);
                    // tidy: what failed is tried again by the writer within a second
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        }
        panic!("it fails again and again: {last:?}");
    }

    fn open(&self, folder: &Path) -> Inbox {
        self.until(|| book::open(folder, Arc::clone(&self.clock) as _))
    }

    fn round(&mut self, inbox: &Inbox) {
        match self.random.below(20) {
            0..10 => self.bring(inbox),
            10..13 => self.pull(inbox),
            13..15 => self.take(inbox),
            15..18 => self.clock.advance(DAY),
            _ => self.prune(inbox),
        }
    }

    /// Two sources at once bring some messages, new and old.
    fn bring(&mut self, inbox: &Inbox) {
        let batches = [0, 1].map(|_| {
            let from = match self.random.chance(30) {
                true => self.made.saturating_sub(7),
                false => self.made,
            };
            self.made += 1 + self.random.below(8) as u32;
            (from..self.made).collect::<Vec<u32>>()
        });
        let day = self.day();
        std::thread::scope(|scope| {
            for batch in &batches {
                let driver = &*self;
                scope.spawn(move || {
                    driver.say(&format!("try {}", listed(batch)));
                    driver.until(|| {
                        let messages = batch.iter().map(|number| incoming(*number));
                        inbox.append_blocking(messages.collect())
                    });
                    driver.say(&format!("kept {day} {}", listed(batch)));
                });
            }
        });
    }

    fn pull(&mut self, inbox: &Inbox) {
        let [reader, _] = readers();
        if !self.handed.is_empty() {
            self.say(&format!("acking {}", listed(&self.handed)));
        }
        let pull = Pull {
            consumer: reader,
            since_id: None,
            limit: 1 + self.random.below(9),
            mark_consumed: true,
            channel: None,
            entity: None,
            began: Moment::now(),
            is_persons: false,
        };
        let pulled = self.until(|| inbox.pull(&pull));
        self.handed = pulled.messages.iter().map(|one| one.seq).collect();
        if let Some(handed) = pulled.handed {
            handed.written();
        }
    }

    /// One of the last messages is pushed to the second reader.
    fn take(&mut self, inbox: &Inbox) {
        let [_, reader] = readers();
        let last = self.until(|| inbox.recent(None, 5));
        if last.is_empty() {
            return;
        }
        let one = &last[self.random.below(last.len())];
        self.say(&format!("taking {}", one.seq));
        self.until(|| inbox.take(&reader, one));
    }

    /// All but the last two days are taken out, read or not.
    fn prune(&mut self, inbox: &Inbox) {
        let before = Wall(self.clock.wall().0 - DAY_MS);
        self.say(&format!("pruning {}", before.0 / DAY_MS));
        self.until(|| inbox.prune_blocking(before, true));
    }

    fn day(&self) -> i64 {
        self.clock.wall().0 / DAY_MS
    }
}

fn listed<T: ToString>(numbers: &[T]) -> String {
    let words: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    words.join(",")
}
