//! What comes in: taken up from mailboxes and the inbox, sorted by rules, then by a model where
//! one may, and by whoever is asked.

use std::collections::HashSet;

use legation_core::{EntityId, EntityLabels, OpContext};
use legation_desk::triage::{self, Item, ItemState, Sorted};
use legation_desk::{Letter, Person, SourceId, SourceKind};
use legation_gate::Outcome;
use legation_gate::policy::governance::{Urgency, UrgencyRules};
use legation_inbox::{Inbox, Message};
use legation_wire::json::Object;
use serde::{Deserialize, Serialize};

use super::book::{Entry, Kind, Wanted};
use super::{ALL, Asked, Shared, arguments, deals, rules};
use crate::accounts::{Failure, outcome};

/// The job of a model's request.
const JOB: &str = "desk.triage";
/// Most items that are looked at for one entity.
const ITEMS_MAX: usize = 5000;
/// Most messages of the inbox that are taken up at once.
const MESSAGES_MAX: usize = 200;
/// Most items that a model is asked about in one round: the next has more.
const ASKED_MAX: usize = 20;
/// How far back letters are taken up.
const DAYS_MS: i64 = 7 * 24 * 3600 * 1000;
/// How often a change is tried again that somebody else's came before.
const TRIES: usize = 5;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListArguments {
    entity_context: Option<String>,
    state: Option<String>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassifyArguments {
    item_id: String,
    category: Option<String>,
    urgency: Option<Urgency>,
    deal_id: Option<String>,
    entity: Option<String>,
    state: Option<String>,
    reason: Option<String>,
}

#[derive(Serialize)]
struct Items {
    items: Vec<ItemLine>,
    left_out: usize,
}

/// An item as callers read it.
#[derive(Serialize)]
pub(super) struct ItemLine {
    item_id: String,
    /// Whose it is; `null` where nobody said yet.
    entity: Option<String>,
    state: String,
    source: String,
    from: Person,
    subject: String,
    untrusted_text: String,
    received_at: String,
    changed_at: String,
    category: Option<String>,
    urgency: &'static str,
    confidence: f64,
    sorted_by: String,
    deal_id: Option<String>,
    suggested_deal_id: Option<String>,
    question: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Serialize)]
struct Classified {
    item_id: String,
    entity: Option<String>,
    state: String,
    category: Option<String>,
    urgency: &'static str,
    deal_id: Option<String>,
}

/// How far the inbox was taken up.
#[derive(Serialize, Deserialize)]
struct TakenUp {
    seq: u64,
}

/// `triage_list`.
pub(super) async fn list(shared: &Shared, arguments: &Object) -> Outcome {
    outcome(listed(shared, arguments).await)
}

/// `triage_classify`.
pub(super) async fn classify(shared: &Shared, context: &OpContext, arguments: &Object) -> Outcome {
    outcome(classified(shared, context, arguments).await)
}

async fn listed(shared: &Shared, arguments: &Object) -> Result<Items, Failure> {
    let wanted: ListArguments = arguments::read(arguments)?;
    let state = wanted.state.as_deref().unwrap_or("open");
    let state = ItemState::parse(state).ok_or_else(|| arguments::bad("there is no such state"))?;
    let scope = rules::scope(shared, wanted.entity_context.as_deref())?;
    let mut items = Vec::new();
    for (entity, _) in &scope.entities {
        items.extend(of_entity(shared, entity, state).await?);
    }
    if scope.is_all {
        items.extend(of_entity(shared, &EntityId::new(ALL), state).await?);
    }
    items.sort_by(|one, other| {
        let rank = |entry: &Entry<Item>| (entry.body.sorted.urgency, entry.at_ms);
        rank(other).cmp(&rank(one)).then(one.id.cmp(&other.id))
    });
    let most = wanted.limit.unwrap_or(50).clamp(1, 200);
    let left_out = items.len().saturating_sub(most);
    items.truncate(most);
    Ok(Items {
        items: items.into_iter().map(line).collect(),
        left_out,
    })
}

