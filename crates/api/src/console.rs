//! The web console.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request;

/// A link that lets one browser in, once.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct Link {}

/// A link that lets one browser in. Whoever has it is the owner, until it was used.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkAnswer {
    /// The link.
    pub url: String,
    /// Until when it works, RFC 3339.
    pub expires: String,
}

request!(Link, "console.link", LinkAnswer);

// === impl LinkAnswer ===

impl std::fmt::Debug for LinkAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinkAnswer")
            .field("url", &"****")
            .field("expires", &self.expires)
            .finish()
    }
}
