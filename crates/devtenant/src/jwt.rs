//! Tokens signed by the tenant, and assertions signed by its clients.

use anyhow::{Context as _, Result, bail};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RSA_PSS_2048_8192_SHA256, UnparsedPublicKey,
    VerificationAlgorithm,
};
use serde_json::{Value, json};

use crate::certs::Signer;
use crate::web::{base64_any, base64_std, base64_url};

/// A token in three parts, not yet checked.
#[derive(Clone)]
pub(crate) struct Parsed {
    pub(crate) header: Value,
    pub(crate) claims: Value,
    signed: String,
    signature: Vec<u8>,
}

/// A certificate that a client registered.
#[derive(Debug, Clone)]
pub(crate) struct Certificate {
    der: Vec<u8>,
}

// === impl Signer ===

impl Signer {
    /// The name of the key in the key set: the thumbprint of its certificate, as Entra has it.
    pub(crate) fn kid(&self) -> String {
        base64_url(digest(&SHA1_FOR_LEGACY_USE_ONLY, &self.certificate).as_ref())
    }

    /// Signs claims with RS256. `extra` are members of the header beside the usual ones.
    pub(crate) fn sign(&self, claims: &Value, nonce: Option<&str>) -> Result<String> {
        let mut header = json!({"typ": "JWT", "alg": "RS256", "kid": self.kid()});
        if let Some(nonce) = nonce {
            // Graph's own marker: who is not Graph cannot verify such a token.
            header["nonce"] = nonce.into();
            header["x5t"] = self.kid().into();
        }
        let signed = format!(
            "{}.{}",
            base64_url(header.to_string().as_bytes()),
            base64_url(claims.to_string().as_bytes())
        );
        let mut signature = vec![0; self.pair.public().modulus_len()];
        self.pair
            .sign(
                &RSA_PKCS1_SHA256,
                &SystemRandom::new(),
                signed.as_bytes(),
                &mut signature,
            )
            .ok()
            .context("the signing key did not sign")?;
        Ok(format!("{signed}.{}", base64_url(&signature)))
    }

    /// Whether this tenant signed it.
    pub(crate) fn signed(&self, token: &Parsed) -> bool {
        UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, self.pair.public())
            .verify(token.signed.as_bytes(), &token.signature)
            .is_ok()
    }

    /// The key as a member of the key set.
    pub(crate) fn jwk(&self, issuer: &str) -> Value {
        let key: PublicKeyComponents<Vec<u8>> = self.pair.public().into();
        json!({
            "kty": "RSA",
            "use": "sig",
            "kid": self.kid(),
            "x5t": self.kid(),
            "n": base64_url(&key.n),
            "e": base64_url(&key.e),
            "x5c": [base64_std(&self.certificate)],
            "issuer": issuer,
            "cloud_instance_name": "microsoftonline.com",
        })
    }
}

// === impl Parsed ===

impl Parsed {
    /// Takes a compact token apart.
    pub(crate) fn parse(token: &str) -> Option<Self> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let json = |part: &str| serde_json::from_slice::<Value>(&base64_any(part)?).ok();
        Some(Self {
            header: json(header)?,
            claims: json(claims)?,
            signed: signed.to_owned(),
            signature: base64_any(signature)?,
        })
    }

    /// A claim that is a text.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.claims[name].as_str().unwrap_or_default()
    }

    /// A claim that is a time in seconds. MSAL for Python writes fractions.
    pub(crate) fn seconds(&self, name: &str) -> Option<f64> {
        self.claims[name].as_f64()
    }
}

// === impl Certificate ===

impl Certificate {
    /// Reads PEM, or the base64 of DER.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let body: String = text
            .lines()
            .filter(|line| !line.starts_with("-----"))
            .collect();
        let der = base64_any(&body)?;
        public_key(&der).ok()?;
        Some(Self { der })
    }

    /// Whether an assertion's header names this certificate, by `x5t#S256` or `x5t`; MSAL for
    /// Python pads the first.
    pub(crate) fn named_by(&self, header: &Value) -> bool {
        let named = |member: &str, algorithm| {
            let wanted = header[member].as_str().and_then(base64_any);
            wanted.is_some_and(|wanted| wanted == digest(algorithm, &self.der).as_ref())
        };
        named("x5t#S256", &SHA256) || named("x5t", &SHA1_FOR_LEGACY_USE_ONLY)
    }

    /// Its SHA-1 thumbprint, as Graph shows it in `customKeyIdentifier`.
    pub(crate) fn thumbprint(&self) -> Vec<u8> {
        digest(&SHA1_FOR_LEGACY_USE_ONLY, &self.der)
            .as_ref()
            .to_vec()
    }

    /// Whether its key made the signature.
    pub(crate) fn verifies(&self, token: &Parsed) -> bool {
        let algorithm: &'static dyn VerificationAlgorithm = match token.header["alg"].as_str() {
            Some("RS256") => &RSA_PKCS1_2048_8192_SHA256,
            Some("PS256") => &RSA_PSS_2048_8192_SHA256,
            _ => return false,
        };
        public_key(&self.der).is_ok_and(|key| {
            UnparsedPublicKey::new(algorithm, key)
                .verify(token.signed.as_bytes(), &token.signature)
                .is_ok()
        })
    }
}

/// The RSA key inside a certificate: the bits of `subjectPublicKeyInfo`, RFC 5280 section 4.1.
fn public_key(certificate: &[u8]) -> Result<&[u8]> {
    let (_, outer, _) = element(certificate)?;
    let (_, mut rest, _) = element(outer)?;
    let (tag, _, after) = element(rest)?;
    // The version is optional and comes first, in a context tag.
    if tag == 0xa0 {
        rest = after;
    }
    // Serial number, signature algorithm, issuer, validity, subject.
    for _ in 0..5 {
        (_, _, rest) = element(rest)?;
    }
    let (_, info, _) = element(rest)?;
    let (_, _, bits) = element(info)?;
    let (tag, key, _) = element(bits)?;
    match key {
        [0, key @ ..] if tag == 0x03 => Ok(key),
        _ => bail!("the certificate has no public key where it belongs"),
    }
}

/// The first DER element: its tag, its content, and what follows it.
fn element(der: &[u8]) -> Result<(u8, &[u8], &[u8])> {
    let (&[tag, first], mut rest) = der.split_first_chunk::<2>().context("the DER ends early")?;
    let mut length = usize::from(first);
    if first & 0x80 != 0 {
        let count = usize::from(first & 0x7f);
        if count > 4 || rest.len() < count {
            bail!("the DER has a length beyond reason");
        }
        let (digits, after) = rest.split_at(count);
        length = digits
            .iter()
            .fold(0, |sum, digit| sum << 8 | usize::from(*digit));
        rest = after;
    }
    if rest.len() < length {
        bail!("the DER ends early");
    }
    let (content, after) = rest.split_at(length);
    Ok((tag, content, after))
}
