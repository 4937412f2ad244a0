//! A signed token, taken apart (RFC 7515).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::Value;

use super::BadToken;
use super::keys::{Algorithm, KeySet};

/// The longest token that is looked at, in bytes.
const TOKEN_MAX: usize = 16 * 1024;

/// A token whose signature has not been looked at.
pub(super) struct Signed<'a> {
    algorithm: Algorithm,
    key: Option<String>,
    /// What is signed.
    text: &'a str,
    payload: Vec<u8>,
    signature: Vec<u8>,
}

/// Where a token says that its key is (`jku`, `jwk`, `x5u`) is not read: the keys are
/// the issuer's, whatever a token says.
#[derive(Deserialize)]
struct Header {
    alg: String,
    typ: Option<String>,
    kid: Option<String>,
    crit: Option<Value>,
}

// === impl Signed ===

impl<'a> Signed<'a> {
    pub(super) fn read(token: &'a str) -> Result<Self, BadToken> {
        if token.len() > TOKEN_MAX {
            return Err(BadToken::Unreadable);
        }
        let (text, signature) = token.rsplit_once('.').ok_or(BadToken::Unreadable)?;
        let (header, payload) = text.split_once('.').ok_or(BadToken::Unreadable)?;
        let decode = |part: &str| {
            let decoded = URL_SAFE_NO_PAD.decode(part);
            decoded.map_err(|_| BadToken::Unreadable)
        };
        let header = decode(header)?;
        let header: Header = serde_json::from_slice(&header).map_err(|_| BadToken::Unreadable)?;
        // A token of another kind is signed with the same keys (RFC 8725, section 3.11).
        let is_token = header.typ.as_deref().is_none_or(|typ| {
            let typ = typ.strip_prefix("application/").unwrap_or(typ);
            typ.eq_ignore_ascii_case("at+jwt") || typ.eq_ignore_ascii_case("jwt")
        });
        if header.crit.is_some() || !is_token {
            return Err(BadToken::Unreadable);
        }
        Ok(Self {
            algorithm: Algorithm::parse(&header.alg).ok_or(BadToken::Algorithm)?,
            key: header.kid,
            text,
            payload: decode(payload)?,
            signature: decode(signature)?,
        })
    }

    pub(super) fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Whether one of these keys made the signature.
    pub(super) fn verify(&self, keys: &KeySet) -> Result<(), BadToken> {
        let key = keys.find(self.key.as_deref(), self.algorithm);
        let key = key.ok_or(BadToken::Key)?;
        let is_good = key.verify(self.algorithm, self.text.as_bytes(), &self.signature);
        is_good.then_some(()).ok_or(BadToken::Signature)
    }
}
