//! Resources of the desk: what the owner's files say, as far as it is of entities that the reader
//! may see.

use std::collections::BTreeSet;

use legation_core::{EntityId, OpContext};
use legation_gate::Outcome;
use legation_gate::policy::Policy;
use legation_gate::policy::governance::{OperatorProfile, normalise};
use legation_wire::codes;
use legation_wire::message::ErrorObject;
use serde_json::{Map, Value, json};

use super::{Shared, rules};
use crate::{Resource, Template, resource_result};

macro_rules! resource {
    ($name:literal, $description:literal) => {
        Resource {
            uri: concat!("legation://config/", $name),
            name: $name,
            description: $description,
            mime_type: "application/json",
        }
    };
}

pub(super) const RESOURCES: &[Resource] = &[
    resource!(
        "operator_profile",
        "The owner, their time zone and their entities"
    ),
    resource!("hard_bans", "What is never done"),
    resource!("autonomy_ladder", "How far tools go without a person"),
    resource!("brief_config", "What briefs hold"),
    resource!("draft_style", "How drafts sound"),
];

pub(super) const DEALS: &str = "legation://deals/";

pub(super) const TEMPLATES: &[Template] = &[Template {
    uri_template: "legation://deals/{deal_id}",
    prefix: DEALS,
    name: "deal",
    description: "One deal",
    mime_type: "application/json",
}];

/// Reads one of [`RESOURCES`].
pub(super) fn read(shared: &Shared, context: &OpContext, uri: &'static str) -> Outcome {
    let read = shared.rules().map_err(|failure| failure.message);
    let read = read.and_then(|policy| {
        let hidden = hidden(&policy, context)?;
        let value = match uri.strip_prefix("legation://config/") {
            Some("operator_profile") => operator(&policy, &hidden),
            Some("hard_bans") => bans(&policy),
            Some("autonomy_ladder") => ladder(&policy),
            Some("brief_config") => briefs(&policy, &hidden),
            _ => style(&policy, &hidden),
        }?;
        Ok(without(value, &hidden.words))
    });
    match read {
        Ok(value) => resource_result(uri, &value),
        Err(message) => Outcome::Error(ErrorObject::new(codes::INTERNAL_ERROR, &message)),
    }
}

/// What a reader may not see.
struct Hidden {
    entities: BTreeSet<EntityId>,
    /// Everything that names one of them.
    words: Vec<String>,
}

fn hidden(policy: &Policy, context: &OpContext) -> Result<Hidden, String> {
    let profile = profile(policy)?;
    let mut hidden = Hidden {
        entities: BTreeSet::new(),
        words: Vec::new(),
    };
    for (id, entity) in &profile.entities {
        if rules::may_see(policy, &context.caller, id) {
            continue;
        }
        hidden.entities.insert(id.clone());
        let words = [id.as_str(), &entity.name]
            .into_iter()
            .chain(entity.keywords.iter().map(String::as_str))
            .chain(entity.email_domains.iter().map(String::as_str))
            .chain(entity.mailboxes.iter().map(String::as_str))
            .chain(entity.profile_ids.iter().map(String::as_str));
        let words = words.map(normalise).filter(|word| !word.is_empty());
        hidden.words.extend(words);
    }
    Ok(hidden)
}

fn profile(policy: &Policy) -> Result<&OperatorProfile, String> {
    rules::profile(policy).map_err(|failure| failure.message)
}

fn operator(policy: &Policy, hidden: &Hidden) -> Result<Value, String> {
    let profile = profile(policy)?;
    let entities = profile.entities.iter();
    let entities = entities.filter(|(id, _)| !hidden.entities.contains(*id));
    let entities: Map<String, Value> = entities
        .map(|(id, entity)| {
            let never: Vec<&str> = entity
                .never_mix_with
                .iter()
                .filter(|other| !hidden.entities.contains(*other))
                .map(EntityId::as_str)
                .collect();
            let one = json!({
                "name": entity.name,
                "email_domains": entity.email_domains,
                "mailboxes": entity.mailboxes,
                "profile_ids": entity.profile_ids,
                "never_mix_with": never,
                "phi_auto_redact": entity.phi_auto_redact,
            });
            (id.to_string(), one)
        })
        .collect();
    Ok(json!({
        "operator": {
            "name": profile.operator.name,
            "organization": profile.operator.organization,
            "timezone": profile.operator.timezone,
        },
        "entities": entities,
        "default_classification_rule": profile.default_classification_rule,
    }))
}

