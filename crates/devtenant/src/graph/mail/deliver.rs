//! Sending: drafts, replies, and what arrives.

use serde_json::{Map, Value, json};

use super::{SEND, WRITE, attached, folders, moving, shape, store};
use crate::graph::error::Failure;
use crate::graph::{Call, Outcome, subscriptions};
use crate::random;
use crate::state::World;
use crate::state::directory::{ObjectId, User};
use crate::state::mail::Mail;
use crate::web::Answer;

/// A mail that arrives from outside.
#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) from: String,
    pub(crate) subject: String,
    pub(crate) body: String,
    pub(crate) html: bool,
    /// `Message-ID`; a new one where there is none.
    pub(crate) message_id: Option<String>,
    /// Other header fields, which Graph shows to who selects them.
    pub(crate) headers: Vec<(String, String)>,
    /// Names of what is attached.
    pub(crate) attachments: Vec<String>,
    /// It is an invitation.
    pub(crate) invites: bool,
}

/// `/sendMail`.
pub(super) fn send_mail(mut call: Call<'_>, user: &User) -> Outcome {
    call.permit("POST /me/sendMail", &SEND, &SEND)?;
    let body = call.arguments();
    let message = body
        .get("message")
        .filter(|message| message.is_object())
        .ok_or_else(|| Failure::new(400, "ErrorInvalidRequest", "The message is missing."))?;
    let mut made = shape::blank(&call, &user.id)?;
    shape::merge(&mut made, message, true)?;
    let kept = body["saveToSentItems"].as_bool().unwrap_or(true);
    dispatch(&mut call, &user.id, made, attached(message), kept)?;
    Ok(Answer::empty(202))
}

/// `/messages/{id}/send`: the draft leaves its folder.
pub(super) fn send_draft(mut call: Call<'_>, owner: &ObjectId, id: &str) -> Outcome {
    call.permit("POST /me/messages/{id}/send", &SEND, &SEND)?;
    let mail = call.mail(owner, id)?.clone();
    if mail.shown["isDraft"] != true {
        return Err(Failure::new(
            400,
            "ErrorInvalidOperation",
            "The message is not a draft and cannot be sent.",
        ));
    }
    dispatch(
        &mut call,
        owner,
        mail.shown.clone(),
        mail.attachments.clone(),
        true,
    )?;
    let sequence = call.world.next();
    let mailbox = call.mailbox_mut(owner)?;
    mailbox.mails.retain(|known| known.id != mail.id);
    mailbox
        .removed
        .push(moving::gone(&mail, sequence, "deleted"));
    Ok(Answer::empty(202))
}

/// `/messages/{id}/createReply` and `createReplyAll`.
pub(super) fn create_reply(mut call: Call<'_>, owner: &ObjectId, id: &str, all: bool) -> Outcome {
    let operation = if all {
        "POST /me/messages/{id}/createReplyAll"
    } else {
        "POST /me/messages/{id}/createReply"
    };
    call.permit(operation, &WRITE, &WRITE)?;
    let body = call.arguments();
    let made = answer_to(&call, owner, id, &body, all)?;
    let drafts = folders::id_of(&call, owner, "drafts")?;
    let new_id = store(&mut call, owner, &drafts, made, Vec::new())?;
    let shown = shape::shown(&call, call.mail(owner, &new_id)?, call.immutable());
    Ok(call.entity(201, "users('{id}')/messages/$entity", shown))
}

/// `/messages/{id}/reply` and `replyAll`.
pub(super) fn reply(mut call: Call<'_>, owner: &ObjectId, id: &str, all: bool) -> Outcome {
    call.permit("POST /me/messages/{id}/reply", &SEND, &SEND)?;
    let body = call.arguments();
    let made = answer_to(&call, owner, id, &body, all)?;
    dispatch(&mut call, owner, made, Vec::new(), true)?;
    Ok(Answer::empty(202))
}

