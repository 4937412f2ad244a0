//! Second stage: for whom a call is made, and how sure its caller is.
//!
//! An agent that acts for another says so in the request's `_meta`, and both are
//! judged. It stands before the resolution, because what it reads is no matter
//! of the server's and is taken out. A client cannot gain by what it says here:
//! the lesser of two answers counts, and a confidence only lets a call through
//! that its own rung would have let through.

use legation_core::{Caller, ClientId, Principal};
use legation_wire::json::{Object, Raw};
use legation_wire::meta::META;

/// The client that a call is made for.
pub const ON_BEHALF_OF: &str = "io.legation/onBehalfOf";
/// How sure the caller is, from 0 to 1.
pub const CONFIDENCE: &str = "io.legation/confidence";
/// Longest name of a client.
const NAME_MAX: usize = 128;

/// What a caller says of itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Delegation {
    pub(crate) on_behalf_of: Option<Principal>,
    pub(crate) confidence: Option<f64>,
}

/// What it says cannot be understood, so nobody can be judged by it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`_meta` has {member:?}, and its value is none that it may have; nothing was called")]
pub struct NotDelegated {
    /// Which member.
    pub member: &'static str,
}

// === impl Delegation ===

impl Delegation {
    /// Nobody's, for what carries none.
    pub(crate) const NONE: Self = Self {
        on_behalf_of: None,
        confidence: None,
    };

    /// Reads and takes out what a request's `_meta` says.
    pub(crate) fn take(params: &mut Object, caller: &Caller) -> Result<Self, NotDelegated> {
        let Some(meta) = params.get(META) else {
            return Ok(Self::NONE);
        };
        if !meta.as_text().contains("io.legation") && !meta.as_text().contains('\\') {
            return Ok(Self::NONE);
        }
        let Some(mut meta) = meta.to_object() else {
            return Ok(Self::NONE);
        };
        let (by, sure) = (meta.remove(ON_BEHALF_OF), meta.remove(CONFIDENCE));
        if by.is_none() && sure.is_none() {
            return Ok(Self::NONE);
        }
        if meta.is_empty() {
            drop(params.remove(META));
        } else {
            params.set(META, meta.to_raw());
        }
        let on_behalf_of = by.map(|by| name(&by)).transpose()?;
        Ok(Self {
            on_behalf_of: on_behalf_of.map(|client| Principal {
                client,
                via: caller.principal.via,
            }),
            confidence: sure.map(|sure| share(&sure)).transpose()?,
        })
    }

    /// As far as it holds for what a server asks on the way of the call: how sure the caller was
    /// of the call says nothing of that.
    pub(crate) fn wishes(&self) -> Self {
        Self {
            on_behalf_of: self.on_behalf_of.clone(),
            confidence: None,
        }
    }

    /// The client that the call is made for.
    pub(crate) fn delegator(&self) -> Option<&ClientId> {
        self.on_behalf_of.as_ref().map(|by| &by.client)
    }
}

fn name(raw: &Raw) -> Result<ClientId, NotDelegated> {
    let name = raw.to_str().filter(|name| {
        !name.is_empty() && name.len() <= NAME_MAX && !name.chars().any(char::is_control)
    });
    name.map(|name| ClientId::new(&*name)).ok_or(NotDelegated {
        member: ON_BEHALF_OF,
    })
}

fn share(raw: &Raw) -> Result<f64, NotDelegated> {
    let share = raw.deserialize::<f64>().ok();
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or(NotDelegated { member: CONFIDENCE })
}

#[cfg(test)]
mod tests;
