//! Deals: read, made, and changed by their owner.

use jiff::civil::Date;
use legation_api::desk::{Act, Day, Link, Party, Stage as Asked};
use legation_core::id::hex;
use legation_core::{EntityId, OpContext};
use legation_desk::deadline::Deadline;
use legation_desk::deal::{self, Deal, DealDate, DealError, DealEvent, DealStatus};
use legation_desk::triage::Item;
use legation_gate::Outcome;
use legation_wire::json::Object;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::book::{Added, Entry, Kind, Wanted};
use super::rules::{self, Scope};
use super::{Desk, Shared, arguments, calendar};
use crate::accounts::{Failure, outcome};

/// Most deals that are looked at for one entity.
const DEALS_MAX: usize = 2000;
/// How often a change is tried again that somebody else's came before.
const TRIES: usize = 5;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListArguments {
    entity_context: Option<String>,
    stage: Option<String>,
    status: Option<String>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OneArguments {
    deal_id: String,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CreateArguments {
    entity: String,
    deal_name: String,
    deal_type: Option<String>,
    stage: Option<Asked>,
    #[serde(default)]
    parties: Vec<Party>,
    #[serde(default)]
    important_dates: Vec<Day>,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    links: Vec<Link>,
    idempotency_key: Option<String>,
}

/// A deal in a list.
#[derive(Serialize)]
pub(super) struct DealLine {
    deal_id: String,
    deal_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    deal_type: Option<String>,
    entity: String,
    stage: &'static str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_milestone: Option<Milestone>,
    updated_at: String,
}

#[derive(Serialize)]
struct Milestone {
    label: String,
    date: String,
}

#[derive(Serialize)]
struct Deals {
    deals: Vec<DealLine>,
    /// How many there are beside these.
    left_out: usize,
}

#[derive(Serialize)]
pub(super) struct DealWhole {
    #[serde(flatten)]
    line: DealLine,
    parties: Vec<deal::Party>,
    important_dates: Vec<DealDate>,
    notes: Vec<NoteLine>,
    links: Vec<deal::Link>,
    deadlines: Vec<DeadlineLine>,
    items: Vec<ItemRef>,
    created_at: String,
    last_touched_by: String,
    version: i64,
}

#[derive(Serialize)]
struct NoteLine {
    at: String,
    by: String,
    text: String,
}

#[derive(Serialize)]
struct DeadlineLine {
    deadline_id: String,
    date: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    timezone: String,
    confidence: &'static str,
    context: String,
}

#[derive(Serialize)]
struct ItemRef {
    item_id: String,
    subject: String,
    source: String,
}

#[derive(Serialize)]
struct Timeline {
    deal_id: String,
    entity: String,
    timeline: Vec<TimelineLine>,
}

#[derive(Serialize)]
struct TimelineLine {
    at: String,
    #[serde(flatten)]
    event: DealEvent,
}

#[derive(Serialize)]
struct Created {
    created: bool,
    /// Whether it was there already.
    deduped: bool,
    deal_id: String,
    entity: String,
}

/// `deals_list`.
pub(super) async fn list(shared: &Shared, arguments: &Object) -> Outcome {
    outcome(listed(shared, arguments).await)
}

/// `deal_detail`.
pub(super) async fn detail(shared: &Shared, arguments: &Object) -> Outcome {
    outcome(detailed(shared, arguments).await)
}

/// `deal_timeline`.
pub(super) async fn timeline(shared: &Shared, arguments: &Object) -> Outcome {
    outcome(happened(shared, arguments).await)
}

/// `deal_create`.
pub(super) async fn create(shared: &Shared, context: &OpContext, arguments: &Object) -> Outcome {
    outcome(created(shared, context, arguments).await)
}

async fn listed(shared: &Shared, arguments: &Object) -> Result<Deals, Failure> {
    let wanted: ListArguments = arguments::read(arguments)?;
    let scope = rules::scope(shared, wanted.entity_context.as_deref())?;
    let mut deals = Vec::new();
    for entry in of_scope(shared, &scope).await? {
        let deal = &entry.body;
        let status = match wanted.status.as_deref() {
            None => deal.status != DealStatus::Archived || wanted.stage.is_some(),
            Some(status) => deal.status.as_str() == status,
        };
        let stage = wanted.stage.as_deref();
        if status && stage.is_none_or(|stage| deal.stage.as_str() == stage) {
            deals.push(entry);
        }
    }
    deals.sort_by(|one, other| {
        (other.body.updated_ms, &one.id).cmp(&(one.body.updated_ms, &other.id))
    });
    let most = wanted.limit.unwrap_or(50).clamp(1, 200);
    let left_out = deals.len().saturating_sub(most);
    let today = today(shared)?;
    let deals = deals.iter().take(most).map(|entry| line(entry, today));
    Ok(Deals {
        deals: deals.collect(),
        left_out,
    })
}

/// The deals of the entities that a call asks about.
pub(super) async fn of_scope(shared: &Shared, scope: &Scope) -> Result<Vec<Entry<Deal>>, Failure> {
    let mut deals = Vec::new();
    for (entity, _) in &scope.entities {
        deals.extend(of_entity(shared, entity).await?);
    }
    Ok(deals)
}

/// The deals of an entity.
pub(super) async fn of_entity(
    shared: &Shared,
    entity: &EntityId,
) -> Result<Vec<Entry<Deal>>, Failure> {
    Ok(shared
        .book
        .list(Kind::Deal, Wanted::of(entity, DEALS_MAX))
        .await?)
}

fn today(shared: &Shared) -> Result<Date, Failure> {
    let (_, zone) = calendar::zone(shared, None)?;
    Ok(calendar::today(shared.now_ms(), &zone))
}

fn line(entry: &Entry<Deal>, today: Date) -> DealLine {
    let deal = &entry.body;
    DealLine {
        deal_id: entry.id.clone(),
        deal_name: deal.name.clone(),
        deal_type: deal.kind.clone(),
        entity: entry.entity.to_string(),
        stage: deal.stage.as_str(),
        status: deal.status.as_str(),
        next_milestone: deal.next_date(today).map(|next| Milestone {
            label: next.label.clone(),
            date: next.date.to_string(),
        }),
        updated_at: super::stamp(deal.updated_ms),
    }
}

async fn detailed(shared: &Shared, arguments: &Object) -> Result<DealWhole, Failure> {
    let wanted: OneArguments = arguments::read(arguments)?;
    whole(shared, &wanted.deal_id).await
}

/// Everything about a deal.
pub(super) async fn whole(shared: &Shared, id: &str) -> Result<DealWhole, Failure> {
    let entry: Entry<Deal> = shared.known(Kind::Deal, "deal", id).await?;
    let wanted = Wanted::of(&entry.entity, 5000);
    let items: Vec<Entry<Item>> = shared.book.list(Kind::Triage, wanted).await?;
    let items = items
        .into_iter()
        .filter(|item| item.body.deal.as_deref() == Some(id))
        .map(|item| ItemRef {
            item_id: item.id,
            subject: item.body.subject,
            source: item.body.source.to_string(),
        });
    let deadlines: Vec<Entry<Deadline>> = shared
        .book
        .list(
            Kind::Deadline,
            Wanted {
                account: Some(id.to_owned()),
                ..Wanted::of(&entry.entity, 500)
            },
        )
        .await?;
    let deadlines = deadlines.into_iter().map(|entry| DeadlineLine {
        deadline_id: entry.id,
        date: entry.body.date.to_string(),
        time: entry.body.time,
        timezone: entry.body.timezone,
        confidence: entry.body.confidence.as_str(),
        context: entry.body.context,
    });
    let line = line(&entry, today(shared)?);
    let deal = entry.body;
    let notes = deal.notes.into_iter().map(|note| NoteLine {
        at: super::stamp(note.at_ms),
        by: note.by,
        text: note.text,
    });
    Ok(DealWhole {
        line,
        parties: deal.parties,
        important_dates: deal.dates,
        notes: notes.collect(),
        links: deal.links,
        deadlines: deadlines.collect(),
        items: items.collect(),
        created_at: super::stamp(deal.created_ms),
        last_touched_by: deal.updated_by,
        version: entry.version,
    })
}

async fn happened(shared: &Shared, arguments: &Object) -> Result<Timeline, Failure> {
    let wanted: OneArguments = arguments::read(arguments)?;
    let entry: Entry<Deal> = shared.known(Kind::Deal, "deal", &wanted.deal_id).await?;
    let limit = wanted.limit.unwrap_or(100).clamp(1, 500);
    let log = shared
        .book
        .log::<DealEvent>(Kind::Deal, (&entry.id, &entry.entity), limit)
        .await?;
    let timeline = log.into_iter().map(|(at_ms, event)| TimelineLine {
        at: super::stamp(at_ms),
        event,
    });
    Ok(Timeline {
        timeline: timeline.collect(),
        deal_id: entry.id,
        entity: entry.entity.to_string(),
    })
}

async fn created(
    shared: &Shared,
    context: &OpContext,
    arguments: &Object,
) -> Result<Created, Failure> {
    let wanted: CreateArguments = arguments::read(arguments)?;
    let (entity, _) = rules::entity(shared, &wanted.entity)?;
    let by = context.caller.principal.client.as_str();
    let now_ms = shared.now_ms();
    let key = wanted.idempotency_key.as_deref().map(|key| {
        let mut digest = Sha256::new();
        for part in [entity.as_str(), by, key] {
            digest.update(part.len().to_le_bytes());
            digest.update(part);
        }
        hex(&digest.finalize())
    });
    let deal = made(wanted, by, now_ms)?;
    let entry = Entry {
        id: super::new_id("deal")?,
        entity,
        account: String::new(),
        state: deal.status.as_str().to_owned(),
        key,
        at_ms: now_ms,
        until_ms: now_ms,
        changed_ms: now_ms,
        version: 1,
        body: deal,
    };
    let event = DealEvent {
        action: "created".to_owned(),
        by: by.to_owned(),
        details: entry.body.stage.as_str().to_owned(),
        source: None,
    };
    let entity = entry.entity.to_string();
    match shared.book.add(Kind::Deal, &entry, Some(&event)).await? {
        Added::New => Ok(Created {
            created: true,
            deduped: false,
            deal_id: entry.id,
            entity,
        }),
        Added::Was(was) if was.body.name == entry.body.name => Ok(Created {
            created: false,
            deduped: true,
            deal_id: was.id,
            entity,
        }),
        Added::Was(_) => Err(arguments::bad(
            "this idempotency_key made another deal before",
        )),
    }
}

fn made(wanted: CreateArguments, by: &str, now_ms: i64) -> Result<Deal, Failure> {
    let unfit = |error: DealError| arguments::bad(&error.to_string());
    let mut deal = Deal::new(&wanted.deal_name, by, now_ms).map_err(unfit)?;
    deal.kind = wanted.deal_type;
    let mut acts = Vec::new();
    match wanted.stage {
        None | Some(Asked::DealIdentified) => {}
        Some(Asked::Closed) => {
            return Err(arguments::bad("a deal does not begin at its end"));
        }
        Some(stage) => acts.push(Act::Stage { stage }),
    }
    acts.extend(wanted.parties.into_iter().map(|party| Act::Party { party }));
    let dates = wanted.important_dates.into_iter();
    acts.extend(dates.map(|date| Act::Date { date }));
    acts.extend(wanted.notes.into_iter().map(|text| Act::Note { text }));
    acts.extend(wanted.links.into_iter().map(|link| Act::Link { link }));
    for act in acts {
        deal.act(act, by, now_ms).map_err(unfit)?;
    }
    Ok(deal)
}

impl Desk {
    /// Whose a deal is; `None` where there is none of that id.
    #[must_use]
    pub fn deal_entity(&self, id: &str) -> Option<EntityId> {
        self.shared.book.owner(Kind::Deal, id)
    }

    /// What [`Desk::deal_act`] would do; nothing is changed.
    ///
    /// # Errors
    /// There is no such deal, or it cannot be done to it.
    pub async fn deal_try(&self, id: &str, act: Act, by: &str) -> Result<DealEvent, Failure> {
        let mut entry: Entry<Deal> = self.shared.known(Kind::Deal, "deal", id).await?;
        let tried = entry.body.act(act, by, self.shared.now_ms());
        tried.map_err(|error| arguments::bad(&error.to_string()))
    }

    /// Does something to a deal, for its owner: what happened, and the deal's new version.
    ///
    /// # Errors
    /// There is no such deal, or it cannot be done to it.
    pub async fn deal_act(
        &self,
        id: &str,
        act: Act,
        by: &str,
    ) -> Result<(DealEvent, i64), Failure> {
        let shared = &*self.shared;
        for _ in 0..TRIES {
            let mut entry: Entry<Deal> = shared.known(Kind::Deal, "deal", id).await?;
            let done = entry.body.act(act.clone(), by, shared.now_ms());
            let event = done.map_err(|error| arguments::bad(&error.to_string()))?;
            entry.body.status.as_str().clone_into(&mut entry.state);
            if shared.book.set(Kind::Deal, &entry, Some(&event)).await? {
                shared.view.changed();
                return Ok((event, entry.version + 1));
            }
        }
        Err(arguments::bad("others change this deal all the time"))
    }
}
