//! Every tool and every resource of the desk.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, ensure};
use legation_core::{Clock as _, SystemClock, Wall};
use legation_tests::harness::hub::HubOptions;
use legation_tests::harness::office::{OWNS, Office};
use legation_tests::harness::process::now;
use serde_json::{Value, json};

use super::{Client, PIN, all, lines, piped, sdk};

/// Every tool there is.
const TOOLS: [&str; 19] = [
    "status",
    "doctor",
    "deals_list",
    "deal_detail",
    "deal_timeline",
    "deal_create",
    "morning_brief",
    "eod_digest",
    "mail_list",
    "mail_read",
    "mail_move",
    "calendar_list",
    "calendar_event_create",
    "draft_email",
    "draft_generate",
    "triage_list",
    "triage_classify",
    "filing_suggestion",
    "extraction_deadlines",
];

/// How long letters may take until they are in triage.
const TAKEN_UP: Duration = Duration::from_secs(120);

#[tokio::test]
async fn every_tool_and_resource_does_what_it_says_for_its_company_alone() -> anyhow::Result<()> {
    let Some(tools) = sdk()? else {
        return Ok(());
    };
    let options = HubOptions {
        clients: ["claude", "meadow-agent"].map(str::to_owned).into(),
        ..HubOptions::default()
    };
    let office = Office::open(None, options).await?.read().await?;
    let mut client = Client::start(&office, &tools, "claude", "modern").await?;
    lists(&mut client).await?;
    stands(&mut client).await?;
    let letter = letters(&mut client).await?;
    drafts(&office, &mut client, &letter).await?;
    holds(&office, &mut client).await?;
    let deal = deals(&mut client).await?;
    deadlines(&mut client, &deal).await?;
    let item = triage(&mut client, &deal).await?;
    files(&office, &mut client, &item).await?;
    moves(&office, &mut client, &letter).await?;
    briefs(&office, &mut client, &deal).await?;
    let mut owner = Client::start(&office, &tools, OWNS, "modern").await?;
    resources(&mut owner, &deal).await?;
    // The template lets its assistants call tools and read no resource.
    let own = client.read(&format!("legation://deals/{deal}")).await?;
    ensure!(
        own.is_err_and(|why| why.contains("role.assistant")),
        "an assistant read it"
    );
    let mut care = Client::start(&office, &tools, "meadow-agent", "legacy").await?;
    of_the_other(&mut care, &deal).await?;
    nothing_was_sent(&office).await?;
    every_tool_is_on_record(&office).await
}

/// What is listed, and that the client looks at schemas at all.
async fn lists(client: &mut Client) -> anyhow::Result<()> {
    let listed = client.list("listTools", "tools").await?;
    let of_desk = listed.iter().filter_map(|tool| {
        let name = tool["name"].as_str()?.strip_prefix("desk-")?;
        Some((name, tool))
    });
    let mut there = BTreeSet::new();
    for (name, tool) in of_desk {
        ensure!(tool["outputSchema"]["type"] == "object", "{tool}");
        there.insert(name);
    }
    assert_eq!(there, BTreeSet::from(TOOLS));
    let turn = json!({"name": "desk-deals_list", "arguments": {"entity_context": "harbor"}, "spoiled": true});
    let spoiled = client.turn(turn).await?;
    let why = spoiled["failed"].as_str().unwrap_or_default();
    ensure!(
        why.contains("schema"),
        "a breach was not noticed: {spoiled}"
    );
    Ok(())
}

async fn stands(client: &mut Client) -> anyhow::Result<()> {
    let status = client.good("status", json!({})).await?;
    let accounts = all(&status, "accounts");
    ensure!(
        accounts.len() == 2 && accounts.iter().all(|one| one["profile_id"] == "harbor"),
        "{status}"
    );
    ensure!(status["ready"] == true, "{status}");
    let doctor = client.good("doctor", json!({})).await?;
    ensure!(doctor["failed"] == 0, "{doctor}");
    ensure!(!doctor.to_string().contains("meadow"), "{doctor}");
    Ok(())
}

