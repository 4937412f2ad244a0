//! Under whose identity the records of each entity are made.
//!
//! It is told to the ledger, and not asked for at every record: what a record
//! says of it is written out once, when somebody signs in, and copied after
//! that.

use legation_core::{Attribution, EntityId, Identity, QuickMap};

use crate::line::Line;
use crate::members::ID_MAX;

/// Who acts for which entity. The default names nobody.
#[derive(Debug)]
pub struct Identities {
    /// Members of a record, by the entity of its chain.
    by_entity: QuickMap<EntityId, Box<[u8]>>,
    /// Those of every other chain.
    others: Box<[u8]>,
}

// === impl Identities ===

impl Identities {
    /// The identities of accounts, each with the entity it belongs to. An
    /// entity with several is acted for by the first that has somebody signed
    /// in. One without any, and what concerns no entity alone, is acted for by
    /// the only account there is.
    #[must_use]
    pub fn new(accounts: &[(EntityId, Identity)]) -> Self {
        let others = match accounts {
            [(_, only)] => members(only),
            _ => members(&Identity::default()),
        };
        let mut by_entity: QuickMap<EntityId, Box<[u8]>> = QuickMap::default();
        let (active, idle): (Vec<_>, Vec<_>) = accounts
            .iter()
            .partition(|(_, identity)| identity.attribution != Attribution::None);
        for (entity, identity) in active.into_iter().chain(idle) {
            let entry = by_entity.entry(entity.clone());
            entry.or_insert_with(|| members(identity));
        }
        Self { by_entity, others }
    }

    /// The members that a record in this chain gets.
    pub(crate) fn of(&self, entity: &EntityId) -> &[u8] {
        if self.by_entity.is_empty() {
            return &self.others;
        }
        self.by_entity.get(entity).unwrap_or(&self.others)
    }
}

impl Default for Identities {
    fn default() -> Self {
        Self::new(&[])
    }
}

fn members(identity: &Identity) -> Box<[u8]> {
    let mut line = Line::default();
    line.word("attribution", identity.attribution.as_str());
    if let Some(agent) = &identity.agent_id {
        line.text("agent_id", agent, ID_MAX);
    }
    if let Some(sponsor) = &identity.sponsor {
        line.text("sponsor", sponsor, ID_MAX);
    }
    line.into_members().into_boxed_slice()
}
