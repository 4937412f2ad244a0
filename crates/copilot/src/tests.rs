//! What is decided without a socket. What GitHub and its own library say of the rest is among the
//! end-to-end tests.

mod answers;
mod words;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use legation_core::Wall;
use legation_core::clock::{Clock as _, ManualClock};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use std::time::Duration;

use crate::payload::{Payload, State};
use crate::replay::{First, REMEMBERED, Seen};
use crate::signature::{Bad, Claim, Mark, Point};

/// A key as GitHub has them, and its public half in PEM.
struct Signer {
    pair: EcdsaKeyPair,
    pem: String,
}

impl Signer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).unwrap();
        let mut der = vec![
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06,
            0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
        ];
        der.extend_from_slice(pair.public_key().as_ref());
        let pem = format!(
            "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n",
            STANDARD.encode(der)
        );
        Self { pair, pem }
    }

    fn sign(&self, body: &[u8]) -> Vec<u8> {
        let signed = self.pair.sign(&SystemRandom::new(), body).unwrap();
        signed.as_ref().to_vec()
    }

    fn point(&self) -> Point {
        Point::of_pem(&self.pem).unwrap()
    }
}

fn head(fields: &[(&'static str, &str)]) -> HeaderMap {
    let mut head = HeaderMap::new();
    for (name, value) in fields {
        head.append(*name, value.parse().unwrap());
    }
    head
}

fn claim(signature: &[u8]) -> Claim {
    let text = STANDARD.encode(signature);
    let fields = [
        ("github-public-key-identifier", "key"),
        ("github-public-key-signature", text.as_str()),
    ];
    Claim::of(&head(&fields)).unwrap()
}

#[test]
fn only_the_very_bytes_that_were_signed_are_believed() {
    let (signer, other) = (Signer::new(), Signer::new());
    let body = br#"{"messages":[]}"#;
    let signature = signer.sign(body);
    let good = claim(&signature);
    assert!(good.check(&signer.point(), body).is_ok());
    for index in 0..body.len() {
        let mut altered = body.to_vec();
        altered[index] ^= 1;
        assert_eq!(good.check(&signer.point(), &altered), Err(Bad::Signature));
    }
    assert_eq!(good.check(&other.point(), body), Err(Bad::Signature));
    assert_eq!(good.check(&signer.point(), b""), Err(Bad::Empty));
    for index in 0..signature.len() {
        let mut altered = signature.clone();
        altered[index] ^= 1;
        assert!(claim(&altered).check(&signer.point(), body).is_err());
    }
    assert!(claim(&signature[1..]).check(&signer.point(), body).is_err());
}

#[test]
fn a_signature_that_somebody_turned_into_another_is_known_again() {
    let signer = Signer::new();
    let body = b"a body";
    let signature = signer.sign(body);
    let mark = claim(&signature).check(&signer.point(), body).unwrap();
    let turned = turned(&signature);
    assert_ne!(signature, turned);
    let again = claim(&turned).check(&signer.point(), body);
    assert_eq!(again, Ok(mark), "the other signature is good, and the same");
    let anew = claim(&signer.sign(body))
        .check(&signer.point(), body)
        .unwrap();
    assert_ne!(anew, mark, "what GitHub really sends again is new");
}

/// The other signature of the same bytes: n − s in the place of s.
fn turned(der: &[u8]) -> Vec<u8> {
    const ORDER: [u8; 32] = [
        0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc,
        0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
    ];
    let first_end = 4 + usize::from(der[3]);
    let second = &der[first_end + 2..];
    let mut padded = [0u8; 32];
    let digits = second.strip_prefix(&[0]).unwrap_or(second);
    padded[32 - digits.len()..].copy_from_slice(digits);
    let mut rest = [0u8; 32];
    let mut borrow = 0i32;
    for index in (0..32).rev() {
        let digit = i32::from(ORDER[index]) - i32::from(padded[index]) - borrow;
        borrow = i32::from(digit < 0);
        rest[index] = u8::try_from(digit.rem_euclid(256)).unwrap();
    }
    let start = rest.iter().position(|byte| *byte != 0).unwrap();
    let mut number = rest[start..].to_vec();
    if number[0] & 0x80 != 0 {
        number.insert(0, 0);
    }
    let mut body = der[2..first_end].to_vec();
    body.extend([2, u8::try_from(number.len()).unwrap()]);
    body.extend(number);
    let mut out = vec![0x30, u8::try_from(body.len()).unwrap()];
    out.extend(body);
    out
}

#[test]
fn both_spellings_of_the_fields_are_read_and_two_that_differ_are_not() {
    let (old, new) = ("github-public-key-", "x-github-public-key-");
    for prefix in [old, new] {
        let mut fields = HeaderMap::new();
        for (field, value) in [("identifier", "a"), ("signature", "AQID")] {
            let name: http::HeaderName = format!("{prefix}{field}").parse().unwrap();
            fields.insert(name, value.parse().unwrap());
        }
        assert_eq!(Claim::of(&fields).unwrap().key, "a");
    }
    let identifier = ("github-public-key-identifier", "a");
    let signature = ("github-public-key-signature", "AQID");
    let long = "a".repeat(257);
    for (fields, why) in [
        (vec![signature], Bad::Missing(identifier.0)),
        (vec![identifier], Bad::Missing(signature.0)),
        (
            vec![identifier, (signature.0, "")],
            Bad::Missing(signature.0),
        ),
        (
            vec![identifier, (signature.0, "?")],
            Bad::Field(signature.0),
        ),
        (
            vec![
                identifier,
                ("x-github-public-key-identifier", "b"),
                signature,
            ],
            Bad::Field(identifier.0),
        ),
        (
            vec![(identifier.0, long.as_str()), signature],
            Bad::Field(identifier.0),
        ),
        // The field of ordinary webhooks proves nothing here.
        (
            vec![("x-hub-signature-256", "sha256=00")],
            Bad::Missing(identifier.0),
        ),
    ] {
        assert_eq!(Claim::of(&head(&fields)), Err(why), "{fields:?}");
    }
}

#[test]
fn keys_of_other_kinds_are_none() {
    let ed25519 = "-----BEGIN PUBLIC KEY-----\n\
        MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n\
        -----END PUBLIC KEY-----\n";
    for pem in ["", "nothing", ed25519, &Signer::new().pem.replace('=', "!")] {
        assert!(Point::of_pem(pem).is_none(), "{pem}");
    }
}

#[test]
fn what_was_answered_is_not_answered_again() {
    let clock = ManualClock::at(Wall(0));
    let seen = Seen::default();
    let mark = |number: u32| {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        Mark(bytes)
    };
    assert_eq!(seen.note(mark(0), clock.now()), First::Yes);
    assert_eq!(seen.note(mark(0), clock.now()), First::No);
    clock.advance(REMEMBERED - Duration::from_secs(1));
    assert_eq!(seen.note(mark(0), clock.now()), First::No);
    for number in 1..65_536 {
        assert_eq!(seen.note(mark(number), clock.now()), First::Yes);
    }
    // No room is no reason to forget one, or to let one in that cannot be remembered.
    assert_eq!(seen.note(mark(70_000), clock.now()), First::Full);
    assert_eq!(seen.note(mark(0), clock.now()), First::No);
    clock.advance(Duration::from_secs(2));
    assert_eq!(seen.note(mark(70_000), clock.now()), First::Yes);
}

#[test]
fn what_github_posts_is_read_and_the_rest_passed_over() {
    let body = r#"{"copilot_thread_id":"a/b\u001b-1","agent":"x","new":{"a":[1]},"messages":[
        {"role":"user","content":"brief"},
        {"role":"assistant","content":"Which business is this for?\n\n- x"},
        {"role":"user","content":"harbor","copilot_references":[{}],"copilot_confirmations":[
            {"state":"accepted","confirmation":{"id":"A"}},
            {"state":"dismissed","confirmation":{"id":"B"}},
            {"state":"maybe"}]}]}"#;
    let payload = Payload::read(body.as_bytes()).unwrap();
    assert_eq!(payload.thread().as_deref(), Some("ab-1"));
    assert_eq!(payload.before("Which business"), Some("brief"));
    assert_eq!(payload.before("Another question"), None);
    let last = payload.last().unwrap();
    assert_eq!(last.text(), "harbor");
    let states: Vec<State> = last
        .copilot_confirmations
        .iter()
        .flatten()
        .map(|one| one.state)
        .collect();
    assert_eq!(states, [State::Accepted, State::Dismissed, State::Other]);
    for bad in ["", "{", r#"{"messages":{}}"#, &"[".repeat(100_000)] {
        assert!(Payload::read(bad.as_bytes()).is_err());
    }
    let from_model = r#"{"messages":[{"role":"assistant","content":"draft"}]}"#;
    assert!(
        Payload::read(from_model.as_bytes())
            .unwrap()
            .last()
            .is_none()
    );
}
