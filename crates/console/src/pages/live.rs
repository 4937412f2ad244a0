//! What a page that stays open is told.
//!
//! A conversation's entries come as they stand in the page. Of everything else a page
//! is only told that something changed, and asks for itself again: so that what is
//! shown is always what the page says when it is loaded.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use legation_api::Request as _;
use legation_api::conversation::{Event, Follow};
use serde_json::json;
use serde_json::value::to_raw_value;
use tokio::time::MissedTickBehavior;

use super::{Asked, Shared, tasks};
use crate::hub::{AdminItem, Road, Since};

/// What is told when deals, items or suggestions of the desk change.
const DESK_CHANGED: &str = "desk.changed";
/// How often somebody who hears nothing is told that the hub is there; and whether
/// they may still hear is looked at.
const BEAT: Duration = Duration::from_secs(15);
/// How long a page is left alone after it was told that something changed: what
/// happens meanwhile is one change.
const PAUSE: Duration = Duration::from_millis(500);
/// Most events that are taken for one change.
const TOGETHER: usize = 1_024;

/// The stream of a page, by its query: `session` and `after` for a conversation.
pub(super) fn stream(shared: &Shared, asked: &Asked) -> BoxStream<'static, Bytes> {
    let told = match asked.query.get("session") {
        Some(session) => conversation(shared, session, asked.query.number("after")),
        None => everything(shared, asked.query.get("of") == Some("desk")),
    };
    let (door, clock) = (Arc::clone(&shared.door), Arc::clone(&shared.clock));
    let (pass, over) = (asked.pass, stream::once(std::future::ready(None)));
    let begin = stream::once(std::future::ready(Bytes::from_static(b"retry: 3000\n\n")));
    // Whatever was followed may end; the beat alone never does.
    let told = stream::select(begin.chain(told).map(Some).chain(over), beat().map(Some));
    let told = told.take_while(|told| std::future::ready(told.is_some()));
    told.filter_map(std::future::ready)
        .scan(false, move |is_over, bytes| {
            let next = match (*is_over, door.lives(&pass, clock.wall())) {
                (true, _) => None,
                (false, true) => Some(bytes),
                // Whoever left, or sat there for too long, hears no more.
                (false, false) => {
                    *is_over = true;
                    Some(event("over", "{}"))
                }
            };
            std::future::ready(next)
        })
        .boxed()
}

fn beat() -> BoxStream<'static, Bytes> {
    let mut beat = tokio::time::interval(BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    stream::unfold(beat, |mut beat| async move {
        beat.tick().await;
        Some((Bytes::from_static(b":\n\n"), beat))
    })
    .boxed()
}

/// That something happened, whatever it was, or only at the desk.
fn everything(shared: &Shared, only_desk: bool) -> BoxStream<'static, Bytes> {
    let events = shared.hub.events(Since::Now);
    let events =
        events.filter(move |event| std::future::ready(!only_desk || event.name() == DESK_CHANGED));
    let events = events.ready_chunks(TOGETHER);
    stream::unfold((events, false), |(mut events, pause)| async move {
        if pause {
            tokio::time::sleep(PAUSE).await;
        }
        events.next().await?;
        Some((event("changed", "{}"), (events, true)))
    })
    .boxed()
}

fn conversation(shared: &Shared, session: &str, after: Option<u64>) -> BoxStream<'static, Bytes> {
    let follow = Follow {
        session: Some(session.to_owned()),
        after,
    };
    let Ok(params) = to_raw_value(&follow) else {
        return stream::empty().boxed();
    };
    let items = shared.hub.admin(Road::Console, Follow::METHOD, params);
    items
        .filter_map(|item| {
            std::future::ready(match item {
                AdminItem::Notification { params, .. } => {
                    serde_json::from_str(params.get()).ok().and_then(told)
                }
                AdminItem::Done(_) => Some(event("over", "{}")),
            })
        })
        .boxed()
}

/// An event of a conversation, as the page understands it.
fn told(happened: Event) -> Option<Bytes> {
    Some(match happened {
        Event::Message { message } => event("entry", &tasks::entry(&message).into_string()),
        Event::Delta { task_id, text } => event(
            "delta",
            &json!({ "task": task_id, "text": text }).to_string(),
        ),
        Event::Task { .. } => event("changed", "{}"),
        Event::Lagged {} => event("lagged", "{}"),
        Event::Reasoning { .. } | Event::Live {} => return None,
    })
}

/// One event as the HTML standard has it (9.2.5): a line of data for each line.
fn event(name: &str, data: &str) -> Bytes {
    let mut text = format!("event: {name}\n");
    for line in data.split(['\n', '\r']) {
        text.push_str("data: ");
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_end_an_event() {
        let told = event("entry", "one\n\nevent: over\r\ntwo");
        let text = String::from_utf8(told.to_vec()).expect("text");
        assert_eq!(
            text,
            "event: entry\ndata: one\ndata: \ndata: event: over\ndata: \ndata: two\n\n"
        );
    }
}
