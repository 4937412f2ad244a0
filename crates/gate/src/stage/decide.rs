//! Fifth stage: the rules.
//!
//! It stands behind the resolution, so that no alias of a tool escapes a rule,
//! and behind the restoring of tokens, so that rules see the real values; and
//! before the record, so that the record can name the rule.

use legation_core::{OpContext, Principal};
use legation_policy::{Decision, Inquiry, PinState, Policy, Question, Target, Verb};

use crate::{Entry, Listing};

/// Asks the rules; a permission is the only key to a server.
pub(crate) fn decide(rules: &Policy, inquiry: &Inquiry<'_>, target: Target) -> Decision {
    rules.decide(inquiry, target)
}

/// The entries of a list that the caller may ever use, or `None` when that is
/// all of them.
pub(crate) fn visible(
    rules: &Policy,
    context: &OpContext,
    verb: Verb,
    listing: &Listing,
) -> Option<Vec<Entry>> {
    let may = |entry: &Entry| may_ever(rules, &context.caller.principal, verb, entry);
    let refused = listing.entries.iter().position(|entry| !may(entry))?;
    let mut entries = listing.entries[..refused].to_vec();
    entries.extend(
        listing.entries[refused + 1..]
            .iter()
            .filter(|entry| may(entry))
            .cloned(),
    );
    Some(entries)
}

/// Whether somebody may ever use an entry of a list.
pub(crate) fn may_ever(rules: &Policy, principal: &Principal, verb: Verb, entry: &Entry) -> bool {
    rules.may_ever(
        principal,
        &Question {
            server: &entry.server,
            verb,
            item: &entry.item,
            read_only_hint: entry.read_only_hint,
            trusted: entry.trusted,
            origin: &entry.origin,
            entity: entry.entity.as_ref(),
            pin: PinState::Approved,
            native: entry.native,
            fingerprint: entry.fingerprint,
        },
    )
}
