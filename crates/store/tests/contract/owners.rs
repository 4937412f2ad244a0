//! Which hub works on which tasks, and what becomes of the leases it worked under.

use std::time::Duration;

use legation_core::TaskId;
use legation_store::{DatabaseError, DelegatedState, Fence, Lease, StoreError};

use crate::bench::{Bench, Kind, cases};
use crate::delegation::{partial, step, task};

cases!(
    tasks_of_an_owner_are_adopted_and_a_lost_lease_fences_what_it_wrote,
    a_lease_is_removed_when_no_task_is_open_under_it,
);

fn tasks_of_an_owner_are_adopted_and_a_lost_lease_fences_what_it_wrote(bench: &Bench<'_>) {
    let store = bench.open();
    for (id, owner) in [("t1", Some("one")), ("t2", Some("one")), ("t3", None)] {
        let mut row = task(id, "s1", 1);
        row.owner = owner.map(str::to_owned);
        store.delegated_add(&row).expect("added");
        if id == "t2" {
            row.state = DelegatedState::Completed;
            store.delegated_update(&row, None, true).expect("over");
        }
    }
    assert_eq!(store.delegated_owners("hub").expect("listed"), ["", "one"]);
    assert_eq!(
        store.delegated_adopt("hub", "one", "two").expect("adopted"),
        1
    );
    assert_eq!(store.delegated_adopt("hub", "", "two").expect("adopted"), 1);
    assert_eq!(store.delegated_owners("hub").expect("listed"), ["two"]);
    let second = store.delegated_get(&TaskId::new("t2")).expect("read");
    assert_eq!(
        second.and_then(|row| row.owner).as_deref(),
        Some("one"),
        "it is over"
    );

    let time = Duration::from_secs(60);
    let lease = store.lease_take("engine/two", "two", time).expect("asked");
    let lease = lease.expect("taken");
    store.fence_set(Some(Fence {
        lease: lease.name.clone(),
        token: lease.token,
    }));
    let open = task("t1", "s1", 1);
    store
        .delegated_update(&open, None, true)
        .expect("it holds its lease");
    assert!(
        store
            .lease_release(&lease.name, lease.token)
            .expect("given back")
    );
    let taken = store.lease_take(&lease.name, "three", time).expect("asked");
    assert!(taken.is_some_and(|taken| taken.token > lease.token));
    let refused = [
        store.delegated_update(&open, None, true).map(drop),
        store.delegated_add(&task("t4", "s1", 1)).map(drop),
        store.step_put(&step("t1", 1, 1), None, true).map(drop),
        store.step_end(&step("t1", 1, 1), b"said").map(drop),
        store.step_undo(&TaskId::new("t1"), 1, 1).map(drop),
        store.partial_put(&partial("t1")),
        store.delegated_edit(&open.id, b"other", 9).map(drop),
        store.delegated_place(&[(open.id.clone(), 9)]),
    ];
    let is_fenced = |refused: &Result<(), StoreError>| {
        let Err(StoreError::Failed { source, .. }) = refused else {
            return false;
        };
        matches!(source, DatabaseError::Fenced)
    };
    // In a file there is nobody else.
    let all = matches!(bench.kind, Kind::Server { .. });
    let fenced = refused.iter().filter(|one| is_fenced(one)).count();
    assert_eq!(fenced, if all { refused.len() } else { 0 }, "{refused:?}");
    assert!(refused.iter().all(|one| one.is_ok() != all));
    let said = store.partial_get(&open.id).expect("read");
    assert_eq!(said.is_some(), !all, "what it was saying is another's now");
    store.fence_set(None);
    store
        .delegated_update(&open, None, true)
        .expect("nothing stands in its way");
}

fn a_lease_is_removed_when_no_task_is_open_under_it(bench: &Bench<'_>) {
    let store = bench.open();
    let hour = Duration::from_secs(3_600);
    let take = |name: &str, holder: &str, time| {
        let lease = store.lease_take(name, holder, time).expect("asked");
        lease.expect("taken")
    };
    let mut row = task("t1", "s1", 1);
    row.owner = Some("engine/busy".to_owned());
    store.delegated_add(&row).expect("added");
    take("engine/busy", "busy", Duration::ZERO);
    take("engine/gone", "gone", Duration::ZERO);
    let left = take("engine/left", "left", hour);
    assert!(
        store
            .lease_release(&left.name, left.token)
            .expect("given back")
    );
    take("engine/here", "here", hour);
    take("poller", "another", Duration::ZERO);
    let expired = |since| store.lease_expired("engine/", since, 9).expect("listed");
    // One that was given back was given back for good; the others may only have been asleep.
    assert_eq!(expired(hour), ["engine/left"]);
    let mut all = expired(Duration::ZERO);
    all.sort();
    assert_eq!(all, ["engine/busy", "engine/gone", "engine/left"]);
    let first = store.lease_expired("engine/", Duration::ZERO, 1);
    assert_eq!(first.expect("listed").len(), 1);

    let busy = take("engine/busy", "sweeper", hour);
    let remove = |lease: &Lease| store.delegated_owner_remove(lease).expect("asked");
    assert!(!remove(&busy), "a task is open under it");
    row.state = DelegatedState::Completed;
    store.delegated_update(&row, None, true).expect("over");
    assert!(remove(&busy));
    assert_eq!(store.lease_get("engine/busy").expect("read"), None);
    let old = take("engine/gone", "sweeper", Duration::ZERO);
    let newer = take("engine/gone", "quicker", hour);
    assert!(!remove(&old), "another has it by now");
    assert!(remove(&newer));

    // Whoever worked under a lease that was removed is as good as one who lost it.
    let here = store.lease_get("engine/here").expect("read");
    let here = here.expect("there");
    store.fence_set(Some(Fence {
        lease: here.name.clone(),
        token: here.token,
    }));
    assert!(remove(&here));
    let refused = store.delegated_add(&task("t2", "s1", 2));
    let all = matches!(bench.kind, Kind::Server { .. });
    assert_eq!(refused.is_err(), all, "{refused:?}");
    let renewed = store.lease_renew(&here.name, here.token, hour);
    assert_eq!(renewed.expect("asked"), None);
}