/// The letter that is worked with.
async fn letters(client: &mut Client) -> anyhow::Result<String> {
    let of = json!({"profile_id": "harbor", "top": 50});
    let listed = client.good("mail_list", of).await?;
    ensure!(listed["entity"] == "harbor", "{listed}");
    let subject = "Orchard Row: signatures needed";
    let letter = all(&listed, "messages")
        .iter()
        .find(|one| one["subject"] == subject);
    let id = letter
        .and_then(|one| one["id"].as_str())
        .context("the letter")?
        .to_owned();
    let one = json!({"profile_id": "harbor", "message_id": id});
    let read = client.good("mail_read", one).await?;
    let text = read["untrusted_text"].as_str().unwrap_or_default();
    ensure!(text.contains("closing documents"), "{read}");
    let week = json!({"profile_id": "harbor", "days": 7});
    let days = client.good("calendar_list", week).await?;
    let subjects = all(&days, "events")
        .iter()
        .map(|one| one["subject"].as_str());
    let subjects: Vec<_> = subjects.flatten().collect();
    ensure!(subjects.contains(&"Signatures for Orchard Row"), "{days}");
    Ok(id)
}

/// Drafts lie in the folder, once, and nothing is sent.
async fn drafts(office: &Office, client: &mut Client, letter: &str) -> anyhow::Result<()> {
    let draft = json!({
        "profile_id": "harbor", "to": ["blake.sample@first.example.com"], "subject": "Signatures",
        "body_html": "<p>At three.</p>", "idempotency_key": "signatures",
    });
    for created in [true, false] {
        let made = client.good("draft_email", draft.clone()).await?;
        ensure!(
            made["draft_created"] == created && made["sent"] == false,
            "{made}"
        );
    }
    let lies = office.letters("first", "drafts").await?;
    let mine = lies.iter().filter(|one| one["subject"] == "Signatures");
    ensure!(mine.count() == 1, "{lies:?}");
    // The broker is somebody outside: the owner agrees to such letters one by one.
    let inbox = json!({"profile_id": "harbor", "top": 50});
    let inbox = client.good("mail_list", inbox).await?;
    let own = all(&inbox, "messages").iter().find(|one| {
        let from = one["from"]["address"].as_str().unwrap_or_default();
        from == "blake.sample@first.example.com" && one["id"] != letter
    });
    let own = own
        .and_then(|one| one["id"].as_str())
        .context("a colleague's letter")?;
    let some = json!({"profile_id": "harbor", "message_ids": [own]});
    let made = client.good("draft_generate", some).await?;
    ensure!(
        made["sent"] == false && made["candidates_evaluated"] == 1,
        "{made}"
    );
    let answer = &made["drafts"][0];
    ensure!(
        made["drafts_created"] == 1
            && answer["written_by"] == "template"
            && answer["answers"] == own,
        "{made}"
    );
    let lies = office.letters("first", "drafts").await?;
    ensure!(lies.len() == 2, "{lies:?}");
    let to_own = |one: &&Value| one["subject"] == answer["subject"];
    let lies = lies.iter().find(to_own).context("the answer lies there")?;
    let body = lies["body"]["content"].as_str().unwrap_or_default();
    ensure!(body.contains("to be read and sent by Jordan"), "{lies}");
    Ok(())
}

/// A hold is one event, names whom to invite in its text, and invites nobody.
async fn holds(office: &Office, client: &mut Client) -> anyhow::Result<()> {
    let hold = json!({
        "profile_id": "harbor", "subject": "Walk through Mill Lane",
        "start": "2030-03-04T10:00:00", "end": "2030-03-04T11:00:00",
        "attendees": ["blake.sample@first.example.com"], "transaction_id": "walk-1",
    });
    for created in [true, false] {
        let held = client.good("calendar_event_create", hold.clone()).await?;
        ensure!(
            held["event_created"] == created && held["invitations_sent"] == false,
            "{held}"
        );
        ensure!(held["show_as"] == "tentative", "{held}");
    }
    let calendar = office.kept("first", "calendar").await?;
    let mine = all(&calendar, "events").iter();
    let mine = mine.filter(|one| one["shown"]["subject"] == "Walk through Mill Lane");
    let mine: Vec<&Value> = mine.collect();
    let [event] = mine.as_slice() else {
        anyhow::bail!("not one hold: {mine:?}");
    };
    ensure!(event["transaction"].is_string(), "no key: {event}");
    ensure!(all(&event["shown"], "attendees").is_empty(), "{event}");
    ensure!(event.to_string().contains("blake.sample"), "{event}");
    Ok(())
}

