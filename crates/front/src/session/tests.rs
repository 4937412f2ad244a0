use std::sync::Arc;

use legation_core::{Caller, Cancel, CancelReason, ClientId, Principal, SeatId, Via};
use legation_gate::Endpoint;
use legation_wire::json::{Limits, Object, Raw};
use legation_wire::message::{Id, Response};
use legation_wire::revision::Revision;

use super::{Carrier, Question, Session};

fn session() -> Arc<Session> {
    let caller = Caller {
        principal: Principal {
            client: ClientId::new("claude"),
            via: Via::Http,
        },
        seat: SeatId::new("seat"),
        workspace: None,
    };
    Arc::new(Session::new(
        "s".into(),
        caller,
        Endpoint::All,
        Carrier::Socket,
    ))
}

fn params(text: &'static str) -> Object {
    Raw::parse(text.into(), &Limits::CLIENT)
        .expect("JSON")
        .to_object()
        .expect("an object")
}

#[test]
fn every_revision_is_negotiated() {
    let cases = [
        ("2024-11-05", Revision::V2024_11_05),
        ("2025-03-26", Revision::V2025_03_26),
        ("2025-06-18", Revision::V2025_06_18),
        ("2025-11-25", Revision::V2025_11_25),
        ("2026-07-28", Revision::V2025_11_25),
        ("1999-01-01", Revision::V2025_11_25),
        ("nonsense", Revision::V2025_11_25),
    ];
    for (asked, settled) in cases {
        let params = Object::new().with("protocolVersion", Raw::str(asked));
        assert_eq!(
            session().greet(&params).expect("greeted"),
            settled,
            "{asked}"
        );
    }
    for bad in [
        r"{}",
        r#"{"protocolVersion":1}"#,
        r#"{"protocolVersion":"2025-06-18","capabilities":[]}"#,
    ] {
        assert_eq!(
            session().greet(&params(bad)).expect_err("refused").code,
            -32602,
            "{bad}"
        );
    }
}

#[test]
fn a_second_handshake_is_refused_and_readiness_comes_once() {
    let session = session();
    let hello = params(r#"{"protocolVersion":"2025-06-18","capabilities":{"roots":{}}}"#);
    assert!(!session.ready(), "not before initialize");
    session.greet(&hello).expect("greeted");
    assert_eq!(session.greet(&hello).expect_err("again").code, -32600);
    assert!(session.capabilities().roots);
    assert!(session.ready());
    assert!(!session.ready());
}

#[test]
fn an_id_in_flight_is_not_given_twice_and_can_be_used_again_afterwards() {
    let session = session();
    let cancel = Cancel::new();
    let id = Id::Int(7);
    session.begin(&id, &cancel, false).expect("begun");
    assert_eq!(
        session.begin(&id, &cancel, false).expect_err("in use").code,
        -32600
    );
    assert!(
        session.begin(&Id::from("7"), &cancel, false).is_ok(),
        "a string is another id"
    );
    assert!(session.end(&id));
    session.begin(&id, &cancel, false).expect("free again");
    session.cancel(&id);
    assert_eq!(cancel.reason(), Some(CancelReason::ClientCancelled));
    assert!(!session.end(&id), "what was cancelled is not answered");
    session.cancel(&id);
    session.cancel(&Id::Int(99));
}

#[tokio::test]
async fn an_answer_counts_only_in_the_session_that_asked() {
    let (asking, other) = (session(), session());
    let (id, answer) = asking.ask();
    other.answered(Response {
        id: Some(id.clone()),
        body: Ok(Raw::int(1)),
    });
    asking.answered(Response {
        id: Some(id.clone()),
        body: Ok(Raw::int(2)),
    });
    asking.answered(Response {
        id: Some(id),
        body: Ok(Raw::int(3)),
    });
    assert_eq!(answer.await.expect("answered"), Ok(Raw::int(2)));
}

#[test]
fn a_question_given_up_tells_the_client() {
    let session = session();
    let (id, _answer) = session.ask();
    drop(Question::new(
        Arc::clone(&session),
        Arc::clone(&session.general),
        id,
    ));
    assert!(!session.general.is_empty());
}

#[test]
fn closing_calls_off_what_is_under_way() {
    let session = session();
    let cancel = Cancel::new();
    session.begin(&Id::Int(1), &cancel, false).expect("begun");
    assert!(session.idle_since().is_none());
    assert!(session.close(CancelReason::Disconnected));
    assert!(!session.close(CancelReason::Disconnected));
    assert_eq!(cancel.reason(), Some(CancelReason::Disconnected));
    assert!(session.general.is_finished());
}

/// Counts who has what was said to them.
#[derive(Debug, Default)]
struct Counted(std::sync::Mutex<Vec<u32>>);

/// One thing that was said.
#[derive(Debug)]
struct One(Arc<Counted>, u32);

impl legation_gate::Arrival for One {
    fn arrived(&self, _caller: &Caller) {
        self.0.0.lock().expect("not poisoned").push(self.1);
    }
}

/// A client sends requests without waiting for anything. One that was read before
/// something was written out to it says nothing of that, though it is answered later.
#[tokio::test]
async fn a_push_has_arrived_with_a_request_that_was_read_after_it() {
    let caller = Caller {
        principal: Principal {
            client: ClientId::new("claude"),
            via: Via::Socket,
        },
        seat: SeatId::new("seat"),
        workspace: None,
    };
    let session = Session::new("s".into(), caller, Endpoint::All, Carrier::Socket);
    let session = Arc::new(session.with_channel(true, false));
    let counted = Arc::new(Counted::default());
    let say = |number: u32| {
        session.inject(&legation_gate::Injection {
            server: legation_core::ServerName::parse("inbox").expect("a name"),
            entity: None,
            content: format!("message {number}").into(),
            meta: Object::new(),
            arrival: Arc::new(One(Arc::clone(&counted), number)),
        });
    };
    let arrived = || counted.0.lock().expect("not poisoned").clone();
    let mut cursor = 0;
    say(1);
    say(2);
    // Both wait to be written out, and the client has asked already.
    session.is_alive();
    assert_eq!(arrived(), [0u32; 0]);
    let mut write = async |count: usize| {
        for _ in 0..count {
            let next = session.general.next(&mut cursor).await;
            assert!(matches!(next, crate::outbox::Next::Message(..)));
            session.general.take_leaving().written();
        }
    };
    write(1).await;
    session.is_alive();
    assert_eq!(arrived(), [1]);
    // A burst between two of its requests is taken as one.
    say(3);
    write(2).await;
    assert_eq!(arrived(), [1]);
    session.is_alive();
    session.is_alive();
    assert_eq!(arrived(), [1, 2, 3]);
}
