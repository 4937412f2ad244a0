use std::borrow::Cow;

use legation_core::Secret;

use crate::secret::{Masked, SecretMasker};

fn kinds(masker: &SecretMasker, text: &str) -> (String, Vec<&'static str>) {
    let mut masked = Masked::default();
    let out = masker.mask(text, &mut masked).into_owned();
    (out, masked.iter().map(|(kind, _)| kind).collect())
}

#[test]
fn every_pattern_compiles() {
    for pattern in &crate::secret::patterns::PATTERNS {
        assert!(pattern.compiles(), "{}", pattern.kind);
    }
}

/// Built from parts, so that no scanner takes this file for a leak.
#[test]
fn secrets_are_found_by_their_shape() {
    let letters = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2bC3dE4fG5hJ6kL7mN8pQ9rS0tU1vW2xY3zA4bC5";
    let hex = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let of = |prefix: &str, length: usize| format!("{prefix}{}", &letters[..length]);
    let masker = SecretMasker::default();
    for (secret, kind) in [
        ("AKIAZ7QX2M5N4PRTUVWY".to_owned(), "aws-access-key"),
        (of("AIza", 35), "google-api-key"),
        (of("ghp_", 36), "github-token"),
        (of("github_pat_", 60), "github-token"),
        (of("glpat-", 20), "gitlab-token"),
        (of("xoxb-", 40), "slack-token"),
        (of("sk-proj-", 60), "openai-key"),
        (of("sk-ant-api03-", 60), "anthropic-key"),
        (of("hf_", 34), "huggingface-token"),
        (of("npm_", 36), "npm-token"),
        (of("sk_live_", 24), "stripe-key"),
        (format!("dop_v1_{hex}"), "digitalocean-token"),
        (format!("eyJ{0}.eyJ{0}.{0}", &letters[..30]), "jwt"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----".to_owned(),
            "private-key",
        ),
        (
            "-----BEGIN PRIVATE KEY-----\nMIIabc cut off".to_owned(),
            "private-key",
        ),
    ] {
        let (out, found) = kinds(&masker, &format!("before {secret}\n after"));
        assert!(
            found.contains(&kind) && !out.contains(&secret),
            "{kind}: {found:?} {out:?}"
        );
        assert_eq!(
            kinds(&masker, &out).1,
            Vec::<&str>::new(),
            "masking twice: {out}"
        );
    }
    for (text, gone) in [
        ("postgres://app:s3cretPw@db.example.com/x", "s3cretPw"),
        ("Server=db;Password=Pa55word!;Database=x", "Pa55word!"),
        (
            "Authorization: Bearer abcdefghij0123456789xyz",
            "abcdefghij0123456789xyz",
        ),
        ("API_KEY=\"q8Zr4mT9xW2vB7nK\"", "q8Zr4mT9xW2vB7nK"),
        ("client_secret: q8Zr4mT9xW2vB7nK", "q8Zr4mT9xW2vB7nK"),
    ] {
        let (out, _) = kinds(&masker, text);
        assert!(
            !out.contains(gone) && out.contains("[masked: "),
            "{text}: {out}"
        );
    }
}

#[test]
fn prose_and_code_stay() {
    let masker = SecretMasker::default();
    for text in [
        "Pass the token in the Authorization header: Bearer <token>.",
        "const apiKey = process.env.API_KEY;",
        "password: changeme",
        "max_tokens: 4096, next_page_token: abc",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "https://user@example.com/path https://example.com:8080/",
        "the secret: always listen to your customers",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    ] {
        let mut masked = Masked::default();
        assert!(
            matches!(masker.mask(text, &mut masked), Cow::Borrowed(_)),
            "{text}: {masked:?}"
        );
    }
}

#[test]
fn the_hubs_own_secrets_are_found_in_every_dress() {
    let secret = "s3cr\"et/of+the hub";
    let masker = SecretMasker::new(&[Secret::new(secret), Secret::new("short")]);
    for text in [
        secret,
        "s3cr\\\"et/of+the hub",
        "s3cr%22et%2Fof%2Bthe%20hub",
        // The Base64 of it behind none, one and two other bytes.
        "czNjciJldC9vZit0aGUgaHVi",
        "eHMzY3IiZXQvb2YrdGhlIGh1Yg==",
        "eHhzM2NyImV0L29mK3RoZSBodWI=",
    ] {
        let (out, found) = kinds(&masker, &format!("a {text} b"));
        assert_eq!(found, ["own-secret"], "{text}: {out}");
    }
    assert_eq!(kinds(&masker, "a short word").1, Vec::<&str>::new());
    assert_eq!(format!("{masker:?}"), "SecretMasker { .. }");
}
