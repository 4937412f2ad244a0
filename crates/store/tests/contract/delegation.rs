//! Sessions, messages, delegated tasks, their steps, and reports.

use legation_core::{SessionId, TaskId};
use legation_store::{
    DelegatedRow, DelegatedState, DelegatedWhich, MessageNew, PartialRow, ReportRow, SessionRow,
    SessionUpdate, StepRow, StepState,
};

use crate::bench::{Bench, Kind, cases};

cases!(
    sessions_are_brought_up_to_date_and_listed_by_use,
    of_two_who_label_a_session_at_once_neither_is_lost,
    messages_are_numbered_in_order_and_no_number_comes_twice,
    a_task_that_is_over_stays_over,
    tasks_are_found_and_listed,
    the_queue_is_moved_all_or_none,
    steps_go_with_their_messages,
    a_session_goes_with_everything_in_it_but_not_while_a_task_is_open,
    old_tasks_are_forgotten_and_reports_are_not,
    reports_are_bounded_by_client_and_in_all,
);

fn session(id: &str, used_ms: i64) -> SessionRow {
    SessionRow {
        id: SessionId::new(id),
        hub: "hub".to_owned(),
        workspace: (id == "s1").then(|| "/home/alex/project".to_owned()),
        client: Some("editor".to_owned()),
        created_ms: 1,
        active_ms: used_ms,
        current_ms: used_ms,
        labels: "[]".to_owned(),
        title: b"sealed".to_vec(),
    }
}

fn message(of: &str, text: &str) -> MessageNew {
    MessageNew {
        session: SessionId::new(of),
        task: Some(TaskId::new("t1")),
        source: "human".to_owned(),
        kind: "text".to_owned(),
        created_ms: 5,
        labels: r#"["meadow"]"#.to_owned(),
        body: text.as_bytes().to_vec(),
    }
}

pub(crate) fn task(id: &str, of: &str, place: i64) -> DelegatedRow {
    DelegatedRow {
        id: TaskId::new(id),
        hub: "hub".to_owned(),
        session: SessionId::new(of),
        class: "agent".to_owned(),
        client: "claude".to_owned(),
        seat: "seat".to_owned(),
        workspace: None,
        state: DelegatedState::Queued,
        hint: Some("testing".to_owned()),
        place,
        created_ms: 10 + place,
        changed_ms: 10 + place,
        worked_ms: 0,
        attempts: 0,
        labels: "[]".to_owned(),
        spec: b"spec".to_vec(),
        outcome: None,
        owner: None,
    }
}

pub(crate) fn step(of: &str, step: i64, place: i64) -> StepRow {
    StepRow {
        task: TaskId::new(of),
        step,
        place,
        call_id: format!("call-{place}"),
        state: StepState::Intent,
        tool: "bash".to_owned(),
        changes: place == 1,
        seq: 0,
        at_ms: 7,
        labels: "[]".to_owned(),
        body: b"before".to_vec(),
    }
}

pub(crate) fn partial(of: &str) -> PartialRow {
    PartialRow {
        task: TaskId::new(of),
        step: 1,
        at_ms: 3,
        labels: "[]".to_owned(),
        body: b"half".to_vec(),
    }
}

fn sessions_are_brought_up_to_date_and_listed_by_use(bench: &Bench<'_>) {
    let store = bench.open();
    let one = session("s1", 10);
    store.session_add(&one).expect("put");
    store.session_add(&session("s2", 20)).expect("put");
    let foreign = SessionRow {
        hub: "another".to_owned(),
        ..session("s3", 30)
    };
    store.session_add(&foreign).expect("put");
    let later = SessionRow {
        active_ms: 40,
        current_ms: 41,
        labels: r#"["meadow"]"#.to_owned(),
        title: b"other".to_vec(),
        ..one.clone()
    };
    let update = |to: &SessionRow, read: &SessionRow, durable| {
        let done = store.session_update(to, read, durable);
        done.expect("updated")
    };
    assert_eq!(update(&later, &one, false), SessionUpdate::Done);
    // Who had not read that writes nothing over it, and times never go back.
    let stale = update(&session("s1", 90), &one, true);
    assert_eq!(stale, SessionUpdate::Stale(later.clone()));
    let earlier = SessionRow {
        active_ms: 3,
        current_ms: 4,
        ..later.clone()
    };
    assert_eq!(update(&earlier, &later, true), SessionUpdate::Done);
    let unknown = session("s4", 1);
    assert_eq!(update(&unknown, &unknown, true), SessionUpdate::Gone);
    drop(store);
    let store = bench.open();
    let listed = store.session_list("hub").expect("listed");
    assert_eq!(listed, [later.clone(), session("s2", 20)]);
    assert_eq!(store.session_get(&later.id).expect("read"), Some(later));
    let none = store.session_get(&SessionId::new("no"));
    assert_eq!(none.expect("read"), None);
}

