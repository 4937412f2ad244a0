//! `oidc`.

use serde_json::Value;

use super::Fields;
use super::check::{Wrong, not_a, wrong};
use crate::servers::{OidcEntry, Transport};

impl Fields<'_> {
    /// Whether the server is given a token of this machine's identity, and which.
    pub(super) fn oidc(&mut self, transport: &Transport) -> Result<Option<OidcEntry>, Wrong> {
        let entry = match self.take("oidc") {
            None | Some(Value::Bool(false)) => return Ok(None),
            Some(Value::Bool(true)) => OidcEntry::default(),
            Some(Value::Object(members)) => {
                let mut inner = Fields {
                    rest: members,
                    warnings: Vec::new(),
                    source: self.source,
                };
                let audience = inner.text("audience").map_err(|inner| Wrong {
                    message: format!("oidc.{}", inner.message),
                    ..inner
                })?;
                // The token itself would go to a server that is to get another for it.
                if inner.rest.contains_key("endpoints") {
                    return Err(wrong(
                        "oidc.endpoints is not supported: no token is exchanged for another here",
                        "Remove it where the server takes the token of the issuer itself.",
                    ));
                }
                for name in inner.rest.keys() {
                    let name = name.escape_debug();
                    self.warn(
                        format!("without effect here: `oidc.{name}`"),
                        "Check the spelling.",
                    );
                }
                OidcEntry { audience }
            }
            Some(other) => return Err(not_a("oidc", "true, false or an object", &other)),
        };
        if transport.headers_helper().is_some() {
            return Err(wrong(
                "oidc and headersHelper exclude each other: both say who asks",
                "Remove one of them.",
            ));
        }
        Ok(Some(entry))
    }
}
