//! Reading what is unread.

use std::sync::Arc;

use legation_core::{EntityId, Moment, Wall};

use crate::consumer::{Consumer, ConsumerName, Fate, Handed};
use crate::error::ReadError;
use crate::inbox::{BYTES_MAX, Inbox, Shared, Tail};
use crate::message::{Channel, Message, Seq, of_lane};

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
    /// When the call began: answers that were written out before it have arrived.
    pub began: Moment,
    /// Whether a person named the consumer, which then is never forgotten by itself.
    pub is_persons: bool,
}

/// What there is.
#[derive(Debug)]
pub struct Pulled {
    /// How many are unread beside these, in the channel that was asked for.
    pub unread_remaining: u64,
    /// The oldest unread ones.
    pub messages: Vec<Message>,
    /// To be told what became of the answer they are in; `None` where nothing is
    /// marked by it.
    pub handed: Option<HandedOut>,
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

/// Messages on their way to a consumer. Whoever writes the answer says when it was
/// written out; dropped before, the messages are unread and offered again.
#[derive(Debug)]
pub struct HandedOut {
    shared: Arc<Shared>,
    consumer: ConsumerName,
    number: u64,
    is_written: bool,
}

// === impl HandedOut ===

impl HandedOut {
    /// The answer was written out: it has arrived as soon as the consumer calls
    /// again.
    pub fn written(mut self) {
        self.is_written = true;
        self.tell(Fate::Written(Moment::mark()));
    }

    fn tell(&self, fate: Fate) {
        let mut consumers = self.shared.consumers();
        let consumer = consumers.find(&self.consumer);
        if consumer.is_some_and(|consumer| consumer.tell(self.number, fate)) {
            consumers.changed(&self.consumer);
        }
    }
}

impl Drop for HandedOut {
    fn drop(&mut self) {
        if !self.is_written {
            self.tell(Fate::Unknown);
            self.shared.stir();
        }
    }
}

// === impl Inbox ===

impl Inbox {
    /// The oldest messages that a consumer has not read. What calls of the consumer
    /// returned whose answers were written out before this one began is read with it.
    /// It reads files.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn pull(&self, pull: &Pull) -> Result<Pulled, ReadError> {
        let now = self.shared.clock.wall();
        let tail = self.shared.tail();
        loop {
            let known = self.shared.consumers().get(&pull.consumer, now)?.clone();
            let since = pull.since_id.as_deref();
            // Files are read without the lock: every call of every client asks what is unread.
            let since = since
                .map(|id| given(&self.shared, &known, id, &tail))
                .transpose()?;
            let mut before = known.clone();
            let settled = before.settle(pull.began, since);
            before.is_persons |= pull.is_persons;
            let (handed, messages) = gather(&self.shared, &before, pull, (&tail, since))?;
            let lanes = tail.channels.iter().filter(|(name, _)| wanted(pull, name));
            let unread: u64 = lanes.map(|(name, total)| before.unread(name, *total)).sum();
            let unread_remaining = unread.saturating_sub(handed.len() as u64);
            let mut consumers = self.shared.consumers();
            let consumer = consumers.get(&pull.consumer, now)?;
            if *consumer != known {
                // Another call of the same consumer came first.
                continue;
            }
            if settled || before.is_persons != known.is_persons {
                *consumer = before;
                consumers.changed(&pull.consumer);
            }
            let marked = pull.mark_consumed && !handed.is_empty();
            let number = marked.then(|| consumers.hand(&pull.consumer, handed));
            drop(consumers);
            if settled || marked {
                self.wake();
            }
            return Ok(Pulled {
                unread_remaining,
                messages,
                handed: number.map(|number| HandedOut {
                    shared: Arc::clone(&self.shared),
                    consumer: pull.consumer.clone(),
                    number,
                    is_written: false,
                }),
            });
        }
    }

    /// What a pull would return, where no file has to be read to know it: nothing is
    /// unread, and no earlier answer is to be settled.
    #[must_use]
    pub fn pull_nothing(&self, pull: &Pull) -> Option<Pulled> {
        let tail = self.shared.tail();
        let mut consumers = self.shared.consumers();
        let lanes = tail.channels.iter().filter(|(name, _)| wanted(pull, name));
        let unread: u64 = lanes
            .map(|(name, total)| consumers.unread(&pull.consumer, name, *total))
            .sum();
        let consumer = consumers.find(&pull.consumer)?;
        let idle = unread == 0
            && consumer.handed.is_empty()
            && pull.since_id.is_none()
            && consumer.is_persons >= pull.is_persons;
        idle.then(|| Pulled {
            unread_remaining: 0,
            messages: Vec::new(),
            handed: None,
        })
    }

    /// Takes as read what calls of the consumer returned that were answered, up to a
    /// message or all of it.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn acknowledge(
        &self,
        consumer: &ConsumerName,
        through_id: Option<&str>,
    ) -> Result<(), ReadError> {
        let began = Moment::now();
        let through = through_id.map(|id| self.shared.seq_of(id)).transpose()?;
        let now = self.shared.clock.wall();
        let mut consumers = self.shared.consumers();
        if consumers.get(consumer, now)?.settle(began, through) {
            consumers.changed(consumer);
            drop(consumers);
            self.wake();
        }
        Ok(())
    }

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
        let now = self.shared.clock.wall();
        let mut consumers = self.shared.consumers();
        consumers.get(consumer, now)?.take(&Handed {
            seq,
            channel: lane,
            number,
        });
        consumers.changed(consumer);
        drop(consumers);
        self.wake();
        Ok(())
    }

    /// The first record that a consumer has not read, be it handed out; `None` where
    /// it has read everything, or was never seen. It reads files.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn first_unread(&self, consumer: &ConsumerName) -> Result<Option<Seq>, ReadError> {
        let tail = self.shared.tail();
        let known = self.shared.consumers().find(consumer).cloned();
        let Some(known) = known else { return Ok(None) };
        let mut first = None;
        for (lane, total) in &tail.channels {
            let number = known.first_unread(lane);
            if number < *total {
                let member = self.shared.members(lane, number, 1)?.first().copied();
                first = [first, member].into_iter().flatten().min();
            }
        }
        Ok(first.map(Seq))
    }

    /// Forgets consumers that were not used since a time and that no person named;
    /// their names. One that comes back is offered everything again.
    pub fn expire_consumers(&self, before: Wall) -> Vec<ConsumerName> {
        let expired = self.shared.consumers().expire(before);
        if !expired.is_empty() {
            self.wake();
        }
        expired
    }
}

/// The record that a consumer means by an id: of several versions the newest that it
/// was given, for it cannot speak of one that it has not seen. An id of which it was
/// given nothing means the oldest, so that nothing is passed over.
fn given(shared: &Shared, consumer: &Consumer, id: &str, tail: &Tail) -> Result<u64, ReadError> {
    let mut seq = shared.seq_of(id)?;
    loop {
        if consumer.was_handed(seq) || consumer.last == Some(seq) {
            return Ok(seq);
        }
        let Some(message) = shared.message(seq)? else {
            return Ok(seq);
        };
        let lane = message.lane();
        let total = tail.channels.get(&lane).copied().unwrap_or(0);
        let number = shared.first_after(&lane, total, seq - 1)?;
        if consumer.was_given(&lane, number) {
            return Ok(seq);
        }
        match shared.seq_until(id, seq - 1)? {
            Some(older) => seq = older,
            None => return Ok(seq),
        }
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
