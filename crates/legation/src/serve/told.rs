//! The events extension in the hub: the inbox as its log, the gate as its rules,
//! the ledger as its record, and the journal of approvals and tasks.

mod access;
mod journal;
mod messages;
mod topics;

use std::sync::Arc;

use legation_cli::{CliError, Exit};
use legation_config::Settings;
use legation_core::TaskSet;
use legation_events::{Events, EventsParts, EventsSettings, Journal, Numbers, SystemLookup};
use legation_store::Store;

use super::hub::Inner;
use access::HubAccess;
use messages::InboxLog;
use topics::HubTopics;

/// The extension of a hub that starts, and its journal; its subscriptions go on from here.
pub(super) fn open(
    inner: &Arc<Inner>,
    settings: &Settings,
    (store, tasks): (&Arc<Store>, &TaskSet),
) -> Result<(Events, Arc<Journal>), CliError> {
    let journal = Arc::new(Journal::new(&inner.boot));
    journal::run(tasks, inner, &journal);
    let events = Events::open(EventsParts {
        access: Arc::new(HubAccess::new(&inner.gate, &inner.ledger)),
        messages: Arc::new(InboxLog::new(&inner.inbox, &inner.gate)),
        journal: Arc::clone(&journal),
        topics: Arc::new(HubTopics::new(&inner.offers, &inner.gate)),
        settings: told(settings)?,
        store: Arc::clone(store),
        keystore: Arc::clone(&inner.keystore),
        clock: Arc::clone(&inner.clock),
        tasks: tasks.clone(),
        lookup: Arc::new(SystemLookup::default()),
    });
    let events = events.map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
    Ok((events, journal))
}

fn told(settings: &Settings) -> Result<EventsSettings, CliError> {
    let events = &settings.events;
    let ca_pem = match &events.webhook_ca_file {
        None => None,
        Some(path) => Some(std::fs::read(path).map_err(|error| {
            let path = path.display();
            CliError::new(
                Exit::Failed,
                format!(
                    "the certificates in {path} cannot be read: {error}; the hub did not start"
                ),
            )
            .with_hint("mend `events.webhook_ca_file`, or leave it out")
        })?),
    };
    Ok(EventsSettings {
        numbers: Numbers::parse(&events.error_numbers).unwrap_or_default(),
        heartbeat: events.heartbeat,
        allow: events.webhook_allow.clone(),
        ca_pem,
        retry: events.webhook_retry,
        ..EventsSettings::default()
    })
}
