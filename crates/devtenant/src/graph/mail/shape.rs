//! What a mail looks like, and which of it a client can set.

use legation_core::Wall;
use serde_json::{Map, Value, json};

use super::seconds;
use crate::graph::Call;
use crate::graph::error::Failure;
use crate::random;
use crate::state::directory::ObjectId;
use crate::state::mail::Mail;

/// What can be set on any mail.
const ALWAYS: [&str; 5] = [
    "isRead",
    "categories",
    "flag",
    "importance",
    "inferenceClassification",
];
/// What can be set on a draft.
const DRAFT: [&str; 12] = [
    "subject",
    "body",
    "from",
    "sender",
    "toRecipients",
    "ccRecipients",
    "bccRecipients",
    "replyTo",
    "internetMessageId",
    "internetMessageHeaders",
    "isDeliveryReceiptRequested",
    "isReadReceiptRequested",
];
const PREVIEW_CHARS: usize = 255;

/// An empty draft of somebody.
pub(super) fn blank(call: &Call<'_>, owner: &ObjectId) -> Result<Map<String, Value>, Failure> {
    let at = seconds(call.now_ms());
    let tenant = call.tenant()?;
    let user = tenant.user(owner.as_str()).ok_or_else(Failure::no_item)?;
    let own = json!({"emailAddress": {"name": user.name, "address": user.upn}});
    let message_id = format!("<{}@{}>", random::guid(), tenant.domain);
    let shown = json!({
        "createdDateTime": at,
        "lastModifiedDateTime": at,
        "changeKey": random::opaque(),
        "categories": [],
        "receivedDateTime": at,
        "sentDateTime": at,
        "hasAttachments": false,
        "internetMessageId": message_id,
        "subject": "",
        "bodyPreview": "",
        "importance": "normal",
        "conversationId": format!("AAQk{}", random::opaque()),
        "conversationIndex": "AQHZ",
        "isDeliveryReceiptRequested": null,
        "isReadReceiptRequested": false,
        "isRead": true,
        "isDraft": true,
        "webLink": "https://outlook.office365.com/owa/?exvsurl=1&viewmodel=ReadMessageItem",
        "inferenceClassification": "focused",
        "body": {"contentType": "text", "content": ""},
        "sender": own,
        "from": own,
        "toRecipients": [],
        "ccRecipients": [],
        "bccRecipients": [],
        "replyTo": [],
        "flag": {"flagStatus": "notFlagged"},
    });
    match shown {
        Value::Object(members) => Ok(members),
        _ => Ok(Map::new()),
    }
}

/// Takes over what a client sets; refuses what it cannot.
pub(super) fn merge(
    shown: &mut Map<String, Value>,
    body: &Value,
    draft: bool,
) -> Result<(), Failure> {
    for (name, value) in body.as_object().into_iter().flatten() {
        let settable = ALWAYS.contains(&name.as_str()) || (draft && DRAFT.contains(&name.as_str()));
        if name.starts_with('@') || name == "attachments" || name == "id" {
            continue;
        }
        if !settable {
            return Err(Failure::new(
                400,
                "ErrorInvalidPropertySet",
                format!("The property '{name}' cannot be set."),
            ));
        }
        if name.ends_with("Recipients") || name == "replyTo" {
            shown.insert(name.clone(), recipients(value)?);
            continue;
        }
        shown.insert(name.clone(), value.clone());
    }
    if let Some(attachments) = body["attachments"].as_array() {
        shown.insert(
            "hasAttachments".to_owned(),
            (!attachments.is_empty()).into(),
        );
    }
    let kind = shown["body"]["contentType"]
        .as_str()
        .unwrap_or("text")
        .to_lowercase();
    if let Some(body) = shown.get_mut("body") {
        body["contentType"] = kind.into();
    }
    let preview: String = plain(&shown["body"]).chars().take(PREVIEW_CHARS).collect();
    shown.insert("bodyPreview".to_owned(), preview.into());
    Ok(())
}

/// Recipients as they are shown: with a name, if only the address again.
pub(super) fn recipients(value: &Value) -> Result<Value, Failure> {
    let list = value.as_array().into_iter().flatten();
    list.map(|one| {
        let address = one["emailAddress"]["address"].as_str().unwrap_or_default();
        if !address.contains('@') {
            return Err(Failure::new(
                400,
                "ErrorInvalidRecipients",
                "At least one recipient is not valid.",
            ));
        }
        let name = one["emailAddress"]["name"].as_str().unwrap_or(address);
        Ok(json!({"emailAddress": {"name": name, "address": address}}))
    })
    .collect()
}

