use std::path::Path;

use legation_core::clock::ManualClock;
use legation_core::{EntityId, EntityLabels, Wall};
use legation_models::Usage;
use legation_store::StoreOptions;

use super::*;

/// Noon of 21 November 2026.
const NOON_MS: i64 = 1_795_262_400_000;

fn book(folder: &Path, options: StoreOptions) -> Book {
    let clock = Arc::new(ManualClock::at(Wall(NOON_MS)));
    book_at(folder, options, clock)
}

fn book_at(folder: &Path, options: StoreOptions, clock: SharedClock) -> Book {
    let store = Store::open(&folder.join("state.db"), options).expect("opened");
    Book::new(Arc::new(store), clock)
}

fn today() -> Day {
    Day::of(Wall(NOON_MS))
}

fn spend(provider: &str, tokens: u64) -> Spend {
    let harbor = EntityLabels::of(EntityId::new("harbor"));
    Spend {
        day: today(),
        provider: provider.to_owned(),
        model: "small".to_owned(),
        labels: Some(harbor.join(&EntityLabels::of(EntityId::new("meadow")))),
        job: Some("delegate.task".to_owned()),
        usage: Usage {
            input: Some(tokens),
            output: Some(1),
            ..Usage::default()
        },
        cost_micro_usd: Some(7),
        saved_micro_usd: None,
    }
}

#[test]
fn what_is_counted_counts_before_and_after_it_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let book = book(folder.path(), StoreOptions::default());
    assert!(book.since("paid", today()).is_err(), "nothing was read");
    book.read().expect("read");
    book.add(spend("paid", 10)).expect("added");
    book.add(spend("paid", 20)).expect("added");
    book.add(spend("other", 5)).expect("added");
    let spent = Spent {
        tokens: 32,
        cost_micro_usd: 14,
    };
    assert_eq!(book.since("paid", today()).expect("known"), spent);
    book.write().expect("written");
    assert_eq!(book.since("paid", today()).expect("known"), spent);
    book.write().expect("nothing is left");
    let rows = book.list(today()).expect("listed");
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1].entities, "harbor meadow");
    assert_eq!((rows[1].requests, rows[1].uncounted), (2, 0));
    drop(book);
    let book = self::book(folder.path(), StoreOptions::default());
    book.read().expect("read");
    assert_eq!(book.since("paid", today()).expect("known"), spent);
    let tomorrow = Day(today().0 + 1);
    assert_eq!(
        book.since("paid", tomorrow).expect("known"),
        Spent::default()
    );
}

#[test]
fn what_cannot_be_written_still_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let book = book(folder.path(), StoreOptions::default());
    book.read().expect("read");
    book.store.limit_pages(Some(1)).expect("limited");
    let mut big = spend("paid", 10);
    big.model = "x".repeat(64 * 1024);
    book.add(big).expect("added");
    book.write().expect_err("the disk is full");
    assert_eq!(book.since("paid", today()).expect("known").tokens, 11);
    book.store.limit_pages(None).expect("more room");
    book.write().expect("written");
    assert_eq!(book.since("paid", today()).expect("known").tokens, 11);
    assert_eq!(book.list(today()).expect("listed").len(), 1);
}

#[test]
fn months_that_are_over_are_in_memory_no_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = Arc::new(ManualClock::at(Wall(NOON_MS)));
    let book = book_at(folder.path(), StoreOptions::default(), clock.clone());
    book.read().expect("read");
    book.add(spend("paid", 10)).expect("added");
    book.write().expect("written");
    clock.advance(Duration::from_hours(24 * 30));
    let later = Day::of(book.clock.wall());
    book.add(Spend {
        day: later,
        ..spend("paid", 20)
    })
    .expect("added");
    book.write().expect("written");
    let days: Vec<i64> = {
        let rows = book.lock();
        let kept = rows.kept.iter().flatten();
        kept.map(|((day, ..), _)| *day).collect()
    };
    assert_eq!(days, [later.0]);
    assert_eq!(book.list(today()).expect("listed").len(), 2, "rows stay");
}
