//! Who answers a server's wish for a model where the client has none to offer.

use std::fmt;

use futures_util::future::BoxFuture;
use legation_core::{EntityLabels, OpContext};
use legation_wire::json::Raw;
use legation_wire::message::ErrorObject;

/// Asks a model in a client's stead. Whether a server may have that was decided before, and is on
/// record; which model may have what it asks is not.
pub trait Sampler: Send + Sync + fmt::Debug {
    /// Answers `sampling/createMessage`: its params, which hold these entities' data, and its
    /// result.
    ///
    /// # Errors
    /// What the server is told when no model answers.
    fn sample(
        &self,
        context: OpContext,
        labels: EntityLabels,
        params: Raw,
    ) -> BoxFuture<'static, Result<Raw, ErrorObject>>;
}
