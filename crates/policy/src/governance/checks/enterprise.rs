//! The enterprise policy.

use super::Findings;
use crate::governance::enterprise::Enterprise;

pub(super) fn check(policy: &Enterprise, found: &mut Findings<'_>) {
    for part in &policy.parts {
        if part.version != 1 {
            found.refuse(
                &["version"],
                format!("version {} of this format is not known", part.version),
                "Write version = 1, or use a Legation that knows it.",
            );
        }
        for one in part.allow.iter().flatten() {
            if one.fingerprint().is_none() {
                found.refuse(
                    &["allow"],
                    "an entry of the allow-list does not say exactly one of command, url and \
                     fingerprint",
                    "Keep one of them; a fingerprint is sha256: and 64 hexadecimal digits.",
                );
            }
        }
    }
}
