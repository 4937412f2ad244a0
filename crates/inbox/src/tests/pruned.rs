use super::*;

fn three_days() -> (Place, Inbox) {
    let place = Place::new();
    let inbox = place.open();
    put(&inbox, "teams", 0..3);
    put(&inbox, "email", 0..2);
    place.next_day();
    put(&inbox, "teams", 3..5);
    place.next_day();
    put(&inbox, "teams", 5..6);
    (place, inbox)
}

fn at(text: &str) -> Wall {
    Wall::parse(text).expect("a time")
}

#[test]
fn old_days_go_and_their_messages_never_come_back() {
    let (place, inbox) = three_days();
    let kept = inbox
        .prune_blocking(at("2026-11-23"), false)
        .expect("pruned");
    assert_eq!(kept.unread, ["2026-11-21"], "nobody has read it");
    let pruned = inbox
        .prune_blocking(at("2026-11-23"), true)
        .expect("pruned");
    assert_eq!(pruned.days, ["2026-11-21", "2026-11-22"]);
    assert_eq!(pruned.records, 7);
    assert!(!place.day_file().exists());
    let check = |inbox: &Inbox| {
        assert_eq!(ids(&everything(inbox)), ["teams-5"]);
        assert!(put(inbox, "teams", 0..5).iter().all(|one| one.duplicate));
        let look = Pull {
            mark_consumed: false,
            ..pull("new")
        };
        let pulled = answered(inbox, &look);
        assert_eq!(ids(&pulled.messages), ["teams-5"]);
        assert_eq!(pulled.unread_remaining, 0);
        assert_eq!(inbox.unread(&ConsumerName::new("new", None)), 1);
        assert_eq!(inbox.unread(&ConsumerName::new("later", None)), 1);
        assert_eq!(inbox.unread_by_all(), 1);
        assert!(matches!(
            inbox.by_id("teams-0"),
            Err(ReadError::Unknown { .. })
        ));
    };
    check(&inbox);
    drop(inbox);
    check(&place.open());
    // The index knows of them again when it is made anew.
    fs::remove_dir_all(place.folder().join("index")).expect("removed");
    check(&place.open());
}

#[test]
fn a_day_that_somebody_has_not_read_stays() {
    let (_place, inbox) = three_days();
    let call = Pull {
        limit: 5,
        ..pull("a")
    };
    answered(&inbox, &call);
    let pruned = inbox
        .prune_blocking(at("2026-11-24"), false)
        .expect("pruned");
    assert_eq!(pruned.unread, ["2026-11-21"]);
    answered(&inbox, &call);
    let pruned = inbox
        .prune_blocking(at("2026-11-24"), false)
        .expect("pruned");
    assert_eq!(
        (pruned.days.len(), pruned.unread.len()),
        (1, 1),
        "{pruned:?}"
    );
    // The last day is being written and stays whatever is asked.
    let pruned = inbox
        .prune_blocking(at("2027-01-01"), true)
        .expect("pruned");
    assert_eq!(pruned.days, ["2026-11-22"]);
    // It was handed out by the second call, and nobody has said that it arrived.
    assert_eq!(inbox.unread(&ConsumerName::new("a", None)), 1);
    assert_eq!(ids(&answered(&inbox, &pull("b")).messages), ["teams-5"]);
}

#[test]
fn a_crash_while_a_day_is_taken_out_is_finished_at_the_start() {
    let (place, inbox) = three_days();
    drop(inbox);
    let kept = fs::read(place.day_file()).expect("a day file");
    let inbox = place.open();
    inbox
        .prune_blocking(at("2026-11-22"), true)
        .expect("pruned");
    drop(inbox);
    // The file is there again: its removal never reached the disk.
    fs::write(place.day_file(), &kept).expect("put back");
    let inbox = place.open();
    assert!(!place.day_file().exists());
    assert_eq!(everything(&inbox).len(), 3);
    drop(inbox);
    // Or only what is forgotten was written.
    fs::write(place.day_file(), &kept).expect("put back");
    fs::remove_dir_all(place.folder().join("index")).expect("removed");
    let inbox = place.open();
    assert_eq!(everything(&inbox).len(), 3);
    assert!(put(&inbox, "teams", 0..3).iter().all(|one| one.duplicate));
}
