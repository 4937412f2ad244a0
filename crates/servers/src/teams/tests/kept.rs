//! What is kept is kept for whoever repeats it.

use std::sync::Arc;

use legation_core::{ClientId, SystemClock};
use legation_store::{Store, StoreOptions};

use crate::kept::{Kept, Kind, name};

const FEW: Kind = Kind {
    word: "few",
    days: 1,
    most: 2,
};

#[tokio::test]
async fn what_is_repeated_makes_no_room_for_itself() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("state.db"), StoreOptions::default()).unwrap();
    let kept = Kept::new(Arc::new(store), SystemClock::shared());
    let client = ClientId::new("agent");
    let names = ["one", "two", "three"].map(|part| name(&client, "work", &[part]));
    for (number, name) in names.iter().take(2).enumerate() {
        assert_eq!(kept.add(FEW, name, &number).await.unwrap(), None);
    }
    for (number, name) in names.iter().take(2).enumerate() {
        let found = kept.add(FEW, name, &9).await.unwrap();
        assert_eq!(found, Some(number), "there are as many as there may be");
    }
    assert_eq!(kept.add(FEW, &names[2], &2).await.unwrap(), None);
    let all: Vec<(String, usize)> = kept.list(FEW).await.unwrap();
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(all.contains(&(names[2].clone(), 2)), "{all:?}");
}

#[tokio::test]
async fn a_row_that_cannot_be_read_hides_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("state.db"), StoreOptions::default()).unwrap();
    let store = Arc::new(store);
    let kept = Kept::new(Arc::clone(&store), SystemClock::shared());
    for (name, value) in [("a", 1), ("b", 2), ("c", 3)] {
        kept.put(FEW, name, &value).await.unwrap();
    }
    let mut damaged = store.kept_get(FEW.word, "b").unwrap().unwrap();
    damaged.value = "{ half".to_owned();
    store.kept_put(&damaged).unwrap();
    for _ in 0..2 {
        let mut all: Vec<(String, usize)> = kept.list(FEW).await.unwrap();
        all.sort();
        assert_eq!(all, [("a".to_owned(), 1), ("c".to_owned(), 3)]);
    }
    // By its name it is a failure, and not missing: what was sent would be sent again.
    kept.get::<usize>(FEW, "b").await.unwrap_err();
}
