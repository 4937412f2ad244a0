use super::*;

const START: Wall = Wall(1_800_000_000_000);

fn later(ms: i64) -> Wall {
    Wall(START.0 + ms)
}

fn door() -> Door {
    Door::new("/home/alex/.legation").expect("randomness")
}

/// A session's cookie as a browser sends it back.
fn entered(door: &Door, now: Wall) -> String {
    let word = door.link(now).expect("randomness");
    let set = door.enter(&word, now).expect("randomness").expect("a link");
    set.split(';').next().expect("a value").to_owned()
}

fn pass(door: &Door, cookie: &str, now: Wall) -> Option<Pass> {
    door.pass(std::iter::once(cookie), now, false)
}

#[test]
fn a_link_works_once_and_for_minutes() {
    let door = door();
    let word = door.link(START).expect("randomness");
    assert_eq!(door.enter("wrong", START).expect("randomness"), None);
    assert!(door.enter(&word, START).expect("randomness").is_some());
    assert_eq!(door.enter(&word, START).expect("randomness"), None);
    let word = door.link(START).expect("randomness");
    let late = later(LINK_MS);
    assert_eq!(door.enter(&word, late).expect("randomness"), None);
    let first = door.link(START).expect("randomness");
    for _ in 0..LINKS_MAX {
        door.link(START).expect("randomness");
    }
    assert_eq!(door.enter(&first, START).expect("randomness"), None);
}

#[test]
fn the_cookie_is_read_by_no_script_and_brought_by_no_other_site() {
    let door = door();
    let word = door.link(START).expect("randomness");
    let set = door.enter(&word, START).expect("randomness").expect("in");
    for attribute in ["; Path=/", "; HttpOnly", "; SameSite=Strict"] {
        assert!(set.contains(attribute), "{set}");
    }
}

#[test]
fn a_session_ends_when_nobody_uses_it_and_after_half_a_day() {
    let door = door();
    let cookie = entered(&door, START);
    assert!(pass(&door, &cookie, later(IDLE_MS - 1)).is_some());
    assert!(pass(&door, &cookie, later(2 * IDLE_MS - 2)).is_some());
    assert!(pass(&door, &cookie, later(3 * IDLE_MS)).is_none());
    let cookie = entered(&door, START);
    let mut now = START;
    while now.0 + IDLE_MS / 2 < START.0 + WHOLE_MS {
        now = Wall(now.0 + IDLE_MS / 2);
        assert!(pass(&door, &cookie, now).is_some());
    }
    assert!(pass(&door, &cookie, later(WHOLE_MS)).is_none());
}

#[test]
fn looking_quietly_keeps_no_session_alive() {
    let door = door();
    let cookie = entered(&door, START);
    let quiet = |ms| door.pass(std::iter::once(cookie.as_str()), later(ms), true);
    assert!(quiet(IDLE_MS - 1).is_some());
    assert!(quiet(IDLE_MS).is_none());
}

#[test]
fn another_hubs_cookie_opens_nothing() {
    let (ours, theirs) = (
        door(),
        Door::new("/home/kim/.legation").expect("randomness"),
    );
    let cookie = entered(&theirs, START);
    assert!(pass(&ours, &cookie, START).is_none());
    // Under our own cookie's name too, and from an earlier start of our own hub.
    let value = cookie.split_once('=').expect("a value").1;
    let renamed = format!("{}={value}", ours.cookie);
    assert!(pass(&ours, &renamed, START).is_none());
    assert!(pass(&ours, &entered(&door(), START), START).is_none());
}

#[test]
fn a_cookie_that_was_changed_opens_nothing() {
    let door = door();
    let cookie = entered(&door, START);
    assert!(pass(&door, &format!("a=b; {cookie}; c=d"), START).is_some());
    let (name, value) = cookie.split_once('=').expect("a value");
    let (id, mac) = value.split_once('.').expect("two parts");
    let flipped = |text: &str| {
        let first = if text.starts_with('A') { 'B' } else { 'A' };
        format!("{first}{}", &text[1..])
    };
    for wrong in [
        format!("{}.{mac}", flipped(id)),
        format!("{id}.{}", flipped(mac)),
        id.to_owned(),
        format!("{id}."),
        format!(".{mac}"),
        "a.b.c".to_owned(),
        String::new(),
    ] {
        assert!(pass(&door, &format!("{name}={wrong}"), START).is_none());
    }
}

#[test]
fn whoever_left_is_out() {
    let door = door();
    let cookie = entered(&door, START);
    let guest = pass(&door, &cookie, START).expect("in");
    assert!(door.lives(&guest, START));
    let forget = door.leave(&guest);
    assert!(forget.contains("Max-Age=0"), "{forget}");
    assert!(!door.lives(&guest, START));
    assert!(pass(&door, &cookie, START).is_none());
}

#[test]
fn a_form_must_bring_the_token_of_its_own_session() {
    let door = door();
    let [one, two] = [(); 2].map(|()| {
        let cookie = entered(&door, START);
        pass(&door, &cookie, START).expect("in")
    });
    assert!(door.is_token(&one, &door.token(&one)));
    assert!(!door.is_token(&one, &door.token(&two)));
    assert!(!door.is_token(&one, ""));
}

#[test]
fn a_notice_is_told_once_and_to_its_session() {
    let door = door();
    let [one, two] = [(); 2].map(|()| {
        let cookie = entered(&door, START);
        pass(&door, &cookie, START).expect("in")
    });
    door.tell(&one, Notice::done("accepted"));
    assert_eq!(door.told(&two), None);
    assert_eq!(door.told(&one), Some(Notice::done("accepted")));
    assert_eq!(door.told(&one), None);
}

#[test]
fn the_session_that_was_not_used_for_the_longest_makes_room() {
    let door = door();
    let first = entered(&door, START);
    let second = entered(&door, later(1));
    assert!(pass(&door, &first, later(2)).is_some());
    for count in 1..SESSIONS_MAX {
        entered(&door, later(2 + i64::try_from(count).expect("small")));
    }
    assert!(pass(&door, &second, later(100)).is_none());
    assert!(pass(&door, &first, later(100)).is_some());
}

#[test]
fn nothing_secret_is_printed() {
    let door = door();
    let cookie = entered(&door, START);
    let guest = pass(&door, &cookie, START).expect("in");
    let printed = format!("{door:?} {guest:?}");
    assert_eq!(printed, "Door { .. } Pass(****)");
}
