//! Opens what a crash left, and looks for what must be there.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use legation_core::clock::ManualClock;
use legation_core::{Moment, Wall};
use legation_inbox::{ConsumerName, Inbox, Message, Pull};

use crate::book::{self, Book, NotOpened};
use crate::drive::readers;
use crate::messages::{everything, incoming, number, text};

/// A number that no run gives.
const AFTER: u32 = 1_000_000;

/// 2027-06-01T00:00:00Z, after every run.
pub(crate) const LATER_MS: i64 = 1_811_808_000_000;

/// What had been said when the power failed.
#[derive(Debug, Clone, Default, Hash)]
pub(crate) struct Facts {
    /// What was brought, whether kept or not.
    tried: BTreeSet<u32>,
    /// What was acknowledged, and the day it was kept on.
    kept: BTreeMap<u32, i64>,
    /// Days before this one were to be taken out.
    pruning: i64,
    /// What each reader has, or is just saying that it has.
    read: [BTreeSet<u64>; 2],
}

// === impl Facts ===

impl Facts {
    /// Those of a whole run.
    pub(crate) fn of(text: &str) -> Self {
        let mut facts = Self::default();
        for fact in text.lines() {
            legation_crash::Facts::learn(&mut facts, fact);
        }
        facts
    }
}

impl legation_crash::Facts for Facts {
    fn learn(&mut self, fact: &str) {
        let (what, value) = fact.split_once(' ').expect("a fact has a value");
        let number = |text: &str| text.parse::<i64>().expect("a number");
        let listed = |text: &str| text.split(',').map(number).collect::<Vec<i64>>();
        let small = |number: i64| u32::try_from(number).expect("few");
        match what {
            "try" => self.tried.extend(listed(value).into_iter().map(small)),
            "kept" => {
                let (day, numbers) = value.split_once(' ').expect("a day and numbers");
                for one in listed(numbers) {
                    self.kept.entry(small(one)).or_insert(number(day));
                }
            }
            "pruning" => self.pruning = self.pruning.max(number(value)),
            "acking" => self.read[0].extend(listed(value).iter().map(|seq| seq.unsigned_abs())),
            "taking" => self.read[1].extend(listed(value).iter().map(|seq| seq.unsigned_abs())),
            other => panic!("{other} is no fact"),
        }
    }
}

/// Opens an inbox that must hold these facts.
pub(crate) fn look(folder: &Path, facts: &Facts, go_on: bool) -> Result<(), String> {
    let inbox = open(folder)?;
    // Whatever is asked, what was left is recorded and announced before.
    keep(&inbox, &[])?;
    let all = everything(&inbox)?;
    whole(&all, facts)?;
    recorded(folder, &all)?;
    for (reader, read) in readers().iter().zip(&facts.read) {
        unread(&inbox, reader, read, &all)?;
    }
    again(&inbox, facts)?;
    if go_on {
        keep(&inbox, &[AFTER])?;
        drop(inbox);
        let inbox = open(folder)?;
        keep(&inbox, &[AFTER + 1])?;
        let all = everything(&inbox)?;
        let last: Result<Vec<u32>, String> = all.iter().rev().take(2).map(number).collect();
        if last? != [AFTER + 1, AFTER] {
            return Err("it does not go on".to_owned());
        }
    }
    Ok(())
}

fn open(folder: &Path) -> Result<Inbox, String> {
    let clock = Arc::new(ManualClock::at(Wall(LATER_MS)));
    book::open(folder, clock).map_err(|error| match error {
        NotOpened::Beside(told) => format!("what is beside it cannot be opened: {told}"),
        NotOpened::Inbox(error) => format!("it cannot be opened: {error}"),
    })
}

fn keep(inbox: &Inbox, numbers: &[u32]) -> Result<Vec<bool>, String> {
    let messages = numbers.iter().map(|number| incoming(*number)).collect();
    let added = inbox.append_blocking(messages);
    let added = added.map_err(|error| format!("nothing can be kept: {error}"))?;
    Ok(added.iter().map(|one| one.duplicate).collect())
}

