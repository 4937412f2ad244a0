//! What will be written: each message looked up, cleaned, sealed and given its place.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use legation_core::{EntityId, Wall};

use super::{Append, Told, Writer};
use crate::clean;
use crate::day::Day;
use crate::error::AppendError;
use crate::inbox::Added;
use crate::index::Place;
use crate::line;
use crate::message::{BODY_MAX, FIELD_MAX, Incoming, Message, Seq};

/// Lanes there may be: each is a file, and a pull looks at each.
const CHANNELS_MAX: usize = 256;
/// Longest name of an entity, in bytes: it is in the name of a lane's file.
const ENTITY_MAX: usize = 100;

/// What will be written.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) bytes: Vec<u8>,
    pub(super) records: Vec<(Message, Place)>,
    /// The keys of the records.
    keys: HashMap<[String; 4], u64>,
    /// Lanes that there were not before.
    lanes: HashSet<String>,
    pub(super) tell: Vec<(Told, Vec<Added>)>,
}

impl Writer {
    /// Plans the messages of one who brings some: all or none.
    pub(super) fn plan(&self, plan: &mut Plan, append: Append, at: (Day, u64, Wall)) {
        let (bytes, records) = (plan.bytes.len(), plan.records.len());
        let mut added = Vec::new();
        for incoming in append.messages {
            match self.plan_one(plan, incoming, at) {
                Ok(one) => added.push(one),
                Err(error) => {
                    plan.bytes.truncate(bytes);
                    plan.records.truncate(records);
                    let last = self.tail.seq + records as u64;
                    plan.keys.retain(|_, seq| *seq <= last);
                    drop(append.tell.send(Err(error)));
                    return;
                }
            }
        }
        plan.tell.push((append.tell, added));
    }

    fn plan_one(
        &self,
        plan: &mut Plan,
        incoming: Incoming,
        (day, start, now): (Day, u64, Wall),
    ) -> Result<Added, AppendError> {
        let seq = self.tail.seq + plan.records.len() as u64 + 1;
        let message = cleaned(incoming, Seq(seq), now);
        let key = [
            message.lane(),
            message.chat_id.clone(),
            message.id.clone(),
            message.version.clone(),
        ];
        let there = match plan.keys.get(&key) {
            Some(seq) => Some(*seq),
            None => {
                let same = self.shared.index.same(&message, self.tail.seq);
                same.map_err(AppendError::write("looking for an earlier copy"))?
            }
        };
        if let Some(seq) = there {
            return Ok(Added {
                seq: Seq(seq),
                duplicate: true,
            });
        }
        let entity = message.entity.as_ref();
        if entity.is_some_and(|entity| entity.as_str().len() > ENTITY_MAX) {
            return Err(AppendError::Entity { most: ENTITY_MAX });
        }
        let (channels, lane) = (&self.tail.channels, message.lane());
        if !channels.contains_key(&lane) && !plan.lanes.contains(&lane) {
            if channels.len() + plan.lanes.len() >= CHANNELS_MAX {
                return Err(AppendError::Channels {
                    channel: message.channel.to_string(),
                });
            }
            plan.lanes.insert(lane);
        }
        let sealed = entity.is_some_and(|entity| self.shared.governor.must_seal(entity));
        let body = sealed.then(|| self.shared.seals.seal(&message)).transpose();
        let body = body.map_err(|error| AppendError::Seal(Arc::new(error)))?;
        let line = line::encode(&message, self.tail.seq + 1, body.as_ref());
        let place = Place {
            day,
            offset: start + plan.bytes.len() as u64,
            len: u32::try_from(line.len() - 1).unwrap_or(u32::MAX),
        };
        plan.bytes.extend_from_slice(&line);
        plan.keys.insert(key, seq);
        plan.records.push((message, place));
        Ok(Added {
            seq: Seq(seq),
            duplicate: false,
        })
    }
}

/// A message as it is kept.
fn cleaned(incoming: Incoming, seq: Seq, now: Wall) -> Message {
    let line = |text: &str| clean::kept_line(text, FIELD_MAX);
    let (text, cut) = clean::kept(&incoming.text, BODY_MAX);
    let fits = |key: &str| {
        !key.is_empty()
            && key.len() <= 64
            && key
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let pairs = incoming.meta.iter().filter(|(key, _)| fits(key)).take(64);
    let mut meta: std::collections::BTreeMap<String, String> = pairs
        .map(|(key, value)| (key.clone(), clean::kept(value, FIELD_MAX).0))
        .collect();
    if cut {
        meta.insert(
            "cut_bytes".to_owned(),
            (incoming.text.len() - BODY_MAX).to_string(),
        );
    }
    Message {
        seq,
        id: line(&incoming.id),
        version: line(&incoming.version),
        kind: incoming.kind,
        received_at: now,
        channel: incoming.channel,
        chat_id: line(&incoming.chat_id),
        from: line(&incoming.from),
        ts: line(&incoming.ts),
        text,
        meta,
        // The name for everything where nobody declared another.
        entity: incoming
            .entity
            .filter(|entity| *entity != EntityId::personal()),
    }
}