fn bans(policy: &Policy) -> Result<Value, String> {
    let bans = policy.governance().bans.get();
    let bans = bans.map_err(ToString::to_string)?;
    let bans = bans
        .bans
        .iter()
        .map(|ban| json!({ "id": ban.id, "because": ban.because }));
    Ok(json!({ "bans": bans.collect::<Vec<_>>() }))
}

fn ladder(policy: &Policy) -> Result<Value, String> {
    let ladder = policy.governance().ladder.get();
    let ladder = ladder.map_err(ToString::to_string)?;
    let categories = ladder.action_categories.iter().map(|category| {
        let tools: Vec<&str> = category.tools.iter().map(|tool| tool.as_str()).collect();
        json!({
            "action": category.action,
            "mode": category.mode.as_str(),
            "tools": tools,
            "notes": category.notes,
            "confidence_threshold": category.confidence_threshold,
        })
    });
    Ok(json!({
        "default_mode": ladder.default_mode.as_str(),
        "action_categories": categories.collect::<Vec<_>>(),
    }))
}

fn briefs(policy: &Policy, hidden: &Hidden) -> Result<Value, String> {
    let briefs = policy.governance().brief.get();
    let briefs = briefs.map_err(ToString::to_string)?;
    let one = |brief: &legation_gate::policy::governance::Brief| {
        let parts: Vec<&str> = brief
            .must_include
            .iter()
            .map(|part| part.as_str())
            .collect();
        json!({
            "delivery_time": brief.delivery_time,
            "timezone": brief.timezone,
            "must_include": parts,
            "lines_per_part": brief.lines_per_part,
            "deadline_days": brief.deadline_days,
            "model": brief.model,
        })
    };
    let entities = briefs.entities.iter();
    let entities = entities.filter(|(id, _)| !hidden.entities.contains(*id));
    let entities: Map<String, Value> = entities
        .map(|(id, differs)| {
            let parts: Vec<&str> = differs.leave_out.iter().map(|part| part.as_str()).collect();
            (id.to_string(), json!({ "leave_out": parts }))
        })
        .collect();
    Ok(json!({
        "morning": one(&briefs.morning),
        "evening": one(&briefs.evening),
        "entities": entities,
    }))
}

fn style(policy: &Policy, hidden: &Hidden) -> Result<Value, String> {
    let style = policy.governance().draft_style.get();
    let style = style.map_err(ToString::to_string)?;
    let signatures = style.signatures.iter();
    let signatures = signatures.filter(|(id, _)| !hidden.entities.contains(*id));
    let signatures: Map<String, Value> = signatures
        .map(|(id, text)| (id.to_string(), Value::String(text.clone())))
        .collect();
    Ok(json!({
        "preferred_tone": style.preferred_tone,
        "style_rules": style.style_rules,
        "words_to_avoid": style.words_to_avoid,
        "greeting": style.greeting,
        "signatures": signatures,
        "signature": style.signature,
        "draft_disclaimer": style.draft_disclaimer,
        "max_length": style.max_length,
    }))
}

/// A value without the texts that name something hidden: whole texts go, for a sentence with a
/// hole in it says that there is something.
fn without(value: Value, words: &[String]) -> Value {
    match value {
        Value::String(text) => {
            let plain = legation_desk::text::Plain::of(&text);
            match words.iter().any(|word| plain.holds(word)) {
                true => Value::Null,
                false => Value::String(text),
            }
        }
        Value::Array(items) => {
            let items = items.into_iter().map(|item| without(item, words));
            Value::Array(items.filter(|item| !item.is_null()).collect())
        }
        Value::Object(members) => {
            let members = members.into_iter();
            let members = members.map(|(key, value)| (key, without(value, words)));
            Value::Object(members.collect())
        }
        plain => plain,
    }
}
