//! `events/subscribe` and `events/unsubscribe`.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use legation_core::error::chain;
use legation_core::{Caller, ClientId, Via, Wall};
use legation_store::StoreError;
use legation_wire::json::{Object, Raw};

use super::hook::{Hook, State};
use super::receiver::Receiver;
use super::sign::WebhookSecret;
use super::{ALL_MAX, PER_CLIENT_MAX};
use crate::ask::{Ask, Filter, number};
use crate::cursor::Position;
use crate::events::{Inner, complete, permitted};
use crate::{EventsError, Record, What};

/// The shortest time a subscription is granted, and the longest unless none was
/// asked for.
const TTL_MIN: Duration = Duration::from_secs(5);
const TTL_MAX: Duration = Duration::from_secs(90 * 24 * 3600);
/// Characters of an id beside its prefix.
const ID_LEN: usize = 22;

/// What a client wants.
struct Wanted {
    ask: Ask,
    receiver: Receiver,
    secret: WebhookSecret,
    expires_ms: Option<i64>,
}

impl Inner {
    /// Subscribes, or refreshes: the same client, address, name and arguments are
    /// the same subscription.
    pub(crate) async fn subscribe(
        self: &Arc<Self>,
        who: &Caller,
        params: &Object,
    ) -> Result<Object, EventsError> {
        let client = authenticated(who)?;
        let wanted = self.wanted(params)?;
        permitted(self, who, &wanted.ask.filter)?;
        let id = self.hook_id(client, &wanted.ask.filter, &wanted.receiver);
        let known = self
            .webhooks
            .get(&id)
            .filter(|hook| !hook.lock().is_over(self.clock.wall()));
        match known {
            Some(hook) => self.refresh(who, &hook, wanted).await,
            None => self.begin(who, id, wanted).await,
        }
    }

    async fn begin(
        self: &Arc<Self>,
        who: &Caller,
        id: Box<str>,
        wanted: Wanted,
    ) -> Result<Object, EventsError> {
        let client = &who.principal.client;
        self.check_room(client, &id)?;
        let filter = wanted.ask.filter.clone();
        let started = self.start(who, &wanted.ask).await?;
        let state = State {
            secret: wanted.secret,
            previous: None,
            position: Position {
                epoch: self.log(&filter.topic).epoch(),
                place: started.place,
            },
            expires_ms: wanted.expires_ms,
            active: true,
            given_up: 0,
            is_rewound: false,
            owes_gap: false,
            last_delivery_ms: None,
            last_error: None,
            failed_since_ms: None,
            ended: false,
        };
        let hook = Arc::new(Hook::new(
            id,
            client.clone(),
            filter,
            wanted.receiver,
            state,
        ));
        self.verify(&hook).await?;
        self.note(&hook, What::Subscribed, "subscribed").await?;
        // What was asked for at the same time as this stands in its way or is the same.
        self.check_room(client, &hook.id)?;
        let other = self.webhooks.get(&hook.id);
        {
            // While it is replaced, one that lapses neither writes the row nor takes it away.
            let _quiet = match &other {
                Some(other) => Some(other.saving.lock().await),
                None => None,
            };
            self.webhooks.save(&hook).await.map_err(unkept)?;
            self.run_hook(Arc::clone(&hook));
        }
        Ok(self.granted(&hook, started.truncated, false))
    }

    async fn refresh(
        self: &Arc<Self>,
        who: &Caller,
        hook: &Arc<Hook>,
        wanted: Wanted,
    ) -> Result<Object, EventsError> {
        let now = self.clock.wall();
        let mut renewed = hook.lock().clone();
        renewed.set_secret(wanted.secret.clone(), now);
        // A receiver that is asked again may know the new secret alone.
        let client = hook.client.clone();
        let renewed = Hook::new(
            hook.id.clone(),
            client,
            wanted.ask.filter.clone(),
            wanted.receiver,
            renewed,
        );
        self.verify(&renewed).await?;
        // A live subscription goes on where it is; one that has stopped may be set back.
        let mut started = None;
        if !hook.lock().active && wanted.ask.cursor.is_some() {
            started = Some(self.start(who, &wanted.ask).await?);
        }
        {
            let mut state = hook.lock();
            state.set_secret(wanted.secret, now);
            state.expires_ms = wanted.expires_ms;
            if !state.active {
                state.active = true;
                state.given_up = 0;
                state.is_rewound = true;
                if let Some(started) = started {
                    state.position = Position {
                        epoch: self.log(&hook.filter.topic).epoch(),
                        place: started.place,
                    };
                }
            }
        }
        self.webhooks.save(hook).await.map_err(unkept)?;
        hook.changed.notify_one();
        let truncated = started.is_some_and(|started| started.truncated);
        Ok(self.granted(hook, truncated, true))
    }

