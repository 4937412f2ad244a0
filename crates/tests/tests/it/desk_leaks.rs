//! One company's data, tried to be had from the other's side in a thousand ways.
//!
//! Everything of a tenant's (each letter, sender, meeting, deal, item and deadline) bears a mark of
//! its own. Clients of one side ask for what is the other's by its ids and names, by every argument
//! that could carry them, misspelt and disguised; the mark may turn up in nothing that they are
//! told, and neither of the two in anything that the hub writes down.

mod ways;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, ensure};
use http::{Request, Uri};
use http_body_util::{BodyExt as _, Full};
use legation_tests::harness::http::{send, whole};
use legation_tests::harness::hub::HubOptions;
use legation_tests::harness::office::{OWNS, Office};
use legation_tests::harness::peer::{Answerer, Peer, PeerEra, everything};
use legation_tests::harness::random::{self, Random};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::task::AbortHandle;

use self::ways::Known;

/// What everything of the tenants bears, with the tenant's name behind it.
const MARK: &str = "heliotrope";
/// The two sides: company, its mark.
const SIDES: [(&str, &str); 2] = [
    ("harbor", "heliotrope-first"),
    ("meadow", "heliotrope-second"),
];
const WAYS: usize = 1_000;

/// A client of one side.
struct Spy {
    client: &'static str,
    /// Whose side it is on.
    side: usize,
    peer: Peer,
}

/// What is told to whoever listens to the hub's events.
struct Listener {
    heard: Arc<Mutex<String>>,
    task: AbortHandle,
}

/// A person who agrees to everything.
fn agreeing() -> Answerer {
    Arc::new(|method, _params| match method {
        "elicitation/create" => json!({"action": "accept", "content": {"decision": "once"}}),
        "roots/list" => json!({"roots": []}),
        _ => json!({}),
    })
}

#[tokio::test]
async fn nothing_of_one_company_is_had_from_the_others_side_in_a_thousand_ways()
-> anyhow::Result<()> {
    let seed = random::seed();
    println!("LEGATION_TEST_SEED={seed}");
    let mut office = open().await?;
    let known = [fill(&office, 0).await?, fill(&office, 1).await?];
    let listener = Listener::start(&office).await?;
    let spies = spies(&office).await?;
    let tried = try_all(&spies, &known, Random::new(seed)).await;
    let (answered, refused) = tried.with_context(|| format!("LEGATION_TEST_SEED={seed}"))?;
    // Otherwise it was not that which was tried.
    ensure!(answered > 100, "{answered} of {WAYS} were answered");
    ensure!(refused > 300, "{refused} of {WAYS} were refused");
    for spy in &spies {
        let (_, foreign) = SIDES[1 - spy.side];
        let heard = json!(spy.peer.heard()).to_string();
        is_clean(&format!("what {} heard", spy.client), &heard, foreign)?;
    }
    stays_in_place(&office).await?;
    let heard = listener.stop().await;
    ensure!(heard.contains("tool.execution_start"), "no events: {heard}");
    let metrics = metrics(&office).await?;
    ensure!(metrics.contains("legation"), "{metrics}");
    let mut written = vec![
        ("events", heard),
        ("metrics", metrics),
        ("standard error", office.hub.said().join("\n")),
    ];
    for format in ["jsonl", "ocsf", "otel"] {
        let (code, out, complaint) = office
            .hub
            .run(&["audit", "export", "--format", format])
            .await?;
        ensure!(code == 0 && out.len() > 10_000, "{code} {complaint}");
        written.push((format, out));
    }
    for (place, text) in &written {
        is_clean(place, text, MARK)?;
    }
    office.hub.stop().await?;
    is_not_on_disk(&office.hub.home())
}

async fn open() -> anyhow::Result<Office> {
    let reader = json!({"client_clearances": {"meadow-reader": {"entities": ["meadow"]}}});
    let cards = json!({"clients": {"meadow-reader": "care_assistant"}});
    let options = HubOptions {
        governance: vec![
            ("operator_profile.json", reader),
            ("role_cards.json", cards),
        ],
        settings: "log_level = \"debug\"\n[rate]\nclient_per_minute = 0\nserver_per_minute = 0\n\
            tool_per_minute = 0\npoll_per_minute = 0\n"
            .to_owned(),
        clients: [
            "claude",
            "codex",
            "copilot",
            "meadow-agent",
            "meadow-reader",
        ]
        .map(str::to_owned)
        .into(),
        ..HubOptions::default()
    };
    Office::open(Some(MARK), options).await?.read().await
}

