//! What a message from Teams costs until it is kept: parsed, sanitised, told
//! from what was seen, and in the inbox's file with one sync a page.
//!
//! `messages [COUNT]` prints one JSON object a line. Run it on one core.

use std::io::Write as _;
use std::sync::Arc;

use legation_core::{EntityId, SharedClock, SystemClock, Wall};
use legation_entra::chat::{Chat, Message, Seen};
use legation_inbox::{Inbox, Options, Ungoverned};
use legation_keystore::Keystore;
use legation_servers::teams::{channel, incoming};

const PLAIN: &str = "The build of the main branch is green; shall I deploy it to the test system?";
const RICH: &str = "<p>Hello <at id=\"0\">Alex Sample</at>,<br>the <b>build</b> is done, see \
    <a href=\"https://ci.example.com/run/7?tab=log&amp;x=1\">the log</a>.</p><ul><li>tests: \
    1&nbsp;204 passed</li><li>lints: none</li></ul><blockquote>and now?</blockquote>\
    <codeblock class=\"Rust\"><code>fn main() {}</code></codeblock><emoji alt=\"\u{1f600}\"></emoji>";

/// Messages that Graph gives at once.
const PAGE: u32 = 50;
/// Pages that a poll reads before it stores: what is behind in a burst.
const PAGES: u32 = 8;

fn main() {
    let count: u32 = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(20_000);
    let clock = SystemClock::shared();
    measure(
        "plain messages parsed, sanitised and kept",
        PLAIN,
        count,
        &clock,
    );
    measure(
        "rich messages parsed, sanitised and kept",
        RICH,
        count,
        &clock,
    );
}

fn measure(what: &str, html: &str, count: u32, clock: &SharedClock) {
    let folder = tempfile::tempdir().expect("a folder");
    let keystore = Keystore::open(&folder.path().join("keys")).expect("keys");
    let inbox = Inbox::open(Options {
        folder: folder.path().join("inbox"),
        keystore: Arc::new(keystore),
        clock: Arc::clone(clock),
        governor: Arc::new(Ungoverned),
    });
    let inbox = inbox.expect("an inbox");
    let chat = Chat {
        id: "19:a_b@unq.gbl.spaces".to_owned(),
        me: "agent".to_owned(),
        human: "8ea0e38b-efb3-4757-924a-5f94061cf8c2".to_owned(),
        human_name: "Alex Sample".to_owned(),
    };
    let polls: Vec<Vec<String>> = (0..(count / (PAGE * PAGES)).max(1))
        .map(|poll| (0..PAGES).map(|at| page(html, poll * PAGES + at)).collect())
        .collect();
    let (channel, entity) = (channel(), EntityId::personal());
    let mut seen = Seen::default();
    let start = clock.now();
    let mut kept = 0usize;
    for poll in &polls {
        let mut messages = Vec::new();
        for page in poll {
            messages.extend(Message::page(page.as_bytes()).expect("messages"));
        }
        let news = seen.take(messages).into_iter();
        let all = news.map(|one| incoming(one, &channel, ("work", &entity), &chat));
        let added = inbox.append_blocking(all.collect()).expect("kept");
        kept += added.iter().filter(|one| !one.duplicate).count();
    }
    let took = clock.now() - start;
    let expected = polls.len() * (PAGE * PAGES) as usize;
    assert_eq!(kept, expected, "every message is kept once");
    let kept = f64::from(u32::try_from(kept).unwrap_or(u32::MAX));
    let line = serde_json::json!({ "what": what, "per_second": kept / took.as_secs_f64() });
    writeln!(std::io::stdout(), "{line}").expect("standard output");
}

/// A page as Graph sends it.
fn page(html: &str, number: u32) -> String {
    let one = |at: u32| {
        let at = number * PAGE + at;
        let time = Wall(1_795_226_106_000 + i64::from(at) * 10).to_string();
        serde_json::json!({
            "id": format!("17952260{at:08}"), "etag": at.to_string(),
            "messageType": "message", "replyToId": null, "subject": null, "locale": "en-us",
            "createdDateTime": time, "lastModifiedDateTime": time, "deletedDateTime": null,
            "importance": "normal", "chatId": "19:a_b@unq.gbl.spaces", "webUrl": null,
            "from": { "application": null, "device": null, "user": {
                "id": "8ea0e38b-efb3-4757-924a-5f94061cf8c2", "displayName": "Alex Sample",
                "userIdentityType": "aadUser" } },
            "body": { "contentType": "html", "content": html },
            "attachments": [], "reactions": [],
            "mentions": [{ "id": 0, "mentionText": "Alex Sample", "mentioned": { "user": {
                "id": "8ea0e38b-efb3-4757-924a-5f94061cf8c2", "displayName": "Alex Sample" } } }],
        })
    };
    serde_json::json!({ "value": (0..PAGE).map(one).collect::<Vec<_>>() }).to_string()
}
