//! TLS with those whom the process trusts and, if configured, more.

use std::sync::Arc;

use legation_core::error::chain;
use legation_net::trust::{self, TrustError};
use rustls::ClientConfig;

use super::HttpError;

pub(super) fn config(extra: Option<&[u8]>) -> Result<Arc<ClientConfig>, HttpError> {
    trust::client_config(extra).map_err(|error| HttpError::Tls {
        why: match error {
            TrustError::Unusable { path: None, why } => {
                format!("`ca_file` is no certificate in PEM ({why})")
            }
            TrustError::Empty { path: None } => "`ca_file` holds no certificate".to_owned(),
            other => chain(&other),
        },
    })
}
