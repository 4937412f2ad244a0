//! A subscription as it is kept: sealed whole, because an address may hold a
//! client's secret as well as the secret itself.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use legation_core::{ClientId, EntityId};
use legation_keystore::Key;
use legation_store::KeptRow;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroizing;

use super::SUBSCRIPTION;
use super::hook::{Hook, State};
use super::receiver::{Allowed, Receiver};
use super::sign::WebhookSecret;
use crate::ask::Filter;
use crate::cursor::Position;
use crate::{Reason, Topic};

/// Until when a subscription without an end is kept.
const WITHOUT_END: i64 = i64::MAX;

#[derive(Serialize, Deserialize)]
struct Kept {
    client: String,
    name: String,
    channel: Option<Box<str>>,
    entity: Option<String>,
    url: String,
    secret: Hidden,
    previous: Option<(Hidden, i64)>,
    epoch: u64,
    place: u64,
    expires_ms: Option<i64>,
    active: bool,
    given_up: u32,
    owes_gap: bool,
    last_delivery_ms: Option<i64>,
    last_error: Option<String>,
    failed_since_ms: Option<i64>,
}

/// A secret on its way into what is sealed and out of it.
struct Hidden(Zeroizing<String>);

impl Serialize for Hidden {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Hidden {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(Zeroizing::new(text)))
    }
}

impl Hook {
    /// What is kept of it; `None` when it has ended, or cannot be sealed.
    pub(crate) fn to_row(&self, key: &Key) -> Option<KeptRow> {
        let state = self.lock().clone();
        if state.ended {
            return None;
        }
        let kept = Kept {
            client: self.client.as_str().to_owned(),
            name: self.filter.topic.as_str().to_owned(),
            channel: self.filter.channel.clone(),
            entity: self
                .filter
                .entity
                .as_ref()
                .map(|entity| entity.as_str().to_owned()),
            url: self.receiver.as_str().to_owned(),
            secret: Hidden(state.secret.reveal()),
            previous: state
                .previous
                .map(|(secret, until)| (Hidden(secret.reveal()), until)),
            epoch: state.position.epoch,
            place: state.position.place,
            expires_ms: state.expires_ms,
            active: state.active,
            given_up: state.given_up,
            owes_gap: state.owes_gap,
            last_delivery_ms: state.last_delivery_ms,
            last_error: state.last_error.map(|reason| reason.as_str().to_owned()),
            failed_since_ms: state.failed_since_ms,
        };
        let plain = Zeroizing::new(serde_json::to_vec(&kept).ok()?);
        let sealed = key.seal(self.id.as_bytes(), &plain).ok()?;
        Some(KeptRow {
            kind: SUBSCRIPTION.to_owned(),
            name: self.id.to_string(),
            value: STANDARD.encode(sealed),
            changed_ms: 0,
            expires_ms: state.expires_ms.unwrap_or(WITHOUT_END),
        })
    }

    /// Reads what was kept.
    pub(crate) fn of_row(row: &KeptRow, key: &Key, allowed: &Allowed) -> Option<Self> {
        let sealed = STANDARD.decode(&row.value).ok()?;
        let plain = key.open(row.name.as_bytes(), &sealed).ok()?;
        let kept: Kept = serde_json::from_slice(&plain).ok()?;
        let secret = |hidden: &Hidden| WebhookSecret::parse(&hidden.0);
        let filter = Filter {
            topic: Topic::parse(&kept.name)?,
            channel: kept.channel,
            entity: kept.entity.map(EntityId::new),
        };
        let state = State {
            secret: secret(&kept.secret)?,
            previous: kept
                .previous
                .and_then(|(hidden, until)| Some((secret(&hidden)?, until))),
            position: Position {
                epoch: kept.epoch,
                place: kept.place,
            },
            expires_ms: kept.expires_ms,
            active: kept.active,
            given_up: kept.given_up,
            is_rewound: false,
            owes_gap: kept.owes_gap,
            last_delivery_ms: kept.last_delivery_ms,
            last_error: kept.last_error.as_deref().and_then(Reason::parse),
            failed_since_ms: kept.failed_since_ms,
            ended: false,
        };
        let receiver = Receiver::parse(&kept.url, allowed).ok()?;
        let client = ClientId::new(kept.client);
        Some(Self::new(
            row.name.as_str().into(),
            client,
            filter,
            receiver,
            state,
        ))
    }
}
