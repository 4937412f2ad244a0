//! The inbox: what came in, newest first. Looking here reads nothing for anybody.

use legation_api::inbox::Message;
use maud::{Markup, html};

use super::html::{entity, moment, nothing};

/// Messages of one page.
pub(crate) const PAGE: usize = 30;

pub(crate) fn page(messages: &[Message], is_first: bool) -> Markup {
    html! {
        p.status-line #live role="status" {}
        div #inbox data-part="told" {
            @if messages.is_empty() { (nothing("There is nothing here.")) }
            ol.log { @for message in messages { (one(message)) } }
        }
        p.actions {
            @if !is_first { a href="/inbox" { "Newest" } }
            @if let Some(last) = messages.last().filter(|_| messages.len() == PAGE) {
                a href={ "/inbox?before=" (last.seq) } { "Older" }
            }
        }
    }
}

fn one(message: &Message) -> Markup {
    html! {
        li #{ "m-" (message.seq) } {
            p.who {
                strong { (message.from) }
                span { (message.channel) }
                (moment(&message.received_at))
                @if message.kind != "new" { span { (message.kind) } }
                @if let Some(name) = &message.entity { (entity(name)) }
            }
            p.prose { (plain(&message.content_text_sanitized)) }
            details #{ "more-" (message.seq) } {
                summary { "Where it came from" span.quiet-text { ", message " (message.seq) } }
                dl {
                    div { dt { "Conversation" } dd { code { (message.chat_id) } } }
                    div { dt { "Id" } dd { code { (message.id) } } }
                    div { dt { "Written" } dd { (message.ts) } }
                    @for (name, value) in &message.meta { div { dt { (name) } dd { (value) } } }
                }
            }
        }
    }
}

/// The text as it was before the inbox escaped it for models; maud escapes it for the page.
fn plain(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}
