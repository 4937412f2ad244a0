//! Messages of a chat.

mod content;
mod listing;
mod write;

use http::Method;
use legation_core::Wall;
use serde_json::{Value, json};

use self::content::Content;
use self::write::{announce, post};
use super::error::Failure;
use super::{Call, Outcome, chats};
use crate::state::chat::{Hosted, Message, Reaction};
use crate::web::{Answer, base64_any};

pub(crate) use self::write::{change, say};

const READ: [&str; 2] = ["Chat.Read", "Chat.ReadWrite"];
const SEND: [&str; 2] = ["ChatMessage.Send", "Chat.ReadWrite"];

/// Everything under `/chats/{id}/messages`.
pub(super) fn route(call: Call<'_>, chat: &str, rest: &[&str]) -> Outcome {
    let method = call.ask.method.clone();
    match (&method, rest) {
        (&Method::GET, []) => listing::list(&call, chat),
        (&Method::POST, []) => send(call, chat),
        (&Method::GET, ["delta"]) => {
            // In the metadata, and not an API: nothing documents it for one chat.
            call.permit("GET /chats/{id}/messages/delta", &[], &[])?;
            Err(chats::unknown(&call))
        }
        (&Method::GET, [id]) => read(&call, chat, id),
        (&Method::PATCH, [id]) => edit(call, chat, id),
        (&Method::POST, [id, "softDelete"]) => set_deleted(call, chat, id, true),
        (&Method::POST, [id, "undoSoftDelete"]) => set_deleted(call, chat, id, false),
        (&Method::POST, [id, "setReaction"]) => react(call, chat, id, true),
        (&Method::POST, [id, "unsetReaction"]) => react(call, chat, id, false),
        (&Method::GET, [id, "hostedContents"]) => hosted_list(&call, chat, id),
        (&Method::GET, [id, "hostedContents", hosted, "$value"]) => {
            hosted_value(&call, chat, id, hosted)
        }
        _ => Err(chats::unknown(&call)),
    }
}

// === impl Call ===

impl Call<'_> {
    fn message(&self, chat: &str, id: &str) -> Result<&Message, Failure> {
        self.own_chat(chat)?
            .messages
            .iter()
            .find(|message| message.id == id)
            .ok_or_else(|| Failure::new(404, "NotFound", "NotFound: no such message in the chat."))
    }
}

fn send(mut call: Call<'_>, chat: &str) -> Outcome {
    call.permit(
        "POST /chats/{id}/messages",
        &SEND,
        &["Teamwork.Migrate.All"],
    )?;
    let me = call.me()?;
    call.own_chat(chat)?;
    call.licensed(&me)?;
    let content = Content::parse(&call.body()?)?;
    let tenant = call.caller.tenant.clone();
    let now = call.now_ms();
    let id = post(call.world, &tenant, chat, &me.id, content, now)
        .ok_or_else(|| Failure::new(404, "NotFound", "The chat is gone."))?;
    let shown = shown(&call, chat, call.message(chat, &id)?)?;
    Ok(call.entity(201, "chats('{id}')/messages/$entity", shown))
}

fn read(call: &Call<'_>, chat: &str, id: &str) -> Outcome {
    call.permit("GET /chats/{id}/messages/{id}", &READ, &["Chat.Read.All"])?;
    call.options(&[])?;
    let shown = shown(call, chat, call.message(chat, id)?)?;
    Ok(call.entity(200, "chats('{id}')/messages/$entity", shown))
}

fn edit(mut call: Call<'_>, chat: &str, id: &str) -> Outcome {
    call.permit("PATCH /chats/{id}/messages/{id}", &["Chat.ReadWrite"], &[])?;
    let me = call.me()?;
    let message = call.message(chat, id)?;
    if message.from != me.id {
        return Err(Failure::new(
            403,
            "Forbidden",
            "Only the sender of a message can edit it.",
        ));
    }
    if message.deleted_ms.is_some() {
        return Err(Failure::bad_request("A deleted message cannot be edited."));
    }
    let mut wanted = call.body()?;
    if wanted.get("body").is_none() {
        wanted["body"] = message.body.clone();
    }
    let content = Content::parse(&wanted)?;
    let now = call.now_ms();
    let stored = call
        .chat_mut(chat)?
        .messages
        .iter_mut()
        .find(|message| message.id == id)
        .ok_or_else(Failure::no_item)?;
    stored.modified_ms = now.max(stored.modified_ms + 1);
    stored.edited_ms = Some(stored.modified_ms);
    stored.body = content.body;
    stored.attachments = content.attachments;
    stored.mentions = content.mentions;
    stored.hosted.extend(content.hosted);
    let tenant = call.caller.tenant.clone();
    announce(call.world, &tenant, chat, id, "updated", now);
    Ok(chats::no_content())
}

fn set_deleted(mut call: Call<'_>, chat: &str, id: &str, deleted: bool) -> Outcome {
    let operation = "POST /users/{id}/chats/{id}/messages/{id}/softDelete";
    call.permit(operation, &["Chat.ReadWrite"], &[])?;
    let me = call.me()?;
    if call.message(chat, id)?.from != me.id {
        return Err(Failure::new(
            403,
            "Forbidden",
            "Only the sender of a message can delete it.",
        ));
    }
    let now = call.now_ms();
    if let Some(stored) = call
        .chat_mut(chat)?
        .messages
        .iter_mut()
        .find(|message| message.id == id)
    {
        stored.modified_ms = now.max(stored.modified_ms + 1);
        stored.deleted_ms = deleted.then_some(stored.modified_ms);
    }
    let tenant = call.caller.tenant.clone();
    let change = if deleted { "deleted" } else { "updated" };
    announce(call.world, &tenant, chat, id, change, now);
    Ok(chats::no_content())
}