/// Each record once, in order and with its own words; all that was acknowledged.
fn whole(all: &[Message], facts: &Facts) -> Result<(), String> {
    let mut found = HashMap::new();
    let mut last = 0;
    for message in all {
        let number = number(message)?;
        if message.seq.0 <= last {
            return Err(format!("record {} comes after {last}", message.seq));
        }
        last = message.seq.0;
        if let Some(other) = found.insert(number, message.seq) {
            return Err(format!("{number} is there twice: {other}, {last}"));
        }
        if message.text != text(number) {
            return Err(format!(
                "{number} says something else: {:.40}",
                message.text
            ));
        }
        if !facts.tried.contains(&number) {
            return Err(format!("nobody brought {number}"));
        }
    }
    let lost = facts
        .kept
        .iter()
        .find(|(number, day)| **day >= facts.pruning && !found.contains_key(number));
    match lost {
        Some((number, _)) => Err(format!("{number} was acknowledged and is lost")),
        None => Ok(()),
    }
}

/// Nothing is announced that is not recorded.
fn recorded(folder: &Path, all: &[Message]) -> Result<(), String> {
    let book = Book::read(folder).map_err(|error| error.to_string())?;
    match all.iter().find(|message| !book.contains(&message.seq.0)) {
        Some(message) => Err(format!("{} is announced and not recorded", message.seq)),
        None => Ok(()),
    }
}

/// No reader has more behind it than it said that it has.
fn unread(
    inbox: &Inbox,
    reader: &ConsumerName,
    read: &BTreeSet<u64>,
    all: &[Message],
) -> Result<(), String> {
    let nobodys = all.iter().filter(|message| message.entity.is_none());
    let left: Vec<&Message> = nobodys
        .filter(|message| !read.contains(&message.seq.0))
        .collect();
    let counts = inbox.unread_of(reader);
    let counts = counts.iter().filter(|unread| unread.entity.is_none());
    let count: u64 = counts.map(|unread| unread.count).sum();
    if count < left.len() as u64 {
        return Err(format!(
            "{} has {count} unread and never said that it has {}",
            reader.as_str(),
            left.len()
        ));
    }
    // What was handed out last counts as read with the next call that does not say
    // what arrived. So the reader that asks says what it has, which is everything up to
    // there; the one that is pushed to was never handed anything.
    let [asks, _] = readers();
    let last = all.iter().rev().find(|one| read.contains(&one.seq.0));
    let since = match (*reader == asks, last) {
        (false, _) => None,
        (true, Some(last)) => Some(last),
        (true, None) => return Ok(()),
    };
    let pull = Pull {
        consumer: reader.clone(),
        since_id: since.map(|message| message.id.clone()),
        limit: usize::MAX,
        mark_consumed: false,
        channel: None,
        entity: None,
        began: Moment::now(),
        is_persons: false,
    };
    let pulled = inbox.pull(&pull).map_err(|error| error.to_string())?;
    let pulled: BTreeSet<u64> = pulled.messages.iter().map(|one| one.seq.0).collect();
    match left.iter().find(|one| !pulled.contains(&one.seq.0)) {
        Some(lost) => Err(format!("{} is not offered {}", reader.as_str(), lost.seq)),
        None => Ok(()),
    }
}

/// The sources bring everything again: what was acknowledged is known, also where its
/// day is taken out.
fn again(inbox: &Inbox, facts: &Facts) -> Result<(), String> {
    let tried: Vec<u32> = facts.tried.iter().copied().collect();
    let known = keep(inbox, &tried)?;
    for (number, duplicate) in tried.iter().zip(known) {
        if facts.kept.contains_key(number) && !duplicate {
            return Err(format!("{number} was acknowledged and is taken in again"));
        }
    }
    let all = everything(inbox)?;
    let numbers: Result<BTreeSet<u32>, String> = all.iter().map(number).collect();
    match numbers?.len() == all.len() {
        true => Ok(()),
        false => Err("brought again, something is there twice".to_owned()),
    }
}
