//! Four sequences of a day, each step of which the ledger has: a brief of all companies, a letter
//! asked for in Copilot's chat, health information that is held back, and a change of models.

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::{Request, Uri};
use http_body_util::Full;
use legation_tests::harness::github::{self, Authority, Github, Signer};
use legation_tests::harness::http::whole;
use legation_tests::harness::hub::HubOptions;
use legation_tests::harness::office::{OWNS, Office};
use legation_tests::harness::worker::{Worker, text};
use serde_json::{Value, json};

use super::{Client, all, lines, sdk};
use crate::copilot::{TOKEN, event, message};

/// A name that nobody wrote.
const INVENTED: &str = "Eve Stranger";

/// The webhook, and GitHub before it.
struct Chat {
    authority: Authority,
    signer: Signer,
    port: u16,
    github: Github,
    folder: tempfile::TempDir,
}

/// Puts each line into other words of its own; the second with a name that nobody wrote.
fn reworded(messages: &Value) -> Option<String> {
    let last = messages.as_array()?.last()?;
    let asked: Value = serde_json::from_str(&text(&last["content"])).ok()?;
    let lines = asked.as_array()?.iter().enumerate().map(|(at, line)| {
        let (first, rest) = line["text"].as_str()?.split_once(' ')?;
        let text = match at {
            1 => format!("{rest} {first}, says {INVENTED}"),
            _ => format!("{rest} {first}"),
        };
        Some(json!({"n": line["n"], "text": text}))
    });
    let lines: Vec<Value> = lines.flatten().collect();
    Some(json!({"lines": lines}).to_string())
}

#[tokio::test]
async fn four_sequences_of_a_day_are_on_record_step_by_step() -> anyhow::Result<()> {
    let Some(tools) = sdk()? else {
        return Ok(());
    };
    let worker = Worker::with(reworded).await?;
    let chat = Chat::new().await?;
    let local = json!({"local_model": {
        "enabled": true, "hipaa_cleared": true, "default_model": "worker",
        "endpoint": format!("http://127.0.0.1:{}/v1/chat/completions", worker.port),
    }});
    let options = HubOptions {
        clients: vec!["claude".to_owned()],
        governance: vec![
            ("llm_provider.json", json!({"providers": local})),
            // In the template the chat only reads.
            (
                "role_cards.json",
                json!({"clients": {"copilot": "assistant"}}),
            ),
        ],
        settings: chat.settings(),
        ..HubOptions::default()
    };
    let office = Office::open(None, options).await?.read().await?;
    let mut owner = Client::start(&office, &tools, OWNS, "modern").await?;
    a_brief_of_all(&office, &mut owner, &worker).await?;
    health_is_held_back(&office, &tools).await?;
    models_are_changed(&office).await?;
    let mut owner = Client::start(&office, &tools, OWNS, "legacy").await?;
    a_brief_by_a_cleared_model(&office, &mut owner, &worker).await?;
    a_letter_from_the_chat(&office, &tools, &chat).await
}

/// Nobody is cleared for all of it, so the template composes it, and says so.
async fn a_brief_of_all(
    office: &Office,
    owner: &mut Client,
    worker: &Worker,
) -> anyhow::Result<()> {
    let brief = owner.good("morning_brief", json!({})).await?;
    ensure!(brief["composed_by"] == "template", "{brief}");
    let note = brief["model_note"].as_str().unwrap_or_default();
    ensure!(!note.is_empty(), "it does not say why: {brief}");
    ensure!(worker.requests().is_empty(), "a model was asked");
    let entities = all(&brief, "sections").iter().map(|one| &one["entity"]);
    let entities: Vec<&Value> = entities.collect();
    let wanted = json!(["harbor", "meadow", "quarry", null]);
    assert_eq!(json!(entities), wanted, "{brief}");
    apart(&brief)?;
    // Whoever was told of all is told of one no more.
    let one = json!({"profile_id": "harbor"});
    let _refused = owner.refused("mail_list", one, "boundary").await?;
    let records = office.records().await?;
    let call = decided(&records, OWNS, "morning_brief", "intent").context("the brief")?;
    ensure!(call["entity"] == "all", "{call}");
    ended(&records, call, "ok")?;
    let blocked = told(&records, "LLM_PROVIDER_BLOCKED");
    ensure!(
        !blocked.is_empty(),
        "that no model may have it is not on record"
    );
    Ok(())
}

/// What is of one company is in its section alone.
fn apart(brief: &Value) -> anyhow::Result<()> {
    for section in all(brief, "sections") {
        let (text, own) = (section.to_string(), &section["entity"]);
        for (word, whose) in [("Orchard Row", "harbor"), ("Maple Court", "meadow")] {
            ensure!(
                text.contains(word) == (own == whose),
                "{word} in {own}: {section}"
            );
        }
        for line in all(section, "parts")
            .iter()
            .flat_map(|part| all(part, "lines"))
        {
            ensure!(
                line["entity"] == *own && line["source"].is_string(),
                "{line}"
            );
        }
    }
    Ok(())
}

