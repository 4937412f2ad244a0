//! What passes between an editor and its agent, without the pipes: which sessions
//! there are, which of them work, and turns that neither of the two asked for.
//!
//! The Agent Client Protocol has one turn of a session at a time. So a turn is begun
//! only while none runs, and when the person at the editor begins one meanwhile the
//! own turn is called off first: the person's prompt waits until the agent has said
//! that it stopped. Everything else passes as it came.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

/// How long an agent may take to stop.
const STOP: Duration = Duration::from_secs(10);
/// Most lines of an editor that wait for that; later ones do not wait.
const HELD_MAX: usize = 256;
/// The question that whoever calls a turn off has to answer.
const PERMISSION: &str = "session/request_permission";

/// What to do, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Out {
    /// A line for the agent.
    Agent(Vec<u8>),
    /// A line for the editor.
    Editor(Vec<u8>),
    /// A session is there.
    Began {
        /// Which.
        session: String,
        /// Where it works.
        folder: Option<PathBuf>,
    },
    /// It works.
    Busy(String),
    /// It has nothing to do.
    Idle(String),
    /// The turn that it was woken for is over; whether the agent had its words.
    Settled(String, bool),
    /// It is closed.
    Ended(String),
}

/// Both directions of one agent.
#[derive(Debug)]
pub(super) struct Relay {
    /// What the ids of own requests begin with.
    own_ids: String,
    count: u64,
    /// Requests of the editor whose answers say something of sessions.
    asked: HashMap<String, Asked>,
    /// Own requests that somebody stopped waiting for.
    forgotten: HashSet<String>,
    /// Questions of the agent that were answered in the editor's place.
    answered: HashSet<String>,
    sessions: BTreeMap<String, Session>,
}

/// A request of the editor.
#[derive(Debug)]
enum Asked {
    /// It begins a session.
    New(Option<PathBuf>),
    /// It opens one again.
    Open(String, Option<PathBuf>),
    /// It begins a turn.
    Prompt(String),
}

/// One session.
#[derive(Debug, Default)]
struct Session {
    /// The editor's turns.
    turns: usize,
    own: Option<Own>,
    /// What the editor said since the own turn was called off.
    held: VecDeque<Vec<u8>>,
}

/// A turn that was begun here.
#[derive(Debug)]
struct Own {
    id: String,
    /// Permissions that the agent asked for and the editor has not answered.
    questions: HashSet<String>,
    called_off: Option<Instant>,
}

/// A message, as far as it matters here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message {
    id: Option<Value>,
    method: Option<String>,
    params: Params,
    result: Option<Value>,
    error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Params {
    session_id: Option<String>,
    cwd: Option<PathBuf>,
}

// === impl Relay ===

impl Relay {
    /// Before anything passed. `secret` sets own ids apart from everybody's.
    pub(super) fn new(secret: &str) -> Self {
        Self {
            own_ids: format!("legation-{secret}-"),
            count: 0,
            asked: HashMap::new(),
            forgotten: HashSet::new(),
            answered: HashSet::new(),
            sessions: BTreeMap::new(),
        }
    }

    /// A line that the editor wrote.
    pub(super) fn editor_said(&mut self, line: Vec<u8>, now: Instant) -> Vec<Out> {
        let Ok(message) = serde_json::from_slice::<Message>(&line) else {
            return vec![Out::Agent(line)];
        };
        let key = message.id.as_ref().map(Value::to_string);
        let Some(method) = message.method.as_deref() else {
            return self.answered_by_editor(key, line);
        };
        let mut out = Vec::new();
        let of = message.params.session_id;
        if let Some(session) = of.as_ref().and_then(|id| self.sessions.get_mut(id)) {
            if method == "session/prompt" && session.own.is_some() {
                self.answered
                    .extend(session.call_off(of.as_deref(), now, &mut out));
            }
            let is_called_off = session
                .own
                .as_ref()
                .is_some_and(|own| own.called_off.is_some());
            if is_called_off && session.held.len() < HELD_MAX {
                session.held.push_back(line);
                return out;
            }
        }
        let asked = match (method, of) {
            ("session/new" | "session/fork", _) => Some(Asked::New(message.params.cwd)),
            ("session/load" | "session/resume", Some(session)) => {
                Some(Asked::Open(session, message.params.cwd))
            }
            ("session/prompt", Some(session)) => Some(Asked::Prompt(session)),
            ("session/close" | "session/delete", Some(session)) => {
                if let Some(closed) = self.sessions.remove(&session) {
                    // What the agent still says of the own turn is nothing that the editor asked.
                    self.forgotten.extend(closed.own.map(|own| own.id));
                    out.push(Out::Ended(session));
                }
                None
            }
            _ => None,
        };
        if let (Some(key), Some(asked)) = (key, asked) {
            if let Asked::Prompt(id) = &asked
                && let Some(session) = self.sessions.get_mut(id)
            {
                session.turns += 1;
                if session.turns == 1 {
                    out.push(Out::Busy(id.clone()));
                }
            }
            self.asked.insert(key, asked);
        }
        out.push(Out::Agent(line));
        out
    }

    /// An answer of the editor's to a question of the agent's.
    fn answered_by_editor(&mut self, key: Option<String>, line: Vec<u8>) -> Vec<Out> {
        if let Some(key) = key {
            if self.answered.remove(&key) {
                return Vec::new();
            }
            for own in self
                .sessions
                .values_mut()
                .filter_map(|one| one.own.as_mut())
            {
                own.questions.remove(&key);
            }
        }
        vec![Out::Agent(line)]
    }