/// The items of an entity that stand so, the newest last.
pub(super) async fn of_entity(
    shared: &Shared,
    entity: &EntityId,
    state: ItemState,
) -> Result<Vec<Entry<Item>>, Failure> {
    let wanted = Wanted {
        state: Some(state.as_str()),
        ..Wanted::of(entity, ITEMS_MAX)
    };
    Ok(shared.book.list(Kind::Triage, wanted).await?)
}

fn line(entry: Entry<Item>) -> ItemLine {
    let item = entry.body;
    ItemLine {
        entity: named(&entry.entity),
        item_id: entry.id,
        state: entry.state,
        source: item.source.to_string(),
        from: item.from,
        subject: item.subject,
        untrusted_text: item.text,
        received_at: super::stamp(item.received_ms),
        changed_at: super::stamp(entry.changed_ms),
        category: item.sorted.category,
        urgency: item.sorted.urgency.as_str(),
        confidence: f64::from(item.sorted.percent) / 100.0,
        sorted_by: item.sorted.by,
        deal_id: item.deal,
        suggested_deal_id: item.suggested_deal,
        question: item.question,
        reason: item.reason,
    }
}

fn named(entity: &EntityId) -> Option<String> {
    (entity.as_str() != ALL).then(|| entity.to_string())
}

async fn classified(
    shared: &Shared,
    context: &OpContext,
    arguments: &Object,
) -> Result<Classified, Failure> {
    let wanted: ClassifyArguments = arguments::read(arguments)?;
    let rules = shared.rules()?;
    let urgency = rules::good(&rules.governance().urgency)?;
    if let Some(category) = &wanted.category
        && !urgency.categories.contains_key(category)
    {
        return Err(arguments::bad(&format!(
            "there is no category {category:?}; there are {}",
            urgency
                .categories
                .keys()
                .cloned()
                .collect::<Vec<_>>()
                .join(", ")
        )));
    }
    let by = context.caller.principal.client.as_str();
    for _ in 0..TRIES {
        let entry: Entry<Item> = shared.known(Kind::Triage, "item", &wanted.item_id).await?;
        let entry = changed(shared, urgency, &wanted, by, entry)?;
        if shared.book.set(Kind::Triage, &entry, None::<&()>).await? {
            if let Some(deal) = &entry.body.deal {
                link(shared, &entry, deal, by).await?;
            }
            return Ok(Classified {
                entity: named(&entry.entity),
                item_id: entry.id,
                state: entry.state,
                category: entry.body.sorted.category,
                urgency: entry.body.sorted.urgency.as_str(),
                deal_id: entry.body.deal,
            });
        }
    }
    Err(arguments::bad("others change this item all the time"))
}

fn changed(
    shared: &Shared,
    rules: &UrgencyRules,
    wanted: &ClassifyArguments,
    by: &str,
    mut entry: Entry<Item>,
) -> Result<Entry<Item>, Failure> {
    if let Some(name) = &wanted.entity {
        let (entity, _) = rules::entity(shared, name)?;
        if entry.entity != entity && entry.entity.as_str() != ALL {
            // Whose a letter is was said by the account it came through.
            return Err(arguments::bad("the item belongs to another entity"));
        }
        entry.entity = entity;
    }
    let item = &mut entry.body;
    if let Some(deal) = &wanted.deal_id {
        // A deal of another entity is none for this item: which of the two it is, is not said.
        if shared.book.owner(Kind::Deal, deal).as_ref() != Some(&entry.entity) {
            return Err(arguments::bad("there is no such deal for this item"));
        }
        item.deal = Some(deal.clone());
        item.suggested_deal = None;
    }
    if wanted.category.is_some() || wanted.urgency.is_some() {
        item.sorted = Sorted {
            category: wanted.category.clone().or(item.sorted.category.take()),
            urgency: wanted.urgency.unwrap_or(item.sorted.urgency),
            percent: 100,
            by: by.to_owned(),
        };
    }
    if wanted.reason.is_some() {
        item.reason.clone_from(&wanted.reason);
    }
    let settled = match item.sorted.percent {
        100 if item.sorted.category.is_some() => {
            item.question = None;
            match item.deal {
                Some(_) => ItemState::Linked,
                None => ItemState::Classified,
            }
        }
        _ => item.settle(rules),
    };
    let state = match wanted.state.as_deref() {
        None => settled,
        Some(word) => {
            ItemState::parse(word).ok_or_else(|| arguments::bad("there is no such state"))?
        }
    };
    state.as_str().clone_into(&mut entry.state);
    Ok(entry)
}

