//! `operator_profile.json`.

use std::collections::BTreeMap;

use legation_core::EntityId;

use super::{Around, Findings};
use crate::governance::EntitySet;
use crate::governance::name::{look, normalise};
use crate::governance::profile::{Entity, OperatorProfile};

const ADDRESS: &str = "Write an address, or `@` and a domain.";

pub(super) fn check(profile: &OperatorProfile, around: &Around<'_>, found: &mut Findings<'_>) {
    if profile.entities.is_empty() {
        found.refuse(
            &["entities"],
            "there is no entity, so nothing can belong to one",
            "Add at least one entity.",
        );
    }
    // Those below this point name entities of this very file.
    let around = Around {
        profile: Some(profile),
        sources: around.sources,
        tools: Vec::new(),
        servers: std::collections::BTreeSet::new(),
    };
    names(profile, found);
    for (id, entity) in &profile.entities {
        separation(profile, id, entity, &around, found);
        addresses(id, entity, found);
        redaction(id, entity, &around, found);
    }
    overlaps(profile, found);
    clearances(profile, &around, found);
    is_seen(profile, found);
}

/// No two names of entities may be equal, or look it.
fn names(profile: &OperatorProfile, found: &mut Findings<'_>) {
    let mut seen: BTreeMap<String, (&str, &EntityId)> = BTreeMap::new();
    for (name, id) in profile.names() {
        if normalise(name) == crate::governance::name::ALL {
            found.refuse(
                &["entities", id.as_str(), "profile_ids"],
                "`all` means every entity and cannot be an account",
                "Give the account another name.",
            );
        }
        let Some((other, other_id)) = seen.insert(look(name), (name, id)) else {
            continue;
        };
        // An entity may well have an account that is called like itself.
        if other_id != id {
            found.refuse(
                &["entities", id.as_str()],
                format!("`{name}` of `{id}` cannot be told apart from `{other}` of `{other_id}`"),
                "Give one of them a name that nobody can confuse with the other.",
            );
        }
    }
}

fn separation(
    profile: &OperatorProfile,
    id: &EntityId,
    entity: &Entity,
    around: &Around<'_>,
    found: &mut Findings<'_>,
) {
    let place = ["entities", id.as_str(), "never_mix_with"];
    around.entities(&entity.never_mix_with, &place, found);
    for other in &entity.never_mix_with {
        if other == id {
            found.refuse(
                &place,
                "an entity cannot be kept apart from itself",
                "Take it off its own list.",
            );
        } else if let Some(theirs) = profile.entities.get(other)
            && !theirs.never_mix_with.contains(id)
        {
            found.warn(
                &place,
                format!("`{id}` never mixes with `{other}`, and `{other}` does not say so"),
                "It holds both ways; say so on both sides, so that readers know.",
            );
        }
    }
}

fn addresses(id: &EntityId, entity: &Entity, found: &mut Findings<'_>) {
    for (index, domain) in entity.email_domains.iter().enumerate() {
        if !is_domain(domain) {
            found.refuse(
                &["entities", id.as_str(), "email_domains", &index.to_string()],
                format!("{domain:?} is not a mail domain"),
                "Write the domain alone, such as example.com.",
            );
        }
    }
    for (index, mailbox) in entity.mailboxes.iter().enumerate() {
        if !is_address(mailbox) {
            found.refuse(
                &["entities", id.as_str(), "mailboxes", &index.to_string()],
                format!("{mailbox:?} is not a mail address"),
                "Write it as person@example.com.",
            );
        }
    }
    for (field, texts) in [
        ("keywords", &entity.keywords),
        ("redaction_fields", &entity.redaction_fields),
        ("safe_words", &entity.safe_words),
        ("profile_ids", &entity.profile_ids),
    ] {
        for (index, text) in texts.iter().enumerate() {
            if text.trim().is_empty() {
                found.refuse(
                    &["entities", id.as_str(), field, &index.to_string()],
                    "an empty text stands for everything and for nothing",
                    "Remove it.",
                );
            }
        }
    }
}

fn redaction(id: &EntityId, entity: &Entity, around: &Around<'_>, found: &mut Findings<'_>) {
    for (index, name) in entity.roster_files.iter().enumerate() {
        let index = index.to_string();
        let place = ["entities", id.as_str(), "roster_files", index.as_str()];
        if !is_plain_path(name) {
            found.refuse(
                &place,
                format!("{name:?} is not a file below the governance folder"),
                "Put the file into governance/rosters/ and write rosters/NAME.",
            );
            continue;
        }
        // One that is there and broken is reported under its own name.
        if !around.sources.rosters.contains_key(name.as_str()) {
            found.error(
                &place,
                format!(
                    "the roster {name} is missing, so nothing of `{id}` can be redacted or sent"
                ),
                "Put the file back, or take it off this list.",
            );
        }
    }
    if entity.phi_auto_redact
        && entity.roster_files.is_empty()
        && entity.redaction_fields.is_empty()
    {
        found.warn(
            &["entities", id.as_str(), "phi_auto_redact"],
            format!(
                "`{id}` is redacted by patterns and name lists alone: it has no roster and no \
                 redaction_fields"
            ),
            "Add a roster of the people whose data it is; known names are found for certain.",
        );
    }
}