/// A mail as Graph shows it.
pub(super) fn shown(call: &Call<'_>, mail: &Mail, immutable: bool) -> Value {
    let mut out = Map::new();
    let id = if immutable {
        &mail.immutable_id
    } else {
        &mail.id
    };
    if call.annotated() {
        let etag = format!("W/\"{}\"", mail.sequence);
        out.insert("@odata.etag".to_owned(), etag.into());
    }
    out.insert("id".to_owned(), id.as_str().into());
    out.extend(mail.shown.clone());
    // Only who selects them gets them; a link of a delta holds what was selected.
    let select = call.option("select").unwrap_or_default();
    if !select.contains("internetMessageHeaders") && !call.ask.path.ends_with("/delta") {
        out.remove("internetMessageHeaders");
    }
    out.insert("parentFolderId".to_owned(), mail.folder.as_str().into());
    if call.prefers("outlook.body-content-type=\"text\"") {
        let text = plain(&mail.shown["body"]);
        out.insert(
            "body".to_owned(),
            json!({"contentType": "text", "content": text}),
        );
    } else if mail.shown["body"]["contentType"] == "html"
        && !call.prefers("outlook.allow-unsafe-html")
    {
        let safe = harmless(mail.shown["body"]["content"].as_str().unwrap_or_default());
        out.insert(
            "body".to_owned(),
            json!({"contentType": "html", "content": safe}),
        );
    }
    Value::Object(out)
}

/// The text of a body.
pub(super) fn plain(body: &Value) -> String {
    let content = body["content"].as_str().unwrap_or_default();
    if body["contentType"] != "html" {
        return content.to_owned();
    }
    let mut out = String::new();
    let mut inside = false;
    for c in harmless(content).chars() {
        match c {
            '<' => inside = true,
            '>' => inside = false,
            other if !inside => out.push(other),
            _ => {}
        }
    }
    out.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&nbsp;", " ")
        .replace("&amp;", "&")
        .trim()
        .to_owned()
}

/// HTML without what runs: as much as a stand-in needs to show that something is taken out. It is
/// no protection for whoever shows it.
fn harmless(html: &str) -> String {
    let mut out = html.to_owned();
    for tag in ["script", "style", "iframe"] {
        let (open, close) = (format!("<{tag}"), format!("</{tag}>"));
        while let Some(from) = out.to_ascii_lowercase().find(&open) {
            let until = out.to_ascii_lowercase()[from..]
                .find(&close)
                .map_or(out.len(), |at| from + at + close.len());
            out.replace_range(from..until, "");
        }
    }
    out
}

/// Whether a list can be filtered by a property.
pub(super) fn filterable(property: &str) -> Option<()> {
    [
        "receivedDateTime",
        "sentDateTime",
        "isRead",
        "isDraft",
        "subject",
        "internetMessageId",
        "conversationId",
        "hasAttachments",
        "importance",
        "from/emailAddress/address",
    ]
    .contains(&property)
    .then_some(())
}

/// Whether a mail passes one comparison.
pub(super) fn fits(mail: &Mail, property: &str, operator: &str, operand: &str) -> bool {
    let mut parts = property.split('/');
    let first = parts.next().and_then(|name| mail.shown.get(name));
    let value = first.and_then(|found| parts.try_fold(found, |found, part| found.get(part)));
    let own = match value {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => return false,
    };
    if operator == "contains" || operator == "startswith" {
        let (own, wanted) = (own.to_lowercase(), operand.to_lowercase());
        let starts = own.starts_with(&wanted);
        return starts || (operator == "contains" && own.contains(&wanted));
    }
    let order = match (Wall::parse(&own), Wall::parse(operand)) {
        (Some(own), Some(wanted)) => own.cmp(&wanted),
        _ => own.to_lowercase().as_str().cmp(&operand.to_lowercase()),
    };
    match operator {
        "eq" => order.is_eq(),
        "ne" => order.is_ne(),
        "gt" => order.is_gt(),
        "ge" => order.is_ge(),
        "lt" => order.is_lt(),
        _ => order.is_le(),
    }
}

/// Whether a mail has all of the words somewhere that people read.
pub(super) fn mentions(mail: &Mail, words: &str) -> bool {
    let text = format!(
        "{} {} {}",
        mail.shown["subject"],
        plain(&mail.shown["body"]),
        mail.shown["from"]
    )
    .to_lowercase();
    words.split_whitespace().all(|word| text.contains(word))
}

/// The attachments of a mail as Graph shows them.
pub(super) fn attachments(mail: &Mail) -> Value {
    mail.attachments
        .iter()
        .map(|attachment| {
            let bytes = attachment["contentBytes"].as_str().unwrap_or_default();
            json!({
                "@odata.type": "#microsoft.graph.fileAttachment",
                "id": attachment["id"],
                "name": attachment["name"],
                "contentType": attachment["contentType"],
                "size": bytes.len() / 4 * 3,
                "isInline": attachment["isInline"].as_bool().unwrap_or(false),
                "contentBytes": bytes,
            })
        })
        .collect()
}
