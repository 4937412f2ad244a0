//! That a person was there.

/// Says that a person, and not a program of theirs, just agreed. Only a PIN
/// that was right ([`crate::Pin::verify`]), a consent prompt of the operating
/// system ([`crate::Consent::ask`]) and a reply from an account that is the
/// person's alone ([`crate::ReplyCodes::prove`]) make one:
///
/// ```compile_fail
/// let forged = legation_keystore::HumanProof { how: "trust me" };
/// ```
#[derive(Debug)]
#[must_use = "a proof that nobody takes certifies nothing"]
pub struct HumanProof {
    how: &'static str,
}

// === impl HumanProof ===

impl HumanProof {
    pub(crate) fn of(how: &'static str) -> Self {
        Self { how }
    }

    /// The word for it that stands in records, such as `pin`.
    #[must_use]
    pub fn how(&self) -> &'static str {
        self.how
    }
}
