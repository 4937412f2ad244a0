//! What callers want of the inbox.

use legation_core::{EntityId, OpContext};
use legation_inbox::{Channel, ConsumerName, Pull};
use legation_wire::json::Object;

const LIMIT: usize = 20;
const LIMIT_MAX: usize = 100;
const READER_MAX: usize = 64;

/// A pull, and the reader it is for.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) pull: Pull,
    pub(super) reader: Option<String>,
}

/// Reads the arguments of `pull`; what is wrong with them in words.
pub(super) fn wanted(context: &OpContext, arguments: &Object) -> Result<Wanted, String> {
    let since_id = text(arguments, "since_id")?;
    let channel = text(arguments, "channel")?
        .map(|name| Channel::parse(&name))
        .transpose()
        .map_err(|error| format!("{error}; nothing was read"))?;
    let reader = text(arguments, "consumer")?;
    if reader
        .as_ref()
        .is_some_and(|reader| reader.len() > READER_MAX)
    {
        return Err("`consumer` has at most 64 bytes; nothing was read".to_owned());
    }
    // So begin the names of people who come with tokens of an issuer.
    if reader
        .as_ref()
        .is_some_and(|reader| reader.starts_with('~'))
    {
        return Err("`consumer` does not begin with ~; nothing was read".to_owned());
    }
    text(arguments, "entity")?;
    let limit = match arguments.get("limit") {
        None => Some(LIMIT),
        Some(raw) => raw.to_i64().and_then(|limit| usize::try_from(limit).ok()),
    };
    let limit = limit
        .filter(|limit| (1..=LIMIT_MAX).contains(limit))
        .ok_or("`limit` must be a number from 1 to 100; nothing was read")?;
    let mark_consumed = match arguments.get("mark_consumed") {
        None => Some(true),
        Some(raw) => raw.to_bool(),
    };
    let mark_consumed =
        mark_consumed.ok_or("`mark_consumed` must be true or false; nothing was read")?;
    let client = context.caller.principal.client.as_str();
    Ok(Wanted {
        pull: Pull {
            consumer: ConsumerName::new(client, reader.as_deref()),
            since_id,
            limit,
            mark_consumed,
            channel,
            entity: entity_of(arguments),
            began: context.began,
            is_persons: false,
        },
        reader,
    })
}

/// The entity a call is about; `None` is nobody's data.
pub(super) fn entity_of(arguments: &Object) -> Option<EntityId> {
    let entity = arguments.get("entity")?.to_str()?;
    let entity = EntityId::new(&*entity);
    (!entity.as_str().is_empty() && entity != EntityId::personal()).then_some(entity)
}

/// A text that is there and not empty.
fn text(arguments: &Object, name: &str) -> Result<Option<String>, String> {
    match arguments.get(name) {
        None => Ok(None),
        Some(raw) => match raw.to_str() {
            Some(text) => Ok(Some(text.into_owned()).filter(|text| !text.is_empty())),
            None => Err(format!("`{name}` must be a text; nothing was read")),
        },
    }
}
