//! Which of several hubs works on which tasks.
//!
//! A hub that works under a lease sets it as its fence: whatever it writes of tasks and steps from
//! then on is refused in the same transaction once somebody else has taken that lease. So a hub that
//! slept past its time stores nothing over its successor, and begins nothing that it would have to
//! store first.

use std::sync::PoisonError;

use crate::sql::{Session, collect, first};
use crate::{DatabaseError, Lease, Store, StoreError};

/// A lease that writes depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// Its name.
    pub lease: String,
    /// Its token, as it was when it was taken.
    pub token: i64,
}

/// Shared with others who hold it, and not with who takes it. Only a server has several hubs.
const HELD: &str = "SELECT token FROM leases WHERE name = ?1 AND token = ?2 FOR SHARE";
const OWNERS: &str = "SELECT DISTINCT COALESCE(owner, '') FROM delegated
    WHERE hub = ?1 AND state IN ('queued', 'in_progress', 'preempted', 'input_required')
    ORDER BY 1";
const ADOPT: &str = "UPDATE delegated SET owner = ?3
    WHERE hub = ?1 AND COALESCE(owner, '') = ?2
        AND state IN ('queued', 'in_progress', 'preempted', 'input_required')";

const FORGET: &str = "DELETE FROM leases
    WHERE name = ?1 AND token = ?2 AND NOT EXISTS (
        SELECT 1 FROM delegated WHERE owner = ?1
            AND state IN ('queued', 'in_progress', 'preempted', 'input_required'))";

impl Store {
    /// Has everything that is written of tasks and steps depend on a lease, or on none. In a file
    /// there is only one hub, and nothing to depend on.
    pub fn fence_set(&self, fence: Option<Fence>) {
        *self.fence.write().unwrap_or_else(PoisonError::into_inner) = fence;
    }

    pub(crate) fn fence(&self) -> Option<Fence> {
        let fence = self.fence.read().unwrap_or_else(PoisonError::into_inner);
        fence.clone().filter(|_| self.is_remote())
    }

    /// Who owns tasks of a hub that are not over; empty for nobody's.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn delegated_owners(&self, hub: &str) -> Result<Vec<String>, StoreError> {
        self.read("listing owners of tasks", |store| {
            collect(store, OWNERS, &[hub.into()], |mut row| row.text())
        })
    }

    /// Makes the tasks of one owner that are not over another's; how many. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn delegated_adopt(&self, hub: &str, from: &str, to: &str) -> Result<u64, StoreError> {
        self.write_durable("adopting tasks", |store| {
            store.execute(ADOPT, &[hub.into(), from.into(), to.into()])
        })
    }

    /// Removes a lease under which no task is open any more; `false`, and nothing done, while one
    /// is, or when the lease was lost. The caller has taken it from whoever worked under it, whose
    /// writes are refused since: nothing can come under that name again. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn delegated_owner_remove(&self, lease: &Lease) -> Result<bool, StoreError> {
        self.write_durable("removing a lease", |store| {
            store.execute(FORGET, &[(&lease.name).into(), lease.token.into()])
        })
        .map(|removed| removed == 1)
    }
}

/// Lets a transaction go on only while its hub holds its lease.
pub(super) fn hold(store: &mut dyn Session, fence: Option<&Fence>) -> Result<(), DatabaseError> {
    let Some(fence) = fence else {
        return Ok(());
    };
    let values = [(&fence.lease).into(), fence.token.into()];
    match first(store, HELD, &values, |mut row| row.int())? {
        Some(_) => Ok(()),
        None => Err(DatabaseError::Fenced),
    }
}
