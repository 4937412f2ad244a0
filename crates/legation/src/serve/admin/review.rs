//! `mcp.review` and `mcp.decide`.

use legation_api::Done;
use legation_api::mcp::{Decide, Looked, ReviewAnswer, Waiting};
use legation_core::Wall;
use legation_host::{PinError, PinReview};
use legation_wire::message::ErrorObject;

use super::{failed, failed_with, missing, unavailable};
use crate::serve::events;
use crate::serve::hub::Inner;

pub(crate) fn waiting(hub: &Inner, server: Option<&str>) -> Result<ReviewAnswer, ErrorObject> {
    let waiting = hub.host.pins_waiting(server).map_err(refused)?;
    Ok(ReviewAnswer {
        waiting: waiting.into_iter().map(shown).collect(),
    })
}

/// Each decision is a record before it takes effect.
pub(crate) async fn decide(hub: &Inner, request: &Decide) -> Result<Done, ErrorObject> {
    let waiting = hub.host.pins_waiting(None).map_err(refused)?;
    for looked in &request.definitions {
        let review = as_looked_at(&waiting, looked).map_err(refused)?;
        let verb = if request.accept {
            "accepted"
        } else {
            "refused"
        };
        let PinReview {
            server, kind, item, ..
        } = &review;
        let text = format!("{verb} the {kind} {item} of {server}");
        events::reviewed(server, item, request.accept, &text)
            .write(&hub.ledger)
            .await
            .map_err(|error| failed_with(&error))?;
        hub.host
            .pin_decide(&review, request.accept, "owner")
            .map_err(refused)?;
    }
    Ok(Done {})
}

fn as_looked_at(waiting: &[PinReview], looked: &Looked) -> Result<PinReview, PinError> {
    let Looked {
        server,
        kind,
        item,
        now,
    } = looked;
    let found = waiting
        .iter()
        .find(|review| review.server == *server && review.kind == *kind && review.item == *item);
    found
        .map(|found| PinReview {
            now: now.clone(),
            ..found.clone()
        })
        .ok_or_else(|| PinError::Nothing {
            server: server.clone(),
            item: item.clone(),
        })
}

fn shown(review: PinReview) -> Waiting {
    Waiting {
        server: review.server,
        kind: review.kind,
        item: review.item,
        state: review.state.to_owned(),
        before: review.before,
        now: review.now,
        findings: review.findings,
        first_seen: Wall(review.first_seen_ms).to_string(),
    }
}

fn refused(error: PinError) -> ErrorObject {
    let (what, hint) = (legation_core::error::chain(&error), error.hint().to_owned());
    match error {
        PinError::Nothing { .. } => missing(&what, Some(hint)),
        PinError::Moved { .. } => failed(&what, Some(hint)),
        PinError::Store { .. } => unavailable(&what, Some(hint)),
    }
}
