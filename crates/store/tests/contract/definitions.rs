//! Remembered definitions.

use crate::bench::{Bench, cases};

cases!(definitions_are_remembered_replaced_listed_and_forgotten);

fn definitions_are_remembered_replaced_listed_and_forgotten(bench: &Bench<'_>) {
    let store = bench.open();
    assert_eq!(store.definition_get("a/tools").expect("read"), None);
    store.definition_put("a/tools", b"1", 10).expect("put");
    store.definition_put("a/tools", b"2", 20).expect("put");
    store.definition_put("a/era", b"e", 30).expect("put");
    store.definition_put("a%", b"p", 30).expect("put");
    store.definition_put("b/era", b"e", 30).expect("put");
    drop(store);
    let store = bench.open();
    let found = store
        .definition_get("a/tools")
        .expect("read")
        .expect("there");
    assert_eq!(
        (found.blob.as_slice(), found.updated_at_ms),
        (&b"2"[..], 20)
    );
    let keys = |prefix: &str| -> Vec<String> {
        let found = store.definition_list(prefix).expect("read");
        found.into_iter().map(|one| one.key).collect()
    };
    assert_eq!(keys("a/"), ["a/era", "a/tools"]);
    assert_eq!(keys("a%"), ["a%"]);
    assert_eq!(keys("").len(), 4);
    assert!(store.definition_remove("a/era").expect("removed"));
    assert!(!store.definition_remove("a/era").expect("none"));
}
