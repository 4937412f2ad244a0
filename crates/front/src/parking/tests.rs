use std::sync::Arc;
use std::time::Duration;

use legation_core::clock::ManualClock;
use legation_core::{BootId, Cancel, CancelReason, ClientId, Wall};
use legation_gate::Endpoint;
use legation_wire::json::{Limits, Object, Raw};
use legation_wire::revision::Revision;
use tokio::sync::oneshot;

use super::{Binding, Parked, Parking, Resumed, stored};
use crate::outbox::Outbox;
use crate::peer::{ModernPeer, Pending};
use crate::settings::FrontSettings;
use crate::speaker::Modern;

struct Rig {
    parking: Parking,
    clock: Arc<ManualClock>,
}

fn rig() -> Rig {
    let clock = Arc::new(ManualClock::at(Wall(1_000_000)));
    let settings = FrontSettings {
        parked_per_client: 2,
        ..FrontSettings::default()
    };
    let parking =
        Parking::new(&BootId::new("0123456789abcdef"), clock.clone(), &settings).expect("a key");
    Rig { parking, clock }
}

fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned().into(), &Limits::CLIENT).expect("JSON")
}

fn binding(client: &str, arguments: &str) -> Binding {
    let params = raw(&format!(
        r#"{{"name":"t","arguments":{arguments},"_meta":{{"x":1}}}}"#
    ));
    Binding::new(
        &ClientId::new(client),
        &Endpoint::All,
        "tools/call",
        Some(&params),
    )
}

fn call() -> Arc<Parked> {
    let modern = Modern {
        revision: Revision::LATEST,
        capabilities: Arc::default(),
        info: None,
        level: None,
    };
    let peer = ModernPeer::new(
        Arc::new(modern),
        &Arc::new(Outbox::plain()),
        None,
        Object::new(),
    );
    Arc::new(Parked {
        peer: Arc::new(peer),
        cancel: Cancel::new(),
    })
}

fn question(
    key: &str,
) -> (
    Pending,
    oneshot::Receiver<Result<Raw, legation_wire::message::ErrorObject>>,
) {
    let (answer, waiting) = oneshot::channel();
    let pending = Pending {
        key: key.into(),
        method: "elicitation/create".into(),
        params: Raw::empty_object(),
        answer,
    };
    (pending, waiting)
}

fn state(result: &Raw) -> Raw {
    result.get("requestState").expect("a state")
}

#[tokio::test]
async fn a_round_is_answered_once_and_the_same_retry_gets_the_same_end() {
    let Rig { parking, .. } = rig();
    let own = binding("claude", r#"{"a":1}"#);
    let (pending, waiting) = question("user_name");
    let result = parking.park(&own, call(), vec![pending]).expect("parked");
    let state = state(&result);
    let answers = raw(r#"{"user_name":{"action":"accept","content":{"n":1}},"extra":5}"#);

    let again = parking
        .resume(&state, &own, Some(&raw(r#"{"other":{}}"#)))
        .expect("asked again");
    let Resumed::Again(again) = again else {
        panic!("{again:?}")
    };
    assert_eq!(
        again.get("inputRequests"),
        result.get("inputRequests").as_ref()
    );
    for bad in [
        r#"{"user_name":12345}"#,
        r#"{"user_name":{"action":"maybe"}}"#,
        "null",
        "[]",
    ] {
        let error = parking
            .resume(&state, &own, Some(&raw(bad)))
            .expect_err(bad);
        assert_eq!(error.code, -32602, "{bad}");
    }

    let Resumed::Live(_call, store) = parking
        .resume(&state, &own, Some(&answers))
        .expect("resumed")
    else {
        panic!("not live")
    };
    assert!(waiting.await.expect("sent").is_ok());
    let Resumed::Before(before) = parking.resume(&state, &own, Some(&answers)).expect("again")
    else {
        panic!("not stored")
    };
    store.put(&Ok(Raw::int(7)));
    assert_eq!(stored(before).await, Ok(Raw::int(7)));
    let other = raw(r#"{"user_name":{"action":"decline"}}"#);
    let error = parking
        .resume(&state, &own, Some(&other))
        .expect_err("other answers");
    assert_eq!(error.code, legation_wire::codes::BAD_REQUEST_STATE);
}

#[test]
fn a_state_is_good_for_its_client_request_and_run_only() {
    let Rig { parking, clock } = rig();
    let own = binding("claude", r#"{"a":1}"#);
    let result = parking
        .pass(&own, Object::new(), Some(Raw::str("theirs")))
        .expect("passed");
    let sealed = state(&result);
    assert!(!sealed.as_text().contains("theirs"));
    let tampered = Raw::str(&format!("{}-TAMPERED", sealed.to_str().expect("text")));
    let cases = [
        (binding("codex", r#"{"a":1}"#), &sealed),
        (binding("claude", r#"{"a":2}"#), &sealed),
        (binding("claude", r#"{"a":1}"#), &tampered),
    ];
    for (binding, state) in cases {
        assert_eq!(
            parking
                .resume(state, &binding, None)
                .expect_err("refused")
                .code,
            -32602
        );
    }
    let elsewhere = Parking::new(
        &BootId::new("fedcba98"),
        clock.clone(),
        &FrontSettings::default(),
    )
    .expect("a key")
    .resume(&sealed, &own, None)
    .expect_err("another run");
    assert!(elsewhere.message.contains("restarted"), "{elsewhere}");
    clock.advance(Duration::from_secs(601));
    let late = parking.resume(&sealed, &own, None).expect_err("late");
    assert!(late.message.contains("expired"), "{late}");
    parking.sweep();
    assert_eq!(parking.len(), 0);
}

#[test]
fn the_oldest_round_of_a_client_makes_room_and_its_call_is_called_off() {
    let Rig { parking, .. } = rig();
    let first = call();
    let cancel = first.cancel.clone();
    let own = binding("claude", "{}");
    let mut waiting = Vec::new();
    let mut open = |call, binding: &Binding| {
        let (pending, answer) = question("k");
        waiting.push(answer);
        parking.park(binding, call, vec![pending]).expect("parked")
    };
    open(first, &own);
    open(call(), &own);
    open(call(), &binding("codex", "{}"));
    assert_eq!((parking.len(), cancel.reason()), (3, None));
    open(call(), &own);
    assert_eq!(
        (parking.len(), cancel.reason()),
        (3, Some(CancelReason::Deadline))
    );
}
