//! What stands between a request that is ready and the provider that gets it.

use legation_core::OpContext;
use legation_gate::model::ModelRecord;
use legation_policy::provider::Selected;

use super::Failure;

/// Lets a request out, or keeps it. Asked once for each provider, with what is
/// sent and right before it is.
pub(crate) trait Pass: Sync {
    /// The record that it is sent, where one is kept.
    fn out(
        &self,
        ctx: &OpContext,
        sending: Sending<'_>,
    ) -> impl Future<Output = Result<Option<ModelRecord>, Failure>> + Send;
}

/// A request that is ready.
#[derive(Clone, Copy)]
pub(crate) struct Sending<'a> {
    pub(crate) selected: &'a Selected,
    pub(crate) model: &'a str,
    pub(crate) body: &'a [u8],
}

/// Lets everything out, for what holds nobody's data.
#[derive(Debug)]
pub(super) struct Unrecorded;

// === impl Unrecorded ===

impl Pass for Unrecorded {
    async fn out(
        &self,
        _ctx: &OpContext,
        _sending: Sending<'_>,
    ) -> Result<Option<ModelRecord>, Failure> {
        Ok(None)
    }
}