/// Puts the item on its deal's timeline, once.
async fn link(shared: &Shared, item: &Entry<Item>, deal: &str, by: &str) -> Result<(), Failure> {
    use legation_api::desk::{Act, Link};
    use legation_desk::deal::{Deal, DealError};
    for _ in 0..TRIES {
        let mut entry: Entry<Deal> = shared.known(Kind::Deal, "deal", deal).await?;
        let act = Act::Link {
            link: Link {
                label: item.body.line(),
                target: item.body.source.to_string(),
            },
        };
        let mut event = match entry.body.act(act, by, shared.now_ms()) {
            Ok(event) => event,
            Err(DealError::Already(_) | DealError::Full(_) | DealError::Archived) => return Ok(()),
            Err(error) => return Err(arguments::bad(&error.to_string())),
        };
        event.source = Some(item.body.source.clone());
        if shared.book.set(Kind::Deal, &entry, Some(&event)).await? {
            return Ok(());
        }
    }
    Ok(())
}

// === taking up ===

/// Takes up what came in since, and sorts it; how many items are new or sorted anew.
pub(super) async fn take_up(
    shared: &Shared,
    context: &OpContext,
    inbox: Option<&Inbox>,
) -> Result<usize, Failure> {
    let mut count = 0;
    let policy = shared.rules()?;
    let urgency = rules::good(&policy.governance().urgency)?;
    let profile = rules::profile(&policy)?;
    for entity in profile.entities.keys() {
        count += letters(shared, urgency, entity).await?;
    }
    if let Some(inbox) = inbox {
        count += messages(shared, urgency, inbox).await?;
    }
    if urgency.model {
        let mut left = ASKED_MAX;
        for entity in profile.entities.keys() {
            ask(shared, context, urgency, entity, &mut left).await?;
        }
        count += ASKED_MAX - left;
    }
    Ok(count)
}

async fn letters(
    shared: &Shared,
    rules: &UrgencyRules,
    entity: &EntityId,
) -> Result<usize, Failure> {
    let wanted = Wanted {
        state: Some("unread"),
        from_ms: shared.now_ms() - DAYS_MS,
        ..Wanted::of(entity, ITEMS_MAX)
    };
    let letters: Vec<Entry<Letter>> = shared.book.list(Kind::Letter, wanted).await?;
    if letters.is_empty() {
        return Ok(0);
    }
    let there = known(shared, entity).await?;
    let items = letters
        .iter()
        .map(|letter| Item::of_letter(&letter.body))
        .filter(|item| !there.contains(&item.source.to_string()));
    add(shared, rules, entity, items.collect()).await
}

/// The sources of the items that an entity has.
async fn known(shared: &Shared, entity: &EntityId) -> Result<HashSet<String>, Failure> {
    let wanted = Wanted {
        newest_first: true,
        ..Wanted::of(entity, ITEMS_MAX)
    };
    let items: Vec<Entry<Item>> = shared.book.list(Kind::Triage, wanted).await?;
    let sources = items.into_iter().map(|entry| entry.body.source.to_string());
    Ok(sources.collect())
}

