//! Decisions as data: actor × resource × action, files that are refused, and
//! the pattern language against a naive reference.

mod files;
mod globs;
mod matrix;

use legation_core::context::{Principal, Via};
use legation_core::id::{ClientId, ServerName};

use crate::{Origin, PinState, Target, Verb};

fn principal(client: &str) -> Principal {
    Principal {
        client: ClientId::new(client),
        via: Via::Http,
    }
}

fn target(server: &str, verb: Verb, item: &str) -> Target {
    Target {
        server: ServerName::parse(server).expect("a valid server name"),
        verb,
        item: item.into(),
        definition: None,
        read_only_hint: false,
        trusted: true,
        origin: Origin::User,
        entity: None,
        pin: PinState::Approved,
        native: None,
        fingerprint: None,
    }
}
