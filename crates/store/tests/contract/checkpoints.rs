//! Signed checkpoints, opaque here.

use legation_store::CheckpointRow;

use crate::bench::{Bench, cases};

cases!(
    checkpoints_are_listed_by_log_and_size,
    a_checkpoint_is_never_replaced
);

fn checkpoint(origin: &str, size: i64) -> CheckpointRow {
    CheckpointRow {
        origin: origin.to_owned(),
        size,
        at_ms: 1,
        root: [8; 32],
        note: b"note\n".to_vec(),
    }
}

fn checkpoints_are_listed_by_log_and_size(bench: &Bench<'_>) {
    let store = bench.open();
    let rows = [("b", 1), ("a", 20), ("a", 3)].map(|(log, size)| checkpoint(log, size));
    for row in &rows {
        assert!(store.checkpoint_put(row).expect("put"));
    }
    drop(store);
    let store = bench.open();
    let [b1, a20, a3] = rows;
    let all = store.checkpoint_list(None, 0).expect("read");
    assert_eq!(all, [a3.clone(), a20.clone(), b1.clone()]);
    assert_eq!(
        store.checkpoint_list(Some("a"), 3).expect("read"),
        std::slice::from_ref(&a20)
    );
    assert_eq!(store.checkpoint_last("a").expect("read"), Some(a20));
    assert_eq!(store.checkpoint_last("c").expect("read"), None);
}

fn a_checkpoint_is_never_replaced(bench: &Bench<'_>) {
    let store = bench.open();
    store.checkpoint_put(&checkpoint("a", 1)).expect("put");
    let other = CheckpointRow {
        root: [9; 32],
        ..checkpoint("a", 1)
    };
    assert!(!store.checkpoint_put(&other).expect("refused"));
    assert_eq!(
        store.checkpoint_list(None, 0).expect("read"),
        [checkpoint("a", 1)]
    );
}
