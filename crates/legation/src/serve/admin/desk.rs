//! What only the owner does at the desk. A letter is moved through the gate like any call;
//! every act is a record before it takes effect.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_api::Request as _;
use legation_api::desk::{
    DealAct, DealActAnswer, File, FileAnswer, Filing, FilingState, Filings, FilingsAnswer, Reject,
    Unfile,
};
use legation_api::mcp::Call;
use legation_config::clients::OWNER;
use legation_core::EntityId;
use legation_gate::conversation;
use legation_servers::accounts::Failure;
use legation_servers::desk::{Filing as Kept, FilingState as Kind, Move};
use legation_wire::json::Raw;
use legation_wire::message::ErrorObject;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use super::{Answer, failed, failed_with, later, missing, tools, unknown};
use crate::serve::events;
use crate::serve::hub::Inner;

/// What is read of the answer of a call.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Called {
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    content: Vec<Said>,
    #[serde(default)]
    structured_content: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Said {
    #[serde(default)]
    text: String,
}

/// What is read of a move.
#[derive(Deserialize)]
struct Moved {
    message_id: String,
    previous_folder: String,
}

pub(super) fn dispatch(hub: &Arc<Inner>, method: &str, params: &Raw) -> BoxFuture<'static, Answer> {
    let hub = Arc::clone(hub);
    match method {
        DealAct::METHOD => later(params, |request: DealAct| async move {
            deal_act(&hub, request).await
        }),
        Filings::METHOD => later(params, |request: Filings| async move {
            filings(&hub, &request).await
        }),
        File::METHOD => later(params, move |request: File| {
            let inner = Arc::clone(&hub);
            to_its_end(inner, async move { file(&hub, &request).await })
        }),
        Unfile::METHOD => later(params, move |request: Unfile| {
            let inner = Arc::clone(&hub);
            to_its_end(inner, async move { unfile(&hub, &request).await })
        }),
        Reject::METHOD => later(params, |request: Reject| async move {
            reject(&hub, &request).await
        }),
        _ => unknown(method),
    }
}

/// Goes on though whoever asked goes away: a letter that was moved is written down as moved.
async fn to_its_end(
    hub: Arc<Inner>,
    work: impl Future<Output = Result<FileAnswer, ErrorObject>> + Send + 'static,
) -> Result<FileAnswer, ErrorObject> {
    let (answer, answered) = tokio::sync::oneshot::channel();
    hub.tasks.spawn("filing of a letter", async move {
        // Nobody may listen any more.
        drop(answer.send(work.await));
    });
    answered.await.unwrap_or_else(|_| {
        let message = "the hub is stopping; whether the letter was moved is in the ledger";
        Err(failed(message, None))
    })
}

async fn deal_act(hub: &Inner, request: DealAct) -> Result<DealActAnswer, ErrorObject> {
    let id = request.deal_id;
    let entity = known(hub.desk.deal_entity(&id), "deal")?;
    let act = request.act;
    let tried = hub.desk.deal_try(&id, act.clone(), OWNER).await;
    let mut event = tried.map_err(refused)?;
    if !request.dry_run {
        let text = format!("{} of the deal {id}", event.action);
        record(hub, &entity, "deal_act", &text).await?;
        (event, _) = hub.desk.deal_act(&id, act, OWNER).await.map_err(refused)?;
    }
    Ok(DealActAnswer {
        deal_id: id,
        entity: entity.to_string(),
        action: event.action,
        details: event.details,
        done: !request.dry_run,
    })
}

async fn filings(hub: &Inner, request: &Filings) -> Result<FilingsAnswer, ErrorObject> {
    let state = request.state.map(|state| match state {
        FilingState::Proposed => Kind::Proposed,
        FilingState::Filed => Kind::Filed,
        FilingState::Undone => Kind::Undone,
        FilingState::Rejected => Kind::Rejected,
    });
    let filings = hub.desk.filings(request.entity.as_deref(), state).await;
    let filings = filings.map_err(refused)?.into_iter().map(as_told);
    Ok(FilingsAnswer {
        filings: filings.collect(),
    })
}

