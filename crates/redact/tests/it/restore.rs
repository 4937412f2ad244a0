//! The way back.

use legation_redact::{Class, MemoryVault, Restorer, Vault as _, VaultRow, restore_text};

#[test]
fn restores_every_spelling_and_every_split() {
    let mut vault = MemoryVault::new();
    let token = vault.token(Class::Name, "Anna Kowalska").to_string();
    let inner = token.trim_matches(['⟦', '⟧']);
    let spellings = [
        token.clone(),
        token.to_lowercase(),
        format!("⟦**{inner}**⟧"),
        format!("⟦ {} ⟧", inner.replace(':', " : ")),
        format!("[[{inner}]]"),
        format!("\\[\\[{}\\]\\]", inner.replace(':', "\\:")),
        format!("&#10214;{}&#10215;", inner.replace(':', "&#58;")),
        format!("%E2%9F%A6{}%E2%9F%A7", inner.replace(':', "%3A")),
        format!("⟦<b>{inner}</b>⟧"),
        format!("\\u27e6{inner}\\u27e7"),
    ];
    for spelling in spellings {
        let text = format!("a {spelling}'s [b] & 5% ⟦x \\ {spelling}");
        let expected = "a Anna Kowalska's [b] & 5% ⟦x \\ Anna Kowalska";
        assert_eq!(restore_text(&text, &vault), expected, "{spelling}");
        for size in 1..7 {
            let characters: Vec<char> = text.chars().collect();
            let mut restorer = Restorer::new();
            let mut restored = String::new();
            for chunk in characters.chunks(size) {
                restored += &restorer.push(&chunk.iter().collect::<String>(), &vault);
            }
            restored += &restorer.finish();
            assert_eq!(restored, expected, "{spelling} in pieces of {size}");
        }
    }
}

#[test]
fn holds_back_no_more_than_a_token() {
    let vault = MemoryVault::new();
    let mut restorer = Restorer::new();
    let text = "⟦P:name:".to_owned() + &"*".repeat(10_000);
    let out = restorer.push(&text, &vault).len();
    assert!(
        text.len() - out <= 192,
        "{} bytes are held",
        text.len() - out
    );
    assert_eq!(restorer.push("plain", &vault) + &restorer.finish(), "plain");
}

#[test]
fn keeps_its_rows() {
    let mut vault = MemoryVault::new();
    let token = vault.token(Class::Mrn, "77").to_string();
    let number = vault.number_token(Class::Mrn, "77").to_string();
    assert_ne!(token, number);
    assert_eq!(vault.token(Class::Mrn, "77").to_string(), token);
    assert_eq!(vault.take_fresh().len(), 2);
    assert!(vault.take_fresh().is_empty());
    let rows = vault.to_rows();
    assert!(!format!("{vault:?}{rows:?}").contains("\"77\""));
    let bad = VaultRow {
        token: "no token".into(),
        value: "x".into(),
    };
    let mut again = MemoryVault::from_rows(rows.into_iter().chain([bad]));
    assert_eq!(again.len(), 2);
    assert_eq!(again.token(Class::Mrn, "77").to_string(), token);
    assert_eq!(again.value(&token.to_lowercase()).as_deref(), Some("77"));
    assert!(again.take_fresh().is_empty());
}
