//! The inbox in the hub: opened under the hub's rules, recorded in its ledger, and
//! announced to its clients.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::try_join_all;
use legation_cli::CliError;
use legation_config::Settings;
use legation_core::error::chain;
use legation_core::{Caller, Cancel, EntityId, EntityLabels, ServerName, TaskSet};
use legation_entra::mail::Noise;
use legation_gate::journal::Happened;
use legation_gate::policy::Clearance;
use legation_gate::policy::registry::EventName;
use legation_gate::{Arrival, Audience, HubEvent, Injection};
use legation_inbox::{ConsumerName, Governor, Inbox, Message, Options, Seq, summary};
use legation_keystore::Keystore;
use legation_ledger::Ledger;
use legation_servers::inbox::{INBOX_URI, InboxView};
use legation_servers::mail::{MailSource, Mailbox};
use legation_servers::teams::{APPROVAL_REPLY, Destination};
use legation_store::Store;
use legation_wire::json::{Object, Raw};
use serde::Serialize;
use tokio::runtime::Handle;

use super::hub::{HubOptions, Inner};
use super::natives::Windows;

/// Characters of a message in a log message.
const SUMMARY: usize = 200;
/// Most of a text that is said into a conversation, in bytes.
const CONTENT_MAX: usize = 32 * 1024;
/// Messages that are told of one by one; of a burst only the last are.
const TOLD_MAX: usize = 20;

/// The hub's rules and ledger, for the inbox.
#[derive(Debug)]
struct HubGovernor {
    gate: Windows,
    ledger: Arc<Ledger>,
    runtime: Handle,
}

/// Who may read what.
#[derive(Debug)]
pub(super) struct InboxWindow {
    pub(super) gate: Windows,
}

/// A message that was pushed, and counts as read once it has arrived.
#[derive(Debug)]
struct Pushed {
    inbox: Arc<Inbox>,
    message: Message,
}

/// The data of a log message.
#[derive(Serialize)]
struct Told<'a> {
    channel: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    unread: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
}

/// Opens the inbox of a hub that starts.
pub(super) fn open(
    options: &HubOptions,
    keystore: &Arc<Keystore>,
    ledger: &Arc<Ledger>,
    gate: &Windows,
) -> Result<Arc<Inbox>, CliError> {
    let inbox = Inbox::open(Options {
        folder: options.home.inbox(),
        keystore: Arc::clone(keystore),
        clock: options.clock.clone(),
        governor: Arc::new(HubGovernor {
            gate: gate.clone(),
            ledger: Arc::clone(ledger),
            runtime: Handle::current(),
        }),
    });
    let inbox = inbox.map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
    Ok(Arc::new(inbox))
}

/// Tells clients of what comes in. It reads what is announced, so that a client
/// that does not listen, or a burst, holds nobody up.
pub(super) fn run(tasks: &TaskSet, inner: &Arc<Inner>) {
    let mut announced = inner.inbox.announced();
    let mut told = *announced.borrow_and_update();
    let inner = Arc::clone(inner);
    tasks.spawn("inbox", async move {
        let Ok(server) = ServerName::parse("inbox") else {
            return;
        };
        while announced.changed().await.is_ok() {
            let last = *announced.borrow_and_update();
            if last > told {
                let (hub, server, range) = (Arc::clone(&inner), server.clone(), (told, last));
                // It reads files.
                let telling = tokio::task::spawn_blocking(move || tell(&hub, &server, range));
                if let Err(error) = telling.await {
                    tracing::error!(%error, "clients were not told of messages");
                }
                told = last;
            }
        }
    });
}

/// Reads the chats of the accounts whose owner wants that.
pub(super) fn watch_chats(tasks: &TaskSet, inner: &Arc<Inner>, settings: &Settings) {
    let accounts = settings.accounts.values();
    let watched = accounts.filter(|account| account.inbox.chats);
    let destination = Destination {
        inbox: Arc::clone(&inner.inbox),
        watched: inner.watched.clone(),
        accounts: watched.map(|account| account.name.clone()).collect(),
        reports: Arc::clone(&inner.reports),
        approvals: settings
            .accounts
            .values()
            .filter(|account| account.asks_in_teams)
            .map(|account| account.name.clone())
            .collect(),
    };
    let Some(teams) = inner
        .teams
        .clone()
        .filter(|_| !destination.accounts.is_empty())
    else {
        return;
    };
    tasks.spawn("watched chats", async move {
        teams.watch(&destination, &Cancel::new()).await;
    });
}

/// Reads the mailboxes of the accounts whose owner wants that.
pub(super) fn read_mail(
    tasks: &TaskSet,
    inner: &Arc<Inner>,
    store: &Arc<Store>,
    settings: &Settings,
) {
    let accounts = settings.accounts.values();
    let wanted = accounts.filter(|account| account.inbox.mail);
    let mailboxes: Vec<Mailbox> = wanted
        .map(|account| Mailbox {
            account: account.name.clone(),
            every: account.inbox.mail_every,
            leave_out: {
                let kinds = account.inbox.mail_leave_out.iter();
                kinds.filter_map(|kind| Noise::parse(kind)).collect()
            },
        })
        .collect();
    if mailboxes.is_empty() {
        return;
    }
    let source = MailSource::new(
        Arc::clone(&inner.accounts),
        (Arc::clone(store), Arc::clone(&inner.clock)),
        Arc::clone(&inner.inbox),
        Arc::clone(&inner.reports),
    );
    tasks.spawn("mail", async move {
        source.run(&mailboxes, &Cancel::new()).await;
    });
}

