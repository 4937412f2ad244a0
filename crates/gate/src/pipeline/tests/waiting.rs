//! Calls that wait for an answer, on a clock of their own.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::asking::{asking, code, send};
use super::*;
use crate::approval::{Answer, Channel};

/// How long a legacy client's call is held.
const HELD: Duration = Duration::from_secs(45);

/// A legacy client with a form to ask in, which says this, or nothing at all.
#[derive(Debug)]
struct Form(ClientCapabilities, Option<&'static str>);

impl Form {
    fn says(answer: Option<&'static str>) -> Arc<dyn Peer> {
        let capabilities = ClientCapabilities {
            elicitation_form: true,
            ..ClientCapabilities::default()
        };
        Arc::new(Self(capabilities, answer))
    }
}

impl Peer for Form {
    fn revision(&self) -> Revision {
        Revision::V2025_11_25
    }
    fn capabilities(&self) -> &ClientCapabilities {
        &self.0
    }
    fn ask(&self, _ask: Ask) -> BoxFuture<'static, Result<Raw, ErrorObject>> {
        match self.1 {
            Some(answer) => std::future::ready(Ok(Raw::from_static(answer))).boxed(),
            None => std::future::pending().boxed(),
        }
    }
}

/// Runs on a clock that goes on when everybody waits for it.
fn on_a_clock<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime")
        .block_on(future)
}

/// How a call ends, and after how long, with somebody else answering on the
/// way.
fn held(
    bench: &Bench,
    peer: &Arc<dyn Peer>,
    to: &str,
    elsewhere: Option<(Duration, Answer)>,
) -> (&'static str, Duration) {
    let mut request = send(to);
    request.peer = Arc::clone(peer);
    on_a_clock(async {
        let begun = Instant::now();
        let context = context("claude");
        let call = async {
            let end = bench.gate.call(&context, request).await;
            (code(&end), begun.elapsed())
        };
        let other = async {
            if let Some((after, answer)) = elsewhere {
                // tidy: the clock is held, and goes on when everybody waits for it.
                sleep(after).await;
                let approvals = &bench.gate.asking().approvals;
                let waiting = approvals.list();
                approvals
                    .answer(&waiting[0].id, answer, Channel::Command)
                    .expect("taken");
            }
        };
        tokio::join!(call, other).0
    })
}

#[test]
fn a_held_call_turns_pending_when_its_time_is_over() {
    let bench = bench(asking());
    let silent = Form::says(None);
    assert_eq!(
        held(&bench, &silent, "a", None),
        ("APPROVAL_PENDING", HELD),
        "nobody answers"
    );
    assert_eq!(bench.servers.calls.load(Ordering::Relaxed), 0);
    // It still waits, under the same id, for an answer that comes later.
    let waiting = bench.gate.asking().approvals.list();
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    let late = Some((HELD - Duration::from_secs(1), Answer::Once));
    assert_eq!(
        held(&bench, &silent, "a", late),
        ("done", HELD - Duration::from_secs(1)),
        "just in time"
    );
    assert_eq!(bench.servers.calls.load(Ordering::Relaxed), 1);
}

#[test]
fn a_held_call_ends_with_whoever_answers_first() {
    let soon = Duration::from_secs(10);
    for (says, elsewhere, end) in [
        (None, Some((soon, Answer::Deny)), ("APPROVAL_DENIED", soon)),
        (None, Some((soon, Answer::Once)), ("done", soon)),
        (
            Some(r#"{"action":"accept","content":{"decision":"once"}}"#),
            None,
            ("done", Duration::ZERO),
        ),
        (
            Some(r#"{"action":"accept","content":{"decision":"deny"}}"#),
            None,
            ("APPROVAL_DENIED", Duration::ZERO),
        ),
        // A client that closes its form has said nothing, and is not waited for.
        (
            Some(r#"{"action":"cancel"}"#),
            None,
            ("APPROVAL_PENDING", Duration::ZERO),
        ),
        (
            Some(r#"{"action":"decline"}"#),
            None,
            ("APPROVAL_PENDING", Duration::ZERO),
        ),
    ] {
        let bench = bench(asking());
        let client = Form::says(says);
        assert_eq!(
            held(&bench, &client, "a", elsewhere),
            end,
            "{says:?} {elsewhere:?}"
        );
        let called = usize::from(end.0 == "done");
        assert_eq!(bench.servers.calls.load(Ordering::Relaxed), called);
    }
}
