//! What is known of the calls outside the hub, held against what the hub has kept.
//!
//! The servers write down what they executed, the clients remember what they were answered. After
//! every kill the hub's ledger is read from where it was read last: it must go on from there, hold
//! an intent for every call that was executed, have closed all of them, and have used no approval
//! twice.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::connection::{Line, Said};
use super::load::{self, ASKED, Asked, READS, Seen, Sent};

/// Records asked for at once.
const PAGE: usize = 500;
/// How often a call is repeated while its server starts.
const TRIES: usize = 200;

/// The outside record.
#[derive(Debug)]
pub(super) struct Outside {
    journal: PathBuf,
    /// The journal was read up to here.
    read_to: u64,
    /// The newest record that was read, and its hash.
    newest: Option<(i64, String)>,
    /// Calls whose answer somebody saw, since the ledger was read last.
    answered: Counts,
    /// Calls that were executed, since the ledger was read last.
    executed: Counts,
    /// How often each asked call was executed, by its text.
    asked_executed: HashMap<String, usize>,
    /// How many intents used each approval.
    uses: HashMap<String, usize>,
    /// Calls of the last cycle that were asked about.
    open: Vec<Asked>,
    /// Those of the cycle before, looked at for the last time.
    settled: Vec<Asked>,
    pub(super) totals: Totals,
}

/// Calls by server and tool.
type Counts = HashMap<(String, String), u64>;

/// Sums over the campaign.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Totals {
    pub(super) answered: u64,
    pub(super) executed: u64,
    pub(super) intents: u64,
    /// Intents that the next start closed as `unknown`.
    pub(super) unknown: u64,
    pub(super) approvals: u64,
    pub(super) granted: u64,
    pub(super) denied: u64,
    pub(super) used: u64,
    /// Answers that were used only after the hub had been killed.
    pub(super) used_later: u64,
    /// Approvals that were used up by a call that nobody saw executed.
    pub(super) lost: u64,
    pub(super) not_done: u64,
}

// === impl Outside ===

impl Outside {
    pub(super) fn new(journal: &Path) -> Self {
        Self {
            journal: journal.to_path_buf(),
            read_to: 0,
            newest: None,
            answered: Counts::new(),
            executed: Counts::new(),
            asked_executed: HashMap::new(),
            uses: HashMap::new(),
            open: Vec::new(),
            settled: Vec::new(),
            totals: Totals::default(),
        }
    }

    /// Takes in what the clients of a cycle saw.
    pub(super) fn take(&mut self, seen: Seen) {
        self.totals.not_done += seen.not_done.len() as u64;
        self.totals.answered += seen.answered.len() as u64;
        for (server, item) in seen.answered {
            *self.answered.entry((server.to_owned(), item)).or_default() += 1;
        }
        for asked in seen.asked {
            self.totals.approvals += 1;
            self.totals.granted += u64::from(asked.grant == Sent::Taken);
            self.totals.denied += u64::from(asked.denial == Sent::Taken);
            self.open.push(asked);
        }
    }

    /// Holds everything so far against a hub that was just started, on which nothing runs.
    pub(super) fn check(&mut self, owner: &mut Line) -> Result<()> {
        self.read_journal()?;
        let intended = self.read_ledger(owner)?;
        for (call, answered) in &self.answered {
            let (executed, intended) = (self.executed.get(call), intended.get(call));
            // What only reads is not written down by its server.
            ensure!(
                call.0 == READS || executed.is_some_and(|executed| executed >= answered),
                "{call:?} was answered {answered} times and executed {executed:?} times"
            );
            ensure!(
                intended.is_some_and(|intended| intended >= answered),
                "{call:?} was answered {answered} times, the ledger intends it {intended:?} times"
            );
        }
        for (call, executed) in &self.executed {
            let intended = intended.get(call);
            ensure!(
                intended.is_some_and(|intended| intended >= executed),
                "{call:?} was executed {executed} times, the ledger intends it {intended:?} times"
            );
        }
        for asked in self.open.iter().chain(&self.settled) {
            self.check_asked(asked)?;
        }
        self.answered.clear();
        self.executed.clear();
        self.settled.clear();
        Ok(())
    }

    fn check_asked(&self, asked: &Asked) -> Result<()> {
        let executed = self
            .asked_executed
            .get(&asked.text)
            .copied()
            .unwrap_or_default();
        let uses = self.uses.get(&asked.id).copied().unwrap_or_default();
        ensure!(
            asked.done <= executed && executed <= uses && uses <= 1,
            "{asked:?} was executed {executed} times, its approval used {uses} times"
        );
        ensure!(
            uses == 0 || (asked.grant != Sent::Never && asked.denial != Sent::Taken),
            "{asked:?} was used"
        );
        Ok(())
    }

    /// Finishes what the kill cut off: an answer that was taken must still stand, and whatever
    /// nobody answered is denied.
    pub(super) fn settle(&mut self, agent: &mut Line, owner: &mut Line) -> Result<()> {
        let mut open = std::mem::take(&mut self.open);
        for asked in &mut open {
            if asked.done == 0 {
                self.settle_one(asked, agent, owner)
                    .with_context(|| format!("{asked:?}"))?;
            }
            self.totals.used += asked.done as u64;
        }
        self.settled = open;
        let waiting = here(owner.request("approvals.list", &json!({}))?)?;
        for one in waiting["result"]["waiting"]
            .as_array()
            .context("no list of what waits")?
        {
            let id = one["id"].as_str().context("no id")?;
            ensure!(here(owner.answer(id, "deny")?)?, "nobody may deny {one}");
        }
        Ok(())
    }

