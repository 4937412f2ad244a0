//! The webhook of GitHub Copilot's agents: its listener before a stand-in of GitHub, GitHub's own
//! library as a referee, and a whole hub behind it.

mod hub;
mod listener;
mod oracle;

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use legation_copilot::{
    Answered, Asker, Business, Called, Confirmation, CopilotSettings, Guess, Guessing, Hub,
    Listener, ListenerParts, NotRecorded, Reference, Refused, Requested, ToolCall,
};
use legation_core::clock::ManualClock;
use legation_core::{Cancel, CancelReason, EntityId, TaskSet, Wall};
use legation_tests::harness::github::{self, Authority, Github, Signer};
use legation_tests::harness::http::Whole;
use serde_json::{Value, json};

/// The one who may write.
pub(crate) const LOGIN: &str = "jordan-example";
/// Their token: it may turn up nowhere.
pub(crate) const TOKEN: &str = "ghu_canarytoken0123456789";

/// A hub that answers as it was told.
#[derive(Debug, Default)]
struct Pretend {
    answers: Mutex<Vec<Called>>,
    recorded: Mutex<Vec<Requested>>,
    seen: Mutex<Vec<[u8; 32]>>,
    is_lost: Mutex<bool>,
}

/// A listener, GitHub, and one of its keys.
struct Stage {
    hub: Arc<Pretend>,
    github: Github,
    authority: Authority,
    signer: Signer,
    clock: Arc<ManualClock>,
    port: u16,
    folder: tempfile::TempDir,
    closing: Cancel,
    tasks: TaskSet,
}

impl Stage {
    async fn set() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let authority = Authority::new()?;
        let github = Github::start(&authority).await?;
        let signer = Signer::new("key-1")?;
        github.list(&[&signer]);
        github.knows(TOKEN, LOGIN);
        let (certificate, key) = authority.files(folder.path())?;
        let mut settings = CopilotSettings::new("127.0.0.1:0".parse()?, certificate, key);
        settings.github = github.url();
        settings.github_ca = Some(authority.pem.clone().into_bytes());
        settings.body_max = 64 * 1024;
        settings.connections_max = 4;
        settings.read_timeout = std::time::Duration::from_millis(500);
        let hub = Arc::new(Pretend::default());
        let clock = Arc::new(ManualClock::at(Wall(1_800_000_000_000)));
        let tasks = TaskSet::new();
        let listener = Listener::open(ListenerParts {
            settings,
            hub: Arc::clone(&hub) as _,
            clock: Arc::clone(&clock) as _,
            tasks: tasks.clone(),
        })
        .await?;
        let port = listener.address()?.port();
        let closing = listener.closing();
        tasks.spawn("listener", listener.run());
        Ok(Self {
            hub,
            github,
            authority,
            signer,
            clock,
            port,
            folder,
            closing,
            tasks,
        })
    }

    async fn send(&self, body: &str, fields: &[(String, String)]) -> anyhow::Result<Whole> {
        github::post(self.port, &self.authority, github::request(body, fields)?).await
    }

    /// A request signed anew; its status.
    async fn signed(&self, signer: &Signer, body: &str) -> anyhow::Result<u16> {
        let fields = signer.fields(body, TOKEN)?;
        Ok(self.send(body, &fields).await?.status)
    }

    async fn end(self) {
        self.closing.cancel(CancelReason::Shutdown);
        self.tasks.shutdown().await;
    }
}

/// What a person wrote.
pub(crate) fn message(text: &str) -> String {
    json!({
        "copilot_thread_id": "thread-1", "agent": "desk",
        "messages": [{ "role": "user", "content": text }],
    })
    .to_string()
}

fn ready<T: Send + 'static>(value: T) -> BoxFuture<'static, T> {
    Box::pin(std::future::ready(value))
}

impl Hub for Pretend {
    fn businesses(&self, login: &str) -> BoxFuture<'static, Option<Vec<Business>>> {
        let known = (login == LOGIN).then(|| {
            vec![Business {
                id: EntityId::new("harbor"),
                name: "Harbor Partners".to_owned(),
                words: Vec::new(),
                accounts: vec!["harbor-m365".to_owned()],
                deals: Vec::new(),
                is_hipaa: false,
                is_allowed: true,
            }]
        });
        ready(known)
    }

    fn first_time(&self, mark: [u8; 32]) -> BoxFuture<'static, Result<bool, NotRecorded>> {
        if *self.is_lost.lock().unwrap() {
            return ready(Err(NotRecorded));
        }
        let mut seen = self.seen.lock().unwrap();
        let is_first = !seen.contains(&mark);
        seen.push(mark);
        ready(Ok(is_first))
    }

    fn guess(&self, _asker: &Asker, _guessing: Guessing) -> BoxFuture<'static, Option<Guess>> {
        ready(None)
    }

    fn call(&self, asker: &Asker, _call: ToolCall) -> BoxFuture<'static, Called> {
        assert_eq!(asker.token.reveal(), TOKEN);
        let next = self.answers.lock().unwrap().pop();
        ready(next.unwrap_or(Called::Answered(Answered::default())))
    }

    fn confirm(
        &self,
        _asker: &Asker,
        _approval: &str,
        _is_yes: bool,
    ) -> BoxFuture<'static, Confirmation> {
        ready(Confirmation::Taken)
    }

    fn record(&self, requested: Requested) -> BoxFuture<'static, Result<(), NotRecorded>> {
        self.recorded.lock().unwrap().push(requested);
        ready(Ok(()))
    }
}

/// An answer of a tool's, with what can be looked up.
fn answered(text: &str, references: &[(&str, &str)]) -> Called {
    let references = references.iter().map(|(id, name)| Reference {
        kind: "legation.deal".to_owned(),
        id: (*id).to_owned(),
        name: (*name).to_owned(),
    });
    Called::Answered(Answered {
        text: text.to_owned(),
        references: references.collect(),
        is_error: false,
    })
}

/// A call that waits for a person, or was refused.
fn refused(approval: Option<&str>, code: &str, message: &str) -> Called {
    Called::Refused(Refused {
        code: code.to_owned(),
        message: message.to_owned(),
        hint: "Ask.".to_owned(),
        approval: approval.map(str::to_owned),
    })
}

/// The data of an event of a stream.
pub(crate) fn event(stream: &str, name: &str) -> Option<Value> {
    let start = format!("event: {name}\ndata: ");
    let found = stream
        .split("\n\n")
        .find_map(|event| event.strip_prefix(&start));
    found.and_then(|data| serde_json::from_str(data).ok())
}
