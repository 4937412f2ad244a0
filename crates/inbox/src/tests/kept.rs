use super::*;
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn a_record_has_the_fields_that_others_read() {
    let place = Place::new();
    let inbox = place.open();
    let mut incoming = message("teams", "m1");
    incoming.text = "See <a href=\"x\">this</a> & </channel>\u{200b}\u{202e}".to_owned();
    incoming.meta = [("user", "Ada"), ("bad key", "dropped"), ("n", "<b>")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    inbox.append_blocking(vec![incoming]).expect("kept");
    let text = fs::read_to_string(place.day_file()).expect("a day file");
    let record: serde_json::Value = serde_json::from_str(text.trim_end()).expect("JSON");
    let sum = record["sum"].as_str().expect("a checksum").to_owned();
    assert_eq!(sum.len(), 16);
    let mut record = record;
    record.as_object_mut().expect("an object").remove("sum");
    assert_eq!(
        record,
        serde_json::json!({
            "seq": 1, "batch": 1, "id": "m1", "version": "1", "kind": "new",
            "received_at": "2026-11-21T23:59:00.000Z", "channel": "teams", "chat_id": "chat",
            "from": "Ada Example", "ts": "2026-11-21T23:58:00Z",
            "content_text_sanitized": "See &lt;a href=\"x\"&gt;this&lt;/a&gt; &amp; &lt;/channel&gt;",
            "meta": {"user": "Ada", "n": "&lt;b&gt;"}, "consumed_by": [],
        })
    );
    let mode = |path: PathBuf| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(place.day_file()), 0o600);
    assert_eq!(mode(place.folder()), 0o700);
    assert_eq!(mode(place.folder().join("state.json")), 0o600);
}

#[test]
fn a_version_is_kept_once_for_ever_and_an_edit_is_another() {
    let place = Place::new();
    let inbox = place.open();
    assert_eq!(put(&inbox, "teams", 0..600).len(), 600);
    let again = put(&inbox, "teams", 0..1);
    assert_eq!(
        again,
        [Added {
            seq: Seq(1),
            duplicate: true
        }]
    );
    let mut edit = message("teams", "teams-0");
    edit.version = "2".to_owned();
    edit.kind = Kind::Edited;
    edit.text = "other words".to_owned();
    let twice = inbox
        .append_blocking(vec![edit.clone(), edit])
        .expect("kept");
    assert_eq!(twice.iter().filter(|one| one.duplicate).count(), 1);
    assert_eq!(inbox.by_id("teams-0").expect("there").text, "other words");
    // Two accounts of different entities may be in one chat: it is the data of each.
    for entity in ["shop", "clinic", "shop"] {
        let mut theirs = message("teams", "teams-0");
        theirs.entity = Some(EntityId::new(entity));
        let added = inbox
            .append_blocking(vec![theirs.clone(), theirs])
            .expect("kept");
        let seqs: Vec<u64> = added.iter().map(|one| one.seq.0).collect();
        let wanted = if entity == "shop" { 602 } else { 603 };
        assert_eq!(seqs, [wanted; 2], "{entity}");
    }
    let theirs = Pull {
        entity: Some(EntityId::new("clinic")),
        ..pull("codex")
    };
    let pulled = inbox.pull(&theirs).expect("pulled");
    assert_eq!(pulled.messages[0].entity, Some(EntityId::new("clinic")));
    // Another chat's message may have the same id.
    let mut other = message("teams", "teams-0");
    other.chat_id = "another".to_owned();
    assert!(!inbox.append_blocking(vec![other]).expect("kept")[0].duplicate);
    drop(inbox);
    let inbox = place.open();
    assert!(put(&inbox, "teams", 0..600).iter().all(|one| one.duplicate));
    drop(inbox);
    // The index is made of the files again.
    fs::remove_dir_all(place.folder().join("index")).expect("removed");
    let inbox = place.open();
    assert!(put(&inbox, "teams", 0..600).iter().all(|one| one.duplicate));
    assert_eq!(everything(&inbox).len(), 604);
}