/// A deal that somebody agreed to, once.
async fn deals(client: &mut Client) -> anyhow::Result<String> {
    let deal = json!({
        "entity": "harbor", "deal_name": "Mill Lane", "deal_type": "acquisition",
        "stage": "data_room_access", "idempotency_key": "mill-lane",
        "parties": [{"name": "Robin Broker", "role": "broker"}],
        "notes": ["84 units"], "links": [{"label": "Room", "target": "https://rooms.example.net/1"}],
    });
    let made = client.good("deal_create", deal.clone()).await?;
    ensure!(made["created"] == true, "{made}");
    let again = client.good("deal_create", deal).await?;
    ensure!(
        again["deduped"] == true && again["deal_id"] == made["deal_id"],
        "{again}"
    );
    let id = made["deal_id"].as_str().context("an id")?.to_owned();
    let listed = client
        .good("deals_list", json!({"entity_context": "harbor"}))
        .await?;
    ensure!(
        listed["deals"][0]["deal_id"] == id.as_str() && all(&listed, "deals").len() == 1,
        "{listed}"
    );
    let detail = client.good("deal_detail", json!({"deal_id": id})).await?;
    ensure!(
        detail["stage"] == "data_room_access"
            && detail["parties"][0]["name"] == "Robin Broker"
            && detail["notes"][0]["text"] == "84 units",
        "{detail}"
    );
    let timeline = client.good("deal_timeline", json!({"deal_id": id})).await?;
    ensure!(
        timeline["timeline"][0]["action"] == "created" && timeline["timeline"][0]["by"] == "claude",
        "{timeline}"
    );
    Ok(id)
}

async fn deadlines(client: &mut Client, deal: &str) -> anyhow::Result<()> {
    let day = soon();
    let text = format!("Letters of intent are due no later than {day} at 5:00 pm Eastern.");
    let asked = json!({"text": text, "deal_id": deal, "source_ref": "mail/harbor/1"});
    let found = client.good("extraction_deadlines", asked).await?;
    let [one] = all(&found, "candidates") else {
        anyhow::bail!("not one deadline: {found}");
    };
    let span = one["start"]
        .as_u64()
        .zip(one["end"].as_u64())
        .context("a span")?;
    let words = text.chars().skip(usize::try_from(span.0)?);
    let words: String = words.take(usize::try_from(span.1 - span.0)?).collect();
    ensure!(
        one["raw_text"] == words && one["parsed_date"] == day && found["kept"] == 1,
        "{found}"
    );
    let detail = client.good("deal_detail", json!({"deal_id": deal})).await?;
    ensure!(
        detail["deadlines"][0]["deadline_id"] == one["deadline_id"],
        "{detail}"
    );
    Ok(())
}

/// A day to come by any clock, and soon enough for a brief.
fn soon() -> String {
    const DAY_MS: i64 = 24 * 3600 * 1000;
    let now = SystemClock.wall().0;
    Wall(now + 2 * DAY_MS).to_string()[..10].to_owned()
}

