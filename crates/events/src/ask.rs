//! What a client asks for, read from the parameters of a request.

use std::time::Duration;

use legation_core::{Caller, EntityId};
use legation_wire::json::{Kind as JsonKind, Object, Raw};

use crate::{Access, Entry, EventsError, Family, Topic};

/// Longest name of a channel or an entity, in bytes.
const NAME_MAX: usize = 256;
/// Most events of one poll, and how many unless the client says so.
const EVENTS_MAX: i64 = 100;
const EVENTS: i64 = 50;

/// Which events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) topic: Topic,
    pub(crate) channel: Option<Box<str>>,
    pub(crate) entity: Option<EntityId>,
}

/// Which events, from where on.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) filter: Filter,
    pub(crate) cursor: Option<String>,
    pub(crate) max_age: Option<Duration>,
}

// === impl Filter ===

impl Filter {
    /// Reads `name` and `arguments`.
    pub(crate) fn read(params: &Object) -> Result<Self, EventsError> {
        let name = text(params, "name")?.ok_or_else(|| missing("name"))?;
        let topic = Topic::parse(&name).ok_or(EventsError::UnknownEvent)?;
        let arguments = match params.get("arguments") {
            None => Object::new(),
            Some(raw) if raw.is_null() => Object::new(),
            Some(raw) => raw
                .to_object()
                .ok_or_else(|| EventsError::invalid("arguments must be an object"))?,
        };
        let mut filter = Self {
            topic,
            channel: None,
            entity: None,
        };
        for (member, _) in arguments.iter() {
            let of_messages = filter.topic.family() == Family::Messages;
            match member {
                "channel" if of_messages => {
                    filter.channel = text(&arguments, member)?.map(Into::into);
                }
                "entity" if of_messages => {
                    filter.entity = text(&arguments, member)?.map(EntityId::new);
                }
                _ => {
                    return Err(EventsError::invalid(format!(
                        "{} has no such argument",
                        filter.topic.as_str()
                    )));
                }
            }
        }
        Ok(filter)
    }

    /// The arguments as canonical JSON: members in order, nothing that says
    /// nothing.
    pub(crate) fn canonical(&self) -> String {
        let mut arguments = Object::new();
        if let Some(channel) = &self.channel {
            arguments.set("channel", Raw::str(channel));
        }
        if let Some(entity) = &self.entity {
            arguments.set("entity", Raw::str(entity.as_str()));
        }
        arguments.to_raw().as_text().to_owned()
    }

    /// Whether a client may ask for this at all.
    pub(crate) fn permit(&self, access: &dyn Access, who: &Caller) -> Result<(), EventsError> {
        if !access.knows(who) {
            return Err(EventsError::Forbidden {
                reason: "its credential is no longer good",
            });
        }
        if !access.offers(who, &self.topic) {
            return Err(EventsError::Forbidden {
                reason: "the rules keep it from what this tells of",
            });
        }
        match &self.entity {
            Some(entity) if !access.may_know(who, entity) => Err(EventsError::Forbidden {
                reason: "it has no clearance for this entity",
            }),
            _ => Ok(()),
        }
    }

    /// The data a client is told of an entry, if it is told at all.
    pub(crate) fn tell(&self, access: &dyn Access, who: &Caller, entry: &Entry) -> Option<Object> {
        let other = |client: &legation_core::ClientId| *client != who.principal.client;
        let kind = match &self.topic {
            Topic::Own(kind) => *kind,
            Topic::OfServer(_) => return self.tell_of_server(access, who, entry),
        };
        if entry.kind != kind
            || entry.client.as_ref().is_some_and(other)
            || (self.channel.is_some() && self.channel != entry.channel)
            || (self.entity.is_some() && self.entity != entry.entity)
        {
            return None;
        }
        let Some(entity) = &entry.entity else {
            let whole = access.may_be_told(who, None);
            return Some(if whole {
                entry.whole()
            } else {
                entry.notice.clone()
            });
        };
        if !access.may_know(who, entity) {
            return None;
        }
        // Only who asked for an entity's data gets it, because it labels the conversation.
        let whole = self.entity.is_some() && access.may_be_told(who, Some(entity));
        Some(if whole {
            entry.whole()
        } else {
            entry.notice.clone()
        })
    }
}

impl Filter {
    /// What a server said is told as it is, or not at all: its data has no part that
    /// everybody may know.
    fn tell_of_server(&self, access: &dyn Access, who: &Caller, entry: &Entry) -> Option<Object> {
        let told = entry.of_server.as_ref()?;
        let entity = entry.entity.as_ref();
        let is_it = told.topic == self.topic;
        let may = is_it && entity.is_none_or(|entity| access.may_know(who, entity));
        (may && access.may_be_told(who, entity)).then(|| told.data.clone())
    }
}

// === impl Ask ===

impl Ask {
    /// Reads what `events/poll`, `events/stream` and `events/subscribe` have in
    /// common.
    pub(crate) fn read(params: &Object) -> Result<Self, EventsError> {
        Ok(Self {
            filter: Filter::read(params)?,
            cursor: text(params, "cursor")?,
            max_age: number(params, "maxAgeMs", 0)?
                .map(|ms| Duration::from_millis(ms.unsigned_abs())),
        })
    }
}

/// `maxEvents` of a poll.
pub(crate) fn most(params: &Object) -> Result<usize, EventsError> {
    let most = number(params, "maxEvents", 1)?.unwrap_or(EVENTS);
    Ok(usize::try_from(most.min(EVENTS_MAX)).unwrap_or(1))
}

/// A string, or nothing where there is none or an empty one.
pub(crate) fn text(params: &Object, member: &str) -> Result<Option<String>, EventsError> {
    let Some(raw) = params.get(member).filter(|raw| !raw.is_null()) else {
        return Ok(None);
    };
    let text = raw
        .to_str()
        .ok_or_else(|| EventsError::invalid(format!("{member} must be a string")))?;
    if text.len() > NAME_MAX {
        return Err(EventsError::invalid(format!("{member} is too long")));
    }
    Ok(Some(text.into_owned()).filter(|text| !text.is_empty()))
}

/// A whole number no smaller than this.
pub(crate) fn number(
    params: &Object,
    member: &str,
    least: i64,
) -> Result<Option<i64>, EventsError> {
    let Some(raw) = params.get(member).filter(|raw| !raw.is_null()) else {
        return Ok(None);
    };
    let number = match raw.kind() {
        JsonKind::Number => raw.to_i64(),
        _ => None,
    };
    match number.filter(|number| *number >= least) {
        Some(number) => Ok(Some(number)),
        None => Err(EventsError::invalid(format!(
            "{member} must be a whole number, {least} or more"
        ))),
    }
}

fn missing(member: &str) -> EventsError {
    EventsError::invalid(format!("{member} is missing"))
}
