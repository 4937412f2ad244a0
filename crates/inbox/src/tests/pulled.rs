use super::*;

#[test]
fn what_a_call_returned_is_read_with_the_next_call() {
    let place = Place::new();
    let inbox = place.open();
    put(&inbox, "teams", 0..5);
    let call = Pull {
        limit: 2,
        ..pull("a")
    };
    let first = answered(&inbox, &call);
    assert_eq!(ids(&first.messages), ["teams-0", "teams-1"]);
    assert_eq!(first.unread_remaining, 3);
    let name = ConsumerName::new("a", None);
    assert_eq!(inbox.unread(&name), 5, "nobody has said that it arrived");
    let second = answered(&inbox, &call);
    assert_eq!(ids(&second.messages), ["teams-2", "teams-3"]);
    inbox.acknowledge(&name, None).expect("acknowledged");
    assert_eq!(inbox.unread(&name), 1);
    // Another consumer has everything before it.
    let other = answered(&inbox, &pull("b"));
    assert_eq!(other.messages.len(), 5);
    assert_eq!(inbox.unread(&ConsumerName::new("a", Some("b"))), 5);
}

#[test]
fn an_answer_that_was_lost_is_given_again() {
    let place = Place::new();
    let inbox = place.open();
    put(&inbox, "teams", 0..6);
    let call = |since: Option<&str>| Pull {
        limit: 2,
        since_id: since.map(str::to_owned),
        ..pull("a")
    };
    answered(&inbox, &call(None));
    // The next answer never arrives, and so the client says the same again.
    answered(&inbox, &call(Some("teams-1")));
    let again = answered(&inbox, &call(Some("teams-1")));
    assert_eq!(ids(&again.messages), ["teams-2", "teams-3"]);
    // It got half of it.
    let rest = answered(&inbox, &call(Some("teams-2")));
    assert_eq!(ids(&rest.messages), ["teams-3", "teams-4"]);
    let unknown = inbox
        .pull(&call(Some("never")))
        .expect_err("no such message");
    assert!(matches!(unknown, ReadError::Unknown { .. }), "{unknown}");
}

#[test]
fn a_look_marks_nothing_and_a_channel_leaves_holes() {
    let place = Place::new();
    let inbox = place.open();
    for at in 0..3 {
        put(&inbox, "teams", at..at + 1);
        put(&inbox, "email", at..at + 1);
    }
    let look = Pull {
        mark_consumed: false,
        ..pull("a")
    };
    for _ in 0..2 {
        assert_eq!(answered(&inbox, &look).messages.len(), 6);
    }
    let mail = Pull {
        channel: Channel::parse("email").ok(),
        limit: 2,
        ..pull("a")
    };
    let pulled = answered(&inbox, &mail);
    assert_eq!(ids(&pulled.messages), ["email-0", "email-1"]);
    assert_eq!(pulled.unread_remaining, 1);
    let rest = answered(&inbox, &pull("a"));
    assert_eq!(
        ids(&rest.messages),
        ["teams-0", "teams-1", "teams-2", "email-2"]
    );
    assert_eq!(rest.unread_remaining, 0);
}

fn first_state() -> serde_json::Value {
    serde_json::json!({"unread": 3, "last_id": "teams-3", "last_seen_consumer": {"a": "teams-0"}})
}

#[test]
fn what_was_read_outlives_the_hub() {
    let place = Place::new();
    let inbox = place.open();
    put(&inbox, "teams", 0..4);
    let call = Pull {
        limit: 1,
        ..pull("a")
    };
    answered(&inbox, &call);
    answered(&inbox, &call);
    drop(inbox);
    let state = fs::read_to_string(place.folder().join("state.json")).expect("state");
    let state: serde_json::Value = serde_json::from_str(&state).expect("JSON");
    assert_eq!(state, first_state());
    // What it says is never believed, whether it is broken or of another time.
    let old = r#"{"unread": 0, "last_id": "teams-9", "last_seen_consumer": {"a": "teams-9"}}"#;
    for state in [old, "{"] {
        fs::write(place.folder().join("state.json"), state).expect("written");
        let inbox = place.open();
        assert_eq!(inbox.unread(&ConsumerName::new("a", None)), 3, "{state}");
        assert_eq!(inbox.unread_by_all(), 3, "{state}");
        drop(inbox);
        let mended = fs::read_to_string(place.folder().join("state.json")).expect("state");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&mended).ok(),
            Some(first_state())
        );
    }
    let inbox = place.open();
    let third = answered(&inbox, &call);
    assert_eq!(
        ids(&third.messages),
        ["teams-2"],
        "teams-1 was handed out before"
    );
    drop(inbox);
    // A consumer whose file is broken is offered everything again.
    let consumers = place.folder().join("consumers");
    for entry in fs::read_dir(&consumers).expect("listed") {
        fs::write(entry.expect("an entry").path(), "junk").expect("broken");
    }
    let inbox = place.open();
    assert_eq!(inbox.problems().len(), 1);
    assert_eq!(answered(&inbox, &pull("a")).messages.len(), 4);
}

