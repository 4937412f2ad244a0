//! What people write reaches four clients at once, each in its own way: one that
//! listens in the modern era, one that subscribes in the handshake era, one that is
//! said it into its conversation, and one that is told nothing. Answers are cut off,
//! the tenant refuses, and the hub is killed and stopped meanwhile.

mod consumers;
mod proxy;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use legation_tests::harness::hub::Hub;
use legation_tests::harness::process::until;
use serde_json::{Value, json};

use self::consumers::{Consumer, by_seq};
use self::proxy::Proxy;
use super::stand::{ERAS, Stand, client, done};
use super::watching::records;

const PATIENCE: Duration = Duration::from_secs(120);
/// Every so many answers to a pull, one is cut off on its way.
const CUT_EVERY: u64 = 10;
/// Edits of each part of the messages.
const EDITS: usize = 5;

/// How many messages are written where nobody says.
const MESSAGES: usize = 120;
/// For so many messages there is a letter.
const LETTER_EVERY: usize = 5;
/// For so many letters one comes a second time.
const TWICE_EVERY: usize = 10;

/// How many messages are to be written. The suite says it, which has installed what every client needs.
#[expect(
    clippy::disallowed_methods,
    reason = "how much is asked of it is the one who runs it's to say"
)]
fn asked() -> Option<usize> {
    std::env::var("LEGATION_DELIVERY_MESSAGES")
        .ok()?
        .parse()
        .ok()
}

/// The human in the tenant.
struct Human<'a> {
    stand: &'a Stand,
    chat: String,
    said: Vec<String>,
    /// By their Message-IDs, as the record has them.
    letters: Vec<String>,
    versions: usize,
}

// === impl Human ===

impl Human<'_> {
    /// Writes some messages, and edits some of them.
    async fn write(&mut self, count: usize) {
        let first = self.said.len();
        for number in first..first + count {
            let text = format!("message {number} <b>of</b> many & more.");
            let id = self.stand.say(&self.chat, &text).await;
            self.said.push(id);
            self.versions += 1;
        }
    }

    /// Sends some letters, a few of them twice.
    async fn send(&mut self, count: usize) {
        let first = self.letters.len();
        for number in first..first + count {
            let id = format!("letter-{number}@example.com");
            let letter = json!({
                "to": self.stand.env["AGENT_USER_ID"], "subject": format!("letter {number}"),
                "message_id": format!("<{id}>"), "html": true,
                "body": format!("<p>one of <b>many</b> &amp; more, {number}.</p>"),
            });
            for _ in 0..1 + usize::from(number % TWICE_EVERY == 0) {
                self.stand.order("mail", letter.clone()).await;
            }
            self.letters.push(id);
            self.versions += 1;
        }
    }

    /// Edits some of the last messages, which were read before.
    async fn edit(&mut self) {
        for id in self.said.iter().rev().step_by(3).take(EDITS) {
            let text = format!("edited {id}.");
            let edit = json!({ "chat_id": self.chat, "message_id": id, "text": text });
            self.stand.order("edit", edit).await;
            self.versions += 1;
        }
    }
}

