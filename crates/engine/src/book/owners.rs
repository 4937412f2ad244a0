//! Which tasks are this hub's to work on, where several share a database and the keys.
//!
//! A hub works under a lease of its own, which it keeps for as long as it lives, and every open task
//! says under whose. Whoever finds that a lease has run out takes it, and with it the right to adopt
//! its tasks; what the former holder still wants to write is refused by its own fence. A lease for
//! each task was rejected: a thousand tasks would have to be kept a thousand times.

use std::sync::PoisonError;
use std::time::Duration;

use legation_core::id::random_hex;
use legation_store::{Fence, Lease, Store, StoreError};

use super::Book;
use crate::BookError;

/// The right to the tasks that nobody owns: those of a hub from before there were owners.
const NOBODYS: &str = "engine/nobody";
/// How the names of all these leases begin.
const OFFICES: &str = "engine/";
/// So long a lease that has run out is left to a hub that was only asleep.
const OVER: Duration = Duration::from_secs(60 * 60);
/// Leases that are cleared away at once.
const CLEAR_MAX: usize = 200;

/// As whom a hub works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Office {
    /// The name of its lease, and of the owner of its tasks.
    name: String,
    token: i64,
}

// === impl Book ===

impl Book {
    /// Under which name this hub's tasks are stored, where there are several hubs.
    pub(super) fn owner(&self) -> Option<String> {
        let office = self.office.read().unwrap_or_else(PoisonError::into_inner);
        office.as_ref().map(|office| office.name.clone())
    }

    /// Whether there may be other hubs beside this one.
    pub(crate) fn is_shared(&self) -> bool {
        self.store.is_remote()
    }

    /// Begins to work under a lease, anew if there was one.
    pub(crate) async fn take_office(&self, time: Duration) -> Result<(), BookError> {
        if !self.is_shared() {
            return Ok(());
        }
        let name = random_hex().map_err(|_| BookError::NoName)?;
        let name = format!("{OFFICES}{name}");
        let lease = self.lease(name.clone(), name.clone(), time).await?;
        // The name is random, so nobody has it.
        let lease = lease.ok_or(BookError::NoName)?;
        let token = lease.token;
        self.store.fence_set(Some(Fence {
            lease: name.clone(),
            token,
        }));
        *self.office.write().unwrap_or_else(PoisonError::into_inner) = Some(Office { name, token });
        Ok(())
    }

    /// Keeps the lease; `false` when another hub has it, and the tasks.
    pub(crate) async fn keep_office(&self, time: Duration) -> Result<bool, BookError> {
        let office = {
            let office = self.office.read().unwrap_or_else(PoisonError::into_inner);
            office.clone()
        };
        let Some(Office { name, token }) = office else {
            return Ok(false);
        };
        let kept = self
            .with_store(true, move |store| store.lease_renew(&name, token, time))
            .await?;
        Ok(kept.is_some())
    }

    /// Gives the lease back, so that others need not wait for its end.
    pub(crate) async fn leave_office(&self) {
        let office = {
            let mut office = self.office.write().unwrap_or_else(PoisonError::into_inner);
            office.take()
        };
        let Some(Office { name, token }) = office else {
            return;
        };
        let left = self
            .with_store(true, move |store| store.lease_release(&name, token))
            .await;
        if let Err(error) = left {
            let error = legation_core::error::chain(&error);
            tracing::warn!(
                error,
                "others take over its tasks only when its lease is over"
            );
        }
    }

    /// Makes the tasks of hubs that are gone this one's; how many.
    pub(crate) async fn adopt(&self, time: Duration) -> Result<u64, BookError> {
        let Some(own) = self.owner() else {
            return Ok(0);
        };
        let hub = self.hub.clone();
        let owners = self
            .with_store(false, move |store| store.delegated_owners(&hub))
            .await?;
        let mut adopted = 0;
        for owner in owners.into_iter().filter(|owner| *owner != own) {
            let name = match owner.as_str() {
                "" => NOBODYS.to_owned(),
                name => name.to_owned(),
            };
            // Whose lease still holds is at work.
            let Some(lease) = self.lease(name, own.clone(), time).await? else {
                continue;
            };
            let (hub, own) = (self.hub.clone(), own.clone());
            adopted += self
                .with_store(true, move |store| {
                    let adopted = store.delegated_adopt(&hub, &owner, &own)?;
                    put_away(store, &lease)?;
                    Ok(adopted)
                })
                .await?;
        }
        Ok(adopted)
    }

    /// Removes what is left of hubs that are gone and had nothing to do: each that starts has a
    /// lease by a name of its own, and none would ever be taken again.
    pub(crate) async fn clear_offices(&self, time: Duration) -> Result<(), BookError> {
        let Some(own) = self.owner() else {
            return Ok(());
        };
        let over = self
            .with_store(false, move |store| {
                store.lease_expired(OFFICES, OVER, CLEAR_MAX)
            })
            .await?;
        for name in over {
            // Taken first: whoever had it can store nothing from then on, and so adds no task.
            let Some(lease) = self.lease(name, own.clone(), time).await? else {
                continue;
            };
            self.with_store(true, move |store| put_away(store, &lease))
                .await?;
        }
        Ok(())
    }

    /// Forgets the open tasks, which are another hub's by now.
    pub(crate) fn forget_open(&self) {
        self.tasks_open().clear();
    }

    async fn lease(
        &self,
        name: String,
        holder: String,
        time: Duration,
    ) -> Result<Option<Lease>, BookError> {
        self.with_store(true, move |store| store.lease_take(&name, &holder, time))
            .await
    }
}

/// Removes a lease that nobody needs; one under which tasks are open is given back, for those who
/// have their keys.
fn put_away(store: &Store, lease: &Lease) -> Result<(), StoreError> {
    if !store.delegated_owner_remove(lease)? {
        store.lease_release(&lease.name, lease.token)?;
    }
    Ok(())
}
