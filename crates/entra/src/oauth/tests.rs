use legation_core::{Secret, Wall};
use ring::signature::{RSA_PSS_2048_8192_SHA256, UnparsedPublicKey};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::*;
use crate::base::from_base64;
use crate::broker::KeyError;

/// For these tests and nothing else.
pub(crate) const KEY: &str = include_str!("tests/key.pem");
pub(crate) const CERTIFICATE: &str = include_str!("tests/certificate.pem");
/// Of another key.
const OTHER: &str = include_str!("tests/other.pem");

#[test]
fn an_assertion_is_signed_as_the_authority_wants_it() {
    let key = SigningKey::from_pem(KEY.as_bytes(), CERTIFICATE.as_bytes()).unwrap();
    let assertion = Assertion {
        client_id: "app",
        audience: "https://login.example.com/t/oauth2/v2.0/token",
        now: Wall(1_795_226_096_789),
    };
    let signed = key.sign(&assertion).unwrap();
    let parts: Vec<&str> = signed.reveal().split('.').collect();
    let json = |part: &str| -> Value {
        assert!(!part.contains('='), "no padding");
        serde_json::from_slice(&from_base64(part).unwrap()).unwrap()
    };
    let (header, payload) = (json(parts[0]), json(parts[1]));
    assert_eq!(header["alg"], "PS256");
    let der = CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).unwrap();
    let thumbprint = crate::base::base64url(&Sha256::digest(der.as_ref()));
    assert_eq!(header["x5t#S256"], thumbprint.as_str());
    assert_eq!(payload["iss"], "app");
    assert_eq!(payload["sub"], "app");
    assert_eq!(payload["aud"], assertion.audience);
    assert_eq!(payload["nbf"], 1_795_226_036);
    assert_eq!(payload["exp"], 1_795_226_636);
    let public = key.public();
    UnparsedPublicKey::new(&RSA_PSS_2048_8192_SHA256, public)
        .verify(
            format!("{}.{}", parts[0], parts[1]).as_bytes(),
            &from_base64(parts[2]).unwrap(),
        )
        .unwrap();
    let again = key.sign(&assertion).unwrap();
    let id = |signed: &Secret| json(signed.reveal().split('.').nth(1).unwrap())["jti"].clone();
    assert_ne!(id(&signed), id(&again));
}

#[test]
fn keys_that_cannot_prove_anything_are_told_apart() {
    for (key, certificate, error) in [
        ("", CERTIFICATE, KeyError::NoKey),
        (CERTIFICATE, CERTIFICATE, KeyError::NoKey),
        (KEY, "", KeyError::NoCertificate),
        (KEY, OTHER, KeyError::Mismatch),
    ] {
        let found = SigningKey::from_pem(key.as_bytes(), certificate.as_bytes());
        assert_eq!(found.unwrap_err(), error);
    }
}

#[test]
fn a_grant_is_read_or_is_none() {
    let read = |json: &str| Grant::parse(json.as_bytes());
    let grant = read(
        r#"{"token_type":"bearer","access_token":"a","expires_in":"3599","refresh_token":""}"#,
    );
    let grant = grant.unwrap();
    assert_eq!(grant.expires_in.as_secs(), 3599);
    assert!(grant.refresh_token.is_none());
    for bad in [
        "",
        "{}",
        r#"{"token_type":"Bearer","access_token":""}"#,
        r#"{"token_type":"pop","access_token":"a"}"#,
        r#"{"token_type":"Bearer","access_token":"a","expires_in":"soon"}"#,
    ] {
        assert!(read(bad).is_none(), "{bad}");
    }
    assert!(!format!("{grant:?}").contains("\"a\""));
}