    /// A line that the agent wrote.
    pub(super) fn agent_said(&mut self, line: Vec<u8>, now: Instant) -> Vec<Out> {
        let Ok(message) = serde_json::from_slice::<Message>(&line) else {
            return vec![Out::Editor(line)];
        };
        let Some(key) = message.id.as_ref().map(Value::to_string) else {
            return vec![Out::Editor(line)];
        };
        if let Some(method) = message.method {
            let session = message.params.session_id;
            let session = session.and_then(|id| self.sessions.get_mut(&id));
            let session = session.filter(|_| method == PERMISSION);
            if let Some(own) = session.and_then(|session| session.own.as_mut()) {
                own.questions.insert(key);
            }
            return vec![Out::Editor(line)];
        }
        if self.forgotten.remove(&key) {
            return Vec::new();
        }
        let mut sessions = self.sessions.iter();
        let own = sessions.find(|(_, one)| one.own.as_ref().is_some_and(|own| own.id == key));
        let is_good = message.error.is_none();
        if let Some(session) = own.map(|(id, _)| id.clone()) {
            return self.own_ended(session, is_good, now);
        }
        let mut out = Vec::new();
        match self.asked.remove(&key) {
            Some(Asked::New(folder)) => {
                let session = message
                    .result
                    .as_ref()
                    .and_then(|result| result.get("sessionId"));
                if let Some(session) = session.and_then(Value::as_str) {
                    out.push(self.began(session.to_owned(), folder));
                }
            }
            Some(Asked::Open(session, folder)) if is_good => {
                out.push(self.began(session, folder));
            }
            Some(Asked::Prompt(id)) => {
                if let Some(session) = self.sessions.get_mut(&id) {
                    session.turns = session.turns.saturating_sub(1);
                    if session.turns == 0 {
                        out.push(Out::Idle(id));
                    }
                }
            }
            Some(Asked::Open(..)) | None => {}
        }
        out.insert(0, Out::Editor(line));
        out
    }

    fn began(&mut self, session: String, folder: Option<PathBuf>) -> Out {
        self.sessions.entry(session.clone()).or_default();
        Out::Began { session, folder }
    }

    /// The own turn of a session is over, or nobody waits for it any more.
    fn own_ended(&mut self, id: String, arrived: bool, now: Instant) -> Vec<Out> {
        let Some(session) = self.sessions.get_mut(&id) else {
            return Vec::new();
        };
        let own = session.own.take();
        let undisturbed = own.is_some_and(|own| own.called_off.is_none());
        let held = std::mem::take(&mut session.held);
        let mut out = vec![Out::Settled(id.clone(), arrived && undisturbed)];
        for line in held {
            out.extend(self.editor_said(line, now));
        }
        if self
            .sessions
            .get(&id)
            .is_some_and(|one| one.turns == 0 && one.own.is_none())
        {
            out.push(Out::Idle(id));
        }
        out
    }

    /// Begins a turn with these words, if none runs. The editor is shown them, for it
    /// did not write them itself.
    pub(super) fn wake(&mut self, id: &str, words: &str) -> Vec<Out> {
        let session = self.sessions.get_mut(id);
        let Some(session) = session.filter(|one| one.turns == 0 && one.own.is_none()) else {
            return vec![Out::Settled(id.to_owned(), false)];
        };
        self.count += 1;
        let request = format!("{}{}", self.own_ids, self.count);
        let content = json!({"type": "text", "text": words});
        let shown = json!({"jsonrpc": "2.0", "method": "session/update", "params": {
            "sessionId": id,
            "update": {"sessionUpdate": "user_message_chunk", "content": content},
        }});
        let prompt = json!({"jsonrpc": "2.0", "id": request, "method": "session/prompt", "params": {
            "sessionId": id,
            "prompt": [content],
        }});
        session.own = Some(Own {
            id: Value::String(request).to_string(),
            questions: HashSet::new(),
            called_off: None,
        });
        vec![
            Out::Busy(id.to_owned()),
            Out::Editor(line(&shown)),
            Out::Agent(line(&prompt)),
        ]
    }

    /// Goes on without agents that were told to stop a turn and did not.
    pub(super) fn tick(&mut self, now: Instant) -> Vec<Out> {
        let late = |own: &Own| {
            let since = own.called_off?;
            (now.saturating_duration_since(since) >= STOP).then(|| own.id.clone())
        };
        let late: Vec<(String, String)> = self
            .sessions
            .iter()
            .filter_map(|(id, one)| Some((id.clone(), late(one.own.as_ref()?)?)))
            .collect();
        let mut out = Vec::new();
        for (session, request) in late {
            self.forgotten.insert(request);
            out.extend(self.own_ended(session, false, now));
        }
        out
    }
}

// === impl Session ===

impl Session {
    /// Has the agent stop the own turn, as the protocol wants it: who calls a turn off
    /// answers what the agent asked in it. Returns what was answered so.
    fn call_off(&mut self, id: Option<&str>, now: Instant, out: &mut Vec<Out>) -> Vec<String> {
        let Some(own) = self.own.as_mut().filter(|own| own.called_off.is_none()) else {
            return Vec::new();
        };
        own.called_off = Some(now);
        let cancel =
            json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": id}});
        out.push(Out::Agent(line(&cancel)));
        let questions: Vec<String> = own.questions.drain().collect();
        for question in &questions {
            // An id is written back as it came.
            let answer = format!(
                r#"{{"jsonrpc":"2.0","id":{question},"result":{{"outcome":{{"outcome":"cancelled"}}}}}}"#
            );
            out.push(Out::Agent(format!("{answer}\n").into_bytes()));
        }
        questions
    }
}

fn line(message: &Value) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}