fn of_two_who_label_a_session_at_once_neither_is_lost(bench: &Bench<'_>) {
    // Two hubs at one server; in a file two threads of one.
    let first = bench.open();
    let other = matches!(bench.kind, Kind::Server { .. }).then(|| bench.open());
    let second = other.as_ref().unwrap_or(&first);
    first.session_add(&session("s1", 1)).expect("added");
    let id = SessionId::new("s1");
    let add = |store: &legation_store::Store, label: &str| {
        let mut read = store.session_get(&id).expect("read").expect("there");
        loop {
            let joined = SessionRow {
                labels: format!("{} {label}", read.labels),
                ..read.clone()
            };
            match store.session_update(&joined, &read, false).expect("asked") {
                SessionUpdate::Done => return,
                SessionUpdate::Stale(now) => read = now,
                SessionUpdate::Gone => panic!("it is there"),
            }
        }
    };
    std::thread::scope(|scope| {
        for (who, store) in [("first", &first), ("second", second)] {
            let add = &add;
            scope.spawn(move || {
                for index in 0..20 {
                    add(store, &format!("{who}-{index}"));
                }
            });
        }
    });
    let stored = first.session_get(&id).expect("read").expect("there");
    for who in ["first", "second"] {
        for index in 0..20 {
            let label = format!("{who}-{index}");
            let is_there = stored.labels.split(' ').any(|one| one == label);
            assert!(is_there, "{label} is not in {}", stored.labels);
        }
    }
}

fn messages_are_numbered_in_order_and_no_number_comes_twice(bench: &Bench<'_>) {
    let store = bench.open();
    let (one, two) = (SessionId::new("s1"), SessionId::new("s2"));
    for id in ["s1", "s2"] {
        store.session_add(&session(id, 1)).expect("put");
    }
    let mut seqs = Vec::new();
    for (of, text) in [("s1", "a"), ("s2", "b"), ("s1", "c"), ("s1", "d")] {
        let durable = text == "b";
        seqs.push(store.message_add(&message(of, text), durable).expect("put"));
    }
    assert!(seqs.is_sorted() && seqs[0] > 0, "{seqs:?}");
    let texts = |rows: Vec<legation_store::MessageRow>| {
        rows.iter()
            .map(|row| String::from_utf8_lossy(&row.message.body).into_owned())
            .collect::<Vec<_>>()
    };
    let after = |of, seq| texts(store.message_after(of, seq, 2).expect("read"));
    assert_eq!(after(Some(&one), 0), ["a", "c"]);
    assert_eq!(after(Some(&one), seqs[2]), ["d"]);
    assert_eq!(after(None, seqs[0]), ["b", "c"]);
    let last = |of, seq| texts(store.message_last(of, seq, 2).expect("read"));
    assert_eq!(last(Some(&one), None), ["c", "d"]);
    assert_eq!(last(Some(&one), Some(seqs[2])), ["a"]);
    assert_eq!(last(None, Some(seqs[3])), ["b", "c"]);
    assert_eq!(store.session_messages(&one).expect("counted"), 3);
    assert!(store.message_set(seqs[0], "[]", b"new").expect("set"));
    assert!(!store.message_set(999, "[]", b"new").expect("not there"));
    assert_eq!(after(Some(&one), 0), ["new", "c"]);
    // The last ones go, and their numbers with them.
    assert!(store.session_remove(&one).expect("removed"));
    let next = store.message_add(&message("s2", "e"), true).expect("put");
    assert!(next > seqs[3], "{next} after {seqs:?}");
    assert_eq!(
        texts(store.message_after(Some(&two), 0, 9).expect("read")),
        ["b", "e"]
    );
}