/// What two entities both call their own.
fn overlaps(profile: &OperatorProfile, found: &mut Findings<'_>) {
    for (kind, of) in [
        (
            "email_domains",
            (|one: &Entity| &one.email_domains) as fn(&Entity) -> &Vec<String>,
        ),
        ("mailboxes", |one| &one.mailboxes),
        ("keywords", |one| &one.keywords),
    ] {
        let mut owners: BTreeMap<String, &EntityId> = BTreeMap::new();
        for (id, entity) in &profile.entities {
            for (index, text) in of(entity).iter().enumerate() {
                let Some(other) = owners.insert(normalise(text), id) else {
                    continue;
                };
                if other == id {
                    continue;
                }
                let index = index.to_string();
                let place = ["entities", id.as_str(), kind, index.as_str()];
                let message = format!("`{text}` is of `{other}` too");
                let hint = "What holds it gets both labels; give it to one of them.";
                if kind == "mailboxes" || profile.never_mix(id, other) {
                    found.error(&place, message, hint);
                } else {
                    found.warn(&place, message, hint);
                }
            }
        }
    }
}

fn clearances(profile: &OperatorProfile, around: &Around<'_>, found: &mut Findings<'_>) {
    let mut written: BTreeMap<String, &str> = BTreeMap::new();
    for (recipient, entities) in &profile.recipient_clearances {
        let place = ["recipient_clearances", recipient.as_str()];
        if !is_recipient(recipient) {
            found.refuse(&place, format!("{recipient:?} is no recipient"), ADDRESS);
        }
        if let Some(other) = written.insert(normalise(recipient), recipient) {
            found.refuse(
                &place,
                format!("`{recipient}` and `{other}` are one recipient"),
                "Keep one of them.",
            );
        }
        around.entities(entities, &place, found);
    }
    for (list, recipients) in &profile.privilege_approved_lists {
        for (index, recipient) in recipients.iter().enumerate() {
            if !is_recipient(recipient) {
                found.refuse(
                    &["privilege_approved_lists", list, &index.to_string()],
                    format!("{recipient:?} is no recipient"),
                    ADDRESS,
                );
            }
        }
    }
    for (client, clearance) in &profile.client_clearances {
        let place = ["client_clearances", client.as_str(), "entities"];
        around.entities(clearance.entities.named(), &place, found);
    }
    let named = profile.default_client_clearance.entities.named();
    around.entities(named, &["default_client_clearance", "entities"], found);
    let mut logins: BTreeMap<String, &str> = BTreeMap::new();
    for (login, entities) in &profile.github_logins {
        let place = ["github_logins", login.as_str()];
        around.entities(entities.named(), &place, found);
        if let Some(other) = logins.insert(login.to_ascii_lowercase(), login) {
            found.refuse(
                &place,
                format!("`{login}` and `{other}` are one login"),
                "Keep one of them.",
            );
        }
    }
}

/// An entity that no client may see is dead, which is rarely meant.
fn is_seen(profile: &OperatorProfile, found: &mut Findings<'_>) {
    let clearances = || {
        let named = profile.client_clearances.values();
        named.chain([&profile.default_client_clearance])
    };
    for id in profile.entities.keys() {
        if !clearances().any(|clearance| clearance.entities.contains(id)) {
            found.warn(
                &["entities", id.as_str()],
                format!("no client is cleared for `{id}`"),
                "Name it in client_clearances or in default_client_clearance.",
            );
        }
    }
    let default = &profile.default_client_clearance;
    let has_phi = profile
        .entities
        .values()
        .any(|entity| entity.phi_auto_redact);
    if default.entities == EntitySet::All && default.phi && has_phi {
        found.warn(
            &["default_client_clearance"],
            "every client that is not named may see everything, health information included",
            "Name the clients that may, and clear no others.",
        );
    }
}

fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label
                .chars()
                .all(|letter| letter.is_alphanumeric() || letter == '-')
    };
    text.contains('.') && text.split('.').all(is_label)
}

fn is_address(text: &str) -> bool {
    text.rsplit_once('@').is_some_and(|(local, domain)| {
        !local.is_empty() && !local.contains(char::is_whitespace) && is_domain(domain)
    })
}

fn is_recipient(text: &str) -> bool {
    text.strip_prefix('@')
        .map_or_else(|| is_address(text), is_domain)
}

fn is_plain_path(text: &str) -> bool {
    let is_step = |step: &str| !matches!(step, "" | "." | "..") && !step.contains('\\');
    text.starts_with("rosters/") && text.split('/').count() == 2 && text.split('/').all(is_step)
}
