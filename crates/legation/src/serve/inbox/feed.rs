//! Messages as clients are told of them one by one: said into a conversation, or as a
//! log message.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_core::error::chain;
use legation_core::{Caller, ServerName};
use legation_gate::{Arrival, Feed, Injection, News};
use legation_inbox::{ConsumerName, Inbox, Message, Seq, summary};
use legation_servers::feeds::is_event_data;
use legation_wire::json::{Object, Raw};
use serde::Serialize;

use super::is_answer_to_the_hub;

/// Characters of a message in a log message.
const SUMMARY: usize = 200;
/// Most of a text that is said into a conversation, in bytes.
const CONTENT_MAX: usize = 32 * 1024;
/// Messages that are read at a time.
const PAGE: usize = 20;

/// The inbox, message by message.
#[derive(Debug)]
pub(in crate::serve) struct InboxFeed {
    inbox: Arc<Inbox>,
    server: ServerName,
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

// === impl InboxFeed ===

impl InboxFeed {
    pub(in crate::serve) fn new(inbox: &Arc<Inbox>, server: ServerName) -> Self {
        Self {
            inbox: Arc::clone(inbox),
            server,
        }
    }
}

impl Feed for InboxFeed {
    fn start(&self, caller: &Caller, again: bool) -> BoxFuture<'static, u64> {
        let last = *self.inbox.announced().borrow();
        let inbox = Arc::clone(&self.inbox);
        let consumer = consumer(caller);
        Box::pin(async move {
            if !again {
                return last;
            }
            // It reads files.
            let first = tokio::task::spawn_blocking(move || inbox.first_unread(&consumer)).await;
            match first {
                Ok(Ok(first)) => first.map_or(last, |first| first.0 - 1),
                Ok(Err(error)) => {
                    let error = chain(&error);
                    tracing::warn!(
                        error,
                        "a client that came back is told of what comes next only; it finds the rest when it asks"
                    );
                    last
                }
                Err(_) => last,
            }
        })
    }

    fn next(&self, caller: &Caller, after: u64) -> BoxFuture<'static, Vec<News>> {
        let (inbox, server) = (Arc::clone(&self.inbox), self.server.clone());
        let consumer = consumer(caller);
        Box::pin(async move {
            let mut announced = inbox.announced();
            let mut after = after;
            loop {
                let there = announced.wait_for(|last| *last > after).await;
                let Ok(last) = there.map(|last| *last) else {
                    return Vec::new();
                };
                let reading = Arc::clone(&inbox);
                let page = tokio::task::spawn_blocking(move || reading.after(Seq(after), PAGE));
                let page = match page.await {
                    Ok(Ok(page)) => page,
                    Ok(Err(error)) => {
                        let error = chain(&error);
                        tracing::error!(error, "messages came in that cannot be read");
                        Vec::new()
                    }
                    Err(_) => return Vec::new(),
                };
                // What cannot be read, or was taken out, is passed over.
                let end = page.last().map_or(last, |message| message.seq.0);
                let mut page = page;
                page.retain(|message| !is_answer_to_the_hub(message));
                if page.is_empty() {
                    after = end;
                    continue;
                }
                let unread = inbox.unread(&consumer);
                let news = page.iter().map(|message| News {
                    place: message.seq.0,
                    injection: injection(&inbox, &server, message),
                    log: logged(message, unread),
                });
                return news.collect();
            }
        })
    }
}

// === impl Pushed ===

impl Arrival for Pushed {
    fn arrived(&self, caller: &Caller) {
        if let Err(error) = self.inbox.take(&consumer(caller), &self.message) {
            let error = chain(&error);
            tracing::warn!(error, "a message that was pushed is offered again");
        }
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
    let meta_of = message.meta.iter();
    // The text says what an event's data does.
    for (key, value) in meta_of.filter(|(key, _)| !is_event_data(key)) {
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

fn consumer(caller: &Caller) -> ConsumerName {
    ConsumerName::new(caller.principal.client.as_str(), None)
}