fn a_task_that_is_over_stays_over(bench: &Bench<'_>) {
    let store = bench.open();
    let mut row = task("t1", "s1", 1);
    store.delegated_add(&row).expect("added");
    assert!(store.delegated_add(&row).is_err(), "its id is taken");
    row.state = DelegatedState::InProgress;
    row.attempts = 1;
    row.outcome = Some(b"so far".to_vec());
    let said = message("s1", "it begins");
    let seq = store
        .delegated_update(&row, Some(&said), false)
        .expect("updated");
    assert!(seq.is_some_and(|seq| seq > 0), "{seq:?}");
    let partial = partial("t1");
    store.partial_put(&partial).expect("put");
    assert_eq!(store.partial_get(&row.id).expect("read"), Some(partial));
    for state in [
        DelegatedState::Preempted,
        DelegatedState::InputRequired,
        DelegatedState::Completed,
    ] {
        row.state = state;
        let updated = store.delegated_update(&row, None, true).expect("updated");
        assert_eq!(updated, Some(0), "{state}");
    }
    assert_eq!(store.partial_get(&row.id).expect("read"), None);
    let done = row.clone();
    for &state in DelegatedState::ALL {
        row.state = state;
        let updated = store.delegated_update(&row, Some(&said), true);
        assert_eq!(updated.expect("asked"), None, "{state}");
    }
    drop(store);
    let store = bench.open();
    assert_eq!(store.delegated_get(&done.id).expect("read"), Some(done));
    let said = store.message_after(None, 0, 9).expect("read");
    assert_eq!(said.len(), 1, "{said:?}");
}

fn tasks_are_found_and_listed(bench: &Bench<'_>) {
    let store = bench.open();
    let mut rows = vec![
        task("task_aa1", "s1", 3),
        task("task_aa2", "s1", 2),
        task("task_ab", "s2", 1),
    ];
    rows[1].client = "codex".to_owned();
    rows[2].state = DelegatedState::Failed;
    for row in &rows {
        store.delegated_add(row).expect("added");
    }
    let foreign = DelegatedRow {
        hub: "another".to_owned(),
        ..task("task_ac", "s1", 9)
    };
    store.delegated_add(&foreign).expect("added");
    let ids = |rows: Vec<DelegatedRow>| {
        rows.into_iter()
            .map(|row| row.id.as_str().to_owned())
            .collect::<Vec<_>>()
    };
    let found = |begin| ids(store.delegated_find("hub", begin).expect("found"));
    assert_eq!(found("task_aa"), ["task_aa1", "task_aa2"]);
    assert_eq!(found("task_ab"), ["task_ab"]);
    assert_eq!(found("task_a"), ["task_aa1", "task_aa2"], "two are enough");
    assert!(found("task_ac").is_empty() && found("task_b").is_empty());
    let open = store.delegated_open("hub").expect("listed");
    assert_eq!(ids(open), ["task_aa2", "task_aa1"]);
    let one = SessionId::new("s1");
    for (which, expected) in [
        (
            DelegatedWhich::default(),
            vec!["task_aa1", "task_aa2", "task_ab"],
        ),
        (
            DelegatedWhich {
                open: true,
                ..DelegatedWhich::default()
            },
            vec!["task_aa1", "task_aa2"],
        ),
        (
            DelegatedWhich {
                session: Some(&one),
                client: Some("codex"),
                ..DelegatedWhich::default()
            },
            vec!["task_aa2"],
        ),
    ] {
        let listed = store.delegated_list("hub", which, 9).expect("listed");
        assert_eq!(ids(listed), expected, "{which:?}");
    }
    let first = store.delegated_list("hub", DelegatedWhich::default(), 1);
    assert_eq!(ids(first.expect("listed")), ["task_aa1"]);
}