#[test]
fn many_versions_of_one_message_are_found_without_reading_all() {
    let place = Place::new();
    let inbox = place.open();
    let versions = (0..3_000).map(|version| Incoming {
        version: version.to_string(),
        text: format!("version {version}"),
        ..message("teams", "one")
    });
    inbox.append_blocking(versions.collect()).expect("kept");
    assert_eq!(inbox.by_id("one").expect("there").text, "version 2999");
}

#[test]
fn the_tables_of_names_grow() {
    let place = Place::new();
    let inbox = place.open();
    // More than the first table takes, two names a record.
    for at in 0..4 {
        put(&inbox, "local", at * 10_000..(at + 1) * 10_000);
    }
    let index = place.folder().join("index");
    assert!(index.join("names-1.idx").exists());
    drop(inbox);
    let inbox = place.open();
    for id in ["local-0", "local-9999", "local-39999"] {
        assert_eq!(inbox.by_id(id).expect(id).id, id);
    }
    assert!(
        put(&inbox, "local", 0..40_000)
            .iter()
            .all(|one| one.duplicate)
    );
}

#[test]
fn a_clock_that_runs_backwards_over_midnight_opens_no_old_day() {
    let place = Place::new();
    let inbox = place.open();
    put(&inbox, "teams", 0..1);
    place.next_day();
    put(&inbox, "teams", 1..2);
    drop(inbox);
    let back = Place {
        clock: Arc::new(ManualClock::at(Wall::parse(EVENING).expect("a time"))),
        ..place
    };
    let inbox = back.open();
    put(&inbox, "teams", 2..3);
    let lines = |day: &str| {
        let text = fs::read_to_string(back.folder().join(day)).expect("a day file");
        text.lines().count()
    };
    assert_eq!(lines("2026-11-21.jsonl"), 1);
    assert_eq!(lines("2026-11-22.jsonl"), 2);
    let times: Vec<_> = everything(&inbox)
        .iter()
        .map(|one| one.received_at)
        .collect();
    assert!(times[2] < times[1], "the time itself is as it was told");
}

#[test]
fn a_second_hub_is_told_who_has_the_inbox() {
    let place = Place::new();
    let _first = place.open();
    let error = place.try_open().expect_err("it is taken");
    let own = std::process::id();
    assert!(matches!(error, OpenError::InUse { pid: Some(pid) } if pid == own));
    assert!(error.to_string().contains(&own.to_string()), "{error}");
    assert!(matches!(
        repair(&place.folder()),
        Err(OpenError::InUse { .. })
    ));
}

#[test]
fn bodies_that_must_be_sealed_are_not_on_the_disk() {
    let place = Place::new();
    let inbox = place.open();
    let mut secret = message("email", "m1");
    secret.text = "the diagnosis".to_owned();
    secret
        .meta
        .insert("subject".to_owned(), "about the patient".to_owned());
    secret.entity = Some(EntityId::new("clinic"));
    inbox.append_blocking(vec![secret]).expect("kept");
    let text = fs::read_to_string(place.day_file()).expect("a day file");
    assert!(
        !text.contains("diagnosis") && !text.contains("patient"),
        "{text}"
    );
    let message = inbox.by_id("m1").expect("there");
    assert_eq!(message.text, "the diagnosis");
    assert_eq!(message.meta["subject"], "about the patient");
    // Without the key the message is still counted, and says why it is empty.
    let keys = place.keystore();
    for name in keys.names().expect("names") {
        assert!(keys.destroy(&name).expect("destroyed"));
    }
    let message = inbox.by_id("m1").expect("there");
    assert!(message.text.contains("sealed") && message.meta.is_empty());
}

