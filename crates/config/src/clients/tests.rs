use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use expect_test::expect;
use legation_core::{ClientId, Home, Wall};

use super::{Credentials, list, mint, owner_token, revoke};

fn home() -> (tempfile::TempDir, Home) {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path().join("home"));
    home.create().expect("created");
    (folder, home)
}

#[test]
fn a_minted_token_is_known_until_it_is_revoked() {
    let (_folder, home) = home();
    let claude = mint(&home, "claude", "Claude Code", "claude", Wall(0)).expect("minted");
    let codex = mint(&home, "codex", "Codex", "codex", Wall(0)).expect("minted");
    let token = claude.token.reveal();
    assert!(
        token.starts_with("lgn_") && token.len() == 47,
        "{}",
        token.len()
    );
    assert_ne!(token, codex.token.reveal());

    let credentials = Credentials::load(&home).expect("loaded");
    let who = |shown: &str| credentials.verify(shown).map(ToString::to_string);
    assert_eq!(who(token).as_deref(), Some("claude"));
    assert_eq!(who(codex.token.reveal()).as_deref(), Some("codex"));
    assert_eq!(
        who(owner_token(&home).expect("there").reveal()).as_deref(),
        Some("owner")
    );
    for wrong in [
        "",
        "lgn_",
        &token[1..],
        &format!("{token} "),
        &token.to_lowercase(),
    ] {
        assert_eq!(who(wrong), None, "{wrong}");
    }

    revoke(&home, &ClientId::new("claude"), Wall(1)).expect("revoked");
    let credentials = Credentials::load(&home).expect("loaded");
    assert_eq!(credentials.verify(token), None);
    let listed: Vec<_> = list(&home)
        .expect("listed")
        .into_iter()
        .map(|client| (client.id.to_string(), client.revoked))
        .collect();
    assert_eq!(
        listed,
        [
            (
                "claude".to_owned(),
                Some("1970-01-01T00:00:00.001Z".to_owned())
            ),
            ("codex".to_owned(), None)
        ]
    );
    revoke(&home, &ClientId::new("nobody"), Wall(1)).expect_err("nobody is unknown");
}

#[test]
fn a_new_token_ends_the_old_one() {
    let (_folder, home) = home();
    let old = mint(&home, "claude", "a", "claude", Wall(0)).expect("minted");
    let new = mint(&home, "claude", "b", "claude", Wall(1)).expect("minted");
    let credentials = Credentials::load(&home).expect("loaded");
    assert_eq!(credentials.verify(old.token.reveal()), None);
    assert!(credentials.verify(new.token.reveal()).is_some());
    assert_eq!(list(&home).expect("listed").len(), 1);
}

#[test]
fn no_token_stands_in_a_file_or_a_print() {
    let (_folder, home) = home();
    let minted = mint(&home, "claude", "Claude", "claude", Wall(0)).expect("minted");
    let token = minted.token.reveal();
    let file = fs::read_to_string(home.clients()).expect("written");
    assert!(!file.contains(token));
    let credentials = Credentials::load(&home).expect("loaded");
    assert!(!format!("{minted:?} {credentials:?}").contains(token));
    for path in [home.clients(), home.token()] {
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
}

#[test]
fn the_owners_token_is_made_once() {
    let (_folder, home) = home();
    let first = owner_token(&home).expect("made");
    let again = owner_token(&home).expect("read");
    assert_eq!(first.reveal(), again.reveal());
    let line = fs::read_to_string(home.token()).expect("written");
    assert_eq!(line, format!("{}\n", first.reveal()));
}

#[test]
fn an_empty_token_lets_nobody_in() {
    let (_folder, home) = home();
    for text in [
        "",
        "\n",
        "short\n",
        &format!("{}\n{}\n", "a".repeat(32), "b".repeat(32)),
    ] {
        fs::write(home.token(), text).expect("written");
        let error = Credentials::load(&home).expect_err("not a token");
        assert!(!error.hint().is_empty());
        assert_eq!(fs::read_to_string(home.token()).expect("kept"), text);
    }
}

#[test]
fn ids_stand_in_rules_and_are_held_to_it() {
    let (_folder, home) = home();
    for id in ["", "owner", "a b", "*", "é", &"a".repeat(65)] {
        mint(&home, id, "x", "x", Wall(0)).expect_err("not an id");
    }
    assert!(!home.clients().exists());
}

#[test]
fn a_broken_file_lets_nobody_in_and_is_kept() {
    let (_folder, home) = home();
    mint(&home, "claude", "Claude", "claude", Wall(0)).expect("minted");
    let good = fs::read_to_string(home.clients()).expect("written");
    let hash = good
        .split('"')
        .find(|part| part.len() == 64)
        .expect("a hash");
    let mut errors = String::new();
    for broken in [
        good.replace("\"version\": 1", "\"version\": 9"),
        good.replace("\"id\": \"claude\"", "\"id\": \"owner\""),
        good.replace(hash, ""),
        good.replace(hash, &"+f".repeat(32)),
        good.replace("\"name\"", "\"id\""),
        "{}".to_owned(),
    ] {
        fs::write(home.clients(), &broken).expect("written");
        let error = Credentials::load(&home).expect_err("nobody is let in");
        let text = legation_core::error::chain(&error);
        errors += text.rsplit('/').next().expect("a last part");
        errors.push('\n');
        mint(&home, "codex", "x", "x", Wall(0)).expect_err("not replaced");
        assert_eq!(fs::read_to_string(home.clients()).expect("kept"), broken);
    }
    expect![[r#"
        clients.json cannot be used, nothing was changed: line 1, column 1: version 9 is not known
        clients.json cannot be used, nothing was changed: line 1, column 1: client owner has an id or a token_sha256 that cannot be one
        clients.json cannot be used, nothing was changed: line 1, column 1: client claude has an id or a token_sha256 that cannot be one
        clients.json cannot be used, nothing was changed: line 1, column 1: client claude has an id or a token_sha256 that cannot be one
        clients.json cannot be used, nothing was changed: line 6, column 10: the key "id" is there twice
        clients.json cannot be used, nothing was changed: line 1, column 2: missing field `version`
    "#]].assert_eq(&errors);
}
