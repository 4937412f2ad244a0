//! Labels: whose data a running client or a credential has seen.

use legation_core::{EntityId, EntityLabels};

use crate::sql::collect;
use crate::{Store, StoreError};

const GET: &str = "SELECT entity FROM labels WHERE holder = ?1";
const PUT: &str = "INSERT INTO labels (holder, entity) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
const CLEAR: &str = "DELETE FROM labels WHERE holder = ?1";

impl Store {
    /// The labels of a holder; none when it was never given any.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn label_get(&self, holder: &str) -> Result<EntityLabels, StoreError> {
        self.read("reading labels", |session| {
            collect(session, GET, &[holder.into()], |mut row| {
                row.text().map(EntityId::new)
            })
        })
        .map(EntityLabels::from_iter)
    }

    /// Adds labels to those of a holder: they only ever grow, whoever else adds
    /// some at the same time. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn label_put(&self, holder: &str, labels: &EntityLabels) -> Result<(), StoreError> {
        if labels.is_empty() {
            return Ok(());
        }
        self.write_durable("storing labels", |session| {
            for entity in labels {
                session.execute(PUT, &[holder.into(), entity.as_str().into()])?;
            }
            Ok(())
        })
    }

    /// Takes all labels from a holder; `false` when it had none. On disk on
    /// return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn label_clear(&self, holder: &str) -> Result<bool, StoreError> {
        self.write_durable("clearing labels", |session| {
            session.execute(CLEAR, &[holder.into()])
        })
        .map(|removed| removed != 0)
    }
}
