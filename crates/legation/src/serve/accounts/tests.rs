use legation_store::StoreOptions;

use super::*;

#[test]
fn of_waits_that_are_told_at_once_the_longer_stands() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("state.db"), StoreOptions::default()).unwrap();
    let turn = Mutex::new(());
    let row = |until: i64| KeptRow {
        kind: WAITS.to_owned(),
        name: "work https://graph.example.com chats".to_owned(),
        value: String::new(),
        changed_ms: 1,
        expires_ms: until,
    };
    std::thread::scope(|scope| {
        for until in [4_000, 9_000, 2_000, 7_000] {
            let (store, turn, row) = (&store, &turn, row(until));
            scope.spawn(move || keep_longer(store, turn, &row).unwrap());
        }
    });
    let kept = store.kept_list(WAITS).unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].expires_ms, 9_000);
    keep_longer(&store, &turn, &row(8_000)).unwrap();
    assert_eq!(store.kept_list(WAITS).unwrap()[0].expires_ms, 9_000);
}
