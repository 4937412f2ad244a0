//! The inbox in the hub: opened under the hub's rules, recorded in its ledger, and
//! announced to its clients.

mod feed;
mod upkeep;

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
use legation_gate::{Audience, Feed, HubEvent};
use legation_inbox::{Governor, Inbox, Kind, Message, Options, Seq};
use legation_keystore::Keystore;
use legation_ledger::Ledger;
use legation_servers::inbox::{INBOX_URI, InboxView};
use legation_servers::mail::{MailSource, Mailbox};
use legation_servers::teams::{APPROVAL_REPLY, Destination};
use legation_store::Store;
use legation_wire::json::{Object, Raw};
use tokio::runtime::Handle;

use super::hub::{HubOptions, Inner};
use super::natives::Windows;

use feed::InboxFeed;
pub(super) use upkeep::keep_up;

/// Messages that are read at a time.
const PAGE: usize = 20;

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

/// What clients are told one by one.
pub(super) fn feed(inner: &Inner) -> Option<Arc<dyn Feed>> {
    let server = ServerName::parse("inbox").ok()?;
    Some(Arc::new(InboxFeed::new(&inner.inbox, server)))
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

/// Tells of what came after one record, up to another: clients look themselves what
/// there is, but an edit is another version of a resource that they may hold.
fn tell(hub: &Inner, server: &ServerName, (told, last): (u64, u64)) {
    let updated = |uri: String| {
        hub.host.announce(HubEvent::ResourceUpdated {
            server: server.clone(),
            params: Object::new().with("uri", Raw::str(&uri)),
            uri: uri.into(),
            audience: Audience::All,
        });
    };
    updated(INBOX_URI.to_owned());
    let mut after = told;
    while after < last {
        let page = hub.inbox.after(Seq(after), PAGE).unwrap_or_else(|error| {
            let error = chain(&error);
            tracing::error!(error, "messages came in that cannot be read");
            Vec::new()
        });
        let Some(end) = page.last() else { break };
        after = end.seq.0;
        // What came since is told of with the next.
        let page = page.iter().filter(|message| message.seq.0 <= last);
        let page = page.filter(|message| !is_answer_to_the_hub(message));
        for message in page.filter(|message| message.kind != Kind::New) {
            updated(uri_of(&message.id));
        }
    }
}

/// Whether a message is an answer to the hub: it is on record like any message, and
/// no agent's to act on, so nobody is woken for it.
fn is_answer_to_the_hub(message: &Message) -> bool {
    message.meta.contains_key(APPROVAL_REPLY)
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