/// A conversation by itself, of the owner's or of a client's, with a person who agrees to everything.
async fn converse(office: &Office, client: &str) -> anyhow::Result<Peer> {
    let era = PeerEra::Legacy;
    let peer = office.hub.bridge_as(client, era, everything(), agreeing());
    peer.await
}

async fn answer(peer: &Peer, tool: &str, arguments: Value) -> anyhow::Result<Value> {
    let answer = peer.call(&format!("desk-{tool}"), arguments).await?;
    let result = &answer.value["result"];
    ensure!(
        result["isError"] != true && result["structuredContent"].is_object(),
        "{tool}: {}",
        answer.text
    );
    Ok(result["structuredContent"].clone())
}

/// What there is to be had on a side: its rows are made, and everything's id is taken down.
async fn fill(office: &Office, side: usize) -> anyhow::Result<Known> {
    let (company, mark) = SIDES[side];
    let owner = converse(office, OWNS).await?;
    let deal = json!({
        "entity": company, "deal_name": format!("House {mark}"), "stage": "closing",
        "parties": [{"name": format!("Pat {mark}"), "role": "seller"}],
        "notes": [format!("Note {mark}")], "important_dates": [{"label": mark, "date": "2030-01-02"}],
        "links": [{"label": mark, "target": "https://rooms.example.net/1"}],
    });
    let deal = answer(&owner, "deal_create", deal).await?;
    let deal = deal["deal_id"].as_str().context("a deal")?.to_owned();
    let text = format!("{mark}: the answer is due no later than January 5, 2030.");
    let text = json!({"text": text, "deal_id": deal});
    let found = answer(&owner, "extraction_deadlines", text).await?;
    let letters = json!({"profile_id": company, "top": 50});
    let letters = answer(&owner, "mail_list", letters).await?;
    ensure!(letters.to_string().matches(mark).count() > 50, "{letters}");
    // What changes something there has the desk look at what came in.
    let hold = json!({
        "profile_id": company, "subject": format!("Hold {mark}"),
        "start": "2030-01-02", "end": "2030-01-02", "transaction_id": mark,
    });
    answer(&owner, "calendar_event_create", hold).await?;
    let events = json!({"profile_id": company, "days": 14});
    let events = answer(&owner, "calendar_list", events).await?;
    let triage = json!({"entity_context": company, "limit": 200});
    let mut items = json!([]);
    let taken_up = legation_tests::harness::process::until(
        "letters in triage",
        std::time::Duration::from_secs(120),
        async || {
            let listed = answer(&owner, "triage_list", triage.clone()).await;
            items = listed.map_or(Value::Null, |mut listed| listed["items"].take());
            items.as_array().is_some_and(|items| !items.is_empty())
        },
    );
    taken_up.await?;
    let item = json!({"item_id": items[0]["item_id"]});
    let filing = answer(&owner, "filing_suggestion", item).await?;
    let all = |value: &Value, member: &str| -> Vec<String> {
        let rows = value.as_array().into_iter().flatten();
        let ids = rows.filter_map(|row| row[member].as_str());
        ids.map(str::to_owned).collect()
    };
    Ok(Known {
        company,
        letters: all(&letters["messages"], "id"),
        threads: all(&letters["messages"], "conversation_id"),
        events: all(&events["events"], "id"),
        deals: vec![deal],
        items: all(&items, "item_id"),
        deadlines: all(&found["candidates"], "deadline_id"),
        filings: vec![
            filing["suggestion_id"]
                .as_str()
                .context("a filing")?
                .to_owned(),
        ],
    })
}

/// Clients of both sides, each of which has read something of its own side already.
async fn spies(office: &Office) -> anyhow::Result<Vec<Spy>> {
    let mut spies = Vec::new();
    for (client, side) in [
        ("claude", 0),
        ("codex", 0),
        ("copilot", 0),
        (OWNS, 0),
        ("meadow-agent", 1),
        ("meadow-reader", 1),
        (OWNS, 1),
    ] {
        let peer = converse(office, client).await?;
        let own = json!({"entity_context": SIDES[side].0});
        let own = answer(&peer, "triage_list", own).await?;
        ensure!(
            own.to_string().contains(&SIDES[side].1[..10]),
            "{client}: {own}"
        );
        spies.push(Spy { client, side, peer });
    }
    Ok(spies)
}

