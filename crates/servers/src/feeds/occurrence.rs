//! One event of a server's as a message of the inbox.

use std::collections::BTreeMap;

use legation_core::id::hex;
use legation_core::{EntityId, ServerName};
use legation_inbox::{Channel, EVENT_DATA, Incoming, Kind, Message};
use legation_wire::json::{Kind as JsonKind, Limits, Object, Raw};
use sha2::{Digest as _, Sha256};

/// Channels that other sources have, whose messages no server may pass its events
/// off as.
const TAKEN: [&str; 4] = ["teams", "mail", "email", "local"];
/// Longest name of a channel, and what of it is left beside a digest.
const CHANNEL_MAX: usize = 32;
const CHANNEL_CUT: usize = 23;
/// Longest id that is kept as it is, in bytes.
const ID_MAX: usize = 512;
/// Longest text of one event, in bytes: events are minimal, and what is longer is
/// read where it came from.
const TEXT_MAX: usize = 32 * 1024;

/// In `meta` of a message that a server's event became.
const SERVER: &str = "server";
const EVENT: &str = "event";
const EVENT_ID: &str = "event_id";

/// A server's event, as a message has it.
#[derive(Debug, Clone)]
pub struct Occurrence {
    /// Whose.
    pub server: ServerName,
    /// The server's name of its kind.
    pub kind: String,
    /// The server's id of it.
    pub id: String,
    /// Its data: with hidden characters in it, for they are taken out of texts only.
    pub data: Object,
}

/// Whether a member of `meta` holds an event's data, which the text says as well.
#[must_use]
pub fn is_event_data(member: &str) -> bool {
    member == EVENT_DATA
}

// === impl Occurrence ===

impl Occurrence {
    /// The event that a message is; `None` for one that no server's event became.
    #[must_use]
    pub fn of(message: &Message) -> Option<Self> {
        let of = |member: &str| message.meta.get(member).map(|value| unescaped(value));
        let server = ServerName::parse(&of(SERVER)?).ok()?;
        // Others write into other channels, whatever they say in `meta`.
        if channel(&server)? != message.channel {
            return None;
        }
        let data = Raw::parse(of(EVENT_DATA)?.into_bytes().into(), &Limits::UPSTREAM).ok()?;
        Some(Self {
            server,
            kind: of(EVENT)?,
            id: of(EVENT_ID)?,
            data: data.to_object()?,
        })
    }
}

/// A text as it was before the inbox escaped it.
fn unescaped(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">");
    text.replace("&amp;", "&")
}

/// The message an event becomes; `None` for what is none.
pub(super) fn incoming(
    server: &ServerName,
    entity: Option<&EntityId>,
    kind: &str,
    event: &Raw,
) -> Option<Incoming> {
    let text = |member: &str| {
        event
            .get(member)
            .and_then(|raw| raw.to_str().map(String::from))
    };
    let id = text("eventId").filter(|id| !id.is_empty())?;
    let data = event.get("data")?;
    let told = text("name").filter(|name| !name.is_empty());
    let mut meta = vec![
        (EVENT, told.as_deref().unwrap_or(kind)),
        (EVENT_ID, &*id),
        (SERVER, server.as_str()),
    ];
    if data.as_text().len() <= TEXT_MAX && data.kind() == JsonKind::Object {
        meta.push((EVENT_DATA, data.as_text()));
    }
    Some(Incoming {
        channel: channel(server)?,
        // Ids are unique within a type and an upstream (SEP-3415, event occurrence).
        chat_id: kind.to_owned(),
        id: match id.len() > ID_MAX {
            true => digest(&id),
            false => id.clone(),
        },
        version: String::new(),
        kind: Kind::New,
        from: server.to_string(),
        ts: text("timestamp").unwrap_or_default(),
        text: readable(kind, &data),
        meta: meta
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect::<BTreeMap<_, _>>(),
        entity: entity.cloned(),
    })
}

/// The channel of a server: its name, where that is one and nobody else's.
fn channel(server: &ServerName) -> Option<Channel> {
    let name = server.as_str();
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.len() <= CHANNEL_MAX && name.bytes().all(fits) && !TAKEN.contains(&name) {
        return Channel::parse(name).ok();
    }
    let lower = name.to_ascii_lowercase();
    let plain = |c: char| match u8::try_from(c) {
        Ok(byte) if fits(byte) => c,
        _ => '-',
    };
    let short: String = lower.chars().map(plain).take(CHANNEL_CUT).collect();
    // Two names that look alike now are two channels.
    Channel::parse(&format!("{short}-{}", &digest(name)[..8])).ok()
}

/// What an event says, a line for each of its members.
fn readable(kind: &str, data: &Raw) -> String {
    let mut text = kind.to_owned();
    match data.to_object() {
        Some(members) => {
            for (name, value) in members.iter() {
                text.push_str(&format!("\n{name}: {}", plain(value)));
            }
        }
        None => text.push_str(&format!("\n{}", plain(data))),
    }
    if text.len() > TEXT_MAX {
        let end = text.floor_char_boundary(TEXT_MAX);
        text.truncate(end);
        text.push_str("\n\u{2026} (cut)");
    }
    text
}

fn plain(value: &Raw) -> String {
    match (value.kind(), value.to_str()) {
        (JsonKind::String, Some(text)) => text.into_owned(),
        _ => value.as_text().to_owned(),
    }
}

fn digest(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}