/// Health information is drafted by nobody as it is, and no model that is not cleared sees it.
async fn health_is_held_back(
    office: &Office,
    tools: &legation_tests::e2e::tools::Tools,
) -> anyhow::Result<()> {
    let mut care = Client::start(office, tools, OWNS, "modern").await?;
    let phi = json!({
        "profile_id": "meadow", "to": ["ellis.placeholder@second.example.com"],
        "subject": "Resident",
        "body_html": "<p>Resident Avery Placeholder, room 204, needs a review.</p>",
    });
    let refused = care.refused("draft_email", phi, "phi.unredacted").await?;
    ensure!(!refused.to_string().contains("Avery"), "{refused}");
    let list = json!({"profile_id": "meadow", "top": 50});
    let letters = care.good("mail_list", list).await?;
    let id_of = |subject: &str| {
        let mut letters = all(&letters, "messages").iter();
        let found = letters.find(|one| one["subject"] == subject);
        found.map(|one| one["id"].clone()).context("the letter")
    };
    let some = json!({
        "profile_id": "meadow",
        "message_ids": [id_of("Fall in room 204")?, id_of("Maple Court: open positions")?],
    });
    let made = care.good("draft_generate", some).await?;
    ensure!(
        made["sent"] == false && made["drafts_created"] == 1,
        "{made}"
    );
    let draft = &made["drafts"][0];
    ensure!(
        draft["written_by"] == "template" && draft["note"].is_string(),
        "{made}"
    );
    let skipped = made["skipped"][0]["reason"].as_str().unwrap_or_default();
    ensure!(skipped.contains("phi.unredacted"), "{made}");
    let lies = office.letters("second", "drafts").await?;
    ensure!(
        lies.len() == 1 && !json!(lies).to_string().contains("Avery"),
        "{lies:?}"
    );
    let records = office.records().await?;
    let refused = decided(&records, OWNS, "draft_email", "refused").context("the refusal")?;
    ensure!(
        refused["entities"] == json!(["meadow"]) && refused["rule"] == "ban.phi.unredacted",
        "{refused}"
    );
    let call = decided(&records, OWNS, "draft_generate", "intent").context("the drafts")?;
    ended(&records, call, "ok")?;
    let blocked = told(&records, "LLM_PROVIDER_BLOCKED");
    ensure!(
        blocked.iter().any(|one| one.to_string().contains("meadow")),
        "{blocked:?}"
    );
    ensure!(!json!(records).to_string().contains("Avery"), "on record");
    Ok(())
}

/// The owner prefers another model, over the API.
async fn models_are_changed(office: &Office) -> anyhow::Result<()> {
    let hub = &office.hub;
    let change = json!({
        "default_provider": "local_model",
        "per_job_overrides": {"desk.brief": {"provider": "local_model"}},
    });
    let uri: Uri = format!("{}/ops/llm-provider", hub.base).parse()?;
    let request = Request::post(uri.path())
        .header("host", hub.base.trim_start_matches("http://"))
        .header("content-type", "application/json")
        .header("authorization", format!("Bearer {}", hub.token()?));
    let body = Full::new(Bytes::from(change.to_string()));
    let answer = whole(&uri, request.body(body)?).await?;
    ensure!(answer.status == 200, "{}", answer.body);
    let records = office.records().await?;
    let changed = told(&records, "LLM_PROVIDER_CHANGED");
    ensure!(changed.len() == 1, "{changed:?}");
    let text = changed[0].to_string();
    ensure!(
        text.contains("openai_direct") && text.contains("local_model"),
        "{text}"
    );
    Ok(())
}

/// A model that may have all of it puts the brief into words, and invents nothing.
async fn a_brief_by_a_cleared_model(
    office: &Office,
    owner: &mut Client,
    worker: &Worker,
) -> anyhow::Result<()> {
    let brief = owner.good("morning_brief", json!({})).await?;
    ensure!(brief["composed_by"] == "model", "{brief}");
    ensure!(!brief.to_string().contains(INVENTED), "{brief}");
    apart(&brief)?;
    let requests = json!(worker.requests()).to_string();
    ensure!(requests.contains("signatures needed"), "{requests}");
    for phi in ["Jules Placeholder", "000-12-3456", "room 118"] {
        ensure!(!requests.contains(phi), "{phi} went to a model: {requests}");
    }
    ensure!(lines(&brief).count() > 5, "{brief}");
    let records = office.records().await?;
    let selected = told(&records, "LLM_PROVIDER_SELECTED");
    let asked = records
        .iter()
        .filter(|one| one["kind"] == "intent" && one.to_string().contains("local_model"));
    ensure!(
        asked.count() + selected.len() > 0,
        "no request to the model is on record"
    );
    Ok(())
}

