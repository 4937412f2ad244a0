//! Labels only ever grow.

use legation_core::{EntityId, EntityLabels};

use crate::bench::{Bench, cases};

cases!(labels_join_and_are_kept, those_who_add_at_once_lose_nothing);

fn labels(names: &[&str]) -> EntityLabels {
    names.iter().map(|name| EntityId::new(*name)).collect()
}

fn labels_join_and_are_kept(bench: &Bench<'_>) {
    let store = bench.open();
    assert!(store.label_get("seat").expect("read").is_empty());
    store.label_put("seat", &EntityLabels::none()).expect("put");
    assert!(!store.label_clear("seat").expect("none"));
    store.label_put("seat", &labels(&["b"])).expect("put");
    store.label_put("seat", &labels(&["a", "b"])).expect("put");
    store.label_put("other", &labels(&["c"])).expect("put");
    drop(store);
    let store = bench.open();
    assert_eq!(store.label_get("seat").expect("read"), labels(&["a", "b"]));
    assert!(store.label_clear("seat").expect("cleared"));
    assert!(store.label_get("seat").expect("read").is_empty());
    assert_eq!(store.label_get("other").expect("read"), labels(&["c"]));
}

fn those_who_add_at_once_lose_nothing(bench: &Bench<'_>) {
    let store = bench.open();
    let names: Vec<_> = (0..16).map(|index| format!("e{index:02}")).collect();
    std::thread::scope(|scope| {
        for name in &names {
            scope.spawn(|| store.label_put("seat", &labels(&[name])).expect("put"));
        }
    });
    let found = store.label_get("seat").expect("read");
    assert_eq!(found.as_slice().len(), names.len());
}