#[test]
fn everything_is_read_once_whatever_is_cut_off() {
    let place = Place::new();
    let mut inbox = place.open();
    let (mut got, mut since) = (Vec::new(), None);
    for round in 0..60u32 {
        put(
            &inbox,
            if round % 3 == 0 { "email" } else { "teams" },
            round * 5..round * 5 + 5,
        );
        if round % 20 == 19 {
            drop(inbox);
            inbox = place.open();
        }
        let call = Pull {
            since_id: since.clone(),
            limit: 7,
            ..pull("a")
        };
        let pulled = answered(&inbox, &call);
        if round % 10 == 9 {
            // Cut off on its way.
            continue;
        }
        if let Some(last) = pulled.messages.last() {
            since = Some(last.id.clone());
        }
        got.extend(pulled.messages.into_iter().map(|message| message.seq.0));
    }
    let last = Pull {
        since_id: since,
        ..pull("a")
    };
    let last = answered(&inbox, &last);
    got.extend(last.messages.into_iter().map(|message| message.seq.0));
    assert_eq!(got, (1..=300).collect::<Vec<u64>>());
}

#[test]
fn recent_ones_come_newest_first() {
    let place = Place::new();
    let inbox = place.open();
    put(&inbox, "teams", 0..3);
    put(&inbox, "email", 0..3);
    let recent = inbox.recent(None, 4).expect("read");
    assert_eq!(ids(&recent), ["email-2", "email-1", "email-0", "teams-2"]);
}

#[test]
fn an_entity_is_asked_for_by_name_and_the_others_are_counted() {
    let place = Place::new();
    let inbox = place.open();
    let clinic = EntityId::new("clinic");
    put(&inbox, "teams", 0..2);
    let of = |entity: &EntityId, id: &str| Incoming {
        entity: Some(entity.clone()),
        ..message("teams", id)
    };
    let both = vec![of(&clinic, "c1"), of(&EntityId::personal(), "p1")];
    inbox.append_blocking(both).expect("kept");
    let nobodys = answered(&inbox, &pull("a"));
    assert_eq!(ids(&nobodys.messages), ["teams-0", "teams-1", "p1"]);
    assert_eq!(nobodys.unread_remaining, 0);
    let theirs = Pull {
        entity: Some(clinic.clone()),
        ..pull("a")
    };
    assert_eq!(ids(&answered(&inbox, &theirs).messages), ["c1"]);
    assert_eq!(ids(&inbox.recent(Some(&clinic), 9).expect("read")), ["c1"]);
    inbox
        .acknowledge(&ConsumerName::new("a", None), None)
        .expect("acknowledged");
    assert!(inbox.unread_of(&ConsumerName::new("a", None)).is_empty());
    let other = inbox.unread_of(&ConsumerName::new("b", None));
    let counts: Vec<_> = other
        .iter()
        .map(|one| (one.entity.clone(), one.count))
        .collect();
    assert_eq!(counts, [(None, 3), (Some(clinic), 1)]);
}

#[test]
fn what_was_pushed_and_arrived_is_not_pulled_again() {
    let place = Place::new();
    let inbox = place.open();
    put(&inbox, "teams", 0..4);
    put(&inbox, "email", 0..2);
    let name = ConsumerName::new("a", None);
    for id in ["teams-2", "email-0"] {
        let message = inbox.by_id(id).expect("there");
        inbox.take(&name, &message).expect("taken");
    }
    assert_eq!(inbox.unread(&name), 4);
    let pulled = answered(&inbox, &pull("a"));
    assert_eq!(
        ids(&pulled.messages),
        ["teams-0", "teams-1", "teams-3", "email-1"]
    );
    drop(inbox);
    let inbox = place.open();
    assert_eq!(inbox.unread(&name), 4, "the pull's answer may be lost");
    assert_eq!(answered(&inbox, &pull("a")).messages, []);
}

