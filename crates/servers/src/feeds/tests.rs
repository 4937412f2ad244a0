//! Events of a server of the test's own on their way into an inbox.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use legation_core::SystemClock;
use legation_inbox::{Options, Seq, Ungoverned};
use legation_keystore::Keystore;
use legation_store::StoreOptions;
use legation_wire::json::Limits;

use super::*;

/// A server whose events are a list, and whose cursors are places in it.
#[derive(Debug)]
struct Server {
    name: ServerName,
    events: Mutex<Vec<String>>,
    polls: AtomicUsize,
    silent: AtomicBool,
    /// Whether there is a kind that nobody can read.
    demanding: AtomicBool,
    /// Whether it was set up anew and knows no earlier cursor.
    anew: AtomicBool,
}

impl Server {
    /// What its cursors begin with.
    fn era(&self) -> String {
        match self.anew.load(Ordering::SeqCst) {
            true => "new-".to_owned(),
            false => String::new(),
        }
    }
}

#[derive(Debug, Clone)]
struct Connection(Arc<Server>);

impl Feed for Connection {
    fn server(&self) -> &ServerName {
        &self.0.name
    }

    fn entity(&self) -> Option<&EntityId> {
        None
    }

    fn wants(&self, name: &str) -> bool {
        name != "unwanted"
    }

    fn is_current(&self) -> bool {
        true
    }

    fn list(&self, _params: Object) -> BoxFuture<'static, Result<Raw, Untold>> {
        let demanding = match self.0.demanding.load(Ordering::SeqCst) {
            true => r#"{"name":"demanding","delivery":["poll"]},"#,
            false => "",
        };
        let list = format!(
            r#"{{"events":[{demanding}{{"name":"issue.opened","delivery":["poll"]}},
            {{"name":"unwanted","delivery":["poll"]}},{{"name":"pushed","delivery":["webhook"]}}]}}"#
        );
        Box::pin(std::future::ready(Ok(raw(&list))))
    }

    fn poll(&self, params: Object) -> BoxFuture<'static, Result<Raw, Untold>> {
        let server = Arc::clone(&self.0);
        server.polls.fetch_add(1, Ordering::SeqCst);
        let name = params
            .get("name")
            .and_then(|name| name.to_str().map(String::from));
        if name.as_deref() == Some("demanding") {
            let missing = Untold::Params("an argument is missing".to_owned());
            return Box::pin(std::future::ready(Err(missing)));
        }
        assert_eq!(name.as_deref(), Some("issue.opened"));
        let cursor = params
            .get("cursor")
            .and_then(|raw| raw.to_str().map(String::from));
        Box::pin(async move {
            if server.silent.load(Ordering::SeqCst) {
                return Err(Untold::Answer("gone".to_owned()));
            }
            let events = server.events.lock().unwrap();
            let from = match &cursor {
                None => events.len(),
                Some(at) => match at.strip_prefix(&server.era()) {
                    Some(at) => at.parse().expect("a cursor of its own"),
                    None => return Err(Untold::Params("whose is this cursor?".to_owned())),
                },
            };
            let end = (from + 2).min(events.len());
            let some = events[from..end].join(",");
            let more = end < events.len();
            let era = server.era();
            Ok(raw(&format!(
                r#"{{"events":[{some}],"cursor":"{era}{end}","hasMore":{more},"truncated":false,"nextPollMs":5}}"#
            )))
        })
    }
}

#[derive(Debug)]
struct NoSet;

impl FeedSet for NoSet {
    fn feeds(&self) -> Vec<Arc<dyn Feed>> {
        Vec::new()
    }
}

fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned().into(), &Limits::UPSTREAM).expect("JSON")
}

fn event(id: &str) -> String {
    format!(
        r#"{{"eventId":"{id}","name":"issue.opened","timestamp":"2026-11-20T12:00:00Z","data":{{"title":"It is <b>broken</b>","number":7,"labels":["a"]}}}}"#
    )
}

struct Stand {
    feeds: Feeds,
    server: Arc<Server>,
    _folder: tempfile::TempDir,
}

