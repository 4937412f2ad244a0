//! What somebody might try.

use std::time::{Duration, Instant};

use legation_redact::{
    Class, MemoryVault, Redactor, RedactorSpec, Token, Vault as _, restore_text,
};

#[test]
fn restores_no_foreign_forged_or_backward_token() {
    let mut everest = MemoryVault::new();
    let mut other = MemoryVault::new();
    let token = everest.token(Class::Name, "Anna Kowalska").to_string();
    let _ = other.token(Class::Name, "Bertil Ohlsson");
    let backward: String = token.chars().rev().collect();
    let mut wrong_class = token.replace("name", "mrn");
    for text in [
        token.clone(),
        backward.clone(),
        "⟦P:name:ZZZZZZ⟧".into(),
        "⟦P:name:000000⟧".into(),
    ] {
        assert_eq!(restore_text(&text, &other), text);
    }
    assert_eq!(restore_text(&backward, &everest), backward);
    assert_eq!(restore_text(&wrong_class, &everest), wrong_class);
    wrong_class.clear();
}

#[test]
fn gives_out_no_id_that_stands_in_the_text() {
    let redactor = Redactor::build(&RedactorSpec::default()).expect("nothing to refuse");
    let mut vault = MemoryVault::new();
    let forged = "⟦P:name:7Q4K2M⟧";
    let redacted = redactor.redact_text(&format!("{forged} and Vandermolen"), &mut vault);
    assert!(redacted.text.starts_with(forged));
    assert_eq!(
        restore_text(&redacted.text, &vault),
        format!("{forged} and Vandermolen")
    );
    let again = redactor.redact_text(&redacted.text, &mut vault);
    assert_eq!(again.text, redacted.text, "our own tokens stay as they are");
}

#[test]
fn makes_tokens_that_say_nothing() {
    let ids: Vec<String> = (0..50)
        .map(|_| {
            MemoryVault::new()
                .token(Class::Ssn, "219-09-9999")
                .id()
                .to_owned()
        })
        .collect();
    let distinct: std::collections::HashSet<_> = ids.iter().collect();
    assert!(
        distinct.len() > 45,
        "the same value has another token in each vault"
    );
    assert!(Token::blank(Class::Name).is_blank());
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "whether it ends in time is what is tested"
)]
fn takes_linear_time_for_hostile_texts() {
    let redactor = Redactor::build(&RedactorSpec::default()).expect("nothing to refuse");
    let size = 60_000;
    for part in [
        "a", "1", "1-", "@", "a@", ":", "::", "a.", "1.1.", "A ", "12 Elm ", "New ", "&#", "%41",
        "⟦P:", "[", "March ", "one ", "\u{301}", "é", "Dr. ", "de la ", "=", "QQQQ", "_", "\\",
    ] {
        let text = part.repeat(size / part.len());
        let started = Instant::now();
        let redacted = redactor.redact_text(&text, &mut MemoryVault::new());
        assert!(
            started.elapsed() < Duration::from_secs(10),
            "{part:?} took {:?}",
            started.elapsed()
        );
        assert!((0.0..=1.0).contains(&redacted.residual_risk));
    }
}