async fn file(hub: &Inner, request: &File) -> Result<FileAnswer, ErrorObject> {
    let id = &request.suggestion_id;
    let entity = known(hub.desk.filing_entity(id), "suggestion")?;
    let wanted = hub.desk.filing_move(id).await.map_err(refused)?;
    let filing = match request.dry_run {
        true => hub.desk.filing_shown(id).await.map_err(refused)?,
        false => {
            record(hub, &entity, "file", &format!("files by {id}")).await?;
            let moved = moved(hub, &entity, &wanted).await?;
            let filed = hub
                .desk
                .filed(id, &moved.message_id, &moved.previous_folder);
            filed.await.map_err(|error| moved_only(&error))?
        }
    };
    Ok(answer(filing, wanted, request.dry_run))
}

async fn unfile(hub: &Inner, request: &Unfile) -> Result<FileAnswer, ErrorObject> {
    let id = &request.suggestion_id;
    let entity = known(hub.desk.filing_entity(id), "suggestion")?;
    let wanted = hub.desk.filing_undo(id).await.map_err(refused)?;
    let filing = match request.dry_run {
        true => hub.desk.filing_shown(id).await.map_err(refused)?,
        false => {
            record(hub, &entity, "unfile", &format!("takes back {id}")).await?;
            let moved = moved(hub, &entity, &wanted).await?;
            let unfiled = hub.desk.unfiled(id, &moved.message_id);
            unfiled.await.map_err(|error| moved_only(&error))?
        }
    };
    Ok(answer(filing, wanted, request.dry_run))
}

async fn reject(hub: &Inner, request: &Reject) -> Result<Filing, ErrorObject> {
    let id = &request.suggestion_id;
    let entity = known(hub.desk.filing_entity(id), "suggestion")?;
    // One that was decided about is found out before anything is on record.
    hub.desk.filing_move(id).await.map_err(refused)?;
    record(hub, &entity, "reject", &format!("refuses {id}")).await?;
    let rejected = hub.desk.filing_rejected(id).await;
    rejected.map(as_told).map_err(refused)
}

/// Moves a letter by the desk's tool, as the owner, through the gate. Where it goes stands in a row
/// of its entity's, so it is no matter what else the owner has looked at.
async fn moved(hub: &Inner, entity: &EntityId, wanted: &Move) -> Result<Moved, ErrorObject> {
    let arguments = to_raw_value(wanted).map_err(|error| failed_with(&error))?;
    let call = Call {
        name: "desk/mail_move".to_owned(),
        arguments,
        workspace: None,
    };
    let seat = conversation::apart(entity);
    let answer = tools::call_from(hub, call, seat).await?.result;
    let called: Called = serde_json::from_str(answer.get()).map_err(|error| failed_with(&error))?;
    let texts: Vec<&str> = called.content.iter().map(|part| &*part.text).collect();
    match called.structured_content.filter(|_| !called.is_error) {
        Some(moved) => serde_json::from_str(moved.get()).map_err(|error| failed_with(&error)),
        None => {
            let said = format!("the letter was not moved: {}", texts.join("\n"));
            Err(failed(&said, None))
        }
    }
}

async fn record(hub: &Inner, entity: &EntityId, what: &str, text: &str) -> Result<(), ErrorObject> {
    let happened = events::desk_changed(entity, what, text);
    let written = happened.write(&hub.ledger).await;
    written.map_err(|error| failed_with(&error))
}

fn known(entity: Option<EntityId>, what: &str) -> Result<EntityId, ErrorObject> {
    entity.ok_or_else(|| {
        missing(
            &format!("there is no {what} of that id; nothing was done"),
            None,
        )
    })
}

fn refused(failure: Failure) -> ErrorObject {
    failed(&failure.message, Some(failure.hint))
}

fn moved_only(failure: &Failure) -> ErrorObject {
    let message = format!(
        "the letter was moved, and the suggestion does not say so: {}",
        failure.message
    );
    failed(
        &message,
        Some("the ledger has the move, with the folder it came from".to_owned()),
    )
}

fn answer(filing: Kept, wanted: Move, dry_run: bool) -> FileAnswer {
    FileAnswer {
        filing: as_told(filing),
        folder: wanted.destination_folder,
        done: !dry_run,
    }
}

fn as_told(filing: Kept) -> Filing {
    Filing {
        suggestion_id: filing.suggestion_id,
        entity: filing.entity,
        state: filing.state,
        item_id: filing.item_id,
        source: filing.source,
        path: filing.path,
        suggested_by: filing.suggested_by,
        rationale: filing.rationale,
    }
}
