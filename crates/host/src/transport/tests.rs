//! Connections to real processes and real sockets, well-behaved and not.

mod http;
mod stdio;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use legation_core::process::GuardPath;
use legation_wire::caps::ClientCapabilities;
use legation_wire::json::{Limits, Object, Raw};
use legation_wire::revision::Revision;
use legation_wire::upstream::{CallRequest, EraChoice, LinkConfig};

use super::*;

/// Far more than any machine needs; only a failing test waits this long.
const LIMIT: Duration = Duration::from_secs(30);

/// Lines that went into a log.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn sink(&self) -> LineSink {
        let lines = Arc::clone(&self.0);
        Arc::new(move |line| lines.lock().expect("not poisoned").push(line.to_owned()))
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().expect("not poisoned").clone()
    }
}

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(async { tokio::time::timeout(LIMIT, test).await.expect("in time") })
}

fn guard() -> GuardPath {
    let test = std::env::current_exe().expect("a test has a path");
    let target = test.parent().and_then(|deps| deps.parent());
    GuardPath {
        program: target.expect("a test lies in deps/").join("examples/guard"),
        args: Vec::new(),
    }
}

fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned().into(), &Limits::UPSTREAM).expect("valid JSON")
}

fn config(era: EraChoice) -> LinkConfig {
    LinkConfig {
        era,
        http: false,
        client_info: raw(r#"{"name":"legation","version":"0"}"#),
        offered: caps(),
        legacy_revision: Revision::LATEST_LEGACY,
    }
}

fn caps() -> ClientCapabilities {
    ClientCapabilities::from_raw(&raw(r#"{"elicitation":{}}"#), Revision::LATEST_LEGACY)
}

fn order(tool: &str, arguments: &str) -> CallOrder {
    CallOrder::from(CallRequest {
        method: "tools/call".into(),
        params: Object::new()
            .with("name", Raw::str(tool))
            .with("arguments", raw(arguments)),
        caps: Arc::new(caps()),
        client_info: None,
        log_level: None,
        want_progress: tool == "progress",
    })
}

/// Every event of a call up to its end.
async fn finish(mut call: CallStream) -> Vec<CallEvent> {
    let mut events = Vec::new();
    loop {
        let event = call.next().await;
        let end = event.is_end();
        events.push(event);
        if end {
            return events;
        }
    }
}

/// The result of a call that has to succeed.
async fn result(connection: &Connection, tool: &str, arguments: &str) -> Raw {
    match finish(connection.call(order(tool, arguments))).await.pop() {
        Some(CallEvent::Done(Ok(result))) => result,
        other => panic!("{tool}: {other:?}"),
    }
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    while !holds() {
        assert!(!what.is_empty());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn script(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("src/transport/tests")
        .join(name)
}
