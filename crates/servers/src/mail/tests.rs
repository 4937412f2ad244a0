//! What is kept of a letter.

use legation_core::{EntityId, Wall};
use legation_entra::mail::{Address, Letter};
use legation_inbox::Kind;

use super::incoming::Shelf;

fn address(name: &str, address: &str) -> Address {
    Address {
        name: name.to_owned(),
        address: address.to_owned(),
    }
}

#[test]
fn a_record_has_what_a_draft_that_answers_needs() {
    let letter = Letter {
        id: "AAkA1".to_owned(),
        message_id: "one@mail.example.com".to_owned(),
        conversation: "c1".to_owned(),
        subject: "The build".to_owned(),
        from: Some(address("Alex Sample", "alex@example.com")),
        to: vec![address("Agent", "agent@example.com")],
        cc: vec![address("", "kim@example.com")],
        reply_to: Vec::new(),
        received: Wall(1_000),
        has_attachments: true,
        noise: None,
    };
    let entity = EntityId::new("acme");
    let shelf = Shelf::of(&letter, "work");
    let files = ["log.txt".to_owned()];
    let kept = shelf.clone().received(
        letter.clone(),
        (Some("It is green.\n"), &files),
        ("work", &entity),
    );
    assert_eq!(
        kept.text,
        "The build\n\nIt is green.\n\n[attachment: log.txt]"
    );
    assert_eq!(kept.from, "Alex Sample (alex@example.com)");
    assert_eq!(
        (kept.id.as_str(), kept.kind),
        ("one@mail.example.com", Kind::New)
    );
    let meta: Vec<String> = kept
        .meta
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    assert_eq!(
        meta,
        [
            "account=work",
            "attachments=[\"log.txt\"]",
            "cc=[\"kim@example.com\"]",
            "conversation_id=c1",
            "from_address=alex@example.com",
            "internet_message_id=one@mail.example.com",
            "mail_id=AAkA1",
            "subject=The build",
            "to=[\"agent@example.com\"]",
        ]
    );
    let gone = shelf
        .clone()
        .deleted("AAkA1", Wall(2_000), ("work", &entity));
    assert_eq!(
        (&gone.channel, &gone.chat_id, &gone.id, gone.kind),
        (&kept.channel, &kept.chat_id, &kept.id, Kind::Deleted)
    );
    assert_ne!(gone.version, kept.version);
    // The same letter in the mailbox of another account is another message.
    assert_ne!(Shelf::of(&letter, "home").chat, shelf.chat);
    let nameless = Letter {
        from: Some(address("kim@example.com", "kim@example.com")),
        ..letter
    };
    let kept = Shelf::of(&nameless, "work").received(nameless, (None, &[]), ("work", &entity));
    assert_eq!(kept.from, "kim@example.com");
    assert_eq!(
        kept.text,
        "The build\n\n[its text could not be read; see the mailbox]"
    );
}