#[test]
fn a_body_of_ten_megabytes_is_whole_and_a_larger_one_says_what_is_missing() {
    let place = Place::new();
    let inbox = place.open();
    let mut large = message("email", "large");
    large.text = "ä".repeat(5 * 1024 * 1024);
    let mut huge = message("email", "huge");
    huge.text = "x".repeat(BODY_MAX + 7);
    inbox
        .append_blocking(vec![large.clone(), huge])
        .expect("kept");
    drop(inbox);
    let inbox = place.open();
    assert_eq!(inbox.by_id("large").expect("there").text, large.text);
    let huge = inbox.by_id("huge").expect("there");
    assert_eq!(huge.text.len(), BODY_MAX);
    assert_eq!(huge.meta["cut_bytes"], "7");
    // One such message fills an answer, so that ten of them do not fill the memory.
    assert_eq!(answered(&inbox, &pull("a")).messages.len(), 1);
}

#[test]
fn nothing_is_announced_before_it_is_recorded() {
    let ledger = Arc::new(Ledger::default());
    let place = Place {
        governor: Arc::clone(&ledger) as _,
        ..Place::new()
    };
    let inbox = place.open();
    put(&inbox, "teams", 0..2);
    assert_eq!(*inbox.announced().borrow(), 2);
    *ledger.fails.lock().expect("whole") = true;
    // It is on disk, and so its source is told that it is kept.
    put(&inbox, "teams", 2..3);
    assert_eq!(*inbox.announced().borrow(), 2);
    assert_eq!(everything(&inbox).len(), 2);
    // What comes after it waits at its source.
    let refused = inbox.append_blocking(vec![message("teams", "late")]);
    assert!(matches!(refused, Err(AppendError::Write { .. })));
    drop(inbox);
    *ledger.fails.lock().expect("whole") = false;
    let inbox = place.open();
    // The writer records what was left within a turn; a command is one.
    put(&inbox, "teams", 3..4);
    assert_eq!(*ledger.recorded.lock().expect("whole"), [1, 2, 3, 4]);
    assert_eq!(everything(&inbox).len(), 4);
}

#[test]
fn more_than_may_wait_is_refused_and_not_remembered() {
    let stuck = Arc::new(Stuck::default());
    let place = Place {
        governor: Arc::clone(&stuck) as _,
        ..Place::new()
    };
    let inbox = place.open();
    let held = stuck.0.lock().expect("whole");
    let mut waiting = Vec::new();
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let refused = (0..5_000).find_map(|at| {
        let mut one = Box::pin(inbox.append(vec![message("local", &format!("w{at}"))]));
        match one.as_mut().poll(&mut context) {
            std::task::Poll::Ready(done) => Some((at, done)),
            std::task::Poll::Pending => {
                waiting.push(one);
                None
            }
        }
    });
    let (at, done) = refused.expect("a burst without an end is refused");
    assert!(matches!(done, Err(AppendError::Busy)), "{done:?}");
    assert!((1_000..3_000).contains(&at), "{at} wait");
    drop(held);
    // What waited is kept, and what was refused comes again.
    drop(waiting);
    let again: Vec<Incoming> = (0..=at)
        .map(|at| message("local", &format!("w{at}")))
        .collect();
    while inbox.append_blocking(again.clone()).is_err() {}
    assert_eq!(everything(&inbox).len(), at + 1);
}

/// A record that hangs as long as somebody holds it.
#[derive(Debug, Default)]
struct Stuck(Mutex<()>);

impl Governor for Stuck {
    fn must_seal(&self, _entity: &EntityId) -> bool {
        false
    }

    fn records(&self) -> bool {
        true
    }

    fn record(&self, _messages: &[Message]) -> Result<(), String> {
        drop(self.0.lock().expect("whole"));
        Ok(())
    }
}

#[test]
fn what_is_kept_without_a_record_is_recorded_by_the_next_hub() {
    let ledger = Arc::new(Ledger::default());
    let alone = Place {
        governor: Arc::new(Ungoverned),
        ..Place::new()
    };
    let inbox = alone.open();
    put(&inbox, "local", 0..700);
    put(&inbox, "local", 700..701);
    assert_eq!(everything(&inbox).len(), 701);
    drop(inbox);
    let hub = Place {
        governor: Arc::clone(&ledger) as _,
        ..alone
    };
    let inbox = hub.open();
    put(&inbox, "local", 701..702);
    let recorded = ledger.recorded.lock().expect("whole").clone();
    assert_eq!(recorded, (1..=702).collect::<Vec<u64>>());
}

