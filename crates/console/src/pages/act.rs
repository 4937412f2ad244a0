//! Forms by their address: what they change, and the page that follows.
//!
//! What somebody agrees to is what they saw: a form brings the digest of what its page
//! showed, and where that is no longer what waits, nothing is answered.

use std::collections::BTreeMap;

use legation_api::approvals::{Answer, Certify, Find, Revoke};
use legation_api::audit::Verify;
use legation_api::conversation::Open;
use legation_api::governance::Replay;
use legation_api::models::{JobView, Preferences, SetPreferences};
use legation_api::{mcp, tasks as work};

use super::ask::{Failure, ask};
use super::fields::{Fields, encoded};
use super::html::{Page, Section};
use super::{Asked, Done, Shared, Undone, desk, governance, ledger, models, servers};
use crate::login::Notice;

/// Does what a form asks for.
pub(super) async fn done(shared: &Shared, asked: &Asked, form: &Fields) -> Result<Done, Undone> {
    let parts: Vec<&str> = asked.parts.iter().map(String::as_str).collect();
    let back = |path: &str| {
        let path = path.to_owned();
        move |failure| (path, failure)
    };
    match parts.as_slice() {
        ["servers", label, verb] => switched(shared, label, verb)
            .await
            .map_err(back("/servers")),
        ["definitions"] => reviewed(shared, form).await.map_err(back("/definitions")),
        ["approvals", id] => answered(shared, id, form).await.map_err(back("/approvals")),
        ["approvals", id, "certify"] => certified(shared, id, form)
            .await
            .map_err(back("/approvals")),
        ["grants", id, "revoke"] => {
            let revoke = Revoke {
                id: (*id).to_owned(),
            };
            let revoked = ask(&*shared.hub, &revoke).await;
            revoked.map_err(back("/approvals"))?;
            Ok(said("/approvals", "The grant was taken back."))
        }
        ["tasks"] => submitted(shared, form).await.map_err(|failure| {
            let path = form
                .get("session")
                .map(|id| format!("/sessions/{}", encoded(id)));
            (path.unwrap_or_else(|| "/tasks".to_owned()), failure)
        }),
        ["tasks", id, verb] => {
            let path = format!("/tasks/{}", encoded(id));
            task(shared, id, verb, form).await.map_err(back(&path))
        }
        ["models"] => preferred(shared, form).await.map_err(back("/models")),
        ["governance", "replay"] => replayed(shared, form).await.map_err(back("/governance")),
        ["ledger", "verify"] => verified(shared).await.map_err(back("/ledger")),
        ["desk", rest @ ..] => desk::done(shared, rest, form).await,
        _ => Ok(Done::Nothing),
    }
}

/// A page with a word of what was done.
pub(super) fn said(path: &str, text: impl Into<String>) -> Done {
    Done::See(path.to_owned(), Notice::done(text))
}

async fn switched(shared: &Shared, label: &str, verb: &str) -> Result<Done, Failure> {
    let hub = &*shared.hub;
    let (name, workspace) = (label.to_owned(), None);
    let text = match verb {
        "enable" => {
            ask(hub, &mcp::Enable { name, workspace }).await?;
            format!("{label} is used again.")
        }
        "disable" => {
            ask(hub, &mcp::Disable { name, workspace }).await?;
            format!("{label} is not used until it is enabled, or the hub starts anew.")
        }
        "reload" => {
            let name = Some(name);
            ask(hub, &mcp::ReloadServer { name, workspace }).await?;
            format!("{label} was restarted.")
        }
        _ => return Ok(Done::Nothing),
    };
    Ok(said("/servers", text))
}

async fn reviewed(shared: &Shared, form: &Fields) -> Result<Done, Failure> {
    let accept = form.get("accept") == Some("yes");
    let waiting = ask(&*shared.hub, &mcp::Review::default()).await?.waiting;
    let digest = form.get("digest").unwrap_or_default();
    let Some(one) = waiting
        .into_iter()
        .find(|one| servers::looked(one) == digest)
    else {
        return Err(changed("This definition"));
    };
    let name = format!("{} {} {}", one.server, one.kind, one.item);
    let decide = mcp::Decide {
        definitions: vec![mcp::Looked {
            server: one.server,
            kind: one.kind,
            item: one.item,
            now: one.now,
        }],
        accept,
    };
    ask(&*shared.hub, &decide).await?;
    let word = if accept { "accepted" } else { "refused" };
    Ok(said("/definitions", format!("{} was {word}.", name.trim())))
}

async fn answered(shared: &Shared, id: &str, form: &Fields) -> Result<Done, Failure> {
    let answer = form.get("answer").unwrap_or_default();
    // A no is a no to whatever waits under the id.
    if answer != "deny" {
        unchanged(shared, id, form).await?;
    }
    let request = Answer {
        id: id.to_owned(),
        answer: answer.to_owned(),
    };
    let taken = ask(&*shared.hub, &request).await?;
    let text = match taken.answer.as_str() {
        "deny" => format!("{id} was denied."),
        counts => format!("{id} was approved ({counts})."),
    };
    Ok(said("/approvals", text))
}

