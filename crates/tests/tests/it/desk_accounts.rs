//! The desk over two companies' tenants, through a whole hub with the business template: what a
//! client reads and drafts, what the rules stop, and what the ledger has of it.

use std::collections::HashMap;
use std::fmt::Write as _;

use http::{Request, Uri};
use http_body_util::Full;
use legation_tests::harness::http::whole;
use legation_tests::harness::hub::{Hub, HubOptions, client_token};
use legation_tests::harness::peer::{Peer, PeerEra, everything, friendly};
use legation_tests::harness::served::Collector;
use legation_tests::harness::tenant::Tenant;
use serde_json::{Value, json};

use crate::identity::stand::{begin, finish, order, shown};

/// Company, tenant, and the domain of its people.
const COMPANIES: [(&str, &str, &str); 2] = [
    ("harbor", "first", "first.example.com"),
    ("meadow", "second", "second.example.com"),
];

/// Works for the care homes and is cleared for no health information.
const READER: &str = "meadow-reader";

/// Two tenants with a month in each, and a hub whose owner is signed in to both.
struct Office {
    tenant: Tenant,
    hub: Hub,
    /// Where its spans go.
    collector: Collector,
    /// What the tenants know the hub by.
    secrets: Vec<String>,
}

fn settings(path: &std::path::Path) -> anyhow::Result<HashMap<String, String>> {
    let text = std::fs::read_to_string(path)?;
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    Ok(pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect())
}

/// The template's companies, whose people also have the tenants' addresses.
fn profile() -> anyhow::Result<Value> {
    let text = include_str!("../../../policy/templates/business/operator_profile.json");
    let mut profile: Value = serde_json::from_str(text)?;
    for (company, _, domain) in COMPANIES {
        let domains = &mut profile["entities"][company]["email_domains"];
        domains.as_array_mut().unwrap().push(domain.into());
    }
    // One more client, that may read of the care homes but no health information.
    Ok(json!({
        "entities": profile["entities"],
        "client_clearances": {READER: {"entities": ["meadow"]}},
    }))
}

impl Office {
    async fn open() -> anyhow::Result<Self> {
        let tenant = Tenant::start(true).await?;
        order(tenant.home(), &["seed", "desk"]).await?;
        let collector = Collector::start(None).await?;
        let mut secrets = Vec::new();
        let mut options = HubOptions {
            servers: json!({}),
            template: Some("business"),
            governance: vec![
                ("operator_profile.json", profile()?),
                (
                    "role_cards.json",
                    json!({"clients": {READER: "care_assistant"}}),
                ),
            ],
            clients: ["claude", "meadow-agent", READER].map(str::to_owned).into(),
            settings: format!(
                "log_level = \"trace\"\n[traces]\nendpoint = {:?}\n",
                collector.base()
            ),
            ..HubOptions::default()
        };
        for (company, name, _) in COMPANIES {
            let file = match name {
                "first" => tenant.env_file(),
                other => tenant.env_file().with_extension(other),
            };
            let env = settings(&file)?;
            let _ = writeln!(
                options.settings,
                "\n[accounts.{company}]\ninbox = \"off\"\ndesk = \"on\""
            );
            for (key, value) in [
                ("entity", company),
                ("tenant_id", &env["TENANT_ID"]),
                ("authority", &env["AUTHORITY_HOST"]),
                ("graph", &env["GRAPH_BASE"]),
                ("ca_file", &env["CA_BUNDLE"]),
                ("client_id", &env["CLIENT_ID"]),
                ("api_client_id", &env["API_CLIENT_ID"]),
                ("human", &env["AGENT_USER_ID"]),
            ] {
                let _ = writeln!(options.settings, "{key} = {}", json!(value));
            }
            let secret = format!("LEGATION_{}_CLIENT_SECRET", company.to_uppercase());
            secrets.push(env["API_CLIENT_SECRET"].clone());
            options
                .environment
                .insert(secret, env["API_CLIENT_SECRET"].clone());
        }
        let hub = Hub::start(options).await?;
        for (company, name, _) in COMPANIES {
            let mut child = begin(&hub, &["bootstrap", "--account", company])?;
            let (code, mut complaint) = shown(&mut child).await?;
            let code = code.ok_or_else(|| anyhow::anyhow!("no code: {complaint}"))?;
            order(
                tenant.home(),
                &["--tenant", name, "decide", &code, "approve"],
            )
            .await?;
            let ran = finish(child, &mut complaint).await?;
            anyhow::ensure!(ran.code == 0, "{company}: {ran:?}");
        }
        Ok(Self {
            tenant,
            hub,
            collector,
            secrets,
        })
    }

    /// A conversation of a client's, by itself.
    async fn client(&self, id: &str) -> anyhow::Result<Peer> {
        let era = PeerEra::Legacy;
        self.hub.bridge_as(id, era, everything(), friendly()).await
    }
}

