//! Signatures as Standard Webhooks 1.0.0 has them (symmetric, `v1`).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

/// What a secret begins with.
const PREFIX: &str = "whsec_";
/// Bytes of a secret (SEP-3415, webhook security).
const LEN: std::ops::RangeInclusive<usize> = 24..=64;

/// A secret that a client and the hub share. Prints as `****`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct WebhookSecret(Zeroizing<Vec<u8>>);

// === impl WebhookSecret ===

impl WebhookSecret {
    /// Reads `whsec_` and 24 to 64 bytes in base64.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text.strip_prefix(PREFIX)?).ok()?;
        let bytes = Zeroizing::new(bytes);
        LEN.contains(&bytes.len()).then_some(Self(bytes))
    }

    /// As it was given.
    pub(crate) fn reveal(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("{PREFIX}{}", STANDARD.encode(&*self.0)))
    }

    /// One signature of a message.
    pub(crate) fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            // A key of any length is one for HMAC; what is not signed is not taken.
            return String::new();
        };
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("****")
    }
}

#[cfg(test)]
mod tests {
    use super::WebhookSecret;

    /// The example of the Standard Webhooks specification's reference libraries.
    #[test]
    fn signs_as_the_reference_libraries_do() {
        let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        assert_eq!(
            secret.sign(
                "msg_p5jXN8AQM9LWM0D4loKWxJek",
                1_614_265_330,
                br#"{"test": 2432232314}"#
            ),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
        assert_eq!(format!("{secret:?}"), "****");
        assert_eq!(&*secret.reveal(), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    }

    #[test]
    fn a_secret_has_24_to_64_bytes() {
        use base64::Engine as _;
        for (len, good) in [(0, false), (23, false), (24, true), (64, true), (65, false)] {
            let text = base64::engine::general_purpose::STANDARD.encode(vec![7; len]);
            let parsed = WebhookSecret::parse(&format!("whsec_{text}"));
            assert_eq!(parsed.is_some(), good, "{len}");
            assert!(WebhookSecret::parse(&text).is_none());
        }
        assert!(WebhookSecret::parse("whsec_!!!!").is_none());
    }
}