async fn certified(shared: &Shared, id: &str, form: &Fields) -> Result<Done, Failure> {
    let digest = unchanged(shared, id, form).await?;
    let Some(pin) = form.text("pin") else {
        return Err(Failure::of(
            "A proposal is certified with your PIN; nothing was changed.",
        ));
    };
    let request = Certify {
        id: id.to_owned(),
        digest,
        pin: Some(pin),
    };
    ask(&*shared.hub, &request).await?;
    Ok(said("/approvals", format!("{id} was certified.")))
}

/// What waits, if it is what the form's page showed; its digest.
async fn unchanged(shared: &Shared, id: &str, form: &Fields) -> Result<String, Failure> {
    let waiting = ask(&*shared.hub, &Find { id: id.to_owned() }).await?;
    let digest = waiting.digest.unwrap_or_default();
    // What has no digest is nothing that a page can have shown.
    match !digest.is_empty() && digest == form.get("digest").unwrap_or_default() {
        true => Ok(digest),
        false => Err(changed("What waits")),
    }
}

fn changed(what: &str) -> Failure {
    let text = format!("{what} is no longer what you looked at; nothing was changed.");
    Failure {
        hint: Some("Look at it as it is now.".to_owned()),
        ..Failure::of(&text)
    }
}

async fn submitted(shared: &Shared, form: &Fields) -> Result<Done, Failure> {
    let hub = &*shared.hub;
    let Some(message) = form.text("message") else {
        return Err(Failure::of("There was nothing to hand in."));
    };
    let session = match form.text("session") {
        Some(session) => session,
        None => ask(hub, &Open::default()).await?.id,
    };
    let path = format!("/sessions/{}", encoded(&session));
    let request = work::Submit {
        task: work::NewTask {
            message,
            session: Some(session),
            ..work::NewTask::default()
        },
        workspace: None,
    };
    ask(hub, &request).await?;
    Ok(said(&path, "It was handed in."))
}

async fn task(shared: &Shared, id: &str, verb: &str, form: &Fields) -> Result<Done, Failure> {
    let hub = &*shared.hub;
    let task_id = id.to_owned();
    let text = form.text("text");
    let word = match (verb, text) {
        ("cancel", _) => {
            ask(
                hub,
                &work::Cancel {
                    task_id,
                    reason: None,
                },
            )
            .await?;
            "The task was called off."
        }
        ("answer", Some(text)) => {
            ask(hub, &work::Answer { task_id, text }).await?;
            "The answer was given."
        }
        ("steer", Some(text)) => {
            ask(hub, &work::Steer { task_id, text }).await?;
            "It is heard between two steps."
        }
        ("answer" | "steer", None) => return Err(Failure::of("There was nothing to say.")),
        _ => return Ok(Done::Nothing),
    };
    Ok(said(&format!("/tasks/{}", encoded(id)), word))
}

async fn preferred(shared: &Shared, form: &Fields) -> Result<Done, Failure> {
    let hub = &*shared.hub;
    let now = ask(hub, &Preferences {}).await?;
    let mut jobs = BTreeMap::new();
    for (job, provider) in form.beginning(models::JOB_FIELD) {
        let before = now.per_job_overrides.get(job);
        let wanted = (!provider.is_empty()).then_some(provider);
        // What a person did not touch keeps its model and its notes.
        if before.map(|one| one.provider.as_str()) != wanted {
            let view = wanted.map(|provider| JobView {
                provider: provider.to_owned(),
                ..JobView::default()
            });
            jobs.insert(job.to_owned(), view);
        }
    }
    let default = form.text("default");
    let request = SetPreferences {
        default_provider: default.filter(|name| *name != now.default_provider),
        per_job_overrides: jobs,
        dry_run: form.get("act") == Some("try"),
    };
    let answer = ask(hub, &request).await?;
    Ok(said("/models", models::changed(&answer)))
}

async fn replayed(shared: &Shared, form: &Fields) -> Result<Done, Failure> {
    let last = form.number("last").unwrap_or(1_000);
    let request = Replay {
        last: last.clamp(1, governance::REPLAY_MAX),
        rules: form.text("rules"),
    };
    let answer = ask(&*shared.hub, &request).await?;
    Ok(Done::Page(Box::new(move |_| {
        let body = governance::replayed(&answer);
        Page::still(Section::Governance, "Decided again", body)
    })))
}

async fn verified(shared: &Shared) -> Result<Done, Failure> {
    let answer = ask(&*shared.hub, &Verify::default()).await?;
    Ok(Done::Page(Box::new(move |frame| {
        let body = ledger::verified(frame, &answer);
        Page::still(Section::Ledger, "Verification", body)
    })))
}
