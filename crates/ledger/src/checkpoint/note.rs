//! C2SP `signed-note`: a text, an empty line, and a line a signature.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use legation_core::id::hex;
use legation_keystore::{Signer, VerifyingKey};
use sha2::{Digest as _, Sha256};

/// The algorithm's number for Ed25519.
const ED25519: u8 = 0x01;
/// Longest note, in bytes.
const NOTE_MAX: usize = 1 << 20;
/// What a line of a signature begins with: an em dash.
const DASH: &str = "\u{2014} ";

/// A signer's name and key: what has to be known to trust a checkpoint. Prints
/// and reads as a verifier key of signed notes, `NAME+ID+KEY`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PublicKey {
    /// The signer's name.
    pub name: String,
    /// Its key.
    pub key: VerifyingKey,
}

/// A text is no signed note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// It is longer than a mebibyte.
    #[error("it is longer than a mebibyte")]
    TooLong,
    /// It has control characters, no empty line before its signatures, or no
    /// signature.
    #[error("it is not a text, an empty line and signatures")]
    Form,
}

/// A text is no verifier key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "it is no public key of the form NAME+ID+KEY for Ed25519, or its parts do not belong together"
)]
pub struct PublicKeyError;

/// One signature of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Signature<'a> {
    /// The signer's name.
    pub(crate) name: &'a str,
    id: [u8; 4],
    signature: [u8; 64],
}

/// The text with its signature: a whole note.
pub(crate) fn sign(body: &str, name: &str, signer: &Signer) -> String {
    let key = PublicKey {
        name: name.to_owned(),
        key: signer.public(),
    };
    let mut bytes = key.id().to_vec();
    bytes.extend_from_slice(&signer.sign(body.as_bytes()));
    format!("{body}\n{DASH}{name} {}\n", BASE64.encode(bytes))
}

/// The signed text and the signatures that have Ed25519's form. Others are
/// passed over, as the specification asks.
pub(crate) fn split(note: &str) -> Result<(&str, Vec<Signature<'_>>), NoteError> {
    if note.len() > NOTE_MAX {
        return Err(NoteError::TooLong);
    }
    let control = |c: char| c != '\n' && c.is_control();
    let end = note.rfind("\n\n").ok_or(NoteError::Form)?;
    let (body, lines) = (&note[..=end], &note[end + 2..]);
    if note.contains(control) || !lines.ends_with('\n') {
        return Err(NoteError::Form);
    }
    let mut signatures = Vec::new();
    for line in lines.lines() {
        let parts = line
            .strip_prefix(DASH)
            .and_then(|rest| rest.split_once(' '));
        let (name, text) = parts.ok_or(NoteError::Form)?;
        let bytes = BASE64.decode(text).map_err(|_| NoteError::Form)?;
        let Some((id, rest)) = bytes.split_first_chunk::<4>() else {
            return Err(NoteError::Form);
        };
        if let Ok(signature) = <[u8; 64]>::try_from(rest) {
            signatures.push(Signature {
                name,
                id: *id,
                signature,
            });
        }
    }
    Ok((body, signatures))
}

// === impl PublicKey ===

impl PublicKey {
    fn id(&self) -> [u8; 4] {
        let mut hasher = Sha256::new();
        hasher.update(self.name.as_bytes());
        hasher.update([b'\n', ED25519]);
        hasher.update(self.key.0);
        let digest: [u8; 32] = hasher.finalize().into();
        [digest[0], digest[1], digest[2], digest[3]]
    }

    /// Whether one of the signatures is this signer's of `body`.
    pub(crate) fn signed(&self, body: &str, signatures: &[Signature<'_>]) -> bool {
        self.own(signatures)
            .any(|one| self.key.verifies(body.as_bytes(), &one.signature))
    }

    /// Whether one of the signatures says that it is this signer's.
    pub(crate) fn is_named_by(&self, signatures: &[Signature<'_>]) -> bool {
        self.own(signatures).next().is_some()
    }

    fn own<'a, 's>(
        &self,
        signatures: &'s [Signature<'a>],
    ) -> impl Iterator<Item = &'s Signature<'a>> {
        let id = self.id();
        let own = move |one: &&Signature<'_>| one.name == self.name && one.id == id;
        signatures.iter().filter(own)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut key = vec![ED25519];
        key.extend_from_slice(&self.key.0);
        write!(
            f,
            "{}+{}+{}",
            self.name,
            hex(&self.id()),
            BASE64.encode(key)
        )
    }
}

impl FromStr for PublicKey {
    type Err = PublicKeyError;

    fn from_str(text: &str) -> Result<Self, PublicKeyError> {
        // The last part may hold a `+` of its own; a name may not.
        let mut parts = text.splitn(3, '+');
        let mut next = || parts.next().ok_or(PublicKeyError);
        let (name, id, key) = (next()?, next()?, next()?);
        let bytes = BASE64.decode(key).map_err(|_| PublicKeyError)?;
        let (kind, key) = bytes.split_first().ok_or(PublicKeyError)?;
        let key = Self {
            name: name.to_owned(),
            key: VerifyingKey(key.try_into().map_err(|_| PublicKeyError)?),
        };
        let named = !name.is_empty() && !name.contains(char::is_whitespace);
        (named && *kind == ED25519 && hex(&key.id()) == id)
            .then_some(key)
            .ok_or(PublicKeyError)
    }
}
