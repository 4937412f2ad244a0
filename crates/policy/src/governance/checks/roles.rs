//! `role_cards.json`.

use super::{Around, Findings};
use crate::governance::roles::RoleCards;

pub(super) fn check(cards: &RoleCards, around: &Around<'_>, found: &mut Findings<'_>) {
    for (client, role) in &cards.clients {
        if !cards.roles.contains_key(role) {
            found.refuse(
                &["clients", client.as_str()],
                format!("there is no role `{role}`"),
                "Correct the name, or write a card for the role.",
            );
        }
    }
    for (name, card) in &cards.roles {
        if card.operations.is_empty() {
            found.warn(
                &["roles", name, "operations"],
                format!("the role `{name}` may do nothing"),
                "List its tools as server/tool.",
            );
        }
        if !cards.clients.values().any(|role| role == name) {
            found.warn(
                &["roles", name],
                format!("no client has the role `{name}`"),
                "Give it to a client, or remove it.",
            );
        }
        around.tools(&card.operations, &["roles", name, "operations"], found);
        if let Some(entities) = &card.entities {
            around.entities(entities.named(), &["roles", name, "entities"], found);
        }
    }
}