    /// `events/unsubscribe`.
    pub(crate) async fn unsubscribe(
        self: &Arc<Self>,
        who: &Caller,
        params: &Object,
    ) -> Result<Object, EventsError> {
        let client = authenticated(who)?;
        let filter = Filter::read(params)?;
        let receiver = self.receiver(&delivery(params)?)?;
        let id = self.hook_id(client, &filter, &receiver);
        let hook = self
            .webhooks
            .get(&id)
            .ok_or(EventsError::UnknownSubscription)?;
        self.note(&hook, What::Ended, "unsubscribed").await?;
        let was = self.webhooks.forget(&hook).await.map_err(unkept)?;
        if was {
            Ok(complete())
        } else {
            Err(EventsError::UnknownSubscription)
        }
    }

    /// See [`crate::Events::test`].
    pub(crate) async fn test(&self, id: &str) -> Result<(), EventsError> {
        let hook = self
            .webhooks
            .get(id)
            .ok_or(EventsError::UnknownSubscription)?;
        let told = self.challenge(&hook).await;
        told.map_err(|reason| EventsError::Callback { reason })
    }

    /// See [`crate::Events::remove`].
    pub(crate) async fn remove(self: &Arc<Self>, id: &str) -> Result<(), EventsError> {
        let hook = self
            .webhooks
            .get(id)
            .ok_or(EventsError::UnknownSubscription)?;
        let error = EventsError::Forbidden {
            reason: "the owner ended the subscription",
        };
        self.terminate(&hook, &error).await
    }

    /// Ends a subscription for a reason its receiver is told.
    pub(super) async fn terminate(
        self: &Arc<Self>,
        hook: &Arc<Hook>,
        error: &EventsError,
    ) -> Result<(), EventsError> {
        self.note(hook, What::Ended, &error.to_string()).await?;
        if self.webhooks.forget(hook).await.map_err(unkept)? {
            self.tell_end(hook, error).await;
        }
        Ok(())
    }

    /// Makes sure that whoever is at the address wants this.
    async fn verify(&self, hook: &Hook) -> Result<(), EventsError> {
        let webhooks = &self.webhooks;
        let now = self.clock.wall();
        if !webhooks
            .is_verified(&hook.client, &hook.receiver, now)
            .await
        {
            let permit = webhooks.challenges.try_acquire();
            let _permit = permit.map_err(|_| EventsError::Exhausted {
                limit: "receivers being verified",
                max: super::CHALLENGES_MAX,
            })?;
            let answered = self.challenge(hook).await;
            answered.map_err(|reason| EventsError::Callback { reason })?;
        }
        // Kept for as long as it is used.
        let kept = webhooks.verified(&hook.client, &hook.receiver, now).await;
        kept.map_err(unkept)
    }

    pub(super) async fn note(
        &self,
        hook: &Hook,
        what: What,
        word: &str,
    ) -> Result<(), EventsError> {
        let record = Record {
            what,
            client: hook.client.clone(),
            entity: hook.filter.entity.clone(),
            text: format!(
                "{} {}, {} to {}",
                hook.id,
                word,
                hook.filter.topic.as_str(),
                hook.receiver.origin()
            ),
        };
        let recorded = self.access.record(record).await;
        recorded.map_err(|what| EventsError::Unkept { what })
    }

    fn check_room(&self, client: &ClientId, id: &str) -> Result<(), EventsError> {
        let hooks = self.webhooks.lock();
        let others = hooks.values().filter(|hook| *hook.id != *id);
        let own = others.clone().filter(|hook| hook.client == *client).count();
        let (limit, max) = match (own, others.count()) {
            (own, _) if own >= PER_CLIENT_MAX => ("subscriptions", PER_CLIENT_MAX),
            (_, all) if all >= ALL_MAX => ("subscriptions of all clients", ALL_MAX),
            _ => return Ok(()),
        };
        Err(EventsError::Exhausted { limit, max })
    }

