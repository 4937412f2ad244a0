//! Putting messages into a chat, and telling who subscribed to it.

use serde_json::json;

use super::content::Content;
use crate::graph::subscriptions;
use crate::state::World;
use crate::state::chat::Message;
use crate::state::directory::ObjectId;

/// Puts a message into a chat; its id.
pub(super) fn post(
    world: &mut World,
    tenant: &str,
    chat_id: &str,
    from: &ObjectId,
    content: Content,
    now: i64,
) -> Option<String> {
    let tenant = world.tenant_mut(tenant)?;
    let chat = tenant.chats.iter_mut().find(|chat| chat.id == chat_id)?;
    // Ids are times, and no two are the same.
    let last = chat.messages.last().map_or(0, |message| message.created_ms);
    let at = now.max(last + 1);
    let message = Message {
        id: at.to_string(),
        from: from.clone(),
        created_ms: at,
        modified_ms: at,
        edited_ms: None,
        deleted_ms: None,
        body: content.body,
        subject: content.subject,
        importance: content.importance,
        attachments: content.attachments,
        mentions: content.mentions,
        hosted: content.hosted,
        reactions: Vec::new(),
    };
    let id = message.id.clone();
    chat.messages.push(message);
    chat.updated_ms = at;
    let tenant = tenant.id.clone();
    announce(world, &tenant, chat_id, &id, "created", now);
    Some(id)
}

/// Writes in a chat: what the human does. Whether they are one of its members
/// is the caller's to look at.
pub(crate) fn say(
    world: &mut World,
    tenant: &str,
    chat: &str,
    from: &ObjectId,
    text: &str,
    now: i64,
) -> Result<String, String> {
    let body = json!({"body": {"contentType": "text", "content": text}});
    let content = Content::parse(&body).map_err(|failure| failure.message)?;
    post(world, tenant, chat, from, content, now).ok_or_else(|| format!("there is no chat {chat}"))
}

/// Changes a message's text, or deletes it when there is none.
pub(crate) fn change(
    world: &mut World,
    tenant: &str,
    chat_id: &str,
    id: &str,
    text: &str,
    now: i64,
) -> Result<(), String> {
    let message = world
        .tenant_mut(tenant)
        .and_then(|tenant| tenant.chats.iter_mut().find(|known| known.id == chat_id))
        .and_then(|chat| chat.messages.iter_mut().find(|message| message.id == id))
        .ok_or("there is no such message")?;
    message.modified_ms = now.max(message.modified_ms + 1);
    if text.is_empty() {
        message.deleted_ms = Some(now);
    } else {
        message.edited_ms = Some(message.modified_ms);
        message.body = json!({"contentType": "text", "content": text});
    }
    announce(world, tenant, chat_id, id, "updated", now);
    Ok(())
}

pub(super) fn announce(
    world: &mut World,
    tenant: &str,
    chat: &str,
    id: &str,
    change: &str,
    now: i64,
) {
    let object = json!({
        "@odata.type": "#Microsoft.Graph.chatMessage",
        "@odata.id": format!("chats('{chat}')/messages('{id}')"),
        "id": id,
    });
    let resources = [
        format!("/chats/{chat}/messages"),
        "/chats/getAllMessages".to_owned(),
    ];
    let members: Vec<ObjectId> = world
        .tenant(tenant)
        .and_then(|tenant| tenant.chats.iter().find(|known| known.id == chat))
        .map(|chat| chat.members.iter().map(|m| m.user.clone()).collect())
        .unwrap_or_default();
    subscriptions::changed(world, tenant, &resources, &members, change, &object, now);
}
