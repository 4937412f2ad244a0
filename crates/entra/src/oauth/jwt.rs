//! Assertions signed with a private key (RFC 7523), as Entra ID documents them:
//! PS256, the certificate's SHA-256 thumbprint in `x5t#S256`.

use std::fmt;

use legation_core::{Secret, Wall};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PSS_SHA256, RsaKeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest as _, Sha256};

use crate::base::{base64url, uuid};
use crate::broker::KeyError;

/// Assertions begin so long before they are made: clocks differ.
const BEFORE_MS: i64 = 60_000;
/// And are good for so long after.
const AFTER_MS: i64 = 9 * 60_000;

/// A private RSA key and the thumbprint of its certificate.
pub(crate) struct SigningKey {
    pair: RsaKeyPair,
    thumbprint: String,
}

/// Who says what to whom.
pub(crate) struct Assertion<'a> {
    pub(crate) client_id: &'a str,
    /// The token endpoint.
    pub(crate) audience: &'a str,
    /// The authority's time.
    pub(crate) now: Wall,
}

// === impl SigningKey ===

impl SigningKey {
    /// Reads a private key (PKCS #8 or #1) and the first certificate, PEM. They
    /// must belong together.
    ///
    /// # Errors
    /// See [`KeyError`].
    pub(crate) fn from_pem(key: &[u8], certificate: &[u8]) -> Result<Self, KeyError> {
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| KeyError::NoKey)?;
        let pair = match &key {
            PrivateKeyDer::Pkcs8(der) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()),
            PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()),
            _ => return Err(KeyError::NotRsa),
        };
        let pair = pair.map_err(|_| KeyError::NotRsa)?;
        let certificate =
            CertificateDer::from_pem_slice(certificate).map_err(|_| KeyError::NoCertificate)?;
        // The public key stands in the certificate as it is; a mismatch would
        // be refused only by the authority, in other words.
        let public: &[u8] = pair.public().as_ref();
        let belongs = certificate
            .as_ref()
            .windows(public.len())
            .any(|part| part == public);
        if !belongs {
            return Err(KeyError::Mismatch);
        }
        Ok(Self {
            pair,
            thumbprint: base64url(&Sha256::digest(certificate.as_ref())),
        })
    }

    #[cfg(test)]
    pub(super) fn public(&self) -> Vec<u8> {
        self.pair.public().as_ref().to_vec()
    }

    /// Signs an assertion.
    ///
    /// # Errors
    /// [`KeyError::Sign`].
    pub(crate) fn sign(&self, assertion: &Assertion<'_>) -> Result<Secret, KeyError> {
        let id = uuid().map_err(|_| KeyError::Sign)?;
        let header = serde_json::json!({
            "alg": "PS256", "typ": "JWT", "x5t#S256": self.thumbprint,
        });
        let now = assertion.now.0;
        let payload = serde_json::json!({
            "aud": assertion.audience,
            "iss": assertion.client_id,
            "sub": assertion.client_id,
            "jti": id,
            "iat": now.div_euclid(1000),
            "nbf": (now - BEFORE_MS).div_euclid(1000),
            "exp": (now + AFTER_MS).div_euclid(1000),
        });
        let mut text = base64url(header.to_string().as_bytes());
        text.push('.');
        text.push_str(&base64url(payload.to_string().as_bytes()));
        let mut signature = vec![0; self.pair.public().modulus_len()];
        self.pair
            .sign(
                &RSA_PSS_SHA256,
                &SystemRandom::new(),
                text.as_bytes(),
                &mut signature,
            )
            .map_err(|_| KeyError::Sign)?;
        text.push('.');
        text.push_str(&base64url(&signature));
        Ok(Secret::new(text))
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("thumbprint", &self.thumbprint)
            .finish_non_exhaustive()
    }
}
