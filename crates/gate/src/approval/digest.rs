//! What a person agrees to, in a few letters.

use sha2::{Digest as _, Sha256};

use super::{Approval, Bound};

// === impl Bound ===

impl Bound {
    /// SHA-256 over everything that an answer is bound to, the rule that asks and
    /// the arguments as they are shown, each part with its length.
    pub(crate) fn digest(&self, rule: &str, arguments: &str) -> [u8; 32] {
        let mut hash = Sha256::new();
        let mut add = |part: &[u8]| {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        };
        for text in [
            self.client.as_str(),
            self.server.as_str(),
            self.verb.as_str(),
            &self.item,
            self.entity.as_str(),
            rule,
            arguments,
        ] {
            add(text.as_bytes());
        }
        add(self.definition.as_ref().map_or(&[], |hash| &hash.0));
        add(&self.arguments);
        add(&self.policy_version.to_le_bytes());
        if let Some(by) = &self.on_behalf_of {
            add(by.as_str().as_bytes());
        }
        hash.finalize().into()
    }
}

// === impl Approval ===

impl Approval {
    /// SHA-256 over the whole question: who shows it elsewhere shows the same.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        self.bound.digest(&self.rule, &self.preview)
    }
}

/// A digest as people compare it: its first six bytes.
#[must_use]
pub fn short_digest(digest: &[u8; 32]) -> String {
    let hex = legation_core::id::hex(&digest[..6]);
    format!("{}-{}-{}", &hex[..4], &hex[4..8], &hex[8..])
}