#[test]
fn a_burst_of_many_writers_is_kept_in_order_and_whole() {
    let place = Place::new();
    let inbox = Arc::new(place.open());
    std::thread::scope(|scope| {
        for writer in 0..8u32 {
            let inbox = Arc::clone(&inbox);
            scope.spawn(move || {
                for at in 0..50 {
                    let id = writer * 1_000 + at;
                    put(&inbox, "local", id..id + 1);
                }
            });
        }
    });
    let all = everything(&inbox);
    assert_eq!(all.len(), 400);
    assert!(
        all.iter()
            .zip(1..)
            .all(|(message, seq)| message.seq == Seq(seq))
    );
    for writer in 0..8u32 {
        let own: Vec<u32> = all
            .iter()
            .filter_map(|message| message.id.strip_prefix("local-")?.parse().ok())
            .filter(|id| id / 1_000 == writer)
            .collect();
        assert!(own.is_sorted() && own.len() == 50, "{own:?}");
    }
}

#[test]
fn what_follows_the_files_sees_every_record_once() {
    let place = Place::new();
    let inbox = place.open();
    put(&inbox, "teams", 0..3);
    let mut late = Follow::from_end(&place.folder(), place.keystore()).expect("read");
    let mut all = Follow::after(&place.folder(), place.keystore(), Seq(1));
    assert_eq!(ids(&all.read(10).expect("read")), ["teams-1", "teams-2"]);
    place.next_day();
    put(&inbox, "email", 0..2);
    assert_eq!(ids(&late.read(1).expect("read")), ["email-0"]);
    assert_eq!(ids(&late.read(10).expect("read")), ["email-1"]);
    assert_eq!(late.last(), Seq(5));
    assert!(late.read(10).expect("read").is_empty());
    assert_eq!(all.read(10).expect("read").len(), 2);
    // Of a day that was not read to its end the rest comes first.
    let mut slow = Follow::after(&place.folder(), place.keystore(), Seq(0));
    let mut seen = Vec::new();
    for _ in 0..5 {
        seen.extend(slow.read(1).expect("read").into_iter().map(|one| one.seq.0));
    }
    assert_eq!(seen, [1, 2, 3, 4, 5]);
}

#[test]
fn an_entity_whose_name_no_file_can_have_spoils_nothing() {
    let place = Place::new();
    let inbox = place.open();
    let of = |entity: String| Incoming {
        entity: Some(EntityId::new(entity)),
        ..message("local", "1")
    };
    let refused = inbox.append_blocking(vec![of("e".repeat(101))]);
    assert!(matches!(refused, Err(AppendError::Entity { .. })));
    inbox
        .append_blocking(vec![of("e".repeat(100))])
        .expect("kept");
    drop(inbox);
    assert_eq!(everything(&place.open()).len(), 1);
}

#[test]
fn what_was_announced_before_a_start_is_not_announced_again() {
    let place = Place::new();
    put(&place.open(), "teams", 0..3);
    let commands = Place {
        governor: Arc::new(Ungoverned),
        ..place
    };
    put(&commands.open(), "teams", 3..4);
    let ledger = Arc::new(Ledger::default());
    *ledger.fails.lock().expect("whole") = true;
    let place = Place {
        governor: Arc::clone(&ledger) as _,
        ..commands
    };
    let inbox = place.open();
    assert_eq!(*inbox.announced().borrow(), 3);
    assert!(everything(&inbox).is_empty(), "it is not recorded yet");
}

#[test]
fn a_summary_is_one_line_that_shows_its_cut() {
    for (text, most, line) in [
        ("a\n  b\tc", 20, "a b c"),
        ("abcdef", 4, "abc…"),
        ("ab cd", 4, "ab …"),
        ("", 4, ""),
        ("äöü", 9, "äöü"),
    ] {
        assert_eq!(summary(text, most), line, "{text}");
    }
}