/// Tries them all: how many were answered and how many refused.
async fn try_all(
    spies: &[Spy],
    known: &[Known; 2],
    mut random: Random,
) -> anyhow::Result<(usize, usize)> {
    let (mut answered, mut refused) = (0, 0);
    for at in 0..WAYS {
        let spy = &spies[random.below(spies.len())];
        let way = ways::way(&mut random, &known[spy.side], &known[1 - spy.side]);
        let (_, foreign) = SIDES[1 - spy.side];
        ensure!(
            !way.params.to_string().contains(foreign),
            "a way may not say it: {way:?}"
        );
        let answer = spy.peer.request(way.method, way.params.clone()).await?;
        let place = format!("way {at}, {} of {}: {way:?}", spy.client, SIDES[spy.side].0);
        is_clean(&place, &answer.text, foreign)?;
        let result = &answer.value["result"];
        match result.is_object() && result["isError"] != true {
            true => answered += 1,
            false => refused += 1,
        }
    }
    Ok((answered, refused))
}

/// Nothing was put from one side to the other, sent to anybody, or moved away.
async fn stays_in_place(office: &Office) -> anyhow::Result<()> {
    for (tenant, foreign) in [("first", SIDES[1].1), ("second", SIDES[0].1)] {
        for what in ["mailbox", "calendar"] {
            let kept = office.kept(tenant, what).await?.to_string();
            is_clean(&format!("the {what} of {tenant}"), &kept, foreign)?;
        }
        let sent = office.letters(tenant, "sentitems").await?;
        ensure!(sent.is_empty(), "{sent:?}");
    }
    Ok(())
}

async fn metrics(office: &Office) -> anyhow::Result<String> {
    let (uri, request) = get(office, "/metrics")?;
    Ok(whole(&uri, request).await?.body)
}

fn get(office: &Office, path: &str) -> anyhow::Result<(Uri, Request<Full<bytes::Bytes>>)> {
    let hub = &office.hub;
    let uri: Uri = format!("{}{path}", hub.base).parse()?;
    let request = Request::get(path)
        .header("host", hub.base.trim_start_matches("http://"))
        .header("authorization", format!("Bearer {}", hub.token()?))
        .body(Full::default())?;
    Ok((uri, request))
}

/// Whether a text holds something, however it is written.
fn is_clean(place: &str, text: &str, wanted: &str) -> anyhow::Result<()> {
    let lower = text.to_ascii_lowercase();
    let Some(at) = lower.find(wanted) else {
        return Ok(());
    };
    let from = (0..=at.saturating_sub(300))
        .rev()
        .find(|at| text.is_char_boundary(*at));
    let until = (at + 100).min(text.len());
    let until = (until..=text.len()).find(|at| text.is_char_boundary(*at));
    let around = &text[from.unwrap_or(0)..until.unwrap_or(text.len())];
    anyhow::bail!("{wanted} is in {place}: …{around}…")
}

/// Every file that the hub keeps, but what its owner wrote.
fn is_not_on_disk(home: &Path) -> anyhow::Result<()> {
    let mut open = vec![home.to_owned()];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            match path.is_dir() {
                true => open.push(path),
                false => files.push(path),
            }
        }
    }
    files.retain(|path| path.is_file());
    for name in ["hub.log", "state.db", "state.db-ledger"] {
        ensure!(
            files.iter().any(|path| path.ends_with(name)),
            "no {name}: {files:?}"
        );
    }
    for path in files {
        let text = String::from_utf8_lossy(&std::fs::read(&path)?).into_owned();
        is_clean(&path.display().to_string(), &text, MARK)?;
    }
    Ok(())
}

// === impl Listener ===

impl Listener {
    /// Listens as the owner, until it is stopped.
    async fn start(office: &Office) -> anyhow::Result<Self> {
        let (uri, request) = get(office, "/api/v1/events")?;
        let response = send(&uri, request).await?;
        ensure!(response.status() == 200, "{}", response.status());
        let heard = Arc::new(Mutex::new(String::new()));
        let (into, mut body) = (Arc::clone(&heard), response.into_body());
        let task = Handle::current().spawn(async move {
            while let Some(Ok(frame)) = body.frame().await {
                if let Ok(data) = frame.into_data() {
                    into.lock().await.push_str(&String::from_utf8_lossy(&data));
                }
            }
        });
        Ok(Self {
            heard,
            task: task.abort_handle(),
        })
    }

    async fn stop(self) -> String {
        self.task.abort();
        self.heard.lock().await.clone()
    }
}
