//! Who is woken for a message, with wakers as programs of their own: many at once,
//! some of which die.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use legation_tests::harness::process::{
    MARK, command, environment, new_mark, none_left, program, until,
};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(120);
/// Longer than a waker waits before it looks again by itself.
const QUIET: Duration = Duration::from_secs(2);

/// A data directory without a hub.
struct Place {
    folder: tempfile::TempDir,
    mark: String,
}

/// A waker that speaks in lines, beside a session that this test plays.
struct Waker {
    child: Child,
    says: ChildStdin,
    hears: Lines<BufReader<ChildStdout>>,
}

impl Place {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            mark: new_mark(),
        }
    }

    fn environment(&self) -> HashMap<String, String> {
        let mut all = environment(self.folder.path(), None);
        all.insert(MARK.to_owned(), self.mark.clone());
        all
    }

    async fn run(&self, words: &[&str]) -> String {
        let mut run = command(program("legation").unwrap(), &self.environment());
        let output = run.args(words).stdin(Stdio::null()).output().await.unwrap();
        let complained = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {complained}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn work(&self, name: &str) -> std::path::PathBuf {
        let folder = self.folder.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Starts a waker and waits until it waits.
    async fn waker(&self, session: &str) -> Waker {
        let mut start = command(program("legation").unwrap(), &self.environment());
        start.args(["inbox", "waker", "--by", "line", "--client", "opencode"]);
        start.args(["--session", session, "--folder"]);
        start.arg(self.work(session));
        start.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = start.spawn().unwrap();
        let waker = Waker {
            says: child.stdin.take().unwrap(),
            hears: BufReader::new(child.stdout.take().unwrap()).lines(),
            child,
        };
        until("the session", PATIENCE, async || {
            self.state(session).await.as_deref() == Some("waits")
        })
        .await
        .unwrap();
        waker
    }

    async fn state(&self, session: &str) -> Option<String> {
        let said = self.run(&["inbox", "session", "list", "--json"]).await;
        let all: Vec<Value> = serde_json::from_str(&said).unwrap();
        let one = all.iter().find(|one| one["session"] == session)?;
        Some(one["state"].as_str().unwrap().to_owned())
    }

    /// Says what a session does, and waits until that is known.
    async fn turn(&self, waker: &mut Waker, session: &str, word: &str, state: &str) {
        waker.say(word).await;
        until(word, PATIENCE, async || {
            self.state(session).await.as_deref() == Some(state)
        })
        .await
        .unwrap();
    }

    async fn post(&self, id: &str, folder: Option<&Path>) {
        let folder = folder.map(|folder| format!("folder={}", folder.display()));
        let mut words = vec!["inbox", "post", "Look here.", "--id", id];
        if let Some(folder) = &folder {
            words.extend(["--meta", folder]);
        }
        self.run(&words).await;
    }
}

impl Waker {
    /// The ids of the messages for which it wakes its session.
    async fn ids(&mut self) -> Vec<String> {
        let line = timeout(PATIENCE, self.hears.next_line()).await;
        let line = line.expect("a line in time").unwrap().expect("a line");
        let said: Value = serde_json::from_str(&line).unwrap();
        let text = said["text"].as_str().unwrap();
        let ids = said["ids"].as_array().unwrap();
        let ids: Vec<String> = ids
            .iter()
            .map(|id| id.as_str().unwrap().to_owned())
            .collect();
        assert!(ids.iter().all(|id| text.contains(id)), "{text}");
        assert!(!text.contains("Look here"), "{text}");
        ids
    }

    async fn is_quiet(&mut self) -> bool {
        timeout(QUIET, self.hears.next_line()).await.is_err()
    }

    /// How long it has computed, in hundredths of a second (proc(5), fields 14 and 15 of `stat`).
    fn computed(&self) -> u64 {
        let pid = self.child.id().expect("it runs");
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let (_, fields) = stat.rsplit_once(')').unwrap();
        let times = fields.split_ascii_whitespace().skip(11).take(2);
        times.map(|time| time.parse::<u64>().unwrap()).sum()
    }

    async fn say(&mut self, word: &str) {
        let line = format!("{word}\n");
        self.says.write_all(line.as_bytes()).await.unwrap();
    }
}

#[tokio::test]
async fn one_message_wakes_one_session_whoever_else_waits() {
    let place = Place::new();
    let mut first = place.waker("first").await;
    let mut second = place.waker("second").await;
    let mut third = place.waker("third").await;
    place.post("one", None).await;
    assert_eq!(third.ids().await, ["one"]);
    place.post("two", Some(&place.work("first"))).await;
    assert_eq!(first.ids().await, ["two"]);
    assert!(first.is_quiet().await && second.is_quiet().await && third.is_quiet().await);
    // One that works is left alone, until it is done.
    for (waker, session) in [
        (&mut first, "first"),
        (&mut second, "second"),
        (&mut third, "third"),
    ] {
        place.turn(waker, session, "busy", "busy").await;
    }
    place.post("three", None).await;
    assert!(second.is_quiet().await);
    second.say("idle").await;
    assert_eq!(second.ids().await, ["three"]);
    // Who waits sleeps: for seconds nothing came, and looking must not be a reason to look.
    for waker in [&first, &second, &third] {
        let computed = waker.computed();
        assert!(computed < 150, "{computed} hundredths of a second");
    }
    drop((first, second, third));
    none_left(&place.mark, PATIENCE).await.unwrap();
}

#[tokio::test]
async fn what_a_session_did_not_live_to_hear_is_told_to_another() {
    let place = Place::new();
    let mut first = place.waker("first").await;
    let mut second = place.waker("second").await;
    second.child.kill().await.unwrap();
    place.post("one", None).await;
    assert_eq!(first.ids().await, ["one"]);
    place.turn(&mut first, "first", "busy", "busy").await;
    place.turn(&mut first, "first", "idle", "waits").await;
    // Told, and gone before it did anything.
    let mut third = place.waker("third").await;
    place.post("two", None).await;
    assert_eq!(third.ids().await, ["two"]);
    drop(third.says);
    assert!(
        timeout(PATIENCE, third.child.wait())
            .await
            .unwrap()
            .unwrap()
            .success()
    );
    assert_eq!(place.state("third").await, None);
    assert_eq!(first.ids().await, ["two"]);
    drop(first);
    none_left(&place.mark, PATIENCE).await.unwrap();
}

#[tokio::test]
async fn what_comes_while_nobody_waits_wakes_the_next() {
    let place = Place::new();
    place.post("before anybody", None).await;
    let waker = place.waker("first").await;
    drop(waker);
    none_left(&place.mark, PATIENCE).await.unwrap();
    place.post("between", None).await;
    let mut waker = place.waker("second").await;
    assert_eq!(waker.ids().await, ["between"]);
}

#[tokio::test]
async fn a_place_goes_on_where_it_was_and_a_follower_ends_with_who_started_it() {
    let place = Place::new();
    let follow = |words: &str| {
        let mut shell = command("/bin/sh", &place.environment());
        let program = program("legation").unwrap();
        // A second command, so that the shell does not become the first.
        shell
            .arg("-c")
            .arg(format!("'{}' inbox {words}; true", program.display()));
        shell.stdout(Stdio::piped());
        shell.spawn().unwrap()
    };
    let wait = async || {
        let output = follow("wait --place build --timeout 20").wait_with_output();
        String::from_utf8(output.await.unwrap().stdout).unwrap()
    };
    let mut follower = follow("follow --place build");
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    until("the place", PATIENCE, async || {
        let places = std::fs::read_dir(place.folder.path().join(".legation/wake/places"));
        places.is_ok_and(|places| places.count() == 2)
    })
    .await
    .unwrap();
    place.post("one", None).await;
    let line = timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap();
    assert!(line.unwrap().contains("Look here."));
    follower.kill().await.unwrap();
    none_left(&place.mark, PATIENCE).await.unwrap();
    for id in ["two", "three"] {
        place.post(id, None).await;
        let said = wait().await;
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}
