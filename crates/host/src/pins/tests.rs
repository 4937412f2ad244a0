use super::*;

const OLD: [u8; 32] = [1; 32];
const NEW: [u8; 32] = [2; 32];

fn pin(hash: [u8; 32], state: PinState, other: Option<[u8; 32]>) -> Pin {
    Pin { hash, state, other }
}

#[test]
fn a_pin_follows_what_is_seen_and_agreed_to() {
    use PinState::{Approved, Changed, New, Quarantined};
    for (before, hash, trusted, after) in [
        // First sight.
        (None, OLD, true, pin(OLD, Approved, None)),
        (None, OLD, false, pin(OLD, New, None)),
        // The same again.
        (
            Some(pin(OLD, Approved, None)),
            OLD,
            false,
            pin(OLD, Approved, None),
        ),
        (Some(pin(OLD, New, None)), OLD, false, pin(OLD, New, None)),
        (
            Some(pin(OLD, New, None)),
            OLD,
            true,
            pin(OLD, Approved, None),
        ),
        (
            Some(pin(OLD, Quarantined, None)),
            OLD,
            true,
            pin(OLD, Quarantined, None),
        ),
        // Something else, which trust does not help.
        (
            Some(pin(OLD, Approved, None)),
            NEW,
            true,
            pin(OLD, Changed, Some(NEW)),
        ),
        (
            Some(pin(OLD, Changed, Some([3; 32]))),
            NEW,
            true,
            pin(OLD, Changed, Some(NEW)),
        ),
        (
            Some(pin(OLD, Quarantined, None)),
            NEW,
            true,
            pin(OLD, Quarantined, Some(NEW)),
        ),
        (Some(pin(OLD, New, None)), NEW, false, pin(NEW, New, None)),
        // Back to what was agreed to, and back to what was refused.
        (
            Some(pin(OLD, Changed, Some(NEW))),
            OLD,
            false,
            pin(OLD, Approved, None),
        ),
        (
            Some(pin(OLD, Quarantined, Some(NEW))),
            OLD,
            true,
            pin(OLD, Quarantined, None),
        ),
    ] {
        assert_eq!(
            judge(before, &hash, [New, Approved][usize::from(trusted)]),
            after,
            "{before:?} {hash:?} {trusted}"
        );
    }
}

#[test]
fn what_a_set_of_definitions_hides() {
    let mut pinned = Pinned::default();
    for (name, state) in [
        ("fine", PinState::Approved),
        ("new", PinState::New),
        ("other", PinState::Changed),
        ("bad", PinState::Quarantined),
    ] {
        pinned.put(&("tool", name.into()), state);
    }
    let hidden = ["fine", "new", "other", "bad", "unheard-of"];
    let hidden: Vec<_> = hidden
        .into_iter()
        .filter(|name| pinned.hides(ListKind::Tools, name))
        .collect();
    assert_eq!(hidden, ["other", "bad"]);
    assert!(!pinned.hides(ListKind::Prompts, "bad"));
    assert!(pinned.shows_instructions());
    assert_eq!(pinned.waiting(), 3);
    pinned.put(&(INSTRUCTIONS, "".into()), PinState::New);
    assert!(!pinned.shows_instructions());
    assert_eq!(pinned.waiting(), 4);
}

#[test]
fn pins_outlive_the_hub() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("state.db");
    let open = || Store::open(&path, legation_store::StoreOptions::default()).expect("a store");
    let row = |item: &str, state, findings| PinRow {
        server: "files".to_owned(),
        kind: "tool".to_owned(),
        item: item.to_owned(),
        hash: OLD,
        definition: b"{}".to_vec(),
        state,
        findings,
        first_seen_ms: 1,
        changed_ms: None,
        decided_ms: None,
        decided_by: None,
    };
    let rows = [
        row("read", legation_store::PinState::Approved, note(None)),
        row(
            "write",
            legation_store::PinState::Changed,
            note(Some("{\"evil\":1}")),
        ),
    ];
    open().pin_put_all(&rows).expect("stored");
    let clock = legation_core::SystemClock::shared();
    let pins = Pins::recall(Arc::new(open()), clock);
    let known = pins.known();
    let of = &known.pins["files"];
    assert_eq!(
        of[&("tool", "read".into())],
        pin(OLD, PinState::Approved, None)
    );
    let evil: [u8; 32] = Sha256::digest("{\"evil\":1}").into();
    assert_eq!(
        of[&("tool", "write".into())],
        pin(OLD, PinState::Changed, Some(evil))
    );
    drop(known);
    let waiting = pins.waiting(None).expect("read");
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].before.as_deref(), Some("{}"));
    assert_eq!(waiting[0].now, "{\"evil\":1}");
    let mut stale = waiting[0].clone();
    stale.now.push(' ');
    assert!(matches!(
        pins.decide(&stale, true, "owner"),
        Err(PinError::Moved { .. })
    ));
    pins.decide(&waiting[0], true, "owner").expect("stored");
    assert!(matches!(
        pins.decide(&waiting[0], true, "owner"),
        Err(PinError::Nothing { .. })
    ));
    assert_eq!(
        pins.known().pins["files"][&("tool", "write".into())],
        pin(evil, PinState::Approved, None)
    );
}