/// A letter is asked for in the chat, about a deal; it ends in the Drafts folder.
async fn a_letter_from_the_chat(
    office: &Office,
    tools: &legation_tests::e2e::tools::Tools,
    chat: &Chat,
) -> anyhow::Result<()> {
    let mut client = Client::start(office, tools, "claude", "modern").await?;
    let deal = json!({"entity": "harbor", "deal_name": "Mill Lane"});
    let made = client.good("deal_create", deal).await?;
    let deal = made["deal_id"].as_str().context("a deal")?;
    let words = format!(
        "Draft an email to blake.sample@first.example.com about {deal}: We sign on Friday."
    );
    let answer = chat.ask(&words).await?;
    ensure!(answer.contains("draft_created"), "{answer}");
    ensure!(answer.ends_with("data: [DONE]\n\n"), "{answer}");
    ensure!(event(&answer, "copilot_errors").is_none(), "{answer}");
    let lies = office.letters("first", "drafts").await?;
    let mine = lies
        .iter()
        .find(|one| one["body"].to_string().contains("We sign on Friday"));
    ensure!(mine.is_some(), "{lies:?}");
    // The chat's login may not even ask about the care homes.
    let other = chat.ask("Draft an email to ellis.placeholder@second.example.com about Meadow Care Homes: Hello.").await?;
    ensure!(event(&other, "copilot_errors").is_some(), "{other}");
    ensure!(
        office.letters("first", "sentitems").await?.is_empty(),
        "sent"
    );
    let records = office.records().await?;
    let webhook = told(&records, "COPILOT_WEBHOOK_REQUEST");
    ensure!(
        webhook.len() == 2
            && webhook[0]["user_github_login"] == "jordan-example"
            && webhook[0]["copilot_thread_id"] == "thread-1"
            && webhook[0]["intent"] == "draft_email",
        "{webhook:?}"
    );
    let client = "copilot/jordan-example";
    let call = decided(&records, client, "draft_email", "intent").context("the draft")?;
    ensure!(
        call["entity"] == "harbor" && call["via"] == "copilot",
        "{call}"
    );
    ended(&records, call, "ok")
}

/// The last record of that kind of a client's call of a tool of the desk.
fn decided<'r>(records: &'r [Value], client: &str, tool: &str, kind: &str) -> Option<&'r Value> {
    records.iter().rev().find(|one| {
        one["kind"] == kind
            && one["client"] == client
            && one["server"] == "desk"
            && one["item"] == tool
    })
}

/// The call ended so.
fn ended(records: &[Value], call: &Value, status: &str) -> anyhow::Result<()> {
    let outcome = records
        .iter()
        .find(|one| one["kind"] == "outcome" && one["call"] == call["call"]);
    let outcome = outcome.with_context(|| format!("no end of {call}"))?;
    ensure!(outcome["status"] == status, "{outcome}");
    Ok(())
}

/// What happened beside calls, under a name.
fn told<'r>(records: &'r [Value], name: &str) -> Vec<&'r Value> {
    records.iter().filter(|one| one["event"] == name).collect()
}

// === impl Chat ===

impl Chat {
    async fn new() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let authority = Authority::new()?;
        let github = Github::start(&authority).await?;
        let signer = Signer::new("key-1")?;
        github.list(&[&signer]);
        github.knows(TOKEN, "jordan-example");
        authority.files(folder.path())?;
        std::fs::write(folder.path().join("github.pem"), &authority.pem)?;
        let free = std::net::TcpListener::bind("127.0.0.1:0")?;
        Ok(Self {
            port: free.local_addr()?.port(),
            authority,
            signer,
            github,
            folder,
        })
    }

    fn settings(&self) -> String {
        let folder = self.folder.path();
        let (certificate, key) = (folder.join("webhook.pem"), folder.join("webhook.key"));
        let trusted = folder.join("github.pem");
        format!(
            "[copilot]\nlisten = \"127.0.0.1:{}\"\ncertificate_file = {certificate:?}\n\
             key_file = {key:?}\ngithub = \"{}\"\ngithub_ca_file = {trusted:?}\n",
            self.port,
            self.github.url()
        )
    }

    async fn ask(&self, words: &str) -> anyhow::Result<String> {
        let body = message(words);
        let fields = self.signer.fields(&body, TOKEN)?;
        let request = github::request(&body, &fields)?;
        let answer = github::post(self.port, &self.authority, request).await?;
        ensure!(answer.status == 200, "{} {}", answer.status, answer.body);
        Ok(answer.body)
    }
}
