use legation_keystore::Key;

use super::note::sign;
use super::*;

fn checkpoint() -> Checkpoint {
    let head = |entity: &str, seq, byte| Head {
        entity: entity.to_owned(),
        seq,
        hash: [byte; 32],
    };
    let heads = vec![head("b", 3, 2), head("a \"quoted\"\n", 2, 1)];
    Checkpoint::new("example.com/ledger", Wall(0), heads)
}

#[test]
fn a_checkpoint_reads_as_it_was_written() {
    let signer = legation_keystore::Signer::from_seed(&Key::from_bytes([5; 32]));
    let note = sign(&checkpoint().body(), "example.com/ledger", &signer);
    let lines: Vec<&str> = note.lines().collect();
    assert_eq!(&lines[..2], ["example.com/ledger", "5"]);
    assert_eq!(lines[3], "time 1970-01-01T00:00:00.000Z");
    assert!(lines[4].starts_with("head 2 AQEB") && lines[4].ends_with(r#" "a \"quoted\"\n""#));
    assert!(lines[5].starts_with("head 3 AgIC") && lines[5].ends_with(r#" "b""#));
    assert_eq!(Checkpoint::parse(&note), Ok(checkpoint()));
    let key = PublicKey {
        name: "example.com/ledger".to_owned(),
        key: signer.public(),
    };
    let (body, signatures) = split(&note).expect("a note");
    assert!(key.signed(body, &signatures));
    assert_eq!(key.to_string().parse(), Ok(key));
}

#[test]
fn a_changed_byte_makes_it_unreadable_or_unsigned() {
    let signer = legation_keystore::Signer::from_seed(&Key::from_bytes([5; 32]));
    let note = sign(&checkpoint().body(), "example.com/ledger", &signer);
    let key = PublicKey {
        name: "example.com/ledger".to_owned(),
        key: signer.public(),
    };
    for at in 0..note.len() {
        let mut bytes = note.clone().into_bytes();
        bytes[at] ^= 1;
        let Ok(changed) = String::from_utf8(bytes) else {
            continue;
        };
        let signed = split(&changed).is_ok_and(|(body, found)| key.signed(body, &found));
        assert!(!signed, "byte {at}");
    }
}

#[test]
fn lines_that_do_not_fit_together_are_refused() {
    let body = checkpoint().body();
    assert!(Checkpoint::parse_body(&body).is_ok());
    let root = body.lines().nth(2).expect("a root").to_owned();
    for (from, to) in [
        ("\n5\n", "\n6\n"),
        ("\n5\n", "\n05\n"),
        ("head 2", "head 1"),
        ("head 2", "head -2"),
        ("head 3", "head +3"),
        (root.as_str(), "AAAA"),
        ("time ", "when "),
        ("head 3 ", "tail 3 "),
    ] {
        let changed = body.replacen(from, to, 1);
        assert_ne!(changed, body);
        assert!(Checkpoint::parse_body(&changed).is_err(), "{from:?} {to:?}");
    }
}

#[test]
fn a_verifier_key_is_that_of_signed_notes() {
    // The example of the specification of signed notes, with its key's id.
    let text = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    let key: PublicKey = text.parse().expect("a key");
    assert_eq!(key.name, "PeterNeumann");
    assert_eq!(key.to_string(), text);
    let note = "If you think cryptography is the answer to your problem,\n\
                then you don't know what your problem is.\n\n\
                \u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";
    let (body, signatures) = split(note).expect("a note");
    assert!(key.signed(body, &signatures));
    for bad in [
        "",
        "x",
        "PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+c74f20a3+Ahpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+c74f20a3+ARpc",
    ] {
        assert_eq!(bad.parse::<PublicKey>(), Err(PublicKeyError), "{bad}");
    }
}
