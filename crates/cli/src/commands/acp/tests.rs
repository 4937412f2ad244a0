use std::path::PathBuf;
use std::time::{Duration, Instant};

use legation_core::{Clock as _, SystemClock};
use serde_json::{Value, json};

use super::relay::{Out, Relay};

/// An editor and an agent, and what passed between them.
struct Talk {
    relay: Relay,
    now: Instant,
}

fn bytes(message: &Value) -> Vec<u8> {
    // Spaces that nobody would write, so that what passes is seen to be what came.
    format!("{} \n", message.to_string().replace("\":", "\" : ")).into_bytes()
}

fn agent(message: &Value) -> Out {
    Out::Agent(bytes(message))
}

fn editor(message: &Value) -> Out {
    Out::Editor(bytes(message))
}

fn prompt(id: u64, session: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": {"sessionId": session, "prompt": []}})
}

fn done(id: &Value, reason: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"stopReason": reason}})
}

fn said(out: &Out) -> Value {
    match out {
        Out::Agent(line) | Out::Editor(line) => {
            assert_eq!(line.last(), Some(&b'\n'));
            serde_json::from_slice(line).unwrap()
        }
        other => panic!("no line: {other:?}"),
    }
}

impl Talk {
    /// With one session, `s1`.
    fn new() -> Self {
        let mut talk = Self {
            relay: Relay::new("secret"),
            now: SystemClock.now(),
        };
        let new = json!({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "/work", "mcpServers": []}});
        assert_eq!(talk.editor(&new), [agent(&new)]);
        let made = json!({"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s1"}});
        let began = Out::Began {
            session: "s1".to_owned(),
            folder: Some(PathBuf::from("/work")),
        };
        assert_eq!(talk.agent(&made), [editor(&made), began]);
        talk
    }

    fn editor(&mut self, message: &Value) -> Vec<Out> {
        self.relay.editor_said(bytes(message), self.now)
    }

    fn agent(&mut self, message: &Value) -> Vec<Out> {
        self.relay.agent_said(bytes(message), self.now)
    }

    /// Wakes `s1`; the id of the request.
    fn wake(&mut self) -> Value {
        let out = self.relay.wake("s1", "Read it.");
        let [Out::Busy(session), shown, asked] = out.as_slice() else {
            panic!("{out:?}");
        };
        assert_eq!(session, "s1");
        assert!(matches!((shown, asked), (Out::Editor(_), Out::Agent(_))));
        assert_eq!(
            said(shown)["params"]["update"],
            json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "Read it."}})
        );
        let asked = said(asked);
        assert_eq!(asked["method"], "session/prompt");
        assert_eq!(
            asked["params"],
            json!({"sessionId": "s1", "prompt": [{"type": "text", "text": "Read it."}]})
        );
        asked["id"].clone()
    }
}

fn settled(arrived: bool) -> Out {
    Out::Settled("s1".to_owned(), arrived)
}

fn idle() -> Out {
    Out::Idle("s1".to_owned())
}

fn busy() -> Out {
    Out::Busy("s1".to_owned())
}

#[test]
fn everything_passes_as_it_came() {
    let mut talk = Talk::new();
    for message in [
        json!({"jsonrpc": "2.0", "id": "one", "method": "initialize", "params": {"protocolVersion": 1}}),
        json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s1"}}),
        json!({"jsonrpc": "2.0", "id": 0, "method": "session/set_mode", "params": {"sessionId": "s1", "n": 1e300}}),
        json!({"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "m"}}),
        json!({"jsonrpc": "2.0", "id": 9, "result": null}),
        json!([{"jsonrpc": "2.0"}]),
        json!({"method": "x", "params": [1, 2]}),
        json!("words"),
    ] {
        assert_eq!(talk.editor(&message), [agent(&message)]);
        assert_eq!(talk.agent(&message), [editor(&message)]);
    }
    let now = talk.now;
    for broken in [&b"{half\n"[..], b"\xff\xfe\n", b"\n", b"no end"] {
        assert_eq!(
            talk.relay.editor_said(broken.to_vec(), now),
            [Out::Agent(broken.to_vec())]
        );
        assert_eq!(
            talk.relay.agent_said(broken.to_vec(), now),
            [Out::Editor(broken.to_vec())]
        );
    }
}

#[test]
fn an_idle_session_is_woken_and_its_editor_sees_what_comes_of_it() {
    let mut talk = Talk::new();
    let id = talk.wake();
    assert!(id.as_str().unwrap().contains("secret"));
    let update = json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": {}}});
    assert_eq!(talk.agent(&update), [editor(&update)]);
    // The agent's questions in it are the editor's to answer.
    let question = json!({"jsonrpc": "2.0", "id": 1, "method": "session/request_permission", "params": {"sessionId": "s1"}});
    assert_eq!(talk.agent(&question), [editor(&question)]);
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"outcome": {"outcome": "selected"}}});
    assert_eq!(talk.editor(&answer), [agent(&answer)]);
    // Nobody but this asked, so nobody else is answered.
    assert_eq!(talk.agent(&done(&id, "end_turn")), [settled(true), idle()]);
    assert_ne!(talk.wake(), id);
}