fn the_queue_is_moved_all_or_none(bench: &Bench<'_>) {
    let store = bench.open();
    for (id, place) in [("a", 1), ("b", 2)] {
        store.delegated_add(&task(id, "s1", place)).expect("added");
    }
    let places = [(TaskId::new("a"), 2), (TaskId::new("b"), 1)];
    store.delegated_place(&places).expect("moved");
    let open = store.delegated_open("hub").expect("listed");
    let order: Vec<(&str, i64)> = open
        .iter()
        .map(|row| (row.id.as_str(), row.place))
        .collect();
    assert_eq!(order, [("b", 1), ("a", 2)]);
    let id = TaskId::new("a");
    assert!(store.delegated_edit(&id, b"other", 99).expect("changed"));
    let changed = store.delegated_get(&id).expect("read").expect("there");
    assert_eq!(
        (changed.spec.as_slice(), changed.changed_ms),
        (&b"other"[..], 99)
    );
    let begun = DelegatedRow {
        state: DelegatedState::InProgress,
        ..changed
    };
    store.delegated_update(&begun, None, true).expect("begun");
    assert!(!store.delegated_edit(&id, b"late", 100).expect("asked"));
}

fn steps_go_with_their_messages(bench: &Bench<'_>) {
    let store = bench.open();
    let id = TaskId::new("t1");
    let partial = partial("t1");
    store.partial_put(&partial).expect("put");
    let call = step("t1", 1, 1);
    let shown = message("s1", "it runs");
    let seq = store.step_put(&call, Some(&shown), true).expect("put");
    assert!(
        store.partial_get(&id).expect("read").is_some(),
        "a call ends nothing"
    );
    assert_eq!(
        store.step_put(&step("t1", 1, 0), None, false).expect("put"),
        0
    );
    assert_eq!(store.partial_get(&id).expect("read"), None);
    store.step_put(&step("t1", 1, 2), None, false).expect("put");
    let ended = StepRow {
        body: b"after".to_vec(),
        labels: r#"["meadow"]"#.to_owned(),
        at_ms: 9,
        ..call.clone()
    };
    assert!(store.step_end(&ended, b"it ran").expect("ended"));
    assert!(!store.step_end(&step("t1", 9, 9), b"").expect("not there"));
    drop(store);
    let store = bench.open();
    let listed = store.step_list(&id).expect("listed");
    let expected = [
        step("t1", 1, 0),
        StepRow {
            state: StepState::Done,
            seq,
            ..ended
        },
        step("t1", 1, 2),
    ];
    assert_eq!(listed, expected);
    let shown = store.message_after(None, 0, 9).expect("read");
    assert_eq!((shown.len(), shown[0].seq), (1, seq));
    assert_eq!(shown[0].message.body, b"it ran");
    // What has ended is not taken back.
    assert!(!store.step_undo(&id, 1, 1).expect("asked"));
    assert!(store.step_undo(&id, 1, 2).expect("taken back"));
    assert_eq!(store.step_list(&id).expect("listed").len(), 2);
}

fn report(id: &str, of: Option<&str>, created_ms: i64) -> ReportRow {
    ReportRow {
        id: id.to_owned(),
        hub: "hub".to_owned(),
        task: of.map(TaskId::new),
        client: "claude".to_owned(),
        created_ms,
        labels: "[]".to_owned(),
        body: b"sealed".to_vec(),
    }
}