#[tokio::test]
async fn everybody_gets_every_message_whatever_breaks() -> anyhow::Result<()> {
    let stand = Stand::new().await?;
    let mut options = stand.options();
    let (off, on) = ("inbox = \"off\"", "inbox = \"all\"\nmail_seconds = 10");
    options.settings = options.settings.replace(off, on);
    let clients = ["typescript", "python", "channel", "plain"];
    options.clients = clients.map(str::to_owned).to_vec();
    let mut hub = Hub::start(options).await?;
    let peer = client(&hub, ERAS[1]).await?;
    let connected = done(&peer, "connect", json!({})).await?;
    let chat = connected["chat_id"].as_str().unwrap().to_owned();
    let proxy = Proxy::start(&hub.base, CUT_EVERY).await?;
    let mut consumers = Consumer::sdks(hub.folder(), &proxy.url())?;
    let all = asked();
    anyhow::ensure!(
        all.is_none() || consumers.len() == 2,
        "an SDK is not installed"
    );
    consumers.push(Consumer::plain(proxy.url()));
    consumers.push(Consumer::channel(&hub).await?);
    all_ready(&consumers).await?;
    let mut human = Human {
        stand: &stand,
        chat,
        said: Vec::new(),
        letters: Vec::new(),
        versions: 0,
    };
    // The first look at a mailbox takes the newest letter and no other.
    human.send(1).await;
    kept(&hub, 1).await?;
    let count = all.unwrap_or(MESSAGES);
    for restart in 0..3 {
        let part = count * (restart + 1) / 3 - human.said.len();
        let letters = count / LETTER_EVERY * (restart + 1) / 3 - human.letters.len();
        human.write(part / 2).await;
        human.send(letters).await;
        // Two services: what one wants left alone is no matter of the other's.
        for service in ["/chats/", "/mailFolders/"] {
            let fault =
                json!({ "fault": "throttle", "retry_after": 1, "left": 2, "matching": service });
            stand.order("fault", fault).await;
        }
        human.write(part - part / 2).await;
        if restart < 2 {
            hub = away(hub, restart == 0, &consumers, &proxy).await?;
        }
        let expected = human.versions;
        kept(&hub, expected).await?;
        human.edit().await;
        kept(&hub, human.versions).await?;
    }
    let expected = human.versions;
    let result = got(&mut consumers, expected).await;
    let file = records(&hub.home());
    for consumer in &consumers {
        let broke = consumer.got.broke.lock().unwrap().clone();
        check(consumer, &file).map_err(|error| {
            anyhow::anyhow!("{}: {error}; it said {broke:?}; {result:?}", consumer.name)
        })?;
    }
    result?;
    check_file(&file, &human);
    assert!(proxy.cut() > 0, "nothing was cut off");
    stand.no_complaints().await;
    Ok(())
}

async fn all_ready(consumers: &[Consumer]) -> anyhow::Result<()> {
    for consumer in consumers.iter().filter(|one| one.name != "channel") {
        let ready = async || *consumer.got.sessions.lock().unwrap() > 0;
        until(consumer.name, PATIENCE, ready)
            .await
            .map_err(|error| {
                let broke = consumer.got.broke.lock().unwrap().clone();
                error.context(format!("{broke:?}"))
            })?;
    }
    Ok(())
}

/// The hub goes and another comes, in the same folder.
async fn away(
    mut hub: Hub,
    killed: bool,
    consumers: &[Consumer],
    proxy: &Proxy,
) -> anyhow::Result<Hub> {
    let quiet = |quiet| {
        for consumer in consumers {
            consumer.got.quiet.store(quiet, Ordering::Relaxed);
        }
    };
    quiet(true);
    if killed {
        hub.kill().await?;
    } else {
        hub.stop().await?;
    }
    let hub = hub.restart().await?;
    proxy.point_to(&hub.base);
    quiet(false);
    Ok(hub)
}

/// So many records are in the file.
async fn kept(hub: &Hub, count: usize) -> anyhow::Result<()> {
    let there = async || records(&hub.home()).len() >= count;
    let kept = until("the file", PATIENCE, there).await;
    kept.map_err(|error| {
        let found = records(&hub.home()).len();
        error.context(format!(
            "{found} of {count}; the hub said {:?}",
            hub.said().last()
        ))
    })
}

/// Everybody has everything.
async fn got(consumers: &mut [Consumer], count: usize) -> anyhow::Result<()> {
    for consumer in consumers {
        anyhow::ensure!(consumer.runs(), "{} ended", consumer.name);
        let has_all = async || match consumer.name {
            "channel" => channel_ids(consumer).len() >= count,
            _ => consumer.got.count() >= count,
        };
        until(consumer.name, PATIENCE, has_all).await?;
    }
    Ok(())
}

/// What the channel said, by message and text, each once.
fn channel_ids(consumer: &Consumer) -> HashSet<(String, String)> {
    let heard = consumer.got.heard("notifications/claude/channel");
    let ids = heard.iter().map(|params| {
        let id = params["meta"]["message_id"].to_string();
        (id, params["content"].to_string())
    });
    ids.collect()
}

/// Each version is in the file once, in the order of the sequence.
fn check_file(file: &[Value], human: &Human<'_>) {
    let mut versions = HashSet::new();
    for (record, seq) in file.iter().zip(1u64..) {
        assert_eq!(record["seq"], seq);
        let version = ["id", "version", "kind"].map(|member| record[member].to_string());
        assert!(versions.insert(version), "twice: {record}");
    }
    assert_eq!(file.len(), human.versions);
    let ids: HashSet<&str> = file.iter().filter_map(|one| one["id"].as_str()).collect();
    let mut written = human.said.iter().chain(&human.letters);
    assert!(written.all(|id| ids.contains(id.as_str())));
}

