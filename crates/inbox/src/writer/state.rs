//! What is written beside the day files: `state.json`, and up to where messages
//! were recorded.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use legation_core::home::write_private;
use serde::Serialize;
use std::collections::BTreeMap;

use super::Writer;
use crate::prune;

/// Messages that are recorded at a time after a start.
const AT_ONCE: u64 = 512;

#[derive(Serialize)]
struct State {
    /// Messages that no consumer has read.
    unread: u64,
    last_id: String,
    last_seen_consumer: BTreeMap<String, String>,
}

/// Up to which record was announced at least: noted once records are on disk and in
/// the ledger, so that no crash can make it more than there is.
pub(crate) fn recorded(folder: &Path) -> io::Result<Option<u64>> {
    match fs::read(recorded_path(folder)) {
        Ok(bytes) => {
            let number = <[u8; 8]>::try_from(bytes.as_slice());
            Ok(number.ok().map(u64::from_le_bytes))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn recorded_path(folder: &Path) -> PathBuf {
    folder.join("recorded")
}

impl Writer {
    /// Finishes what the last process did not, and lets readers see what there is.
    pub(crate) fn begin(&mut self) -> io::Result<()> {
        for day in prune::unfinished(&self.shared.folder, &self.mark)? {
            self.prune_day(day).map_err(io::Error::other)?;
        }
        if self.since > 0 {
            self.sync_index();
        }
        self.recorded = self.recorded_before()?;
        if self.recorded == self.tail.seq || !self.shared.governor.records() {
            self.shared.publish(self.tail.clone());
        } else {
            // What was announced before this start is not news once the rest is.
            self.shared.announced_before(self.recorded);
        }
        self.write_summary(true);
        Ok(())
    }

    /// Records what is on disk and in the index; whether there was something new
    /// to be announced.
    pub(super) fn record(&mut self) -> Result<bool, String> {
        let governor = Arc::clone(&self.shared.governor);
        if !governor.records() {
            let new = self.announced() < self.tail.seq;
            // Nothing stands in the way of the next message; the next hub records it.
            self.recorded = self.tail.seq;
            return Ok(new);
        }
        while self.recorded < self.tail.seq {
            let last = self.tail.seq.min(self.recorded + AT_ONCE);
            let mut messages = Vec::new();
            for seq in self.recorded + 1..=last {
                let message = self.shared.message(seq);
                messages.extend(message.map_err(|error| error.to_string())?);
            }
            governor.record(&messages)?;
            self.recorded = last;
            self.note_recorded();
        }
        Ok(self.announced() < self.tail.seq)
    }

    fn announced(&self) -> u64 {
        self.shared.tail().seq
    }

    /// Up to which record the ledger is known to be. Where nothing says so
    /// everything is: a second record of old messages would be a lie about when
    /// they came.
    fn recorded_before(&self) -> io::Result<u64> {
        let folder = &self.shared.folder;
        let last = self.tail.seq;
        match recorded(folder)? {
            Some(seq) => Ok(seq.min(last)),
            None => {
                // On disk as a whole: an empty file would say that everything is recorded.
                write_private(&recorded_path(folder), &last.to_le_bytes())
                    .map_err(|error| error.source)?;
                Ok(last)
            }
        }
    }

    /// Notes how much is recorded. Not synced: after a power failure a few
    /// messages may be recorded twice, which is better than not at all.
    pub(super) fn note_recorded(&self) {
        let noted = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(recorded_path(&self.shared.folder))
            .and_then(|file| file.write_all_at(&self.recorded.to_le_bytes(), 0));
        if let Err(error) = noted {
            tracing::warn!(%error, "how far the inbox is recorded could not be noted");
        }
    }

    /// Writes `state.json` when it changed.
    pub(super) fn write_summary(&mut self, consumers_changed: bool) {
        if !consumers_changed && self.summed_up == Some(self.tail.seq) {
            return;
        }
        let id_of = |seq: u64| {
            let message = self.shared.message(seq).ok().flatten();
            message.map(|message| message.id).unwrap_or_default()
        };
        let last_id = match self.tail.seq {
            0 => String::new(),
            seq => id_of(seq),
        };
        let (unread, seen) = {
            let consumers = self.shared.consumers();
            let channels = self.tail.channels.iter();
            let unread = channels.map(|(channel, total)| consumers.unread_by_all(channel, *total));
            let seen: Vec<(String, u64)> = consumers
                .all()
                .filter_map(|(name, consumer)| Some((name.as_str().to_owned(), consumer.last?)))
                .collect();
            (unread.sum(), seen)
        };
        let seen = seen.into_iter().map(|(name, seq)| (name, id_of(seq)));
        let state = State {
            unread,
            last_id,
            last_seen_consumer: seen.collect(),
        };
        let text = serde_json::to_vec_pretty(&state).unwrap_or_default();
        match write_private(&self.shared.folder.join("state.json"), &text) {
            Ok(()) => self.summed_up = Some(self.tail.seq),
            // It is made of the rest, and nothing depends on it.
            Err(error) => {
                tracing::warn!(error = %legation_core::error::chain(&error), "state.json of the inbox is old")
            }
        }
    }
}
