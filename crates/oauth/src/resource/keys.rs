//! An issuer's public keys (RFC 7517, RFC 7518 section 6, RFC 8037).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA256, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey,
    VerificationAlgorithm,
};
use serde::Deserialize;
use serde_json::Value;

use crate::metadata::MetadataError;

/// Most keys of one issuer.
const KEYS_MAX: usize = 64;

/// How a token is signed. There is none that needs no key, or one that both sides have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    Es256,
    Es384,
    EdDsa,
    Rs256,
    Ps256,
}

/// The keys of an issuer.
#[derive(Debug, Default)]
pub(super) struct KeySet {
    keys: Vec<Key>,
}

/// One key.
#[derive(Debug)]
pub(super) struct Key {
    id: Option<Box<str>>,
    /// The only algorithm it is for, where that is said.
    only: Option<Algorithm>,
    public: Public,
}

#[derive(Debug)]
enum Public {
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
    Rsa { n: Vec<u8>, e: Vec<u8> },
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
    n: Option<String>,
    e: Option<String>,
}

// === impl Algorithm ===

impl Algorithm {
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "ES256" => Self::Es256,
            "ES384" => Self::Es384,
            "EdDSA" | "Ed25519" => Self::EdDsa,
            "RS256" => Self::Rs256,
            "PS256" => Self::Ps256,
            _ => return None,
        })
    }
}

// === impl KeySet ===

impl KeySet {
    /// Reads a set. Keys that are not for signatures, or not known here, are left out.
    pub(super) fn read(body: &[u8]) -> Result<Self, MetadataError> {
        let document: Document =
            serde_json::from_slice(body).map_err(|_| MetadataError::Unreadable {
                why: "it is no set of keys",
            })?;
        let keys = document.keys.into_iter().take(KEYS_MAX);
        let keys = keys.filter_map(|key| Key::read(serde_json::from_value(key).ok()?));
        Ok(Self {
            keys: keys.collect(),
        })
    }

    /// The key of a name. A token that names none is of the only key it could be of.
    pub(super) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<&Key> {
        let mut fitting = self
            .keys
            .iter()
            .filter(|key| key.fits(algorithm) && (id.is_none() || key.id.as_deref() == id));
        match (fitting.next(), fitting.next()) {
            (Some(key), None) => Some(key),
            _ => None,
        }
    }
}

// === impl Key ===

impl Key {
    fn read(key: Jwk) -> Option<Self> {
        if key.usage.as_deref().is_some_and(|usage| usage != "sig") {
            return None;
        }
        let bytes = |text: &Option<String>| URL_SAFE_NO_PAD.decode(text.as_deref()?).ok();
        let point = |length: usize| {
            let (x, y) = (bytes(&key.x)?, bytes(&key.y)?);
            let is_whole = x.len() == length && y.len() == length;
            is_whole.then(|| [vec![4], x, y].concat())
        };
        let public = match (&*key.kty, key.crv.as_deref()) {
            ("EC", Some("P-256")) => Public::P256(point(32)?),
            ("EC", Some("P-384")) => Public::P384(point(48)?),
            ("OKP", Some("Ed25519")) => Public::Ed25519(bytes(&key.x)?),
            ("RSA", _) => Public::Rsa {
                n: bytes(&key.n)?,
                e: bytes(&key.e)?,
            },
            _ => return None,
        };
        let only = match &key.alg {
            Some(name) => Some(Algorithm::parse(name)?),
            None => None,
        };
        Some(Self {
            id: key.kid.map(Into::into),
            only,
            public,
        })
    }

    fn fits(&self, algorithm: Algorithm) -> bool {
        let is_of_kind = matches!(
            (&self.public, algorithm),
            (Public::P256(_), Algorithm::Es256)
                | (Public::P384(_), Algorithm::Es384)
                | (Public::Ed25519(_), Algorithm::EdDsa)
                | (Public::Rsa { .. }, Algorithm::Rs256 | Algorithm::Ps256)
        );
        is_of_kind && self.only.is_none_or(|only| only == algorithm)
    }

    pub(super) fn verify(&self, algorithm: Algorithm, text: &[u8], signature: &[u8]) -> bool {
        let plain = |alg: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(alg, key).verify(text, signature)
        };
        let verified = match &self.public {
            Public::P256(key) => plain(&ECDSA_P256_SHA256_FIXED, key),
            Public::P384(key) => plain(&ECDSA_P384_SHA384_FIXED, key),
            Public::Ed25519(key) => plain(&ED25519, key),
            Public::Rsa { n, e } => {
                let parameters: &RsaParameters = match algorithm {
                    Algorithm::Ps256 => &RSA_PSS_2048_8192_SHA256,
                    _ => &RSA_PKCS1_2048_8192_SHA256,
                };
                RsaPublicKeyComponents { n, e }.verify(parameters, text, signature)
            }
        };
        verified.is_ok()
    }
}
