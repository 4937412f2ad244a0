//! Tasks.

use legation_core::{ClientId, SeatId, ServerName, TaskHandle};
use legation_store::Task;

use crate::bench::{Bench, cases};

cases!(
    tasks_belong_to_a_client_and_expire,
    a_task_is_replaced_by_its_handle
);

fn task(handle: &str, client: &str, created_ms: i64, ttl_ms: Option<i64>) -> Task {
    Task {
        handle: TaskHandle::new(handle),
        client: ClientId::new(client),
        server: ServerName::parse("files").expect("a name"),
        seat: SeatId::new("seat"),
        upstream: format!("up-{handle}"),
        created_ms,
        ttl_ms,
        state: b"{}".to_vec(),
    }
}

fn tasks_belong_to_a_client_and_expire(bench: &Bench<'_>) {
    let store = bench.open();
    let one = task("t1", "claude", 100, Some(50));
    let two = task("t2", "codex", 90, None);
    let three = task("t3", "claude", 80, Some(1_000));
    for task in [&one, &two, &three] {
        store.task_put(task).expect("put");
    }
    drop(store);
    let store = bench.open();
    assert_eq!(
        store.task_get(&one.handle).expect("read"),
        Some(one.clone())
    );
    let claude = ClientId::new("claude");
    assert_eq!(
        store.task_list(Some(&claude)).expect("read"),
        [three.clone(), one.clone()]
    );
    assert_eq!(store.task_list(None).expect("read").len(), 3);
    assert!(store.task_state_set(&three.handle, b"[]").expect("set"));
    let none = store.task_state_set(&TaskHandle::new("no"), b"");
    assert!(!none.expect("none"));
    assert_eq!(store.task_expire(149).expect("expired"), 0);
    assert_eq!(store.task_expire(150).expect("expired"), 1);
    assert_eq!(store.task_get(&one.handle).expect("read"), None);
    let kept = store.task_get(&three.handle).expect("read").expect("there");
    assert_eq!(kept.state, b"[]");
    assert!(store.task_remove(&two.handle).expect("removed"));
    assert!(!store.task_remove(&two.handle).expect("none"));
}

fn a_task_is_replaced_by_its_handle(bench: &Bench<'_>) {
    let store = bench.open();
    store.task_put(&task("t", "claude", 1, None)).expect("put");
    let other = task("t", "codex", 2, Some(3));
    store.task_put(&other).expect("put");
    assert_eq!(store.task_list(None).expect("read"), [other]);
}
