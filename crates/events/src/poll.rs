//! `events/poll`: what happened since a client asked last.

use std::sync::atomic::Ordering;

use legation_core::Caller;
use legation_wire::json::{Object, Raw};

use crate::EventsError;
use crate::ask::{Ask, most};
use crate::events::{Inner, complete, permitted, read};

/// Places that are looked at together, and how often in one request: who is far
/// behind, or wants little of much, asks again at once.
const AT_ONCE: usize = 200;
const ROUNDS: usize = 5;

pub(crate) async fn poll(
    inner: &Inner,
    who: &Caller,
    params: &Object,
) -> Result<Object, EventsError> {
    let ask = Ask::read(params)?;
    let most = most(params)?;
    permitted(inner, who, &ask.filter)?;
    let topic = &ask.filter.topic;
    let started = inner.start(who, &ask).await?;
    let (mut place, mut truncated) = (started.place, started.truncated);
    let log = inner.log(topic);
    let mut events: Vec<Raw> = Vec::new();
    for _ in 0..ROUNDS {
        let batch = read(&log, place, AT_ONCE)
            .await
            .map_err(|source| EventsError::Log { source })?;
        truncated |= batch.gap;
        let mut full = false;
        for entry in &batch.entries {
            if let Some(data) = ask.filter.tell(inner.access.as_ref(), who, entry) {
                if events.len() == most {
                    full = true;
                    break;
                }
                events.push(entry.occurrence(topic, &data).to_raw());
            }
            place = entry.place;
        }
        if full {
            break;
        }
        place = place.max(batch.reached);
        if log.end() <= place {
            break;
        }
    }
    inner.counted.polls.fetch_add(1, Ordering::Relaxed);
    let told = &inner.counted.told;
    told.fetch_add(events.len() as u64, Ordering::Relaxed);
    let next = i64::try_from(inner.settings.next_poll.as_millis()).unwrap_or(i64::MAX);
    Ok(complete()
        .with("events", Raw::array(&events))
        .with("cursor", inner.cursor(who, topic, place))
        .with("truncated", Raw::bool(truncated))
        .with("hasMore", Raw::bool(log.end() > place))
        .with("nextPollMs", Raw::int(next)))
}