async fn add(
    shared: &Shared,
    rules: &UrgencyRules,
    entity: &EntityId,
    items: Vec<Item>,
) -> Result<usize, Failure> {
    let count = items.len();
    let deals = deals::of_entity(shared, entity).await?;
    let deals: Vec<_> = deals
        .into_iter()
        .map(|entry| (entry.id, entry.body))
        .collect();
    for mut item in items {
        let state = item.sort(rules, entity, &deals);
        let entry = Entry {
            id: super::id_of("item", &[&item.source.to_string()]),
            entity: entity.clone(),
            account: item.source.account().to_owned(),
            state: state.as_str().to_owned(),
            key: Some(super::id_of("", &[&item.source.to_string()])),
            at_ms: item.received_ms,
            until_ms: item.received_ms,
            changed_ms: 0,
            version: 1,
            body: item,
        };
        // Another hub may have taken it up meanwhile: then it is there.
        let _there = shared.book.add(Kind::Triage, &entry, None::<&()>).await?;
    }
    Ok(count)
}

/// Messages of the inbox, but letters, which are taken up from the mailbox.
async fn messages(shared: &Shared, rules: &UrgencyRules, inbox: &Inbox) -> Result<usize, Failure> {
    const MARK: &str = "inbox";
    let all = EntityId::new(ALL);
    let mark = shared.book.get::<TakenUp>(Kind::Mark, MARK).await?;
    let from = mark.as_ref().map_or(0, |mark| mark.body.seq);
    let messages = inbox.after(legation_inbox::Seq(from), MESSAGES_MAX);
    let messages =
        messages.map_err(|error| arguments::bad(&legation_core::error::chain(&error)))?;
    let Some(last) = messages.last().map(|message| message.seq.0) else {
        return Ok(0);
    };
    let mut count = 0;
    let policy = shared.rules()?;
    let profile = rules::profile(&policy)?;
    let sole = match profile.entities.len() {
        1 => profile.entities.keys().next(),
        _ => None,
    };
    for message in messages {
        if message.kind != legation_inbox::Kind::New || message.channel.as_str() == "mail" {
            continue;
        }
        let named = message
            .entity
            .as_ref()
            .filter(|entity| profile.entities.contains_key(*entity));
        // Whose nobody said is nobody's, and treated as everybody's.
        let entity = named.or(sole).unwrap_or(&all).clone();
        count += add(shared, rules, &entity, vec![of_message(&message)]).await?;
    }
    let mark = Entry {
        id: MARK.to_owned(),
        entity: all,
        account: String::new(),
        state: String::new(),
        key: None,
        at_ms: 0,
        until_ms: 0,
        changed_ms: 0,
        version: 1,
        body: TakenUp { seq: last },
    };
    shared.book.put(Kind::Mark, &[mark]).await?;
    Ok(count)
}

fn of_message(message: &Message) -> Item {
    let letter = Letter {
        from: Person {
            name: message.from.clone(),
            address: String::new(),
        },
        subject: legation_inbox::summary(&message.text, 120),
        preview: message.text.clone(),
        received_ms: message.received_at.0,
        ..Letter::default()
    };
    Item {
        source: SourceId::own(SourceKind::Inbox, &message.seq.to_string()),
        ..Item::of_letter(&letter)
    }
}

/// Asks a model about what no rule knew, where one may have it.
async fn ask(
    shared: &Shared,
    context: &OpContext,
    rules: &UrgencyRules,
    entity: &EntityId,
    left: &mut usize,
) -> Result<(), Failure> {
    let open = of_entity(shared, entity, ItemState::Open).await?;
    for mut entry in open {
        if !entry.body.sorted.by.is_empty() {
            continue;
        }
        if *left == 0 {
            return Ok(());
        }
        *left -= 1;
        let (system, schema) = triage::question_of(rules);
        let asked = Asked {
            job: JOB,
            labels: EntityLabels::of(entity.clone()),
            system,
            data: entry.body.words(),
            answer: ("sorted", schema),
        };
        let Ok(answer) = shared.view.model(context, asked).await else {
            // The next would have none either.
            return Ok(());
        };
        // Asked once: what it does not know now it will not know later.
        entry.body.sorted.by = "model".to_owned();
        if let Some(sorted) = triage::answered(rules, &answer) {
            entry.body.sorted = sorted;
        }
        let state = entry.body.settle(rules);
        state.as_str().clone_into(&mut entry.state);
        let _other_was_faster = shared.book.set(Kind::Triage, &entry, None::<&()>).await?;
    }
    Ok(())
}