/// An item of triage, put to the deal.
async fn triage(client: &mut Client, deal: &str) -> anyhow::Result<Value> {
    let begun = now();
    let item = loop {
        let mut open = client
            .good(
                "triage_list",
                json!({"entity_context": "harbor", "limit": 200}),
            )
            .await?;
        let found = open["items"].as_array_mut().and_then(|items| items.pop());
        match found {
            Some(item) => break item,
            None => ensure!(begun.elapsed() < TAKEN_UP, "nothing was taken up"),
        }
        // tidy: nobody is told when letters were taken up, so it is asked again, for a bounded time
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    ensure!(
        item["entity"] == "harbor" && item["question"].is_string(),
        "{item}"
    );
    let sorted = json!({
        "item_id": item["item_id"], "category": "deal", "urgency": "high", "deal_id": deal,
        "reason": "It names the house.",
    });
    let sorted = client.good("triage_classify", sorted).await?;
    ensure!(
        sorted["state"] == "linked" && sorted["category"] == "deal" && sorted["deal_id"] == deal,
        "{sorted}"
    );
    let detail = client.good("deal_detail", json!({"deal_id": deal})).await?;
    ensure!(detail["items"][0]["item_id"] == item["item_id"], "{detail}");
    let linked = json!({"entity_context": "harbor", "state": "linked"});
    let linked = client.good("triage_list", linked).await?;
    ensure!(linked["items"][0]["item_id"] == item["item_id"], "{linked}");
    Ok(item)
}

/// A folder is suggested and the letter stays where it is.
async fn files(office: &Office, client: &mut Client, item: &Value) -> anyhow::Result<()> {
    let before = office.kept("first", "mailbox").await?;
    let of = json!({"item_id": item["item_id"]});
    let suggested = client.good("filing_suggestion", of).await?;
    ensure!(suggested["state"] == "proposed", "{suggested}");
    let path = suggested["path"].as_str().unwrap_or_default();
    ensure!(
        path.starts_with('/') && path.contains("Mill Lane"),
        "{suggested}"
    );
    let waiting = office.tell(&["desk", "filings"]).await?;
    ensure!(
        waiting
            .to_string()
            .contains(suggested["suggestion_id"].as_str().unwrap_or("?")),
        "{waiting}"
    );
    let after = office.kept("first", "mailbox").await?;
    ensure!(before == after, "the mailbox was changed by a suggestion");
    Ok(())
}

/// A move is proposed, certified with the PIN, made, and can be undone.
async fn moves(office: &Office, client: &mut Client, letter: &str) -> anyhow::Result<()> {
    let to = json!({"profile_id": "harbor", "message_id": letter, "destination_folder": "archive"});
    let held = client
        .refused("mail_move", to.clone(), "CERTIFICATION_REQUIRED")
        .await?;
    let id = held["structuredContent"]["approval_id"]
        .as_str()
        .context("an approval")?;
    ensure!(
        office.letters("first", "archive").await?.is_empty(),
        "moved by a proposal"
    );
    piped(office, &["pin", "--stdin"], PIN).await?;
    piped(office, &["approve", "--pin-stdin", id], PIN).await?;
    let moved = client.good("mail_move", to).await?;
    ensure!(
        moved["moved"] == true && moved["previous_folder"].is_string(),
        "{moved}"
    );
    let archived = office.letters("first", "archive").await?;
    ensure!(
        archived.len() == 1 && archived[0]["subject"] == "Orchard Row: signatures needed",
        "{archived:?}"
    );
    Ok(())
}

/// Every line of both briefs rests on something that can be read again.
async fn briefs(office: &Office, client: &mut Client, deal: &str) -> anyhow::Result<()> {
    let mut kinds = BTreeSet::new();
    for tool in ["morning_brief", "eod_digest"] {
        let brief = client
            .good(tool, json!({"entity_context": "harbor"}))
            .await?;
        for (part, line) in lines(&brief) {
            let source = line["source"].as_str().context("a source")?;
            let kind = resolves(office, client, source, deal).await;
            let kind = kind.with_context(|| format!("{tool}, {}: {line}", part["part"]))?;
            ensure!(line["entity"] == "harbor", "{line}");
            kinds.insert(kind);
        }
        let missing = all(&brief["sections"][0], "parts").iter();
        let missing = missing.filter(|part| part["missing"].is_string());
        ensure!(missing.count() == 0, "{brief}");
    }
    let wanted = ["audit", "deadline", "deal", "filing", "mail", "triage"].map(str::to_owned);
    ensure!(kinds.is_superset(&BTreeSet::from(wanted)), "{kinds:?}");
    Ok(())
}

/// Reads a source again: its kind.
async fn resolves(
    office: &Office,
    client: &mut Client,
    source: &str,
    deal: &str,
) -> anyhow::Result<String> {
    let (kind, rest) = source.split_once('/').context("a kind")?;
    let id = rest.rsplit_once('/').map_or(rest, |(_, id)| id);
    let found = match kind {
        "mail" => {
            let one = json!({"profile_id": "harbor", "message_id": id});
            client.good("mail_read", one).await?["id"] == id
        }
        "event" => {
            let days = json!({"profile_id": "harbor", "days": 3});
            let days = client.good("calendar_list", days).await?;
            all(&days, "events").iter().any(|one| one["id"] == id)
        }
        "deal" => client.good("deal_detail", json!({"deal_id": id})).await?["deal_id"] == id,
        "triage" => {
            let open = json!({"entity_context": "harbor", "limit": 200});
            let open = client.good("triage_list", open).await?;
            all(&open, "items").iter().any(|one| one["item_id"] == id)
        }
        "deadline" => {
            let detail = client.good("deal_detail", json!({"deal_id": deal})).await?;
            all(&detail, "deadlines")
                .iter()
                .any(|one| one["deadline_id"] == id)
        }
        "filing" => office
            .tell(&["desk", "filings"])
            .await?
            .to_string()
            .contains(id),
        "audit" => office
            .tell(&["audit", "show", id])
            .await?
            .to_string()
            .contains(id),
        _ => false,
    };
    ensure!(found, "{source} cannot be read again");
    Ok(kind.to_owned())
}

async fn resources(client: &mut Client, deal: &str) -> anyhow::Result<()> {
    let listed = client.list("listResources", "resources").await?;
    let mut uris: Vec<&str> = listed
        .iter()
        .filter_map(|one| one["uri"].as_str())
        .collect();
    uris.retain(|uri| uri.starts_with("legation://config/"));
    assert_eq!(uris.len(), 5, "{listed:?}");
    for (name, member) in [
        ("operator_profile", "entities"),
        ("hard_bans", "bans"),
        ("autonomy_ladder", "action_categories"),
        ("brief_config", "morning"),
        ("draft_style", "greeting"),
    ] {
        let uri = format!("legation://config/{name}");
        ensure!(
            uris.contains(&uri.as_str()),
            "{uri} is not listed: {listed:?}"
        );
        let read = client.read(&uri).await?;
        let read = read.map_err(|why| anyhow::anyhow!("{uri}: {why}"))?;
        ensure!(!read[member].is_null(), "{uri}: {read}");
    }
    let templates = client
        .list("listResourceTemplates", "resourceTemplates")
        .await?;
    let ours = templates
        .iter()
        .any(|one| one["uriTemplate"] == "legation://deals/{deal_id}");
    ensure!(ours, "{templates:?}");
    let read = client.read(&format!("legation://deals/{deal}")).await?;
    let read = read.map_err(|why| anyhow::anyhow!(why))?;
    ensure!(read["deal_name"] == "Mill Lane", "{read}");
    ensure!(client.read("legation://deals/deal-none").await?.is_err());
    Ok(())
}

/// The care homes' agent works for them, and finds nothing of the partners'.
async fn of_the_other(care: &mut Client, deal: &str) -> anyhow::Result<()> {
    let list = json!({"profile_id": "meadow"});
    let listed = care.good("mail_list", list).await?;
    ensure!(
        listed["entity"] == "meadow" && !all(&listed, "messages").is_empty(),
        "{listed}"
    );
    let hold = json!({
        "profile_id": "meadow", "subject": "Plan of correction",
        "start": "2030-03-05", "end": "2030-03-05", "transaction_id": "plan",
    });
    let held = care.good("calendar_event_create", hold).await?;
    ensure!(
        held["event_created"] == true && held["entity"] == "meadow",
        "{held}"
    );
    for (tool, arguments) in [
        ("mail_list", json!({"profile_id": "harbor"})),
        ("triage_list", json!({"entity_context": "harbor"})),
        ("morning_brief", json!({"entity_context": "all"})),
        (
            "extraction_deadlines",
            json!({"text": "Due on Friday.", "deal_id": deal}),
        ),
    ] {
        let refused = care.refused(tool, arguments, "").await?;
        ensure!(!refused.to_string().contains("Mill Lane"), "{refused}");
    }
    let read = care.read(&format!("legation://deals/{deal}")).await?;
    ensure!(read.is_err(), "{read:?}");
    Ok(())
}

/// Nothing was ever sent, and nobody was invited by the desk.
async fn nothing_was_sent(office: &Office) -> anyhow::Result<()> {
    for tenant in ["first", "second"] {
        let sent = office.letters(tenant, "sentitems").await?;
        ensure!(sent.is_empty(), "{tenant}: {sent:?}");
        let outbox = office.letters(tenant, "outbox").await?;
        ensure!(outbox.is_empty(), "{tenant}: {outbox:?}");
        let calendar = office.kept(tenant, "calendar").await?;
        let ours = all(&calendar, "events")
            .iter()
            .filter(|one| one["transaction"].is_string());
        for event in ours {
            ensure!(all(&event["shown"], "attendees").is_empty(), "{event}");
        }
    }
    let report = office.tenant.order(&["report", "unknown"]).await?;
    let report: Value = serde_json::from_str(&report)?;
    ensure!(report["unknown"] == json!({}), "{report}");
    Ok(())
}

/// The ledger has an intent of every tool with its entity, and how each ended.
async fn every_tool_is_on_record(office: &Office) -> anyhow::Result<()> {
    let records = office.records().await?;
    for tool in TOOLS {
        let intent = records.iter().find(|one| {
            one["kind"] == "intent"
                && (&one["server"], &one["item"]) == (&json!("desk"), &json!(tool))
                && one["client"] == "claude"
        });
        let intent = intent.with_context(|| format!("{tool} has no intent"))?;
        let is_anybodys = matches!(tool, "status" | "doctor");
        ensure!(is_anybodys || intent["entity"] == "harbor", "{intent}");
        let ended = records
            .iter()
            .find(|one| one["kind"] == "outcome" && one["call"] == intent["call"]);
        ensure!(ended.is_some(), "{tool} has no outcome");
    }
    Ok(())
}
