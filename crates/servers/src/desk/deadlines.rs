//! Deadlines: found in a text, and kept for briefs and deals.

use jiff::Timestamp;
use legation_core::id::hex;
use legation_core::{EntityId, EntityLabels, OpContext};
use legation_desk::deadline::{self, Confidence, Deadline, FoundBy, Written};
use legation_gate::Outcome;
use legation_wire::json::Object;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::book::{Added, Entry, Kind};
use super::{Asked, Shared, arguments, calendar, rules};
use crate::accounts::{Failure, outcome};

/// The job of a model's request.
const JOB: &str = "desk.deadlines";
/// Longest text that a model is shown, in characters.
const SHOWN_MAX: usize = 20_000;
/// Most deadlines of one text that are kept.
const KEPT_MAX: usize = 200;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    text: String,
    entity: Option<String>,
    deal_id: Option<String>,
    source_ref: Option<String>,
    written: Option<String>,
    timezone: Option<String>,
    #[serde(default = "yes")]
    keep: bool,
}

fn yes() -> bool {
    true
}

#[derive(Serialize)]
struct Found {
    entity: String,
    candidates: Vec<Candidate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_ref: Option<String>,
    /// Who looked: the rules, or a model too.
    extraction_source: &'static str,
    /// Why no model did, where one might have.
    #[serde(skip_serializing_if = "Option::is_none")]
    model_note: Option<String>,
    kept: usize,
}

#[derive(Serialize)]
struct Candidate {
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline_id: Option<String>,
    raw_text: String,
    start: usize,
    end: usize,
    parsed_date: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    timezone: String,
    at: String,
    confidence: &'static str,
    context: String,
    source: FoundBy,
}

/// `extraction_deadlines`.
pub(super) async fn extract(shared: &Shared, context: &OpContext, arguments: &Object) -> Outcome {
    outcome(extracted(shared, context, arguments).await)
}

async fn extracted(
    shared: &Shared,
    context: &OpContext,
    arguments: &Object,
) -> Result<Found, Failure> {
    let wanted: Arguments = arguments::read(arguments)?;
    let entity = whose(shared, &wanted)?;
    let (_, zone) = calendar::zone(shared, wanted.timezone.as_deref())?;
    let at = match wanted.written.as_deref() {
        None => Timestamp::from_millisecond(shared.now_ms()).unwrap_or_default(),
        Some(text) => text
            .parse()
            .map_err(|_| arguments::bad("`written` must be a time as RFC 3339 has it"))?,
    };
    let written = Written { at, zone };
    let mut found = deadline::candidates(&wanted.text, &written);
    let mut model_note = None;
    let mut by = "rule";
    let rules = shared.rules()?;
    if rules::good(&rules.governance().urgency)?.model {
        let (system, schema) = deadline::question();
        let asked = Asked {
            job: JOB,
            labels: EntityLabels::of(entity.clone()),
            system,
            data: wanted.text.chars().take(SHOWN_MAX).collect(),
            answer: ("deadlines", schema),
        };
        match shared.view.model(context, asked).await {
            Ok(answer) => {
                by = "rule+model";
                let more = deadline::from_model(&wanted.text, &answer, &written, &found);
                found.extend(more);
                found.sort_by_key(|one| one.start);
            }
            Err(why) => model_note = Some(why.to_string()),
        }
    }
    let kept = match wanted.keep {
        true => keep(shared, &entity, &wanted, &found).await?,
        false => Vec::new(),
    };
    let candidates = found
        .into_iter()
        .map(|one| candidate(one, &entity, &wanted, &kept));
    Ok(Found {
        candidates: candidates.collect(),
        entity: entity.to_string(),
        source_ref: wanted.source_ref.clone(),
        extraction_source: by,
        model_note,
        kept: kept.len(),
    })
}

/// Whose text it is: its deal's, or as it is said.
fn whose(shared: &Shared, wanted: &Arguments) -> Result<EntityId, Failure> {
    let named = wanted
        .entity
        .as_deref()
        .map(|named| rules::entity(shared, named));
    let named = named.transpose()?.map(|(entity, _)| entity);
    let of_deal = wanted.deal_id.as_deref();
    let of_deal = of_deal.and_then(|id| shared.book.owner(Kind::Deal, id));
    match (named, of_deal) {
        (Some(named), Some(owner)) if named != owner => Err(arguments::bad(
            "the deal is of another entity than the text",
        )),
        (_, Some(one)) | (Some(one), None) => Ok(one),
        (None, None) => Err(arguments::bad(
            "say whose text it is, by `entity` or `deal_id`",
        )),
    }
}

/// Keeps what is sure enough; the same deadline of the same text is one row. On disk on return: a
/// text that was handed in is read from nowhere again.
async fn keep(
    shared: &Shared,
    entity: &EntityId,
    wanted: &Arguments,
    found: &[Deadline],
) -> Result<Vec<String>, Failure> {
    let now_ms = shared.now_ms();
    let sure = found.iter().filter(|one| one.confidence > Confidence::Low);
    let entries = sure.take(KEPT_MAX).map(|one| Entry {
        id: id_of(entity, wanted, one),
        entity: entity.clone(),
        account: wanted.deal_id.clone().unwrap_or_default(),
        state: "open".to_owned(),
        key: None,
        at_ms: one.at_ms,
        until_ms: one.at_ms,
        changed_ms: now_ms,
        version: 1,
        body: one.clone(),
    });
    let entries: Vec<Entry<Deadline>> = entries.collect();
    let mut kept = Vec::with_capacity(entries.len());
    for mut entry in entries {
        let added = shared.book.add(Kind::Deadline, &entry, None::<&()>).await?;
        if let Added::Was(was) = added
            && was.account != entry.account
            && !entry.account.is_empty()
        {
            // It may be put to a deal later than it was found. Whoever came between did the same.
            entry.version = was.version;
            let _or_another = shared.book.set(Kind::Deadline, &entry, None::<&()>).await?;
        }
        kept.push(entry.id);
    }
    Ok(kept)
}

fn id_of(entity: &EntityId, wanted: &Arguments, one: &Deadline) -> String {
    let mut digest = Sha256::new();
    let day = one.at_ms.to_string();
    let from = wanted.source_ref.as_deref().unwrap_or(&wanted.text);
    for part in [entity.as_str(), from, &one.raw_text, &day] {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    }
    format!("deadline-{}", &hex(&digest.finalize())[..20])
}

fn candidate(one: Deadline, entity: &EntityId, wanted: &Arguments, kept: &[String]) -> Candidate {
    let id = id_of(entity, wanted, &one);
    Candidate {
        deadline_id: kept.contains(&id).then_some(id),
        start: one.start,
        end: one.end,
        parsed_date: one.date.to_string(),
        at: super::stamp(one.at_ms),
        time: one.time,
        timezone: one.timezone,
        confidence: one.confidence.as_str(),
        source: one.source,
        raw_text: one.raw_text,
        context: one.context,
    }
}
