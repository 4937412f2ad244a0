//! A modern client between its calls: it is known, and cannot be asked.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use legation_gate::{Ask, Peer};
use legation_wire::caps::ClientCapabilities;
use legation_wire::codes;
use legation_wire::json::Raw;
use legation_wire::message::ErrorObject;
use legation_wire::revision::Revision;

use crate::speaker::Modern;

/// See the module.
#[derive(Debug)]
pub(crate) struct SeatPeer(pub(crate) Arc<Modern>);

impl Peer for SeatPeer {
    fn revision(&self) -> Revision {
        self.0.revision
    }

    fn capabilities(&self) -> &ClientCapabilities {
        &self.0.capabilities
    }

    fn client_info(&self) -> Option<Raw> {
        self.0.info.clone()
    }

    fn takes_input_required(&self) -> bool {
        true
    }

    fn ask(&self, ask: Ask) -> BoxFuture<'static, Result<Raw, ErrorObject>> {
        let error = ErrorObject::new(
            codes::METHOD_NOT_FOUND,
            &format!(
                "{} can be asked during a call only: the client has no handshake",
                ask.method
            ),
        );
        futures_util::future::ready(Err(error)).boxed()
    }
}
