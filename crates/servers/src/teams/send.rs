//! Saying something, once, and saying it anew.

use legation_core::{OpContext, Wall};
use legation_entra::chat::{Body, ChatError, Earlier, Outgoing, Sent};
use legation_entra::{Account, Class};
use legation_wire::json::Object;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::Shared;
use super::arguments::{bad, key, outgoing, text};
use super::talk::Line;
use crate::accounts::Failure;
use crate::kept::{self, Kind};

/// What was sent under a key. A key is remembered for a month; agents repeat
/// themselves after minutes.
const SENDINGS: Kind = Kind {
    word: "teams message",
    days: 30,
    most: 10_000,
};

const UNKEYED: &str = "without an idempotency_key what has arrived would be sent twice: say what is missing in other words, or ask your human; with a key a message can be repeated";

/// A message that is being sent, or was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sending {
    /// Digest of what was to be said.
    content: String,
    /// When the first attempt began, by the services' clock.
    pub(super) began_ms: i64,
    /// The messages it has become so far.
    pub(super) ids: Vec<String>,
    /// Whether these are all.
    pub(super) done: bool,
}

/// A chat, as agents see it.
#[derive(Serialize)]
struct Connected<'a> {
    account: &'a str,
    entity: &'a str,
    chat_id: &'a str,
    human: Human<'a>,
    me: &'a str,
}

#[derive(Serialize)]
struct Human<'a> {
    id: &'a str,
    name: &'a str,
}

/// What became of a message.
#[derive(Serialize)]
pub(super) struct Delivered {
    account: String,
    entity: String,
    chat_id: String,
    /// One or more: a long message is parted.
    message_ids: Vec<String>,
    sent_at: Option<String>,
    /// Whether it had been sent before under this key.
    duplicate: bool,
}

/// What was changed.
#[derive(Serialize)]
struct Updated {
    account: String,
    entity: String,
    message_id: String,
}

pub(super) async fn connect(
    shared: &Shared,
    context: &OpContext,
    account: &Account,
) -> Result<impl Serialize, Failure> {
    let line = shared.talks.line(context, account, true).await?;
    // One that was made just now is looked for at once, and whoever connects is about to talk.
    line.talk.is_used();
    let connected = Connected {
        account: account.name(),
        entity: account.entity().as_str(),
        chat_id: &line.chat.id,
        human: Human {
            id: &line.chat.human,
            name: &line.chat.human_name,
        },
        me: &line.chat.me,
    };
    serde_json::to_value(&connected).map_err(|_| bad("the chat cannot be shown"))
}

pub(super) async fn send(
    shared: &Shared,
    context: &OpContext,
    account: &Account,
    arguments: &Object,
) -> Result<impl Serialize, Failure> {
    let outgoing = outgoing(arguments)?;
    let key = key(arguments)?;
    let line = shared.talks.line(context, account, false).await?;
    shared.is_used(context, &line);
    let (sent, duplicate) = match key {
        None => {
            let sent = line.chats.send(context, &line.chat.id, &outgoing).await;
            (sent.map_err(|error| without_key(&line, &error))?, false)
        }
        Some(key) => {
            let client = &context.caller.principal.client;
            let name = kept::name(client, account.name(), &[&line.chat.id, "send", &key]);
            once(shared, context, &line, &name, outgoing).await?
        }
    };
    Ok(Delivered {
        account: account.name().to_owned(),
        entity: account.entity().to_string(),
        chat_id: line.chat.id,
        sent_at: sent.first().map(|one| one.created.to_string()),
        message_ids: sent.into_iter().map(|one| one.id).collect(),
        duplicate,
    })
}

pub(super) async fn update(
    shared: &Shared,
    context: &OpContext,
    account: &Account,
    arguments: &Object,
) -> Result<impl Serialize, Failure> {
    let outgoing = outgoing(arguments)?;
    let id = text(arguments, "message_id")?;
    let id = id.filter(|id| !id.is_empty() && id.len() <= 200);
    let message_id = id.ok_or_else(|| bad("`message_id` is missing"))?;
    let line = shared.talks.line(context, account, false).await?;
    let desk = shared.desk.get();
    if desk.is_some_and(|desk| desk.is_posting(&line.chat.id, &message_id)) {
        let message = "it is a card of the hub's own; nothing was changed".to_owned();
        let hint = "update changes what send returned the id of";
        return Err(Failure::said(Class::Teams, message, hint));
    }
    let updated = line
        .chats
        .update(context, &line.chat.id, &message_id, &outgoing);
    updated.await.map_err(|error| line.failure(&error))?;
    Ok(Updated {
        account: account.name().to_owned(),
        entity: account.entity().to_string(),
        message_id,
    })
}

