//! Signed statements: client assertions (RFC 7523) and proofs of possession (RFC
//! 9449).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use legation_core::{Secret, Wall};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
    RSA_PSS_SHA256, RsaKeyPair,
};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// How long an assertion is good for, in seconds.
const ASSERTION_S: i64 = 300;

/// A private key that signs for a client.
pub struct SigningKey {
    pair: Pair,
    algorithm: &'static str,
    id: Option<Box<str>>,
}

/// A key whose owner alone can use a token (ES256).
pub(crate) struct ProofKey {
    pair: EcdsaKeyPair,
    document: Secret,
}

enum Pair {
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
    Rsa(RsaKeyPair),
}

/// A key that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// It is no private key in PEM, or none of its algorithm.
    #[error("the private key cannot be read")]
    Unreadable,
    /// The algorithm is not one of those that are known.
    #[error("the signing algorithm is not one of ES256, RS256, PS256 and EdDSA")]
    Algorithm,
    /// The system gave no random numbers, or the key could not sign.
    #[error("nothing could be signed")]
    Sign,
}

/// What a proof is about.
#[derive(Debug)]
pub(crate) struct Proof<'a> {
    /// The request's method.
    pub(crate) method: &'a str,
    /// Its URL without query.
    pub(crate) url: &'a str,
    /// What its receiver wants to find in it.
    pub(crate) nonce: Option<&'a str>,
    /// The access token it goes with.
    pub(crate) token: Option<&'a str>,
}

// === impl SigningKey ===

impl SigningKey {
    /// Reads a PKCS #8 key in PEM (RSA also PKCS #1).
    ///
    /// # Errors
    /// See [`KeyError`].
    pub fn from_pem(pem: &Secret, algorithm: &str, id: Option<Box<str>>) -> Result<Self, KeyError> {
        let der = PrivateKeyDer::from_pem_slice(pem.reveal().as_bytes());
        let der = der.map_err(|_| KeyError::Unreadable)?;
        let bytes = der.secret_der();
        let random = SystemRandom::new();
        let rsa = || match &der {
            PrivateKeyDer::Pkcs1(_) => RsaKeyPair::from_der(bytes),
            _ => RsaKeyPair::from_pkcs8(bytes),
        };
        let (pair, algorithm) = match algorithm {
            "ES256" => {
                let alg = &ECDSA_P256_SHA256_FIXED_SIGNING;
                let pair = EcdsaKeyPair::from_pkcs8(alg, bytes, &random);
                (pair.ok().map(Pair::Ec), "ES256")
            }
            "EdDSA" => {
                let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(bytes);
                (pair.ok().map(Pair::Ed), "EdDSA")
            }
            "RS256" => (rsa().ok().map(Pair::Rsa), "RS256"),
            "PS256" => (rsa().ok().map(Pair::Rsa), "PS256"),
            _ => return Err(KeyError::Algorithm),
        };
        Ok(Self {
            pair: pair.ok_or(KeyError::Unreadable)?,
            algorithm,
            id,
        })
    }

    /// The statement that `client` is who asks `audience` (RFC 7523, section 3).
    pub(crate) fn assertion(
        &self,
        client: &str,
        audience: &str,
        now: Wall,
    ) -> Result<Secret, KeyError> {
        let mut header = json!({"alg": self.algorithm, "typ": "JWT"});
        if let Some(id) = &self.id {
            header["kid"] = json!(id);
        }
        let now = now.0.div_euclid(1000);
        let claims = json!({
            "iss": client, "sub": client, "aud": audience,
            "iat": now, "exp": now + ASSERTION_S, "jti": unique()?,
        });
        sign(&header, &claims, |text| {
            let random = SystemRandom::new();
            match &self.pair {
                Pair::Ec(pair) => {
                    let signed = pair.sign(&random, text).map_err(|_| KeyError::Sign)?;
                    Ok(signed.as_ref().to_vec())
                }
                Pair::Ed(pair) => Ok(pair.sign(text).as_ref().to_vec()),
                Pair::Rsa(pair) => {
                    let padding: &'static dyn ring::signature::RsaEncoding = match self.algorithm {
                        "PS256" => &RSA_PSS_SHA256,
                        _ => &RSA_PKCS1_SHA256,
                    };
                    let mut signature = vec![0; pair.public().modulus_len()];
                    pair.sign(padding, &random, text, &mut signature)
                        .map_err(|_| KeyError::Sign)?;
                    Ok(signature)
                }
            }
        })
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

// === impl ProofKey ===

impl ProofKey {
    /// A new key.
    pub(crate) fn random() -> Result<Self, KeyError> {
        let made =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        let made = made.map_err(|_| KeyError::Sign)?;
        Self::read(&Secret::new(base64url(made.as_ref())))
    }

    /// A key as [`ProofKey::document`] gave it.
    pub(crate) fn read(document: &Secret) -> Result<Self, KeyError> {
        let bytes = URL_SAFE_NO_PAD.decode(document.reveal());
        let bytes = bytes.map_err(|_| KeyError::Unreadable)?;
        let (alg, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let pair = EcdsaKeyPair::from_pkcs8(alg, &bytes, &random);
        Ok(Self {
            pair: pair.map_err(|_| KeyError::Unreadable)?,
            document: document.clone(),
        })
    }

    /// What is kept of it.
    pub(crate) fn document(&self) -> &Secret {
        &self.document
    }

    /// A proof for one request (RFC 9449, section 4.2).
    pub(crate) fn proof(&self, proof: &Proof<'_>, now: Wall) -> Result<Secret, KeyError> {
        // Uncompressed: one byte, then both coordinates.
        let point = self.pair.public_key().as_ref();
        let (x, y) = point.split_at_checked(33).ok_or(KeyError::Sign)?;
        let header = json!({
            "alg": "ES256", "typ": "dpop+jwt",
            "jwk": {"kty": "EC", "crv": "P-256", "x": base64url(&x[1..]), "y": base64url(y)},
        });
        let mut claims = json!({
            "jti": unique()?, "htm": proof.method, "htu": proof.url,
            "iat": now.0.div_euclid(1000),
        });
        if let Some(nonce) = proof.nonce {
            claims["nonce"] = json!(nonce);
        }
        if let Some(token) = proof.token {
            claims["ath"] = json!(base64url(&Sha256::digest(token)));
        }
        sign(&header, &claims, |text| {
            let signed = self.pair.sign(&SystemRandom::new(), text);
            Ok(signed.map_err(|_| KeyError::Sign)?.as_ref().to_vec())
        })
    }
}

impl fmt::Debug for ProofKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProofKey").finish_non_exhaustive()
    }
}

// === bytes ===

fn sign(
    header: &Value,
    claims: &Value,
    sign: impl FnOnce(&[u8]) -> Result<Vec<u8>, KeyError>,
) -> Result<Secret, KeyError> {
    let mut text = base64url(header.to_string().as_bytes());
    text.push('.');
    text.push_str(&base64url(claims.to_string().as_bytes()));
    let signature = sign(text.as_bytes())?;
    text.push('.');
    text.push_str(&base64url(&signature));
    Ok(Secret::new(text))
}

/// A name that nobody else gives.
pub(crate) fn unique() -> Result<String, KeyError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| KeyError::Sign)?;
    Ok(base64url(&bytes))
}

pub(crate) fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests;