#[test]
fn a_session_that_works_is_left_alone() {
    let mut talk = Talk::new();
    let prompt = prompt(2, "s1");
    assert_eq!(talk.editor(&prompt), [busy(), agent(&prompt)]);
    assert_eq!(talk.relay.wake("s1", "Read it."), [settled(false)]);
    assert_eq!(
        talk.relay.wake("s2", "Read it."),
        [Out::Settled("s2".to_owned(), false)]
    );
    let end = done(&json!(2), "end_turn");
    assert_eq!(talk.agent(&end), [editor(&end), idle()]);
    let id = talk.wake();
    // Two at once would be two turns.
    assert_eq!(talk.relay.wake("s1", "Read it."), [settled(false)]);
    let refused =
        json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": "not signed in"}});
    assert_eq!(talk.agent(&refused), [settled(false), idle()]);
}

#[test]
fn a_person_comes_first() {
    let mut talk = Talk::new();
    let id = talk.wake();
    let question = json!({"jsonrpc": "2.0", "id": 7, "method": "session/request_permission", "params": {"sessionId": "s1"}});
    talk.agent(&question);
    let read = json!({"jsonrpc": "2.0", "id": 8, "method": "fs/read_text_file", "params": {"sessionId": "s1"}});
    talk.agent(&read);
    let (first, stop) = (
        prompt(2, "s1"),
        json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s1"}}),
    );
    let out = talk.editor(&first);
    let lines: Vec<Value> = out.iter().map(said).collect();
    assert!(
        out.iter().all(|out| matches!(out, Out::Agent(_))),
        "{out:?}"
    );
    assert_eq!(
        lines,
        [
            json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s1"}}),
            json!({"jsonrpc": "2.0", "id": 7, "result": {"outcome": {"outcome": "cancelled"}}}),
        ]
    );
    // What follows waits behind it; answers do not, but for the one that was given already.
    assert_eq!(talk.editor(&stop), []);
    let late = json!({"jsonrpc": "2.0", "id": 7, "result": {"outcome": {"outcome": "selected"}}});
    assert_eq!(talk.editor(&late), []);
    let text = json!({"jsonrpc": "2.0", "id": 8, "result": {"content": ""}});
    assert_eq!(talk.editor(&text), [agent(&text)]);
    let other = json!({"jsonrpc": "2.0", "id": 3, "method": "session/list", "params": {}});
    assert_eq!(talk.editor(&other), [agent(&other)]);
    assert_eq!(
        talk.agent(&done(&id, "cancelled")),
        [settled(false), busy(), agent(&first), agent(&stop)]
    );
    let end = done(&json!(2), "cancelled");
    assert_eq!(talk.agent(&end), [editor(&end), idle()]);
    talk.wake();
}

#[test]
fn an_agent_that_does_not_stop_is_not_waited_for() {
    let mut talk = Talk::new();
    let id = talk.wake();
    let first = prompt(2, "s1");
    talk.editor(&first);
    talk.now += Duration::from_secs(9);
    assert_eq!(talk.relay.tick(talk.now), []);
    talk.now += Duration::from_secs(1);
    assert_eq!(
        talk.relay.tick(talk.now),
        [settled(false), busy(), agent(&first)]
    );
    // When it does at last, the editor is not told of what it never asked.
    assert_eq!(talk.agent(&done(&id, "cancelled")), []);
}

#[test]
fn sessions_are_opened_again_and_closed() {
    let mut talk = Talk::new();
    for (number, method, answer, opens) in [
        (
            5,
            "session/load",
            json!({"jsonrpc": "2.0", "id": 5, "result": null}),
            true,
        ),
        (
            6,
            "session/resume",
            json!({"jsonrpc": "2.0", "id": 6, "error": {"code": 1}}),
            false,
        ),
    ] {
        let session = format!("s{number}");
        let load = json!({"jsonrpc": "2.0", "id": number, "method": method, "params": {"sessionId": session, "cwd": "/work"}});
        assert_eq!(talk.editor(&load), [agent(&load)]);
        let mut expected = vec![editor(&answer)];
        if opens {
            expected.push(Out::Began {
                session,
                folder: Some(PathBuf::from("/work")),
            });
        }
        assert_eq!(talk.agent(&answer), expected);
    }
    let close = json!({"jsonrpc": "2.0", "id": 8, "method": "session/close", "params": {"sessionId": "s1"}});
    assert_eq!(
        talk.editor(&close),
        [Out::Ended("s1".to_owned()), agent(&close)]
    );
    assert_eq!(talk.relay.wake("s1", "Read it."), [settled(false)]);
}

#[test]
fn the_editor_is_not_told_how_the_own_turn_of_a_closed_session_ended() {
    let mut talk = Talk::new();
    let id = talk.wake();
    let close = json!({"jsonrpc": "2.0", "id": 8, "method": "session/close", "params": {"sessionId": "s1"}});
    assert_eq!(
        talk.editor(&close),
        [Out::Ended("s1".to_owned()), agent(&close)]
    );
    assert_eq!(talk.agent(&done(&id, "cancelled")), []);
}
