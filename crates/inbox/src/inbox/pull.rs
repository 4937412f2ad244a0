//! Reading what is unread.

use legation_core::EntityId;

use crate::consumer::{Consumer, ConsumerName, Handed};
use crate::error::ReadError;
use crate::inbox::{BYTES_MAX, Inbox, Shared, Tail};
use crate::message::{Channel, Message, of_lane};

/// What is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pull {
    /// For whom.
    pub consumer: ConsumerName,
    /// Only what came after the message with this id. It says that everything up
    /// to it arrived, and nothing of what the last call returned after it.
    pub since_id: Option<String>,
    /// At most so many.
    pub limit: usize,
    /// Whether what is returned will be read once the consumer calls again.
    pub mark_consumed: bool,
    /// Only of this channel.
    pub channel: Option<Channel>,
    /// Only data of this entity, or of nobody's.
    pub entity: Option<EntityId>,
}

/// What there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulled {
    /// How many are unread beside these, in the channel that was asked for.
    pub unread_remaining: u64,
    /// The oldest unread ones.
    pub messages: Vec<Message>,
}

/// One channel on its way through a pull.
struct Lane {
    channel: String,
    total: u64,
    /// The next number that is to be looked at, and its record.
    at: u64,
    seq: Option<u64>,
    /// Record numbers that were read ahead, of the numbers from `ahead_from` on.
    ahead: Vec<u64>,
    ahead_from: u64,
}

impl Inbox {
    /// The oldest messages that a consumer has not read. What the consumer's last
    /// call returned is read with this one.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn pull(&self, pull: &Pull) -> Result<Pulled, ReadError> {
        let since = pull.since_id.as_deref();
        let since = since.map(|id| self.shared.seq_of(id)).transpose()?;
        let tail = self.shared.tail();
        loop {
            let (acknowledged, before) = {
                let mut consumers = self.shared.consumers();
                let consumer = consumers.get(&pull.consumer)?;
                let acknowledged = consumer.acknowledge(since);
                let before = consumer.clone();
                if acknowledged {
                    consumers.changed(&pull.consumer);
                }
                (acknowledged, before)
            };
            // Files are read without the lock: every call of every client asks what is unread.
            let (handed, messages) = gather(&self.shared, &before, pull, (&tail, since))?;
            let lanes = tail.channels.iter().filter(|(name, _)| wanted(pull, name));
            let unread: u64 = lanes.map(|(name, total)| before.unread(name, *total)).sum();
            let unread_remaining = unread.saturating_sub(handed.len() as u64);
            let mut consumers = self.shared.consumers();
            let consumer = consumers.get(&pull.consumer)?;
            if *consumer != before {
                // Another call of the same consumer came first.
                continue;
            }
            let marked = pull.mark_consumed && !handed.is_empty();
            if marked {
                consumer.handed = handed;
                consumers.changed(&pull.consumer);
            }
            drop(consumers);
            if acknowledged || marked {
                self.wake();
            }
            return Ok(Pulled {
                unread_remaining,
                messages,
            });
        }
    }

    /// Takes what the consumer's last call returned as read, up to a message or
    /// all of it.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn acknowledge(
        &self,
        consumer: &ConsumerName,
        through_id: Option<&str>,
    ) -> Result<(), ReadError> {
        let through = through_id.map(|id| self.shared.seq_of(id)).transpose()?;
        let mut consumers = self.shared.consumers();
        if consumers.get(consumer)?.acknowledge(through) {
            consumers.changed(consumer);
            drop(consumers);
            self.wake();
        }
        Ok(())
    }
}

impl Inbox {
    /// Takes one message as read, whatever came before it: it was pushed to the
    /// consumer, who has it.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn take(&self, consumer: &ConsumerName, message: &Message) -> Result<(), ReadError> {
        let lane = message.lane();
        let total = self.shared.tail().channels.get(&lane).copied();
        let seq = message.seq.0;
        let number = self
            .shared
            .first_after(&lane, total.unwrap_or(0), seq - 1)?;
        let mut consumers = self.shared.consumers();
        consumers.get(consumer)?.take(&Handed {
            seq,
            channel: lane,
            number,
        });
        consumers.changed(consumer);
        drop(consumers);
        self.wake();
        Ok(())
    }
}

impl Shared {
    /// The first number of a lane whose record came after one.
    fn first_after(&self, lane: &str, total: u64, since: u64) -> Result<u64, ReadError> {
        let path = self.folder.join("index");
        let first = self.index.first_from(lane, total, since + 1);
        first.map_err(|source| ReadError::Io { path, source })
    }
}

fn wanted(pull: &Pull, lane: &str) -> bool {
    let (channel, entity) = of_lane(lane);
    let only = pull.channel.as_ref();
    only.is_none_or(|only| only.as_str() == channel) && entity == pull.entity
}

/// Takes the oldest from all channels, as a merge does.
fn gather(
    shared: &Shared,
    consumer: &Consumer,
    pull: &Pull,
    (tail, since): (&Tail, Option<u64>),
) -> Result<(Vec<Handed>, Vec<Message>), ReadError> {
    let mut lanes = Vec::new();
    for (channel, total) in &tail.channels {
        if wanted(pull, channel) {
            lanes.push(Lane::new(shared, consumer, (channel, *total), since)?);
        }
    }
    let (mut handed, mut messages) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    while messages.len() < pull.limit && bytes < BYTES_MAX {
        let first = lanes.iter_mut().filter(|lane| lane.seq.is_some());
        let Some(lane) = first.min_by_key(|lane| lane.seq) else {
            break;
        };
        let Some(seq) = lane.seq else { break };
        if let Some(message) = shared.message(seq)? {
            bytes += message.text.len();
            messages.push(message);
            handed.push(Handed {
                seq,
                channel: lane.channel.clone(),
                number: lane.at,
            });
        }
        lane.step(shared, consumer, lane.at + 1)?;
    }
    Ok((handed, messages))
}

// === impl Lane ===

impl Lane {
    fn new(
        shared: &Shared,
        consumer: &Consumer,
        (channel, total): (&str, u64),
        since: Option<u64>,
    ) -> Result<Self, ReadError> {
        let mut lane = Self {
            channel: channel.to_owned(),
            total,
            at: 0,
            seq: None,
            ahead: Vec::new(),
            ahead_from: 0,
        };
        let from = match since {
            None => 0,
            Some(since) => shared.first_after(&lane.channel, total, since)?,
        };
        lane.step(shared, consumer, from)?;
        Ok(lane)
    }

    /// Goes to the next unread number from one on.
    fn step(&mut self, shared: &Shared, consumer: &Consumer, from: u64) -> Result<(), ReadError> {
        self.at = consumer.next(&self.channel, from);
        self.seq = None;
        if self.at >= self.total {
            return Ok(());
        }
        let known = self.at.checked_sub(self.ahead_from);
        let known = known.and_then(|at| usize::try_from(at).ok());
        if let Some(seq) = known.and_then(|at| self.ahead.get(at)) {
            self.seq = Some(*seq);
            return Ok(());
        }
        self.ahead = shared.members(&self.channel, self.at, 32)?;
        self.ahead_from = self.at;
        self.seq = self.ahead.first().copied();
        Ok(())
    }
}