#[test]
fn no_client_takes_the_places_of_others() {
    let place = Place::new();
    let inbox = place.open();
    put(&inbox, "teams", 0..1);
    let of = |client: &str, reader: String| Pull {
        consumer: ConsumerName::new(client, Some(&reader)),
        ..pull(client)
    };
    for reader in 0..32 {
        answered(&inbox, &of("a", reader.to_string()));
    }
    let refused = inbox.pull(&of("a", "one more".to_owned()));
    assert!(matches!(refused, Err(ReadError::Consumers { most: 32 })));
    answered(&inbox, &of("a", "7".to_owned()));
    answered(&inbox, &of("b", "first".to_owned()));
    answered(&inbox, &pull("a"));
}

#[test]
fn long_names_of_readers_are_not_one_reader() {
    let long = "r".repeat(90);
    let names = ["1", "2"].map(|end| ConsumerName::new("client", Some(&format!("{long}{end}"))));
    assert_ne!(names[0], names[1]);
    assert!(names.iter().all(|name| name.as_str().len() <= 100));
}

#[test]
fn calls_of_one_reader_at_once_share_what_there_is() {
    let place = Place::new();
    let inbox = place.open();
    put(&inbox, "teams", 0..400);
    let mut seen: Vec<u64> = std::thread::scope(|scope| {
        let calls = || {
            let mut seen = Vec::new();
            for _ in 0..20 {
                let call = Pull {
                    limit: 5,
                    ..pull("a")
                };
                let pulled = answered(&inbox, &call);
                seen.extend(pulled.messages.iter().map(|message| message.seq.0));
            }
            seen
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(calls)).collect();
        let seen = threads.into_iter().map(|thread| thread.join());
        seen.flat_map(|seen| seen.expect("ended")).collect()
    });
    seen.sort_unstable();
    assert_eq!(seen, (1..=400).collect::<Vec<u64>>());
}

#[test]
fn the_files_alone_say_what_was_read() {
    let place = Place::new();
    let inbox = place.open();
    for at in 0..3 {
        put(&inbox, "teams", at..at + 1);
        put(&inbox, "email", at..at + 1);
    }
    let mail = Pull {
        channel: Some(Channel::parse("email").expect("a channel")),
        limit: 2,
        ..pull("a")
    };
    answered(&inbox, &mail);
    answered(&inbox, &mail);
    drop(inbox);
    let name = ConsumerName::new("a", None);
    let read = |lane: &str, seq: u64| {
        has_read(&place.folder(), &name, lane, Seq(seq)).expect("the files are whole")
    };
    // Two were read, the third was handed out.
    for seq in [2, 4, 6] {
        assert!(read("email", seq), "{seq}");
    }
    for seq in [1, 3, 5] {
        assert!(!read("teams", seq), "{seq}");
    }
    let other = ConsumerName::new("b", None);
    let other = has_read(&place.folder(), &other, "email", Seq(2));
    assert!(!other.expect("no file is no failure"));
}

#[test]
fn a_call_that_began_before_an_answer_was_out_says_nothing_of_it() {
    let place = Place::new();
    let inbox = place.open();
    put(&inbox, "teams", 0..4);
    let name = ConsumerName::new("a", None);
    let began = |began| Pull {
        limit: 2,
        began,
        ..pull("a")
    };
    let waiting = began(Moment::now());
    let beside = inbox.pull(&began(Moment::now())).expect("pulled");
    assert_eq!(ids(&beside.messages), ["teams-0", "teams-1"]);
    // The wait looks again, while the other answer is on its way and after it is out.
    let second = inbox.pull(&waiting).expect("pulled");
    assert_eq!(ids(&second.messages), ["teams-2", "teams-3"]);
    beside.handed.expect("handed").written();
    assert!(inbox.pull(&waiting).expect("pulled").messages.is_empty());
    assert_eq!(inbox.unread(&name), 4, "nobody called since");
    // The wait's answer is lost, and what it held is offered to whoever calls next.
    drop(second.handed);
    let next = answered(&inbox, &began(Moment::START));
    assert_eq!(ids(&next.messages), ["teams-2", "teams-3"]);
    assert_eq!(inbox.unread(&name), 2, "teams-0 and teams-1 arrived");
    drop(answered(&inbox, &began(Moment::START)));
    assert_eq!(inbox.unread(&name), 0);
}

