use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use legation_core::{Secret, Wall};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ED25519, EcdsaKeyPair,
    Ed25519KeyPair, KeyPair as _, UnparsedPublicKey,
};
use serde_json::Value;

use super::{KeyError, Proof, ProofKey, SigningKey};

fn pem(der: &[u8]) -> Secret {
    let text = STANDARD.encode(der);
    Secret::new(format!(
        "-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n"
    ))
}

fn parts(token: &Secret) -> (Value, Value, String, Vec<u8>) {
    let parts: Vec<&str> = token.reveal().split('.').collect();
    let [header, claims, signature] = parts[..] else {
        panic!("three parts");
    };
    let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
    (
        serde_json::from_slice(&decode(header)).unwrap(),
        serde_json::from_slice(&decode(claims)).unwrap(),
        format!("{header}.{claims}"),
        decode(signature),
    )
}

#[test]
fn an_assertion_is_signed_with_the_clients_key() {
    let random = SystemRandom::new();
    let alg = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let der = EcdsaKeyPair::generate_pkcs8(alg, &random).unwrap();
    let public = EcdsaKeyPair::from_pkcs8(alg, der.as_ref(), &random).unwrap();
    let key = SigningKey::from_pem(&pem(der.as_ref()), "ES256", Some("k1".into())).unwrap();
    let token = key.assertion("me", "https://as.example.com", Wall(1_000_000));
    let (header, claims, text, signature) = parts(&token.unwrap());
    assert_eq!(header["kid"], "k1");
    assert_eq!(claims["iss"], "me");
    assert_eq!(claims["sub"], "me");
    assert_eq!(claims["aud"], "https://as.example.com");
    assert_eq!(claims["iat"], 1000);
    assert_eq!(claims["exp"], 1300);
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public.public_key().as_ref())
        .verify(text.as_bytes(), &signature)
        .unwrap();

    let der = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
    let public = Ed25519KeyPair::from_pkcs8(der.as_ref()).unwrap();
    let key = SigningKey::from_pem(&pem(der.as_ref()), "EdDSA", None).unwrap();
    let (_, _, text, signature) = parts(&key.assertion("me", "you", Wall(0)).unwrap());
    UnparsedPublicKey::new(&ED25519, public.public_key().as_ref())
        .verify(text.as_bytes(), &signature)
        .unwrap();
}

#[test]
fn a_key_that_is_none_is_refused() {
    let read = |text: &str, algorithm| {
        SigningKey::from_pem(&Secret::new(text), algorithm, None).map(|_| ())
    };
    assert_eq!(read("", "ES256"), Err(KeyError::Unreadable));
    assert_eq!(read("not a key", "RS256"), Err(KeyError::Unreadable));
    let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
    let text = pem(der.unwrap().as_ref());
    assert_eq!(read(text.reveal(), "RS256"), Err(KeyError::Unreadable));
    for algorithm in ["none", "HS256", ""] {
        assert_eq!(read(text.reveal(), algorithm), Err(KeyError::Algorithm));
    }
}

#[test]
fn a_proof_is_fresh_and_about_one_request() {
    let key = ProofKey::random().unwrap();
    let again = ProofKey::read(key.document()).unwrap();
    let about = Proof {
        method: "POST",
        url: "https://example.com/mcp",
        nonce: Some("n1"),
        token: Some("at"),
    };
    let (header, claims, text, signature) = parts(&key.proof(&about, Wall(5000)).unwrap());
    assert_eq!(header["typ"], "dpop+jwt");
    assert!(header["jwk"].get("d").is_none(), "no private key in it");
    assert_eq!(claims["htm"], "POST");
    assert_eq!(claims["nonce"], "n1");
    assert_eq!(claims["iat"], 5);
    // RFC 9449, section 4.2: the hash of the token's ASCII.
    assert_eq!(claims["ath"].as_str().unwrap().len(), 43);
    let public = again.pair.public_key().as_ref().to_vec();
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public)
        .verify(text.as_bytes(), &signature)
        .unwrap();
    let (_, second, _, _) = parts(&key.proof(&about, Wall(5000)).unwrap());
    assert_ne!(claims["jti"], second["jti"]);
    assert!(!format!("{key:?}").contains(key.document().reveal()));
}