/// A draft that answers a mail: same conversation, the sender as recipient.
fn answer_to(
    call: &Call<'_>,
    owner: &ObjectId,
    id: &str,
    body: &Value,
    all: bool,
) -> Result<Map<String, Value>, Failure> {
    let mail = call.mail(owner, id)?;
    let mut made = shape::blank(call, owner)?;
    let subject = mail.shown["subject"].as_str().unwrap_or_default();
    let subject = if subject.to_lowercase().starts_with("re:") {
        subject.to_owned()
    } else {
        format!("RE: {subject}")
    };
    made.insert("subject".to_owned(), subject.into());
    made.insert(
        "conversationId".to_owned(),
        mail.shown["conversationId"].clone(),
    );
    let asked = mail.shown["replyTo"]
        .as_array()
        .filter(|list| !list.is_empty());
    let to = match asked {
        Some(list) => list.clone(),
        None => vec![mail.shown["from"].clone()],
    };
    made.insert("toRecipients".to_owned(), to.into());
    if all {
        let own = made["from"]["emailAddress"]["address"].clone();
        let others: Vec<Value> = ["toRecipients", "ccRecipients"]
            .iter()
            .flat_map(|name| mail.shown[*name].as_array().cloned().unwrap_or_default())
            .filter(|one| one["emailAddress"]["address"] != own)
            .collect();
        made.insert("ccRecipients".to_owned(), others.into());
    }
    let comment = body["comment"].as_str().unwrap_or_default();
    let quoted = format!("{comment}\n\n{}", shape::plain(&mail.shown["body"]));
    made.insert(
        "body".to_owned(),
        json!({"contentType": "text", "content": quoted}),
    );
    if let Some(message) = body.get("message").filter(|message| message.is_object()) {
        shape::merge(&mut made, message, true)?;
    } else {
        shape::merge(&mut made, &json!({}), true)?;
    }
    Ok(made)
}

/// Sends: a copy into the sent items, and one into every inbox of the tenant that it is for.
/// Addresses elsewhere get nothing; nothing leaves this machine.
fn dispatch(
    call: &mut Call<'_>,
    owner: &ObjectId,
    mut made: Map<String, Value>,
    attachments: Vec<Value>,
    keep: bool,
) -> Result<(), Failure> {
    let to: Vec<String> = ["toRecipients", "ccRecipients", "bccRecipients"]
        .iter()
        .flat_map(|name| made[*name].as_array().cloned().unwrap_or_default())
        .filter_map(|one| one["emailAddress"]["address"].as_str().map(str::to_owned))
        .collect();
    if to.is_empty() {
        return Err(Failure::new(
            400,
            "ErrorInvalidRecipients",
            "At least one recipient is needed.",
        ));
    }
    let at = super::seconds(call.now_ms());
    for (name, value) in [
        ("isDraft", Value::from(false)),
        ("sentDateTime", at.clone().into()),
        ("receivedDateTime", at.into()),
    ] {
        made.insert(name.to_owned(), value);
    }
    if keep {
        let sent = folders::id_of(call, owner, "sentitems")?;
        store(call, owner, &sent, made.clone(), attachments.clone())?;
    }
    made.insert("bccRecipients".to_owned(), json!([]));
    made.insert("isRead".to_owned(), false.into());
    let tenant = call.caller.tenant.clone();
    let now = call.now_ms();
    for address in to {
        arrive(
            call.world,
            &tenant,
            &address,
            made.clone(),
            attachments.clone(),
            now,
        );
    }
    Ok(())
}

