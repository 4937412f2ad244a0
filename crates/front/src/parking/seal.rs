//! The `requestState` that clients carry: sealed with ChaCha20-Poly1305 (RFC
//! 8439) under a key that lives as long as the hub, bound to the client, the
//! endpoint and the request it was given for.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{ChaCha20Poly1305, Key, KeyInit as _, Nonce};
use legation_core::{BootId, ClientId};
use legation_gate::Endpoint;
use legation_wire::json::{Object, Raw};
use sha2::{Digest as _, Sha256};

use super::RoundId;

const NONCE: usize = 12;
const PLAIN: usize = 16 + 8;
/// How much of the boot id stands before the seal, to tell a restart from
/// tampering.
const BOOT: usize = 8;

/// What a state is bound to.
#[derive(Debug)]
pub(crate) struct Binding {
    pub(crate) client: ClientId,
    digest: [u8; 32],
}

/// What stands inside a seal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Opened {
    pub(super) round: RoundId,
    pub(super) expires_ms: i64,
}

/// A state that is not accepted.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum UnsealError {
    /// It was given by another run of the hub.
    #[error("given by another run of the hub")]
    OtherBoot,
    /// It was not given by the hub, or for another client or request.
    #[error("not given by the hub for this client and request")]
    Malformed,
}

/// See the module.
pub(super) struct Sealer {
    cipher: ChaCha20Poly1305,
    boot: Box<str>,
}

/// SHA-256 over parts, each with its length.
pub(crate) fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

// === impl Binding ===

impl Binding {
    /// Binds to a request: its method and its params, but for what a retry
    /// changes (`_meta`, `inputResponses`, `requestState`).
    pub(crate) fn new(
        client: &ClientId,
        endpoint: &Endpoint,
        method: &str,
        params: Option<&Raw>,
    ) -> Self {
        let (kind, name) = match endpoint {
            Endpoint::All => ("all", ""),
            Endpoint::Server(server) => ("server", server.as_str()),
            Endpoint::View(view) => ("view", &**view),
        };
        let mut params: Object = params.and_then(Raw::to_object).unwrap_or_default();
        params.retain(|key, _| !matches!(key, "_meta" | "inputResponses" | "requestState"));
        let digest = digest(&[
            client.as_str().as_bytes(),
            kind.as_bytes(),
            name.as_bytes(),
            method.as_bytes(),
            params.to_raw().sha256_input(),
        ]);
        Self {
            client: client.clone(),
            digest,
        }
    }
}

// === impl Sealer ===

impl Sealer {
    pub(super) fn new(boot: &BootId) -> Result<Self, getrandom::Error> {
        let mut key = [0u8; 32];
        getrandom::fill(&mut key)?;
        let boot: String = boot
            .as_str()
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(BOOT)
            .collect();
        Ok(Self {
            cipher: ChaCha20Poly1305::new(&Key::from(key)),
            boot: boot.into(),
        })
    }

    pub(super) fn seal(&self, opened: &Opened, binding: &Binding) -> Result<Raw, getrandom::Error> {
        let mut nonce = [0u8; NONCE];
        getrandom::fill(&mut nonce)?;
        let mut plain = [0u8; PLAIN];
        plain[..16].copy_from_slice(&opened.round);
        plain[16..].copy_from_slice(&opened.expires_ms.to_le_bytes());
        let sealed = self
            .cipher
            .encrypt(
                &Nonce::from(nonce),
                Payload {
                    msg: &plain,
                    aad: &binding.digest,
                },
            )
            .expect("a text of a few bytes is within the cipher's limit");
        let mut bytes = nonce.to_vec();
        bytes.extend_from_slice(&sealed);
        Ok(Raw::str(&format!(
            "{}.{}",
            self.boot,
            URL_SAFE_NO_PAD.encode(bytes)
        )))
    }

    pub(super) fn open(&self, state: &Raw, binding: &Binding) -> Result<Opened, UnsealError> {
        let text = state.to_str().ok_or(UnsealError::Malformed)?;
        let (boot, sealed) = text.split_once('.').ok_or(UnsealError::Malformed)?;
        let bytes = URL_SAFE_NO_PAD
            .decode(sealed)
            .map_err(|_| UnsealError::Malformed)?;
        if boot != &*self.boot {
            return Err(UnsealError::OtherBoot);
        }
        if bytes.len() <= NONCE {
            return Err(UnsealError::Malformed);
        }
        let (nonce, sealed) = bytes.split_at(NONCE);
        let nonce = <[u8; NONCE]>::try_from(nonce).map_err(|_| UnsealError::Malformed)?;
        let plain = self
            .cipher
            .decrypt(
                &Nonce::from(nonce),
                Payload {
                    msg: sealed,
                    aad: &binding.digest,
                },
            )
            .map_err(|_| UnsealError::Malformed)?;
        let (round, expires) = plain.split_at_checked(16).ok_or(UnsealError::Malformed)?;
        Ok(Opened {
            round: round.try_into().map_err(|_| UnsealError::Malformed)?,
            expires_ms: i64::from_le_bytes(expires.try_into().map_err(|_| UnsealError::Malformed)?),
        })
    }
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealer")
            .field("boot", &self.boot)
            .finish_non_exhaustive()
    }
}
