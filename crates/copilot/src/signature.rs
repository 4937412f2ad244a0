//! Whether GitHub wrote a request: ECDSA over P-256 with SHA-256, of the very bytes that came.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject as _;
use sha2::{Digest as _, Sha256};

/// The names of the two fields, as GitHub first wrote them and as its later pages do.
const IDENTIFIER: [&str; 2] = [
    "github-public-key-identifier",
    "x-github-public-key-identifier",
];
const SIGNATURE: [&str; 2] = [
    "github-public-key-signature",
    "x-github-public-key-signature",
];
/// A key's identifier is a digest in hexadecimal; a signature in DER has at most 72 bytes.
const IDENTIFIER_MAX: usize = 256;
const SIGNATURE_MAX: usize = 256;
/// All of a P-256 key in SubjectPublicKeyInfo (RFC 5480, section 2) that stands before the point.
const P256: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// Why a request is not believed to be GitHub's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Bad {
    /// A field is not there, or empty.
    #[error("the field {0} is missing")]
    Missing(&'static str),
    /// A field stands there twice with different values, or cannot be read.
    #[error("the field {0} cannot be read")]
    Field(&'static str),
    /// There is nothing to sign.
    #[error("the body is empty")]
    Empty,
    /// The key did not sign these bytes.
    #[error("the signature does not belong to this body and key")]
    Signature,
    /// It was here before.
    #[error("this request was answered before")]
    Replayed,
}

/// What the head of a request says of its signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    /// Which of GitHub's keys signed it.
    pub(crate) key: String,
    signature: Vec<u8>,
}

/// One of GitHub's keys: a point on P-256, uncompressed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Point([u8; 65]);

/// What a signature is known by when it comes again.
///
/// Anybody can turn a signature into a second one of the same bytes (n − s in the place of s), so it
/// is known by its first half, which stays. A request that is really sent a second time is signed
/// anew and has another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mark(pub(crate) [u8; 32]);

// === impl Claim ===

impl Claim {
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Bad> {
        let key = field(headers, IDENTIFIER, IDENTIFIER_MAX)?.to_owned();
        let text = field(headers, SIGNATURE, SIGNATURE_MAX)?;
        let signature = STANDARD
            .decode(text)
            .map_err(|_| Bad::Field(SIGNATURE[0]))?;
        Ok(Self { key, signature })
    }

    /// Checks the signature over these bytes.
    pub(crate) fn check(&self, point: &Point, body: &[u8]) -> Result<Mark, Bad> {
        if body.is_empty() {
            return Err(Bad::Empty);
        }
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &point.0)
            .verify(body, &self.signature)
            .map_err(|_| Bad::Signature)?;
        let half = first_half(&self.signature).ok_or(Bad::Signature)?;
        let mut digest = Sha256::new();
        digest.update(point.0);
        digest.update(half);
        Ok(Mark(digest.finalize().into()))
    }
}

/// The value of a field in whichever spelling; the same in both where there are both.
fn field<'h>(
    headers: &'h HeaderMap,
    names: [&'static str; 2],
    most: usize,
) -> Result<&'h str, Bad> {
    let mut found = None;
    for value in names.iter().flat_map(|name| headers.get_all(*name)) {
        let text = value.to_str().map_err(|_| Bad::Field(names[0]))?.trim();
        if text.len() > most || found.is_some_and(|found| found != text) {
            return Err(Bad::Field(names[0]));
        }
        found = Some(text);
    }
    found
        .filter(|text| !text.is_empty())
        .ok_or(Bad::Missing(names[0]))
}

/// The first of the two numbers of a signature that was found good, without leading zeros.
fn first_half(der: &[u8]) -> Option<&[u8]> {
    let [0x30, _, 0x02, length, rest @ ..] = der else {
        return None;
    };
    let number = rest.get(..usize::from(*length))?;
    Some(number.strip_prefix(&[0]).unwrap_or(number))
}

// === impl Point ===

impl Point {
    /// Reads a public key in PEM; `None` for one of another curve or kind.
    pub(crate) fn of_pem(pem: &str) -> Option<Self> {
        let der = SubjectPublicKeyInfoDer::from_pem_slice(pem.as_bytes()).ok()?;
        let point = der.as_ref().strip_prefix(&P256)?;
        let point: [u8; 65] = point.try_into().ok()?;
        (point[0] == 4).then_some(Self(point))
    }
}