#[test]
fn an_answer_that_was_never_written_is_offered_again() {
    for restarts in [false, true] {
        let place = Place::new();
        let mut inbox = place.open();
        put(&inbox, "teams", 0..3);
        let first = inbox.pull(&pull("a")).expect("pulled");
        assert_eq!(first.messages.len(), 3);
        if restarts {
            // The hub is killed with the answer on its way.
            std::mem::forget(first.handed);
            drop(inbox);
            inbox = place.open();
        } else {
            drop(first.handed);
        }
        let some = Pull {
            since_id: Some("teams-0".to_owned()),
            ..pull("a")
        };
        let again = answered(&inbox, &some);
        assert_eq!(ids(&again.messages), ["teams-1", "teams-2"], "{restarts}");
        assert_eq!(inbox.unread(&ConsumerName::new("a", None)), 2);
    }
}

#[test]
fn an_id_means_the_version_that_the_consumer_has() {
    let place = Place::new();
    let inbox = place.open();
    put(&inbox, "teams", 0..3);
    let first = answered(&inbox, &pull("a"));
    assert_eq!(ids(&first.messages), ["teams-0", "teams-1", "teams-2"]);
    put(&inbox, "teams", 3..5);
    let edited = Incoming {
        version: "2".to_owned(),
        kind: Kind::Edited,
        ..message("teams", "teams-2")
    };
    inbox.append_blocking(vec![edited]).expect("kept");
    let since = Pull {
        since_id: Some("teams-2".to_owned()),
        limit: 2,
        ..pull("a")
    };
    // Once with the first version handed out, once with it read.
    for _ in 0..2 {
        let next = inbox
            .pull(&Pull {
                began: Moment::now(),
                ..since.clone()
            })
            .expect("pulled");
        assert_eq!(ids(&next.messages), ["teams-3", "teams-4"]);
    }
    assert_eq!(answered(&inbox, &since).messages.len(), 2);
    let last = Pull {
        since_id: Some("teams-4".to_owned()),
        ..since.clone()
    };
    assert_eq!(ids(&answered(&inbox, &last).messages), ["teams-2"]);
    assert!(
        answered(&inbox, &since).messages.is_empty(),
        "now the second"
    );
}

#[test]
fn what_needs_no_file_is_known_at_once() {
    let place = Place::new();
    let inbox = place.open();
    assert!(inbox.pull_nothing(&pull("a")).is_none(), "never seen");
    put(&inbox, "teams", 0..1);
    answered(&inbox, &pull("a"));
    assert!(inbox.pull_nothing(&pull("a")).is_none(), "to be settled");
    answered(&inbox, &pull("a"));
    let nothing = inbox.pull_nothing(&pull("a")).expect("nothing to read");
    assert!(nothing.messages.is_empty() && nothing.handed.is_none());
    put(&inbox, "teams", 1..2);
    assert!(inbox.pull_nothing(&pull("a")).is_none(), "something is new");
}

#[test]
fn readers_that_nobody_uses_make_room_and_end_but_for_a_persons() {
    let place = Place::new();
    let inbox = place.open();
    put(&inbox, "teams", 0..1);
    let of = |reader: u32| Pull {
        consumer: ConsumerName::new("a", Some(&reader.to_string())),
        is_persons: reader == 0,
        ..pull("a")
    };
    for reader in 0..32 {
        answered(&inbox, &of(reader));
        place.clock.advance(Duration::from_secs(60 * 60));
    }
    // The first is a person's, the second was not used for a day.
    answered(&inbox, &of(40));
    assert_eq!(inbox.unread(&of(1).consumer), 1, "forgotten");
    answered(&inbox, &of(0));
    assert_eq!(inbox.unread(&of(0).consumer), 0, "a person's");
    for reader in 2..32 {
        answered(&inbox, &of(reader));
    }
    answered(&inbox, &of(40));
    place.clock.advance(Duration::from_secs(100 * 24 * 60 * 60));
    answered(&inbox, &of(7));
    let before = Wall(place.clock.wall().0 - 90 * 24 * 60 * 60 * 1000);
    let expired = inbox.expire_consumers(before);
    assert_eq!(expired.len(), 30, "{expired:?}");
    drop(inbox);
    let inbox = place.open();
    let files = fs::read_dir(place.folder().join("consumers")).expect("listed");
    assert_eq!(files.count(), 2);
    assert_eq!(inbox.unread(&of(0).consumer), 0);
    assert_eq!(inbox.unread(&of(7).consumer), 0);
    assert_eq!(inbox.unread(&of(8).consumer), 1);
}