fn check(consumer: &Consumer, file: &[Value]) -> anyhow::Result<()> {
    let file = by_seq(file);
    let pulled = consumer.got.pulled.lock().unwrap().clone();
    let mut seqs = Vec::new();
    for message in &pulled {
        let seq = message["seq"].as_u64().unwrap_or_default();
        let Some(record) = file.get(&seq) else {
            anyhow::bail!("{message} is not in the file");
        };
        same(
            message,
            record,
            &[
                "id",
                "version",
                "kind",
                "channel",
                "chat_id",
                "from",
                "ts",
                "content_text_sanitized",
                "meta",
            ],
        )?;
        seqs.push(seq);
    }
    anyhow::ensure!(seqs.is_sorted(), "pulled out of order: {seqs:?}");
    match consumer.name {
        "channel" => return check_channel(consumer, &file, &seqs),
        "plain" => {}
        _ => {
            let updates = consumer.got.heard("notifications/resources/updated");
            anyhow::ensure!(updates.len() >= 3, "{} updates", updates.len());
            anyhow::ensure!(updates.iter().any(|one| one["uri"] == "legation://inbox"));
        }
    }
    let all: Vec<u64> = (1..=file.len() as u64).collect();
    anyhow::ensure!(seqs == all, "{} of {}: {seqs:?}", seqs.len(), all.len());
    check_logs(consumer, &file)
}

/// Log messages say what the file has, in its order.
fn check_logs(consumer: &Consumer, file: &HashMap<u64, &Value>) -> anyhow::Result<()> {
    let logs = consumer.got.heard("notifications/message");
    anyhow::ensure!(
        consumer.name != "python" || !logs.is_empty(),
        "no log message"
    );
    let mut last = 0;
    for log in logs.iter().filter(|log| log["logger"] == "legation.inbox") {
        let data = &log["data"];
        let matches = |record: &&Value| {
            let text = record["content_text_sanitized"]
                .as_str()
                .unwrap_or_default();
            record["id"] == data["id"]
                && record["from"] == data["from"]
                && record["channel"] == data["channel"]
                && data["summary"] == text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let found = file.values().filter(|record| matches(record));
        let seq = found.filter_map(|record| record["seq"].as_u64()).max();
        let Some(seq) = seq else {
            anyhow::bail!("{log} is not in the file");
        };
        anyhow::ensure!(seq > last, "{seq} was logged after {last}");
        last = seq;
    }
    Ok(())
}

/// Everything was said into the conversation, in order, as the file has it; what was
/// pulled was not said before its pull for certain.
fn check_channel(
    consumer: &Consumer,
    file: &HashMap<u64, &Value>,
    pulled: &[u64],
) -> anyhow::Result<()> {
    let mut seen = HashSet::new();
    let mut last = 0;
    for params in consumer.got.heard("notifications/claude/channel") {
        let meta = &params["meta"];
        let matches = |record: &&Value| {
            record["id"] == meta["message_id"]
                && record["content_text_sanitized"] == params["content"]
                && record["chat_id"] == meta["chat_id"]
                && record["from"] == meta["user"]
                && record["ts"] == meta["ts"]
                && record["kind"] == meta["kind"]
        };
        let Some(record) = file.values().find(|record| matches(record)) else {
            anyhow::bail!("{params} is not in the file");
        };
        for (key, value) in record["meta"].as_object().into_iter().flatten() {
            anyhow::ensure!(meta[key] == *value, "{key} of {params} is not {value}");
        }
        let seq = record["seq"].as_u64().unwrap_or_default();
        // What came again after the hub did was said before.
        if seen.insert(seq) {
            anyhow::ensure!(seq > last, "{seq} was said after {last}");
            last = seq;
        }
    }
    anyhow::ensure!(
        seen.len() == file.len(),
        "{} of {} were said",
        seen.len(),
        file.len()
    );
    let once: HashSet<&u64> = pulled.iter().collect();
    anyhow::ensure!(once.len() == pulled.len(), "pulled twice: {pulled:?}");
    Ok(())
}

fn same(one: &Value, other: &Value, members: &[&str]) -> anyhow::Result<()> {
    for member in members {
        anyhow::ensure!(
            one[member] == other[member],
            "{member} of {one} is not that of {other}"
        );
    }
    Ok(())
}