    fn settle_one(&mut self, asked: &mut Asked, agent: &mut Line, owner: &mut Line) -> Result<()> {
        match until_served(agent, &asked.text)? {
            Said::Done => {
                asked.done = 1;
                self.totals.used_later += 1;
                ensure!(asked.grant != Sent::Never, "it runs, and nobody granted it");
            }
            Said::Denied => ensure!(
                asked.denial != Sent::Never,
                "it is denied, and nobody denied it"
            ),
            Said::Pending(id) if id == asked.id => {
                ensure!(
                    asked.grant != Sent::Taken && asked.denial != Sent::Taken,
                    "the answer to it is lost"
                );
                ensure!(here(owner.answer(&id, "deny")?)?, "nobody may deny it");
                asked.denial = Sent::Taken;
            }
            Said::Pending(id) => {
                // The old one is gone: then an intent has used it.
                ensure!(
                    self.uses.contains_key(&asked.id) && asked.denial != Sent::Taken,
                    "it is asked about anew, and nothing used the approval"
                );
                self.totals.lost += 1;
                ensure!(here(owner.answer(&id, "deny")?)?, "nobody may deny {id}");
            }
            Said::NotDone(why) => bail!("it cannot be called: {why}"),
        }
        Ok(())
    }

    /// Reads what the servers have written down since the last time.
    fn read_journal(&mut self) -> Result<()> {
        let Ok(mut file) = std::fs::File::open(&self.journal) else {
            return Ok(());
        };
        file.seek(SeekFrom::Start(self.read_to))?;
        let mut text = String::new();
        self.read_to += file.read_to_string(&mut text)? as u64;
        ensure!(
            text.is_empty() || text.ends_with('\n'),
            "the journal ends within a line"
        );
        for line in text.lines() {
            let (item, text) = line.split_once(' ').context("a line without a text")?;
            let (server, _) = text.split_once('/').context("a text without a server")?;
            self.totals.executed += 1;
            *self
                .executed
                .entry((server.to_owned(), item.to_owned()))
                .or_default() += 1;
            if server == ASKED.0 {
                *self.asked_executed.entry(text.to_owned()).or_default() += 1;
            }
        }
        Ok(())
    }

    /// Reads what was recorded since the last time; what of it was intended.
    fn read_ledger(&mut self, owner: &mut Line) -> Result<Counts> {
        let mut records = Vec::new();
        let mut before = Value::Null;
        let known = self.newest.clone();
        'pages: loop {
            let mut query = json!({ "limit": PAGE });
            if !before.is_null() {
                query["before"] = before;
            }
            let answer = here(owner.request("audit.query", &query)?)?;
            let page = answer["result"]["records"]
                .as_array()
                .with_context(|| format!("no records: {answer}"))?;
            for record in page {
                let position = record["position"].as_i64().context("no position")?;
                if let Some((newest, hash)) = known.as_ref().filter(|known| position <= known.0) {
                    ensure!(
                        position == *newest && record["hash"] == hash.as_str(),
                        "the record at {newest} is gone or another: {record}"
                    );
                    break 'pages;
                }
                records.push(record.clone());
            }
            before = answer["result"]["next"].clone();
            if before.is_null() {
                ensure!(known.is_none(), "the ledger has lost what it held");
                break;
            }
        }
        self.count(&records)
    }

    /// Counts records, newest first; every intent among them must be closed.
    fn count(&mut self, records: &[Value]) -> Result<Counts> {
        if let Some(newest) = records.first() {
            let hash = newest["hash"].as_str().context("no hash")?;
            let position = newest["position"].as_i64().context("no position")?;
            self.newest = Some((position, hash.to_owned()));
        }
        let mut intended = Counts::new();
        let mut open = HashSet::new();
        for entry in records.iter().rev() {
            let record = &entry["record"];
            let text = |member: &str| record[member].as_str().unwrap_or_default().to_owned();
            match record["kind"].as_str() {
                Some("intent") => {
                    self.totals.intents += 1;
                    *intended.entry((text("server"), text("item"))).or_default() += 1;
                    open.insert((entry["entity"].to_string(), entry["seq"].as_u64()));
                    if record.get("approval").is_some() {
                        *self.uses.entry(text("approval")).or_default() += 1;
                    }
                }
                Some("outcome") => {
                    self.totals.unknown += u64::from(record["status"] == "unknown");
                    let of = (entry["entity"].to_string(), record["intent"].as_u64());
                    ensure!(open.remove(&of), "a call has two outcomes: {entry}");
                }
                _ => {}
            }
        }
        ensure!(open.is_empty(), "calls are left open: {open:?}");
        Ok(intended)
    }
}

/// Calls the asked tool until its server is there to answer.
fn until_served(agent: &mut Line, text: &str) -> Result<Said> {
    for _try in 0..TRIES {
        match here(agent.call(&load::tool(), text)?)? {
            Said::NotDone(why) if why.contains("not connected") => {
                std::thread::sleep(std::time::Duration::from_millis(25));
            }
            said => return Ok(said),
        }
    }
    bail!("the server does not come back")
}

/// What a hub that nobody kills must answer.
fn here<T>(answer: Option<T>) -> Result<T> {
    answer.context("the hub went away by itself")
}

// === impl Totals ===

impl fmt::Display for Totals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            answered,
            executed,
            intents,
            unknown,
            approvals,
            granted,
            denied,
            used,
            used_later,
            lost,
            not_done,
        } = self;
        write!(
            formatter,
            "{answered} calls answered, {executed} executed, {intents} intended, {unknown} closed as unknown, \
             {not_done} not done; {approvals} approvals, {granted} granted, {denied} denied, {used} used \
             ({used_later} of them after a kill), {lost} used up by a call that was cut off"
        )
    }
}
