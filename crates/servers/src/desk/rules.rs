//! What the desk reads of the rules: whose data a call asks for, and the files that govern the
//! desk, which deny what they govern when they are broken.

use legation_core::{Caller, EntityId, EntityLabels};
use legation_entra::Class;
use legation_gate::policy::governance::{Loaded, Meant, OperatorProfile};
use legation_gate::policy::{Clearance, Policy};

use super::{ALL, Shared, arguments};
use crate::accounts::Failure;

/// An entity and what people call it.
pub(super) type Called = (EntityId, String);

/// What a call asks about.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    /// The entities, each with a section of its own.
    pub(super) entities: Vec<Called>,
    /// Whether it is about all, and so about what is nobody's.
    pub(super) is_all: bool,
}

impl Scope {
    /// Whose data a model's request of this call holds: of all, where it is about all.
    pub(super) fn labels(&self) -> EntityLabels {
        self.entities.iter().map(|(id, _)| id.clone()).collect()
    }
}

/// What `entity_context` asks about.
pub(super) fn scope(shared: &Shared, named: Option<&str>) -> Result<Scope, Failure> {
    let rules = shared.rules()?;
    let profile = profile(&rules)?;
    let called = |id: &EntityId| {
        let name = profile.entities.get(id).map(|entity| entity.name.clone());
        (id.clone(), name.unwrap_or_else(|| id.to_string()))
    };
    match profile.meant(named.unwrap_or(ALL)) {
        Meant::Entity(id) => Ok(Scope {
            entities: vec![called(&id)],
            is_all: false,
        }),
        Meant::All => Ok(Scope {
            entities: profile.entities.keys().map(called).collect(),
            is_all: true,
        }),
        // The rules refuse these before anybody gets here.
        Meant::LooksLike(_) | Meant::Unknown => {
            Err(arguments::bad("`entity_context` names no entity"))
        }
    }
}

/// The entity that an argument names.
pub(super) fn entity(shared: &Shared, text: &str) -> Result<Called, Failure> {
    let rules = shared.rules()?;
    let profile = profile(&rules)?;
    match profile.meant(text) {
        Meant::Entity(id) => {
            let name = profile.entities.get(&id).map(|entity| entity.name.clone());
            Ok((id.clone(), name.unwrap_or_else(|| id.to_string())))
        }
        _ => Err(arguments::bad("`entity` names no entity")),
    }
}

/// What people call an entity.
pub(super) fn name_of(rules: &Policy, entity: &EntityId) -> String {
    let profile = rules.governance().profile.good();
    let known = profile.and_then(|profile| profile.entities.get(entity));
    known.map_or_else(|| entity.to_string(), |known| known.name.clone())
}

/// Whether a caller may see an entity's data at all.
pub(super) fn may_see(rules: &Policy, caller: &Caller, entity: &EntityId) -> bool {
    let labels = EntityLabels::of(entity.clone());
    let clearance = rules.clearance(&caller.principal.client, &labels);
    clearance != Clearance::Refused
}

/// The profile, or why there is none.
pub(super) fn profile(rules: &Policy) -> Result<&OperatorProfile, Failure> {
    good(&rules.governance().profile)
}

/// A file that governs the desk, or that it does not.
pub(super) fn good<T>(file: &Loaded<T>) -> Result<&T, Failure> {
    file.get().map_err(|broken| {
        Failure::said(
            Class::Local,
            format!("{broken}; nothing was done"),
            "the owner sees what is wrong with `legation governance check`",
        )
    })
}