/// What a tool answers, and whether it was refused or failed.
async fn call(peer: &Peer, tool: &str, arguments: Value) -> anyhow::Result<(Value, bool)> {
    let answer = peer.call(&format!("desk-{tool}"), arguments).await?;
    let failed = answer.value["result"]["isError"] == true || answer.value["error"].is_object();
    let result = &answer.value["result"]["structuredContent"];
    let told = if failed { &answer.value } else { result };
    Ok((told.clone(), failed))
}

async fn good(peer: &Peer, tool: &str, arguments: Value) -> anyhow::Result<Value> {
    let (answer, failed) = call(peer, tool, arguments).await?;
    assert!(!failed, "{tool}: {answer}");
    Ok(answer)
}

/// A call that is refused by a rule, or fails with a word.
async fn refused(peer: &Peer, tool: &str, arguments: Value, why: &str) -> anyhow::Result<Value> {
    let (answer, failed) = call(peer, tool, arguments).await?;
    assert!(
        failed && answer.to_string().contains(why),
        "{tool}: {answer}"
    );
    Ok(answer)
}

/// The letter of a list with that subject.
fn found<'l>(listed: &'l Value, subject: &str) -> &'l Value {
    let mut letters = listed["messages"].as_array().unwrap().iter();
    let letter = letters.find(|one| one["subject"] == subject);
    letter.unwrap_or_else(|| panic!("{subject}: {listed}"))
}

#[tokio::test]
async fn each_company_is_worked_for_by_itself_and_nothing_is_sent() -> anyhow::Result<()> {
    let mut office = Office::open().await?;
    let theirs = reads_of_the_care_homes(&office).await?;
    works_for_the_partners(&office, &theirs).await?;
    holds_each_step(&office).await?;
    tells_nothing_of_it(&mut office).await?;
    drop(office.tenant);
    Ok(())
}

/// Whatever the hub says of itself at its most talkative holds no letter, no name, no secret and no
/// token.
async fn tells_nothing_of_it(office: &mut Office) -> anyhow::Result<()> {
    let uri: Uri = format!("{}/metrics", office.hub.base).parse()?;
    let host = office.hub.base.trim_start_matches("http://");
    let request = Request::get(uri.path()).header("host", host);
    let metrics = whole(&uri, request.body(Full::default())?).await?.body;
    office.hub.stop().await?;
    let spans = office.collector.spans();
    assert!(spans.len() > 50, "{} spans", spans.len());
    let log = std::fs::read_to_string(office.hub.home().join("logs/hub.log"))?;
    assert!(log.contains("the hub runs"), "{log}");
    assert!(metrics.contains("legation_server_calls_total"), "{metrics}");
    let mut canaries = vec![
        // Of letters, events and drafts, what they say and who is in them.
        "Avery",
        "4471902",
        "000-12-3456",
        "closing documents",
        "Fall in room",
        "Orchard Row",
        "At three.",
        "prizes.example.org",
        // How every access token and assertion begins.
        "eyJ",
    ];
    canaries.extend(office.secrets.iter().map(String::as_str));
    let tokens = ["claude", "meadow-agent", READER].map(client_token);
    canaries.extend(tokens.iter().map(String::as_str));
    for (place, text) in [
        ("the spans", Value::from(spans).to_string()),
        ("the metrics", metrics),
        ("the log", log),
        ("what the hub said", office.hub.said().join("\n")),
    ] {
        for canary in &canaries {
            let line = text.lines().find(|line| line.contains(canary));
            assert_eq!(line, None, "{canary} is in {place}");
        }
    }
    Ok(())
}