fn tell(hub: &Inner, server: &ServerName, (told, last): (u64, u64)) {
    let mut uris = vec![INBOX_URI.to_owned()];
    let from = told.max(last.saturating_sub(TOLD_MAX as u64));
    let mut messages = Vec::new();
    let mut after = from;
    while after < last {
        let page = hub
            .inbox
            .after(Seq(after), TOLD_MAX)
            .unwrap_or_else(|error| {
                let error = chain(&error);
                tracing::error!(error, "messages came in that cannot be read");
                Vec::new()
            });
        let Some(end) = page.last() else { break };
        after = end.seq.0;
        messages.extend(page);
    }
    // What came since is told of with the next.
    for message in messages.iter().filter(|message| message.seq.0 <= last) {
        // An answer to the hub is on record like any message, and no agent's to
        // act on: nobody is woken for it.
        if message.meta.contains_key(APPROVAL_REPLY) {
            continue;
        }
        let injection = injection(&hub.inbox, server, message);
        hub.host.announce(HubEvent::Injected(Arc::new(injection)));
        hub.host.announce(HubEvent::Logged {
            server: server.clone(),
            params: logged(message, hub.inbox.unread_by_all()),
            audience: Audience::All,
        });
        // An edit is another version of a resource there was.
        if message.kind != legation_inbox::Kind::New {
            uris.push(uri_of(&message.id));
        }
    }
    for uri in uris {
        hub.host.announce(HubEvent::ResourceUpdated {
            server: server.clone(),
            params: Object::new().with("uri", Raw::str(&uri)),
            uri: uri.into(),
            audience: Audience::All,
        });
    }
}

/// A message as it is said into a conversation: whole up to a limit, and every
/// member of `meta` a text, for a client that drops the connection over others.
fn injection(inbox: &Arc<Inbox>, server: &ServerName, message: &Message) -> Injection {
    let end = message.text.floor_char_boundary(CONTENT_MAX);
    let cut = if end < message.text.len() {
        "\u{2026} (cut; the inbox has it whole)"
    } else {
        ""
    };
    let content = format!("{}{cut}", &message.text[..end]);
    let mut meta = Object::new();
    for (key, value) in &message.meta {
        meta.set(key, Raw::str(value));
    }
    let members = [
        ("chat_id", message.chat_id.as_str()),
        ("message_id", &message.id),
        ("user", &message.from),
        ("ts", &message.ts),
        ("channel", message.channel.as_str()),
        ("kind", message.kind.as_str()),
    ];
    for (key, value) in members {
        meta.set(key, Raw::str(value));
    }
    Injection {
        server: server.clone(),
        entity: message.entity.clone(),
        content: content.into(),
        meta,
        arrival: Arc::new(Pushed {
            inbox: Arc::clone(inbox),
            // Only its place is wanted, for as long as a client says nothing.
            message: Message {
                text: String::new(),
                meta: BTreeMap::new(),
                ..message.clone()
            },
        }),
    }
}

/// A message as a log message. Who may read an entity's data is decided where it
/// is read; here nothing of it is said.
fn logged(message: &Message, unread: u64) -> Raw {
    let open = message.entity.is_none();
    let data = Told {
        channel: message.channel.as_str(),
        from: open.then_some(&message.from),
        summary: open.then(|| summary(&message.text, SUMMARY)),
        unread,
        id: open.then_some(&message.id),
    };
    Object::new()
        .with("level", Raw::from_static(r#""info""#))
        .with("logger", Raw::from_static(r#""legation.inbox""#))
        .with("data", Raw::from_serialize(&data))
        .to_raw()
}

/// Where a message is read.
pub(super) fn uri_of(id: &str) -> String {
    format!("{INBOX_URI}/{}", encoded(id))
}

/// An id as it stands in a URI (RFC 3986, 2.3: what need not be escaped).
fn encoded(id: &str) -> String {
    let mut text = String::new();
    for byte in id.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(byte));
            }
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

// === impl HubGovernor ===

impl Governor for HubGovernor {
    fn must_seal(&self, entity: &EntityId) -> bool {
        let gate = self.gate.gate();
        gate.is_none_or(|gate| gate.rules().holds_health(entity))
    }

    fn records(&self) -> bool {
        true
    }

    fn record(&self, messages: &[Message]) -> Result<(), String> {
        let events: Vec<Happened> = messages
            .iter()
            .map(|message| {
                let entity = message.entity.clone();
                let text = format!(
                    "record {} of the inbox, {} through {}",
                    message.seq,
                    message.kind.as_str(),
                    message.channel
                );
                Happened {
                    entity: entity.unwrap_or_else(EntityId::personal),
                    ..Happened::new(EventName::MessageReceived, &text)
                }
            })
            .collect();
        let written = events.iter().map(|event| event.write(&self.ledger));
        // Together they share a commit.
        let written = self.runtime.block_on(try_join_all(written));
        written.map(drop).map_err(|error| chain(&error))
    }
}

// === impl Pushed ===

impl Arrival for Pushed {
    fn arrived(&self, caller: &Caller) {
        let consumer = ConsumerName::new(caller.principal.client.as_str(), None);
        if let Err(error) = self.inbox.take(&consumer, &self.message) {
            let error = chain(&error);
            tracing::warn!(error, "a message that was pushed is offered again");
        }
    }
}

// === impl InboxWindow ===

impl InboxView for InboxWindow {
    fn may_read(&self, caller: &Caller, entity: &EntityId) -> bool {
        let Some(gate) = self.gate.gate() else {
            return false;
        };
        let rules = gate.rules();
        let client = &caller.principal.client;
        let labels = EntityLabels::of(entity.clone());
        rules.clearance(client, &labels) != Clearance::Refused
    }
}
