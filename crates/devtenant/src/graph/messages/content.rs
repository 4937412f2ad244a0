//! What a client sends as a message, checked as Teams checks it.

use serde_json::{Value, json};

use crate::graph::error::Failure;
use crate::state::chat::Hosted;
use crate::web::base64_any;

/// What a message may hold, markup and cards included.
const MESSAGE_MAX: usize = 28 * 1024;
const CARD: &str = "application/vnd.microsoft.card.adaptive";

/// A message's content.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) body: Value,
    pub(super) subject: Option<String>,
    pub(super) importance: String,
    pub(super) attachments: Vec<Value>,
    pub(super) mentions: Vec<Value>,
    pub(super) hosted: Vec<Hosted>,
}

// === impl Content ===

impl Content {
    /// Reads the body of a request.
    pub(super) fn parse(message: &Value) -> Result<Self, Failure> {
        let body = message
            .get("body")
            .filter(|body| body.is_object())
            .ok_or_else(|| Failure::bad_request("Missing body content."))?;
        let kind = body["contentType"]
            .as_str()
            .unwrap_or("text")
            .to_lowercase();
        if kind != "text" && kind != "html" {
            return Err(Failure::bad_request(format!(
                "Invalid content type '{kind}'."
            )));
        }
        let text = body["content"].as_str().unwrap_or_default();
        let attachments = attachments(message, text, &kind)?;
        let mentions = mentions(message, text, &kind)?;
        let hosted = hosted(message, text)?;
        if text.trim().is_empty() && attachments.is_empty() {
            return Err(Failure::bad_request("Missing body content."));
        }
        let cards: usize = attachments
            .iter()
            .filter_map(|attachment| attachment["content"].as_str())
            .map(str::len)
            .sum();
        if text.len() + cards > MESSAGE_MAX {
            return Err(Failure::new(
                413,
                "RequestEntityTooLarge",
                "Request Entity too large: the message is larger than what a chat takes.",
            ));
        }
        let importance = message["importance"].as_str().unwrap_or("normal");
        if !["normal", "high", "urgent"].contains(&importance) {
            return Err(Failure::bad_request(format!(
                "Invalid importance '{importance}'."
            )));
        }
        Ok(Self {
            body: json!({"contentType": kind, "content": text}),
            subject: message["subject"].as_str().map(str::to_owned),
            importance: importance.to_owned(),
            attachments,
            mentions,
            hosted,
        })
    }
}

fn list<'a>(message: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    message[name].as_array().into_iter().flatten()
}

/// Each attachment has its place in the text; a card is JSON inside a text.
fn attachments(message: &Value, text: &str, kind: &str) -> Result<Vec<Value>, Failure> {
    list(message, "attachments")
        .map(|attachment| {
            let id = attachment["id"].as_str().unwrap_or_default();
            let placed = [
                format!("<attachment id=\"{id}\">"),
                format!("<attachment id='{id}'>"),
            ];
            if id.is_empty()
                || kind != "html"
                || !placed.iter().any(|tag| text.contains(tag.as_str()))
            {
                return Err(Failure::bad_request(format!(
                    "Attachment with id '{id}' is not referenced in the body content, which must \
                     be html."
                )));
            }
            let content_type = attachment["contentType"].as_str().unwrap_or_default();
            if content_type == CARD {
                let card = attachment["content"]
                    .as_str()
                    .and_then(|card| serde_json::from_str::<Value>(card).ok())
                    .filter(|card| card["type"] == "AdaptiveCard");
                if card.is_none() {
                    return Err(Failure::bad_request(
                        "Invalid card: the content must be an Adaptive Card as a JSON string.",
                    ));
                }
            } else if content_type.is_empty() {
                return Err(Failure::bad_request("An attachment has no content type."));
            }
            Ok(json!({
                "id": id,
                "contentType": content_type,
                "contentUrl": attachment["contentUrl"],
                "content": attachment["content"],
                "name": attachment["name"],
                "thumbnailUrl": attachment["thumbnailUrl"],
                "teamsAppId": null,
            }))
        })
        .collect()
}

/// Each mention has its place in the text, and the same words there.
fn mentions(message: &Value, text: &str, kind: &str) -> Result<Vec<Value>, Failure> {
    list(message, "mentions")
        .map(|mention| {
            let id = mention["id"]
                .as_i64()
                .ok_or_else(|| Failure::bad_request("A mention has no id."))?;
            let tag = format!("<at id=\"{id}\">");
            let words = mention["mentionText"].as_str().unwrap_or_default();
            let placed = text
                .split_once(&tag)
                .and_then(|(_, rest)| rest.split_once("</at>"))
                .is_some_and(|(inside, _)| inside == words);
            if kind != "html" || !placed {
                return Err(Failure::bad_request(format!(
                    "Neither Body nor adaptive card content contains marker for mention with Id \
                     '{id}'."
                )));
            }
            let user = &mention["mentioned"]["user"];
            if user["id"].as_str().is_none() {
                return Err(Failure::bad_request("A mention names nobody."));
            }
            Ok(json!({
                "id": id,
                "mentionText": words,
                "mentioned": {
                    "application": null,
                    "device": null,
                    "conversation": null,
                    "user": {
                        "@odata.type": "#microsoft.graph.teamworkUserIdentity",
                        "id": user["id"],
                        "displayName": user["displayName"],
                        "userIdentityType": "aadUser",
                    },
                },
            }))
        })
        .collect()
}

fn hosted(message: &Value, text: &str) -> Result<Vec<Hosted>, Failure> {
    list(message, "hostedContents")
        .map(|hosted| {
            let id = hosted["@microsoft.graph.temporaryId"]
                .as_str()
                .unwrap_or_default();
            let content = hosted["contentBytes"].as_str().unwrap_or_default();
            let content_type = hosted["contentType"].as_str().unwrap_or_default();
            if !content_type.starts_with("image/") || base64_any(content).is_none() {
                return Err(Failure::bad_request(
                    "Invalid hosted content: contentType must be an image's and contentBytes base64.",
                ));
            }
            if id.is_empty() || !text.contains(&format!("hostedContents/{id}/$value")) {
                return Err(Failure::bad_request(format!(
                    "The hosted content with the temporary id '{id}' is not referenced in the body."
                )));
            }
            Ok(Hosted {
                id: id.to_owned(),
                content_type: content_type.to_owned(),
                content: content.to_owned(),
            })
        })
        .collect()
}