    fn wanted(&self, params: &Object) -> Result<Wanted, EventsError> {
        let ask = Ask::read(params)?;
        let delivery = delivery(params)?;
        let mode = delivery
            .get("mode")
            .and_then(|mode| mode.to_str().map(String::from));
        if mode.as_deref() != Some("webhook") {
            return Err(EventsError::Unsupported {
                feature: "delivery.mode",
                value: mode.unwrap_or_default().chars().take(40).collect(),
            });
        }
        let secret = delivery.get("secret").and_then(|secret| {
            let text = secret.to_str()?;
            WebhookSecret::parse(&text)
        });
        let secret = secret.ok_or_else(|| {
            EventsError::invalid("delivery.secret must be whsec_ and 24 to 64 bytes in base64")
        })?;
        Ok(Wanted {
            ask,
            receiver: self.receiver(&delivery)?,
            secret,
            expires_ms: self.expiry(params)?,
        })
    }

    fn receiver(&self, delivery: &Object) -> Result<Receiver, EventsError> {
        let url = delivery
            .get("url")
            .and_then(|url| url.to_str().map(String::from));
        let url = url.ok_or_else(|| EventsError::invalid("delivery.url must be a string"))?;
        let parsed = Receiver::parse(&url, self.webhooks.poster.allowed());
        parsed.map_err(|error| EventsError::invalid(error.to_string()))
    }

    /// When the subscription lapses: never only if that was asked for.
    fn expiry(&self, params: &Object) -> Result<Option<i64>, EventsError> {
        let wanted = match params.get("ttlMs") {
            Some(raw) if raw.is_null() => return Ok(None),
            _ => number(params, "ttlMs", 0)?,
        };
        let ttl = match wanted {
            Some(ms) => Duration::from_millis(ms.unsigned_abs()),
            None => self.settings.ttl,
        };
        let ttl = ttl.clamp(TTL_MIN, TTL_MAX);
        let ttl_ms = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
        Ok(Some(self.clock.wall().0.saturating_add(ttl_ms)))
    }

    fn hook_id(&self, client: &ClientId, filter: &Filter, receiver: &Receiver) -> Box<str> {
        let mac = self.webhooks.key.mac(&[
            b"subscription",
            client.as_str().as_bytes(),
            receiver.as_str().as_bytes(),
            filter.topic.as_str().as_bytes(),
            filter.canonical().as_bytes(),
        ]);
        let text = URL_SAFE_NO_PAD.encode(mac);
        format!("sub_{}", &text[..ID_LEN]).into()
    }

    fn granted(&self, hook: &Hook, truncated: bool, refreshed: bool) -> Object {
        let state = hook.lock();
        let until = state.expires_ms.map(|ms| Raw::str(&Wall(ms).to_string()));
        let place = state.position.place;
        let mut result = complete()
            .with("id", Raw::str(&hook.id))
            .with("refreshBefore", until.unwrap_or_else(Raw::null))
            .with(
                "cursor",
                self.cursor(&hook.who(), &hook.filter.topic, place),
            )
            .with("truncated", Raw::bool(truncated));
        if refreshed {
            result.set("deliveryStatus", state.status());
        }
        result
    }
}

/// A webhook needs somebody whose it is.
fn authenticated(who: &Caller) -> Result<&ClientId, EventsError> {
    match who.principal.via {
        // Whoever writes in a chat has no program that could be told.
        Via::NoAuth | Via::Copilot => Err(EventsError::Forbidden {
            reason: "webhooks need an authenticated client",
        }),
        Via::Http | Via::Sse | Via::Socket | Via::Admin | Via::Web => Ok(&who.principal.client),
    }
}

fn delivery(params: &Object) -> Result<Object, EventsError> {
    let delivery = params.get("delivery").and_then(Raw::to_object);
    delivery.ok_or_else(|| EventsError::invalid("delivery must be an object"))
}

fn unkept(error: StoreError) -> EventsError {
    EventsError::Unkept {
        what: chain(&error),
    }
}