/// Each step is in the ledger, and nothing that a letter says.
async fn holds_each_step(office: &Office) -> anyhow::Result<()> {
    let arguments = ["--json", "audit", "query", "-n", "1000"];
    let (code, text, complaint) = office.hub.run(&arguments).await?;
    anyhow::ensure!(code == 0, "{complaint}");
    let ledger: Value = serde_json::from_str(&text)?;
    let records = ledger["records"].as_array().unwrap().iter();
    let records: Vec<&Value> = records.map(|one| &one["record"]).collect();
    let ended = |call: &Value| {
        let mut of_it = records.iter().filter(|one| one["call"] == *call);
        of_it.find_map(|one| one["status"].as_str())
    };
    for (client, item, status) in [
        ("meadow-agent", "mail_list", "ok"),
        ("meadow-agent", "mail_read", "ok"),
        (READER, "mail_list", "ok"),
        ("claude", "mail_list", "ok"),
        ("claude", "mail_read", "ok"),
        ("claude", "mail_read", "tool_error"),
        ("claude", "calendar_list", "ok"),
        ("claude", "draft_email", "ok"),
    ] {
        let mut of_client = records.iter().filter(|one| one["client"] == client);
        let is_it = |one: &&Value| one["item"] == item && ended(&one["call"]) == Some(status);
        assert!(of_client.any(is_it), "{client} {item} {status}: {text}");
    }
    for rule in [
        "boundary.never-mix",
        "mail.foreign-recipient",
        "phi.unredacted",
        "clearance.client",
    ] {
        let mut refused = records.iter().filter(|one| one["kind"] == "refused");
        let is_it = |one: &&Value| one["rule"].as_str().is_some_and(|its| its.contains(rule));
        assert!(refused.any(is_it), "{rule}: {text}");
    }
    for word in ["Avery", "closing documents", "4471902"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    Ok(())
}

/// Health information is read by who is cleared for it, and by others of the company without; the
/// id of a letter that holds some.
async fn reads_of_the_care_homes(office: &Office) -> anyhow::Result<Value> {
    let list = || json!({"profile_id": "meadow", "top": 50});
    let agent = office.client("meadow-agent").await?;
    let listed = good(&agent, "mail_list", list()).await?;
    assert_eq!(listed["entity"], "meadow", "{listed}");
    let id = found(&listed, "Fall in room 204")["id"].clone();
    let one = json!({"profile_id": "meadow", "message_id": id});
    let read = good(&agent, "mail_read", one).await?;
    let text = read["untrusted_text"].as_str().unwrap();
    assert!(text.contains("Avery Placeholder"), "{read}");

    // The contract of clients that are cleared for none is kept by what is redacted.
    let reader = office.client(READER).await?;
    let redacted = good(&reader, "mail_list", list()).await?;
    let same = redacted["messages"].as_array().unwrap().len();
    assert_eq!(same, listed["messages"].as_array().unwrap().len());
    let text = redacted.to_string();
    for word in ["Avery", "4471902", "000-12-3456"] {
        assert!(!text.contains(word), "{word}: {redacted}");
    }
    // The room: an id of a letter or a token may have these digits in it.
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    assert!(words.all(|word| word != "204"), "{redacted}");

    // Nobody drafts health information as it is, and nothing of it is in the folder.
    let phi = json!({
        "profile_id": "meadow",
        "to": ["ellis.placeholder@second.example.com"],
        "subject": "Resident",
        "body_html": "<p>Resident Avery Placeholder, room 204, MRN 4471902, needs a review.</p>",
    });
    let rule = "phi.unredacted";
    let _refused = refused(&agent, "draft_email", phi.clone(), rule).await?;
    let _refused = refused(&reader, "draft_email", phi, rule).await?;
    let drafts = json!({"profile_id": "meadow", "folder": "drafts"});
    let drafts = good(&agent, "mail_list", drafts).await?;
    assert_eq!(drafts["messages"], json!([]), "{drafts}");
    Ok(id)
}

/// One's own people; never the other company's, and no strangers.
async fn works_for_the_partners(office: &Office, theirs: &Value) -> anyhow::Result<()> {
    let peer = office.client("claude").await?;
    let of = |more: Value| {
        let mut arguments = json!({"profile_id": "harbor"});
        for (name, value) in more.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        arguments
    };
    let listed = good(&peer, "mail_list", of(json!({"unread": true}))).await?;
    assert_eq!(listed["entity"], "harbor", "{listed}");
    let asked = found(&listed, "Orchard Row: signatures needed");
    let read = good(&peer, "mail_read", of(json!({"message_id": asked["id"]}))).await?;
    let text = read["untrusted_text"].as_str().unwrap();
    assert!(text.contains("closing documents"), "{read}");
    let days = good(&peer, "calendar_list", of(json!({"days": 7}))).await?;
    assert!(days["events"].as_array().unwrap().len() > 4, "{days}");

    let draft = |to: &str, key: &str| {
        of(
            json!({"to": [to], "subject": "Signatures", "body_html": "<p>At three.</p>", "idempotency_key": key}),
        )
    };
    let own = draft("blake.sample@first.example.com", "own");
    let own = good(&peer, "draft_email", own).await?;
    assert_eq!(
        (&own["draft_created"], &own["sent"]),
        (&json!(true), &json!(false))
    );
    for (to, rule) in [
        ("ellis.placeholder@second.example.com", "boundary.never-mix"),
        ("winner@prizes.example.org", "mail.foreign-recipient"),
    ] {
        let _refused = refused(&peer, "draft_email", draft(to, rule), rule).await?;
    }
    let drafts = good(&peer, "mail_list", of(json!({"folder": "drafts"}))).await?;
    assert_eq!(drafts["messages"].as_array().unwrap().len(), 1, "{drafts}");
    let sent = good(&peer, "mail_list", of(json!({"folder": "sentitems"}))).await?;
    assert_eq!(sent["messages"], json!([]), "{sent}");

    // A letter of the other company is not in this mailbox, and that one is not for this client.
    let one = of(json!({"message_id": theirs}));
    let none = refused(&peer, "mail_read", one, "ItemNotFound").await?;
    assert!(!none.to_string().contains("Avery"), "{none}");
    let list = json!({"profile_id": "meadow"});
    let _refused = refused(&peer, "mail_list", list.clone(), "boundary.never-mix").await?;
    let fresh = office.client("claude").await?;
    let _refused = refused(&fresh, "mail_list", list, "clearance").await?;
    let nobody = json!({"profile_id": "nobody"});
    let _refused = refused(&fresh, "mail_list", nobody, "no account").await?;
    Ok(())
}
