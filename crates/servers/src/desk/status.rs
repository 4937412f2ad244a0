//! How the desk stands, for whoever may see whose part of it.

use legation_core::OpContext;
use legation_gate::Outcome;
use legation_gate::policy::governance::{Broken, Governance};
use serde::Serialize;

use super::book::Kind;
use super::sync::{self, Standing, What};
use super::{Shared, rules};
use crate::accounts::{Failure, outcome};

#[derive(Serialize)]
struct Status {
    /// Whether everything is as it should be.
    ready: bool,
    at: String,
    entities: Vec<EntityStatus>,
    accounts: Vec<AccountStatus>,
    problems: usize,
}

#[derive(Serialize)]
struct EntityStatus {
    entity: String,
    name: String,
    deals: u64,
    triage_open: u64,
    filings_proposed: u64,
}

#[derive(Serialize)]
struct AccountStatus {
    profile_id: String,
    entity: String,
    what: &'static str,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    read_at: Option<String>,
}

#[derive(Serialize)]
struct Doctor {
    checks: Vec<Check>,
    failed: usize,
}

#[derive(Serialize)]
struct Check {
    what: String,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// `status`.
pub(super) async fn status(shared: &Shared, context: &OpContext) -> Outcome {
    outcome(stands(shared, context).await)
}

/// `doctor`.
pub(super) async fn doctor(shared: &Shared, context: &OpContext) -> Outcome {
    outcome(examined(shared, context).await)
}

async fn stands(shared: &Shared, context: &OpContext) -> Result<Status, Failure> {
    let policy = shared.rules()?;
    let caller = &context.caller;
    let profile = rules::profile(&policy)?;
    let seen = |entity: &legation_core::EntityId| rules::may_see(&policy, caller, entity);
    let mut counts = Vec::new();
    for (kind, state) in [
        (Kind::Deal, "active"),
        (Kind::Triage, "open"),
        (Kind::Filing, "proposed"),
    ] {
        let mut of_kind = shared.book.counts(kind).await?;
        of_kind.retain(|(_, word, _)| word == state);
        counts.push(of_kind);
    }
    let count = |at: usize, entity: &legation_core::EntityId| {
        let mut rows = counts[at].iter();
        rows.find(|(owner, ..)| owner == entity)
            .map_or(0, |(.., count)| *count)
    };
    let entities = profile.entities.iter().filter(|(id, _)| seen(id));
    let entities = entities.map(|(id, entity)| EntityStatus {
        entity: id.to_string(),
        name: entity.name.clone(),
        deals: count(0, id),
        triage_open: count(1, id),
        filings_proposed: count(2, id),
    });
    let entities: Vec<EntityStatus> = entities.collect();
    let mut accounts = Vec::new();
    for account in shared.accounts.settings() {
        if !seen(&account.entity) {
            continue;
        }
        for what in What::ALL {
            let (state, read_ms) = match sync::standing(shared, &account.name, what).await? {
                Standing::Never => ("never read", None),
                Standing::Stale { read_ms } => ("stale", Some(read_ms)),
                Standing::Fresh { read_ms } => ("fresh", Some(read_ms)),
            };
            accounts.push(AccountStatus {
                profile_id: account.name.to_string(),
                entity: account.entity.to_string(),
                what: match what {
                    What::Calendar => "calendar",
                    What::Inbox => "inbox",
                },
                state,
                read_at: read_ms.map(super::stamp),
            });
        }
    }
    let broken = files(policy.governance());
    let problems = broken.iter().filter(|(_, broken)| broken.is_some()).count()
        + accounts
            .iter()
            .filter(|account| account.state != "fresh")
            .count();
    Ok(Status {
        ready: problems == 0,
        at: super::stamp(shared.now_ms()),
        entities,
        accounts,
        problems,
    })
}

/// The files that govern the desk, and what keeps each from doing so.
fn files(governance: &Governance) -> [(&'static str, Option<&Broken>); 6] {
    use legation_gate::policy::governance::file;
    [
        (file::OPERATOR_PROFILE, governance.profile.get().err()),
        (file::BRIEF, governance.brief.get().err()),
        (file::URGENCY, governance.urgency.get().err()),
        (file::DRAFT_STYLE, governance.draft_style.get().err()),
        (file::PARA, governance.para.get().err()),
        (file::OUTPUT_CONTRACTS, governance.contracts.get().err()),
    ]
}

async fn examined(shared: &Shared, context: &OpContext) -> Result<Doctor, Failure> {
    let policy = shared.rules()?;
    let mut checks = Vec::new();
    for (name, broken) in files(policy.governance()) {
        checks.push(Check {
            what: name.to_owned(),
            ok: broken.is_none(),
            problem: broken.map(ToString::to_string),
            hint: broken.map(|_| {
                "the owner sees what is wrong with `legation governance check`".to_owned()
            }),
        });
    }
    if policy.governance().is_desk_by_default {
        checks.push(Check {
            what: "defaults in the place of the desk's four files".to_owned(),
            ok: true,
            problem: None,
            hint: Some("the owner writes the files with `legation desk init`".to_owned()),
        });
    }
    if let Ok(profile) = rules::profile(&policy) {
        let zone = profile.operator.timezone.as_deref().unwrap_or("UTC");
        let known = legation_desk::deadline::zone(zone);
        checks.push(Check {
            what: "time zone".to_owned(),
            ok: known.is_ok(),
            problem: known.err().map(|error| error.to_string()),
            hint: Some("the owner names an IANA zone in operator_profile.json".to_owned())
                .filter(|_| legation_desk::deadline::zone(zone).is_err()),
        });
    }
    let read = shared.book.counts(Kind::Deal).await;
    checks.push(Check {
        what: "store".to_owned(),
        ok: read.is_ok(),
        hint: read.as_ref().err().map(|error| error.hint().to_owned()),
        problem: read.err().map(|error| legation_core::error::chain(&error)),
    });
    let stands = stands(shared, context).await;
    for account in stands.iter().flat_map(|status| &status.accounts) {
        let ok = account.state == "fresh";
        checks.push(Check {
            what: format!("{} of {}", account.what, account.profile_id),
            ok,
            problem: (!ok).then(|| format!("it is {}", account.state)),
            hint: (!ok).then(|| "the owner signs in with `legation identity`".to_owned()),
        });
    }
    let failed = checks.iter().filter(|check| !check.ok).count();
    Ok(Doctor { checks, failed })
}