/// Puts a mail into the inbox of whoever has the address; the mail's id.
fn arrive(
    world: &mut World,
    tenant_id: &str,
    address: &str,
    shown: Map<String, Value>,
    attachments: Vec<Value>,
    now: i64,
) -> Option<String> {
    let sequence = world.next();
    let tenant = world.tenant_mut(tenant_id)?;
    let user = tenant
        .user(address)
        .filter(|user| user.licensed)?
        .id
        .clone();
    folders::ensure(tenant, &user);
    let mailbox = tenant.mail.get_mut(&user)?;
    let inbox = mailbox
        .folders
        .iter()
        .find(|folder| folder.well_known == "inbox")?
        .id
        .clone();
    let mail = Mail {
        id: format!("AAMk{}", random::opaque()),
        immutable_id: format!("AAkA{}", random::opaque()),
        folder: inbox.clone(),
        sequence,
        entered: sequence,
        shown,
        attachments,
    };
    let id = mail.id.clone();
    mailbox.mails.push(mail);
    let object = json!({
        "@odata.type": "#Microsoft.Graph.Message",
        "@odata.id": format!("Users/{user}/Messages/{id}"),
        "@odata.etag": format!("W/\"{sequence}\""),
        "id": id,
    });
    let resources = ["/me", &format!("/users/{user}")]
        .iter()
        .flat_map(|base| {
            [
                format!("{base}/messages"),
                format!("{base}/mailFolders/inbox/messages"),
                format!("{base}/mailFolders/{inbox}/messages"),
            ]
        })
        .collect::<Vec<_>>();
    subscriptions::changed(
        world,
        tenant_id,
        &resources,
        &[user],
        "created",
        &object,
        now,
    );
    Some(id)
}

/// A mail from anybody: what the human does, or somebody outside.
pub(crate) fn deliver(
    world: &mut World,
    tenant_id: &str,
    to: &ObjectId,
    letter: &Letter,
    now: i64,
) -> Option<String> {
    let tenant = world.tenant(tenant_id)?;
    let user = tenant.user(to.as_str())?.clone();
    let sender = tenant.user(&letter.from).map_or_else(
        || (letter.from.clone(), letter.from.clone()),
        |known| (known.name.clone(), known.upn.clone()),
    );
    let at = super::seconds(now);
    let from = json!({"emailAddress": {"name": sender.0, "address": sender.1}});
    let body = json!({
        "contentType": if letter.html { "html" } else { "text" },
        "content": letter.body,
    });
    let preview: String = shape::plain(&body).chars().take(255).collect();
    let message_id = letter.message_id.clone();
    let message_id = message_id.unwrap_or_else(|| format!("<{}@mail.example.com>", random::guid()));
    let headers = letter.headers.iter();
    let headers: Vec<Value> = headers
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    let Value::Object(mut shown) = json!({
        "createdDateTime": at,
        "lastModifiedDateTime": at,
        "changeKey": random::opaque(),
        "categories": [],
        "receivedDateTime": at,
        "sentDateTime": at,
        "hasAttachments": !letter.attachments.is_empty(),
        "internetMessageId": message_id,
        "internetMessageHeaders": headers,
        "subject": letter.subject,
        "bodyPreview": preview,
        "importance": "normal",
        "conversationId": format!("AAQk{}", random::opaque()),
        "conversationIndex": "AQHZ",
        "isDeliveryReceiptRequested": null,
        "isReadReceiptRequested": false,
        "isRead": false,
        "isDraft": false,
        "webLink": "https://outlook.office365.com/owa/?exvsurl=1&viewmodel=ReadMessageItem",
        "inferenceClassification": "focused",
        "body": body,
        "sender": from,
        "from": from,
        "toRecipients": [{"emailAddress": {"name": user.name, "address": user.upn}}],
        "ccRecipients": [],
        "bccRecipients": [],
        "replyTo": [],
        "flag": {"flagStatus": "notFlagged"},
    }) else {
        return None;
    };
    if letter.invites {
        let kind = "#microsoft.graph.eventMessageRequest";
        shown.insert("@odata.type".to_owned(), kind.into());
    }
    let attachments = letter.attachments.iter().map(|name| {
        json!({
            "id": random::opaque(),
            "name": name,
            "contentType": "application/octet-stream",
            "contentBytes": "AAAA",
        })
    });
    let attachments = attachments.collect();
    arrive(world, tenant_id, &user.upn, shown, attachments, now)
}
