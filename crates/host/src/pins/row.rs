//! A pin as the store keeps it.

use legation_filter::inspect::Finding;
use legation_gate::policy::PinState;
use legation_store::PinRow;
use legation_wire::json::{Object, Raw};

use super::{Pin, Pins, STORED, Seen};

impl Pins {
    /// A row for the store. What is agreed to stays in it until something else
    /// is: a difference can be shown only while both are known.
    pub(super) fn row(
        &self,
        owner: &str,
        seen: &Seen<'_>,
        pin: Pin,
        (old, findings): (bool, &[Finding]),
    ) -> PinRow {
        let now = self.clock.wall().0;
        let (kind, item) = &seen.thing;
        let stored = old
            .then(|| self.store.pin_get(owner, kind, item).ok().flatten())
            .flatten();
        let mut row = stored.unwrap_or_else(|| PinRow {
            server: owner.to_owned(),
            kind: (*kind).to_owned(),
            item: item.to_string(),
            hash: pin.hash,
            definition: seen.text.as_bytes().to_vec(),
            state: legation_store::PinState::New,
            findings: Vec::new(),
            first_seen_ms: now,
            changed_ms: None,
            decided_ms: None,
            decided_by: None,
        });
        if pin.hash == seen.hash {
            row.hash = pin.hash;
            row.definition = seen.text.as_bytes().to_vec();
        }
        if pin.other.is_some() {
            row.changed_ms = Some(now);
        }
        row.findings = note(pin.other.map(|_| seen.text), findings);
        row.state = stored_state(pin.state);
        row
    }
}

/// What stands beside a pin in the store: what came instead of it, and what
/// speaks against what the server says now.
pub(super) fn note(other: Option<&str>, findings: &[Finding]) -> Vec<u8> {
    let mut note = Object::new();
    if let Some(text) = other {
        note.set("other", Raw::str(text));
    }
    if !findings.is_empty() {
        let lines: Vec<Raw> = findings
            .iter()
            .map(|finding| Raw::str(&finding.to_string()))
            .collect();
        note.set("findings", Raw::array(&lines));
    }
    note.to_raw().as_text().as_bytes().to_vec()
}

pub(super) fn other(row: &PinRow) -> Option<String> {
    let note = Raw::parse(row.findings.clone().into(), &STORED).ok()?;
    Some(note.get("other")?.to_str()?.into_owned())
}

pub(super) fn state_of(state: legation_store::PinState) -> PinState {
    match state {
        legation_store::PinState::New => PinState::New,
        legation_store::PinState::Approved => PinState::Approved,
        legation_store::PinState::Changed => PinState::Changed,
        legation_store::PinState::Quarantined => PinState::Quarantined,
    }
}

pub(super) fn stored_state(state: PinState) -> legation_store::PinState {
    match state {
        PinState::New => legation_store::PinState::New,
        PinState::Approved => legation_store::PinState::Approved,
        PinState::Changed => legation_store::PinState::Changed,
        PinState::Quarantined => legation_store::PinState::Quarantined,
    }
}