fn stand(name: &str) -> Stand {
    let folder = tempfile::tempdir().expect("a folder");
    let keystore = Keystore::open(&folder.path().join("keys")).expect("keys");
    let inbox = Inbox::open(Options {
        folder: folder.path().join("inbox"),
        keystore: Arc::new(keystore),
        clock: SystemClock::shared(),
        governor: Arc::new(Ungoverned),
    });
    let store = Store::open(&folder.path().join("state.db"), StoreOptions::default());
    let server = Arc::new(Server {
        name: ServerName::parse(name).expect("a name"),
        events: Mutex::default(),
        polls: AtomicUsize::new(0),
        silent: AtomicBool::new(false),
        demanding: AtomicBool::new(false),
        anew: AtomicBool::new(false),
    });
    Stand {
        feeds: Feeds::new(
            Arc::new(NoSet),
            Arc::new(inbox.expect("an inbox")),
            Arc::new(store.expect("a store")),
            Arc::default(),
        ),
        server,
        _folder: folder,
    }
}

#[tokio::test]
async fn events_become_messages_once_and_the_cursor_follows_them() {
    let stand = stand("tracker");
    let feed = Connection(Arc::clone(&stand.server));
    // Each is the first of its connection.
    let round = async || {
        let mut resting = HashMap::new();
        let done = stand.feeds.round(&feed, &mut resting).await;
        done.is_ok() && resting.is_empty()
    };
    stand.server.events.lock().unwrap().push(event("before"));
    assert!(round().await);
    assert!(
        stand
            .feeds
            .inbox
            .after(Seq(0), 10)
            .expect("read")
            .is_empty(),
        "from now on"
    );
    for id in ["e1", "e2", "e3", "e4", "e5"] {
        stand.server.events.lock().unwrap().push(event(id));
    }
    assert!(round().await);
    let messages = stand.feeds.inbox.after(Seq(0), 10).expect("read");
    let ids: Vec<&str> = messages.iter().map(|message| &*message.id).collect();
    assert_eq!(
        ids,
        ["e1", "e2", "e3", "e4", "e5"],
        "what is more is asked for at once"
    );
    let first = &messages[0];
    assert_eq!(
        (first.channel.as_str(), &*first.chat_id),
        ("tracker", "issue.opened")
    );
    assert_eq!(
        (&*first.from, &*first.ts),
        ("tracker", "2026-11-20T12:00:00Z")
    );
    assert_eq!(first.meta["event"], "issue.opened");
    assert_eq!(
        first.text,
        "issue.opened\ntitle: It is &lt;b&gt;broken&lt;/b&gt;\nnumber: 7\nlabels: [\"a\"]"
    );
    // The server repeats itself under another place.
    stand.server.events.lock().unwrap().push(event("e5"));
    stand
        .server
        .events
        .lock()
        .unwrap()
        .push(r#"{"name":"issue.opened"}"#.to_owned());
    assert!(round().await);
    assert_eq!(stand.feeds.inbox.after(Seq(0), 10).expect("read").len(), 5);
    stand.server.silent.store(true, Ordering::SeqCst);
    assert!(!round().await);
    stand.server.silent.store(false, Ordering::SeqCst);
    stand.server.events.lock().unwrap().push(event("e6"));
    assert!(round().await);
    assert_eq!(
        stand.feeds.inbox.after(Seq(5), 10).expect("read")[0].id,
        "e6"
    );
}

#[tokio::test]
async fn a_cursor_moves_only_behind_what_is_kept() {
    let stand = stand("tracker");
    let feed = Connection(Arc::clone(&stand.server));
    let mut resting = HashMap::new();
    assert!(stand.feeds.round(&feed, &mut resting).await.is_ok());
    stand.server.events.lock().unwrap().push(event("e1"));
    stand.feeds.inbox.close();
    assert!(matches!(
        stand.feeds.round(&feed, &mut resting).await,
        Err(Stopped::Hub(_))
    ));
    let kept = stand.feeds.cursor(&feed, "issue.opened").await;
    assert!(matches!(kept, Ok(Some(cursor)) if cursor == "0"));
}

#[tokio::test]
async fn a_kind_that_cannot_be_read_stands_in_no_others_way() {
    let stand = stand("tracker");
    stand.server.demanding.store(true, Ordering::SeqCst);
    let feed = Connection(Arc::clone(&stand.server));
    let mut resting = HashMap::new();
    let polls = || stand.server.polls.load(Ordering::SeqCst);
    assert!(stand.feeds.round(&feed, &mut resting).await.is_ok());
    assert_eq!((polls(), resting.len()), (2, 1));
    stand.server.events.lock().unwrap().push(event("e1"));
    assert!(stand.feeds.round(&feed, &mut resting).await.is_ok());
    assert_eq!(polls(), 3, "what cannot be read is left alone for a while");
    let messages = stand.feeds.inbox.after(Seq(0), 10).expect("read");
    assert_eq!(messages.len(), 1);
}

#[tokio::test]
async fn a_server_that_forgot_its_cursors_is_read_anew() {
    let stand = stand("tracker");
    let feed = Connection(Arc::clone(&stand.server));
    let mut resting = HashMap::new();
    assert!(stand.feeds.round(&feed, &mut resting).await.is_ok());
    stand.server.anew.store(true, Ordering::SeqCst);
    assert!(stand.feeds.round(&feed, &mut resting).await.is_ok());
    let kept = stand.feeds.cursor(&feed, "issue.opened").await;
    assert!(matches!(kept, Ok(Some(cursor)) if cursor == "new-0"));
    stand.server.events.lock().unwrap().push(event("e1"));
    assert!(stand.feeds.round(&feed, &mut resting).await.is_ok());
    let messages = stand.feeds.inbox.after(Seq(0), 10).expect("read");
    assert_eq!((messages.len(), resting.len()), (1, 0));
}

#[test]
fn no_server_passes_its_events_off_as_anothers() {
    let channel = |name: &str| {
        let server = ServerName::parse(name).expect("a name");
        let event = raw(&event("e1"));
        let message = incoming(&server, None, "k", &event).expect("a message");
        message.channel.as_str().to_owned()
    };
    assert_eq!(channel("issue-tracker"), "issue-tracker");
    for (name, begins) in [
        ("email", "email-"),
        ("local", "local-"),
        ("Mail", "mail-"),
        ("team/x", "team-x-"),
        ("TEAMS", "teams-"),
    ] {
        let found = channel(name);
        assert!(
            found.starts_with(begins) && found.len() == begins.len() + 8,
            "{found}"
        );
    }
    assert_ne!(channel("a/b"), channel("a.b"));
    assert_eq!(channel(&"x".repeat(100)).len(), 32);
}

#[tokio::test]
async fn an_event_is_told_on_as_the_servers_own() {
    let stand = stand("tracker");
    let feed = Connection(Arc::clone(&stand.server));
    let mut resting = HashMap::new();
    assert!(stand.feeds.round(&feed, &mut resting).await.is_ok());
    stand.server.events.lock().unwrap().push(event("e1"));
    assert!(stand.feeds.round(&feed, &mut resting).await.is_ok());
    let messages = stand.feeds.inbox.after(Seq(0), 10).expect("read");
    let first = &messages[0];
    // Whoever asks for the event itself has its data as the server told it.
    let told = Occurrence::of(first).expect("an event");
    assert_eq!(
        (told.server.as_str(), &*told.kind, &*told.id),
        ("tracker", "issue.opened", "e1")
    );
    assert_eq!(
        told.data.to_raw().as_text(),
        r#"{"title":"It is <b>broken</b>","number":7,"labels":["a"]}"#
    );
    let offered = stand.feeds.offers.all();
    let names: Vec<(&str, &str)> = offered
        .iter()
        .map(|(server, offer)| (server.as_str(), &*offer.name))
        .collect();
    assert_eq!(names, [("tracker", "issue.opened")]);
    assert_eq!(
        stand
            .feeds
            .offers
            .is_offered(&stand.server.name, "unwanted"),
        Some(false)
    );
    // What somebody writes into another channel is no server's, whatever it says of itself.
    let mut forged = first.clone();
    forged.channel = legation_inbox::Channel::parse("local").expect("a channel");
    assert!(Occurrence::of(&forged).is_none());
}
