//! A hub whose lease was over, and that begins again.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

use super::*;
use crate::BookError;

#[tokio::test]
async fn what_still_runs_is_not_begun_a_second_time_and_a_hub_that_ended_begins_nothing() {
    let runs = Arc::new(AtomicUsize::new(0));
    let (began, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (counted, begins) = (Arc::clone(&runs), Arc::clone(&began));
    let released = Arc::clone(&release);
    let place = Place::new();
    let run = move |seat: Seat, _| {
        let is_first = counted.fetch_add(1, Ordering::SeqCst) == 0;
        begins.notify_one();
        let released = Arc::clone(&released);
        async move {
            if is_first {
                // It hangs, whatever it is told.
                released.notified().await;
            }
            while !seat.control.is_stopping() {
                seat.control.changed().await;
            }
            RunEnd::Paused
        }
    };
    let hub = place.start(run).await;
    hub.submit(&agent("claude"), "work").await;
    began.notified().await;
    let core = &hub.engine.core;

    let again = core.begin_again().await;
    assert!(matches!(again, Err(BookError::AtWork)), "{again:?}");
    assert_eq!(runs.load(Ordering::SeqCst), 1);

    release.notify_one();
    core.begin_again().await.expect("the first run is gone");
    began.notified().await;
    assert_eq!(runs.load(Ordering::SeqCst), 2);

    hub.engine.stop().await;
    core.begin_again().await.expect("there is nothing to begin");
    assert!(core.desk().is_stopping && core.desk().runs.is_empty());
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn what_another_hub_brought_into_a_session_is_not_forgotten() {
    let place = Place::new();
    let hub = place.start(echo).await;
    let book = &hub.engine.core.book;
    let session = book.session_new(None, None).await.expect("begun");
    // Another hub says something of an entity in it, and this one does not hear of it.
    let (key, database) = (place.keystore(), Arc::clone(&hub.store));
    let clock = SystemClock::shared();
    let other = crate::book::Book::open(database, key, clock, crate::live::Live::new());
    let other = other.await.expect("opened");
    let entry = NewEntry {
        session: session.id.clone(),
        task: None,
        source: Source::Human,
        labels: of("meadow"),
        body: Body::Text {
            text: "of the meadow".to_owned(),
            partial: false,
        },
    };
    other.append(entry, true).await.expect("said");

    book.read_sessions().await.expect("read");
    let held = book.session(&session.id).expect("there");
    assert_eq!(
        (&held.labels, &*held.title),
        (&of("meadow"), "of the meadow")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn hubs_that_speak_in_a_session_at_once_lose_none_of_its_labels() {
    let place = Place::new();
    let hub = place.start(echo).await;
    let session = hub.engine.core.book.session_new(None, None).await;
    let session = session.expect("begun").id;
    let open = async || {
        let (key, database) = (place.keystore(), Arc::clone(&hub.store));
        let clock = SystemClock::shared();
        let book = crate::book::Book::open(database, key, clock, crate::live::Live::new());
        Arc::new(book.await.expect("opened"))
    };
    let (one, other) = (open().await, open().await);
    let speak = |book: &Arc<crate::book::Book>, who: &'static str| {
        let (book, session) = (Arc::clone(book), session.clone());
        tokio::runtime::Handle::current().spawn(async move {
            for index in 0..8 {
                let entry = NewEntry {
                    session: session.clone(),
                    task: None,
                    source: Source::Human,
                    labels: of(&format!("{who}-{index}")),
                    body: Body::Text {
                        text: format!("of {who}"),
                        partial: false,
                    },
                };
                book.append(entry, index % 2 == 0).await.expect("said");
            }
        })
    };
    let (first, second) = (speak(&one, "harbor"), speak(&other, "meadow"));
    first.await.expect("spoken");
    second.await.expect("spoken");

    let all = (0..8).flat_map(|index| [format!("harbor-{index}"), format!("meadow-{index}")]);
    let all: EntityLabels = all.map(EntityId::new).collect();
    let held = open().await.session(&session).expect("there");
    assert_eq!(held.labels, all);
    // It is sealed under the keys of all of them, and still opens.
    assert!(held.title.starts_with("of "), "{:?}", held.title);
    // A hub that deletes it takes it from the others too.
    assert!(one.session_delete(&session).await.expect("deleted"));
    let resumed = other.session_resume(&session).await;
    assert!(
        matches!(resumed, Err(BookError::Gone { what: "session" })),
        "{resumed:?}"
    );
    assert!(other.session(&session).is_none());
}