fn a_session_goes_with_everything_in_it_but_not_while_a_task_is_open(bench: &Bench<'_>) {
    let store = bench.open();
    let (one, two) = (SessionId::new("s1"), SessionId::new("s2"));
    for (number, of) in ["s1", "s2"].into_iter().enumerate() {
        store.session_add(&session(of, 1)).expect("put");
        let id = format!("t{}", number + 1);
        let mut row = task(&id, of, 1);
        store.delegated_add(&row).expect("added");
        row.state = DelegatedState::Completed;
        if of == "s2" {
            store.delegated_update(&row, None, true).expect("over");
        }
        store
            .message_add(&message(of, "words"), false)
            .expect("put");
        store.step_put(&step(&id, 1, 1), None, false).expect("put");
        store
            .report_add(&report(&format!("r{id}"), Some(&id), 1), (9, 9))
            .expect("put");
    }
    assert!(
        !store.session_remove(&one).expect("asked"),
        "a task is open"
    );
    assert_eq!(store.session_messages(&one).expect("counted"), 1);
    assert!(store.session_remove(&two).expect("removed"));
    assert_eq!(store.session_get(&two).expect("read"), None);
    assert_eq!(store.delegated_get(&TaskId::new("t2")).expect("read"), None);
    assert!(
        store
            .step_list(&TaskId::new("t2"))
            .expect("read")
            .is_empty()
    );
    assert_eq!(store.report_get("rt2").expect("read"), None);
    assert_eq!(store.message_after(None, 0, 9).expect("read").len(), 1);
    assert_eq!(store.step_list(&TaskId::new("t1")).expect("read").len(), 1);
}

fn old_tasks_are_forgotten_and_reports_are_not(bench: &Bench<'_>) {
    let store = bench.open();
    for (id, changed_ms, is_over) in [("old", 10, true), ("new", 20, true), ("open", 1, false)] {
        let mut row = task(id, "s1", 1);
        store.delegated_add(&row).expect("added");
        row.changed_ms = changed_ms;
        if is_over {
            row.state = DelegatedState::Cancelled;
        }
        store.delegated_update(&row, None, true).expect("updated");
        store.step_put(&step(id, 1, 1), None, false).expect("put");
    }
    store
        .report_add(&report("r1", Some("old"), 1), (9, 9))
        .expect("put");
    store
        .report_add(&report("r2", None, 2), (9, 9))
        .expect("put");
    let gone = store.delegated_expire("hub", 20, 10).expect("forgotten");
    assert_eq!(gone, [TaskId::new("old")]);
    assert!(
        store
            .step_list(&TaskId::new("old"))
            .expect("read")
            .is_empty()
    );
    assert_eq!(store.step_list(&TaskId::new("new")).expect("read").len(), 1);
    assert_eq!(store.delegated_expire("hub", 99, 0).expect("none"), []);
    let reports = store.report_list("hub", 9).expect("listed");
    assert_eq!(
        reports,
        [report("r2", None, 2), report("r1", Some("old"), 1)]
    );
    assert_eq!(store.report_list("another", 9).expect("listed"), []);
    assert_eq!(
        store.report_get("r2").expect("read"),
        Some(report("r2", None, 2))
    );
}

fn reports_are_bounded_by_client_and_in_all(bench: &Bench<'_>) {
    let store = bench.open();
    let of = |id: &str, client: &str, at: i64| ReportRow {
        client: client.to_owned(),
        ..report(id, None, at)
    };
    let add = |row: &ReportRow| store.report_add(row, (2, 3)).expect("put");
    assert_eq!(add(&of("a1", "a", 1)), 0);
    assert_eq!(add(&of("b1", "b", 2)), 0);
    assert_eq!(add(&of("a2", "a", 3)), 0);
    let left = || -> Vec<String> {
        let all = store.report_list("hub", 9).expect("listed");
        all.into_iter().map(|row| row.id).collect()
    };
    // A client has its own room, and one that reports much takes nobody else's.
    assert_eq!(add(&of("a3", "a", 4)), 1);
    assert_eq!(left(), ["a3", "a2", "b1"]);
    assert_eq!(add(&of("c1", "c", 5)), 1);
    assert_eq!(left(), ["c1", "a3", "a2"]);
    let other = ReportRow {
        hub: "another".to_owned(),
        ..of("o1", "a", 0)
    };
    assert_eq!(add(&other), 0, "another hub's do not count");
    assert_eq!(store.report_expire("hub", 5).expect("removed"), 2);
    assert_eq!(left(), ["c1"]);
    assert_eq!(store.report_list("another", 9).expect("listed").len(), 1);
}
