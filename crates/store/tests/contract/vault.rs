//! What redaction tokens stand for.

use legation_store::{VaultPurge, VaultRow};

use crate::bench::{Bench, cases};

cases!(
    a_token_is_found_by_its_entity_only,
    a_batch_is_stored_whole_or_not_at_all,
    tokens_are_removed_by_entity_conversation_and_time,
);

fn row(entity: &str, conversation: &str, token: &str, expires_ms: i64) -> VaultRow {
    VaultRow {
        entity: entity.to_owned(),
        conversation: conversation.to_owned(),
        token: token.to_owned(),
        sealed: token.as_bytes().to_vec(),
        created_ms: 1,
        expires_ms,
    }
}

fn a_token_is_found_by_its_entity_only(bench: &Bench<'_>) {
    let store = bench.open();
    let mine = row("olive", "c1", "t", 10);
    let theirs = VaultRow {
        sealed: b"other".to_vec(),
        ..row("spruce", "c1", "t", 10)
    };
    store
        .vault_put(&[mine.clone(), theirs.clone()])
        .expect("put");
    drop(store);
    let store = bench.open();
    assert_eq!(
        store.vault_get("olive", "t").expect("read"),
        Some(mine.clone())
    );
    assert_eq!(store.vault_get("spruce", "t").expect("read"), Some(theirs));
    assert_eq!(store.vault_get("birch", "t").expect("read"), None);
    assert_eq!(store.vault_list("olive", "c1").expect("read"), [mine]);
    assert_eq!(store.vault_list("olive", "c2").expect("read"), []);
}

fn a_batch_is_stored_whole_or_not_at_all(bench: &Bench<'_>) {
    let store = bench.open();
    let rows: Vec<_> = (0..100)
        .map(|index| row("olive", "c", &format!("{index:03}"), 10))
        .collect();
    store.vault_put(&rows).expect("put");
    assert_eq!(store.vault_list("olive", "c").expect("read"), rows);
}

fn tokens_are_removed_by_entity_conversation_and_time(bench: &Bench<'_>) {
    let store = bench.open();
    let rows = [
        row("olive", "c1", "1", 10),
        row("olive", "c2", "2", 20),
        row("spruce", "c2", "3", 20),
        row("spruce", "c3", "4", 30),
        row("birch", "c4", "5", 40),
    ];
    store.vault_put(&rows).expect("put");
    let purge = |what| store.vault_purge(what).expect("removed");
    assert_eq!(purge(VaultPurge::Before(9)), 0);
    assert_eq!(purge(VaultPurge::Before(10)), 1);
    assert_eq!(purge(VaultPurge::Conversation("c2")), 2);
    assert_eq!(purge(VaultPurge::Entity("olive")), 0);
    assert_eq!(purge(VaultPurge::Entity("spruce")), 1);
    let left = store.vault_get("birch", "5").expect("read");
    assert_eq!(left, Some(rows[4].clone()));
}