/// `setReaction` and `unsetReaction`: an edit as far as times go.
fn react(mut call: Call<'_>, chat: &str, id: &str, set: bool) -> Outcome {
    let operation = "POST /chats/{id}/messages/{id}/setReaction";
    call.permit(operation, &SEND, &[])?;
    let me = call.me()?.id;
    call.message(chat, id)?;
    let body = call.body()?;
    let kind = body["reactionType"]
        .as_str()
        .filter(|kind| !kind.is_empty())
        .ok_or_else(|| Failure::bad_request("reactionType is missing."))?
        .to_owned();
    let now = call.now_ms();
    if let Some(stored) = call
        .chat_mut(chat)?
        .messages
        .iter_mut()
        .find(|message| message.id == id)
    {
        stored.modified_ms = now.max(stored.modified_ms + 1);
        stored
            .reactions
            .retain(|reaction| reaction.user != me || reaction.kind != kind);
        if set {
            stored.reactions.push(Reaction {
                user: me,
                kind,
                at_ms: now,
            });
        }
    }
    let tenant = call.caller.tenant.clone();
    announce(call.world, &tenant, chat, id, "updated", now);
    Ok(chats::no_content())
}

fn hosted_list(call: &Call<'_>, chat: &str, id: &str) -> Outcome {
    call.permit("GET /chats/{id}/messages/{id}/hostedContents", &READ, &[])?;
    let shown = call
        .message(chat, id)?
        .hosted
        .iter()
        .map(|hosted| json!({"id": hosted.id, "contentBytes": null, "contentType": null}))
        .collect();
    call.list("chats('{id}')/messages('{id}')/hostedContents", shown, 50)
}

fn hosted_value(call: &Call<'_>, chat: &str, id: &str, wanted: &str) -> Outcome {
    let operation = "GET /chats/{id}/messages/{id}/hostedContents/{id}/$value";
    call.permit(operation, &READ, &["Chat.Read.All"])?;
    let found: Option<&Hosted> = call
        .message(chat, id)?
        .hosted
        .iter()
        .find(|hosted| hosted.id == wanted);
    let hosted =
        found.ok_or_else(|| Failure::new(404, "NotFound", "NotFound: no such hosted content."))?;
    let bytes = base64_any(&hosted.content).unwrap_or_default();
    Ok(Answer::text(200, &hosted.content_type, bytes))
}

/// The last message of a chat, in short.
pub(super) fn preview(call: &Call<'_>, message: &Message) -> Result<Value, Failure> {
    let name = call
        .tenant()?
        .user(message.from.as_str())
        .map(|user| user.name.clone());
    Ok(json!({
        "id": message.id,
        "createdDateTime": Wall(message.created_ms).to_string(),
        "isDeleted": message.deleted_ms.is_some(),
        "messageType": "message",
        "eventDetail": null,
        "body": message.body,
        "from": {
            "application": null,
            "device": null,
            "user": {
                "@odata.type": "#microsoft.graph.teamworkUserIdentity",
                "id": message.from.as_str(),
                "displayName": name,
                "userIdentityType": "aadUser",
            },
        },
    }))
}

/// A message as Graph shows it.
fn shown(call: &Call<'_>, chat: &str, message: &Message) -> Result<Value, Failure> {
    let tenant = call.tenant()?;
    let time = |ms: i64| Wall(ms).to_string();
    let deleted = message.deleted_ms.is_some();
    let mut body = message.body.clone();
    if deleted {
        body["content"] = "".into();
    } else if let Some(content) = body["content"].as_str() {
        // A picture is named by where it can be read.
        let base = format!(
            "{}/v1.0/chats/{chat}/messages/{}/hostedContents/",
            call.ask.origin, message.id
        );
        let mut content = content.to_owned();
        for hosted in &message.hosted {
            let short = format!("../hostedContents/{}/$value", hosted.id);
            content = content.replace(&short, &format!("{base}{}/$value", hosted.id));
        }
        body["content"] = content.into();
    }
    let sender = tenant.user(message.from.as_str());
    Ok(json!({
        "id": message.id,
        "replyToId": null,
        "etag": message.modified_ms.to_string(),
        "messageType": "message",
        "createdDateTime": time(message.created_ms),
        "lastModifiedDateTime": time(message.modified_ms),
        "lastEditedDateTime": message.edited_ms.map(time),
        "deletedDateTime": message.deleted_ms.map(time),
        "subject": message.subject,
        "summary": null,
        "chatId": chat,
        "importance": message.importance,
        "locale": "en-us",
        "webUrl": null,
        "channelIdentity": null,
        "policyViolation": null,
        "eventDetail": null,
        "from": {
            "application": null,
            "device": null,
            "user": {
                "@odata.type": "#microsoft.graph.teamworkUserIdentity",
                "id": message.from.as_str(),
                "displayName": sender.map(|user| user.name.as_str()),
                "userIdentityType": "aadUser",
            },
        },
        "body": body,
        "attachments": if deleted { Vec::new() } else { message.attachments.clone() },
        "mentions": if deleted { Vec::new() } else { message.mentions.clone() },
        "reactions": message.reactions.iter().map(shown_reaction).collect::<Vec<_>>(),
    }))
}

fn shown_reaction(reaction: &Reaction) -> Value {
    json!({
        "reactionType": reaction.kind,
        "displayName": null,
        "reactionContentUrl": null,
        "createdDateTime": Wall(reaction.at_ms).to_string(),
        "user": {
            "application": null,
            "device": null,
            "user": {
                "@odata.type": "#microsoft.graph.teamworkUserIdentity",
                "id": reaction.user.as_str(),
                "displayName": null,
                "userIdentityType": "aadUser",
            },
        },
    })
}
