//! Disks that are full, fail or may not be written: then no tool runs, and the
//! hub says so.

use legation_tests::harness::asked::{ASKED, AskedHub, FREE, pending};
use legation_tests::harness::hub::HubOptions;
use legation_tests::harness::peer::{Answer, Peer, PeerEra, friendly};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::{Value, json};

/// Calls until a failing disk must have been noticed, and those after it.
const CALLS: usize = 2_000;
const AFTER: usize = 20;

async fn client(asked: &AskedHub) -> anyhow::Result<Peer> {
    let hub = &asked.hub;
    hub.http(PeerEra::Modern, json!({}), friendly()).await
}

/// Whether the server's own result came; if not, the hub must say that nothing
/// was done, and where to look.
fn ran(answer: &Answer) -> bool {
    let error = &answer.value["error"];
    if error.is_null() {
        assert_ne!(answer.value["result"]["isError"], true, "{}", answer.text);
        return true;
    }
    let message = error["message"].as_str().unwrap_or_default();
    let hint = error["data"]["hint"].as_str().unwrap_or_default();
    let says_so = message.contains("was not sent") || message.contains("nothing was called");
    assert!(says_so && hint.contains("disk"), "{}", answer.text);
    false
}

/// No file of the hub's may grow any more, or be written at all; or it may again.
fn full(asked: &AskedHub, full: bool) -> anyhow::Result<()> {
    let pid = Pid::from_raw(i32::try_from(asked.hub.pid().unwrap())?);
    let limit = Rlimit {
        current: full.then_some(0),
        maximum: getrlimit(Resource::Fsize).maximum,
    };
    prlimit(pid, Resource::Fsize, limit)?;
    Ok(())
}

#[tokio::test]
async fn a_full_disk_runs_nothing_until_there_is_room_again() -> anyhow::Result<()> {
    let asked = AskedHub::start(HubOptions {
        // Who is not killed for writing beyond a limit is told that it cannot.
        under: ["sh", "-c", r#"trap "" XFSZ; exec "$0" "$@""#]
            .map(str::to_owned)
            .into(),
        ..HubOptions::default()
    })
    .await?;
    let peer = client(&asked).await?;
    let waiting = json!({"id": "asked"});
    let id = pending(&peer.call(ASKED, waiting.clone()).await?).unwrap();
    full(&asked, true)?;
    for number in 0..5 {
        let arguments = json!({"id": number.to_string()});
        let answer = peer.call(FREE, arguments.clone()).await?;
        assert!(!ran(&answer), "{}", answer.text);
        assert_eq!(asked.executed(&arguments)?, 0);
    }
    let (code, out, complaint) = asked.hub.run(&["approve", &id]).await?;
    assert!(
        code == 1 && complaint.contains("not"),
        "{code} {out} {complaint}"
    );
    let other = peer.call(ASKED, json!({"id": "other"})).await?;
    assert_eq!(pending(&other), None, "{}", other.text);
    assert!(!asked.hub.said().is_empty());
    full(&asked, false)?;
    let arguments = json!({"id": "again"});
    let answer = peer.call(FREE, arguments.clone()).await?;
    assert!(ran(&answer), "{}", answer.text);
    assert_eq!(asked.executed(&arguments)?, 1);
    asked.tell(&["audit", "verify"]).await?;
    Ok(())
}

/// A hub one of whose calls fails once it has been made so often, for good.
async fn failing(call: &str, error: &str, after: usize) -> anyhow::Result<()> {
    let words = [
        "strace".to_owned(),
        "-D".to_owned(),
        "-f".to_owned(),
        "-q".to_owned(),
        "-o".to_owned(),
        "/dev/null".to_owned(),
        "-e".to_owned(),
        format!("trace={call}"),
        "-e".to_owned(),
        format!("inject={call}:error={error}:when={after}+"),
    ];
    let mut asked = AskedHub::start(HubOptions {
        under: words.into(),
        ..HubOptions::default()
    })
    .await?;
    let peer = client(&asked).await?;
    let (mut refused, mut done) = (0, 0);
    for number in 0..CALLS {
        let arguments = json!({"id": number.to_string()});
        let answer = peer.call(FREE, arguments.clone()).await?;
        let ran = ran(&answer);
        assert_eq!(
            asked.executed(&arguments)?,
            usize::from(ran),
            "{call} {error}: {}",
            answer.text
        );
        done += usize::from(ran);
        refused += usize::from(!ran);
        if refused > AFTER {
            break;
        }
    }
    assert!(refused > AFTER, "{call} {error}: nobody noticed");
    assert!(done > 0, "{call} {error}: it never worked");
    // On a whole disk it goes on, and has everything that was done.
    asked.hub.kill().await?;
    asked.hub.none_left().await?;
    asked.hub.put_under(&[]);
    asked.hub = asked.hub.restart().await?;
    asked.ready().await?;
    let peer = client(&asked).await?;
    assert!(ran(&peer.call(FREE, json!({"id": "again"})).await?));
    let verified: Value = serde_json::from_str(&asked.tell(&["audit", "verify", "--json"]).await?)?;
    assert_eq!(verified["intact"], true, "{verified}");
    let intents = verified["intents"].as_u64().unwrap_or_default();
    assert!(
        intents > done as u64,
        "{done} calls were made, {intents} are recorded"
    );
    Ok(())
}

#[tokio::test]
async fn a_disk_without_room_runs_nothing() -> anyhow::Result<()> {
    failing("pwrite64", "ENOSPC", 400).await
}

#[tokio::test]
async fn a_disk_that_fails_runs_nothing() -> anyhow::Result<()> {
    failing("pwrite64", "EIO", 400).await
}

#[tokio::test]
async fn a_disk_that_became_read_only_runs_nothing() -> anyhow::Result<()> {
    failing("pwrite64", "EROFS", 400).await
}

#[tokio::test]
async fn a_disk_that_does_not_sync_runs_nothing() -> anyhow::Result<()> {
    failing("fdatasync", "EIO", 30).await
}