/// Sends under a name that is kept: what was sent under it, by this hub or the
/// one before it, is not sent again. Also says whether all of it had been.
pub(super) async fn once(
    shared: &Shared,
    context: &OpContext,
    line: &Line,
    name: &str,
    mut outgoing: Outgoing,
) -> Result<(Vec<Sent>, bool), Failure> {
    let _turn = tokio::select! {
        biased;
        reason = context.cancel.cancelled() => {
            let message = format!("{}; nothing was sent", reason.as_str());
            return Err(Failure::said(Class::Cancelled, message, "send it again if it is wanted"));
        }
        turn = line.talk.turn.lock() => turn,
    };
    let began = line.chats.services_time();
    let fresh = Sending {
        content: digest(&outgoing),
        began_ms: began.0,
        ids: Vec::new(),
        done: false,
    };
    let mut sending = fresh.clone();
    if let Some(known) = shared.kept.add(SENDINGS, name, &fresh).await? {
        if known.content != fresh.content {
            return Err(Failure::said(
                Class::Teams,
                "the key was used for another message; nothing was sent".to_owned(),
                "give a new message a new key, and a message that is repeated the same words",
            ));
        }
        if known.done {
            return Ok((known.sent(), true));
        }
        outgoing.earlier = Some(Earlier {
            began: Wall(known.began_ms),
            ids: known.ids.clone(),
            others: others(shared, name).await?,
        });
        sending = known;
    }
    outgoing.key = Some(name.to_owned());
    let result = line.chats.send(context, &line.chat.id, &outgoing).await;
    let is_first = outgoing.earlier.is_none();
    let (sent, may_be_there, result) = match result {
        Ok(sent) => (sent.clone(), true, Ok((sent, false))),
        Err(error) => {
            let before = sent_before(&error);
            let may_be_there = before.is_some() || !is_first;
            let failure = line.failure(&error);
            (before.unwrap_or_default(), may_be_there, Err(failure))
        }
    };
    if !sent.is_empty() {
        sending.ids = sent.into_iter().map(|one| one.id).collect();
    }
    sending.done = result.is_ok();
    let kept = if !sending.done && !may_be_there {
        // Nothing came of it: the key is free for another try.
        shared.kept.remove(SENDINGS, name).await
    } else {
        shared.kept.put(SENDINGS, name, &sending).await
    };
    if let Err(failure) = kept {
        // It was sent, and the chat will be read before it is sent again.
        tracing::error!(error = failure.message, "what was sent is not remembered");
    }
    result
}

/// The messages that were sent under other names: the same words among them
/// are not this message, and this process may not have sent them.
async fn others(shared: &Shared, name: &str) -> Result<Vec<String>, Failure> {
    let all = shared.kept.list::<Sending>(SENDINGS).await?;
    let others = all.into_iter().filter(|(other, _)| other != name);
    Ok(others.flat_map(|(_, sending)| sending.ids).collect())
}

/// An error of a message that has no key by which it could be repeated.
fn without_key(line: &Line, error: &ChatError) -> Failure {
    let failure = line.failure(error);
    match sent_before(error) {
        None => failure,
        Some(_) => Failure {
            hint: UNKEYED.to_owned(),
            ..failure
        },
    }
}

/// What was sent in spite of an error; `None` where nothing can have been.
fn sent_before(error: &ChatError) -> Option<Vec<Sent>> {
    match error {
        ChatError::Uncertain { sent, .. } | ChatError::Partly { sent, .. } => Some(sent.clone()),
        _ => None,
    }
}

/// What is to be said, as a digest: a key is for one message.
fn digest(outgoing: &Outgoing) -> String {
    let mut all = Sha256::new();
    let mut part = |text: &str| {
        all.update(text.len().to_le_bytes());
        all.update(text);
    };
    match &outgoing.body {
        Body::Text(text) => ["text", text].map(&mut part),
        Body::Markdown(text) => ["markdown", text].map(&mut part),
        Body::Html(text) => ["html", text].map(&mut part),
        Body::Card { card, text } => [&card.to_string(), text].map(|text| part(text)),
    };
    for mention in &outgoing.mentions {
        part(&mention.user_id);
        part(&mention.name);
    }
    legation_core::id::hex(&all.finalize())
}

// === impl Sending ===

impl Sending {
    fn sent(&self) -> Vec<Sent> {
        let one = |id: &String| Sent {
            id: id.clone(),
            created: Wall(self.began_ms),
            was_found: true,
        };
        self.ids.iter().map(one).collect()
    }
}
