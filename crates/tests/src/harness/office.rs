//! Somebody's desk with two companies: a tenant for each with a month of letters and meetings, and a
//! hub with the business template whose owner is signed in to both.

mod acts;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::hub::{Hub, HubOptions};
use super::peer::{Peer, PeerEra, everything, friendly};
use super::process::until;
use super::sign_in::{begin, finish, shown};
use super::tenant::Tenant;

/// Company, tenant, and the domain of its people.
pub const COMPANIES: [(&str, &str, &str); 2] = [
    ("harbor", "first", "first.example.com"),
    ("meadow", "second", "second.example.com"),
];

/// A client of the owner's own: it may do and see what the owner may, in as many conversations as
/// it has pipes.
pub const OWNS: &str = "jordan";

/// How long the hub may take to read two mailboxes and two calendars.
const READ: Duration = Duration::from_secs(120);

/// The tenants and the hub.
#[derive(Debug)]
pub struct Office {
    /// Both tenants.
    pub tenant: Tenant,
    /// The hub.
    pub hub: Hub,
}

// === impl Office ===

impl Office {
    /// Opens one. `options` may lay more over the template and add clients, settings and servers.
    /// With a mark, every letter, sender and meeting of a tenant bears `MARK-TENANT`.
    pub async fn open(mark: Option<&str>, mut options: HubOptions) -> anyhow::Result<Self> {
        let tenant = Tenant::start(true).await?;
        let mut seed = vec!["seed", "desk"];
        seed.extend(mark.iter().flat_map(|mark| ["--mark", *mark]));
        tenant.order(&seed).await?;
        options.template = Some("business");
        if options.servers.is_null() {
            options.servers = json!({});
        }
        // The companies' people also have the tenants' addresses.
        let domains = COMPANIES.iter().map(|(company, _, domain)| {
            let domains = json!({"email_domains": [domain]});
            ((*company).to_owned(), domains)
        });
        let domains: serde_json::Map<String, Value> = domains.collect();
        let sees_all = json!({OWNS: {"entities": "all", "phi": true}});
        let profile = json!({"entities": domains, "client_clearances": sees_all});
        let reads = json!({"audiences": {"owner": {"clients": [OWNS]}}});
        let laid_over = [
            ("operator_profile.json", profile),
            ("role_cards.json", json!({"clients": {OWNS: "owner"}})),
            ("output_contracts.json", reads),
        ];
        options.governance.splice(0..0, laid_over);
        options.clients.push(OWNS.to_owned());
        let mut settings = String::new();
        for (company, name, _) in COMPANIES {
            let env = settings_of(&env_file(&tenant, name))?;
            account(&mut settings, company, &env);
            let secret = format!("LEGATION_{}_CLIENT_SECRET", company.to_uppercase());
            let value = env["API_CLIENT_SECRET"].clone();
            options.environment.insert(secret, value);
        }
        options.settings.push_str(&settings);
        let hub = Hub::start(options).await?;
        let office = Self { tenant, hub };
        for (company, name, _) in COMPANIES {
            office.sign_in(company, name).await?;
        }
        Ok(office)
    }

    async fn sign_in(&self, company: &str, tenant: &str) -> anyhow::Result<()> {
        let mut child = begin(&self.hub, &["bootstrap", "--account", company])?;
        let (code, mut complaint) = shown(&mut child).await?;
        let code = code.with_context(|| format!("no code: {complaint}"))?;
        let decide = ["--tenant", tenant, "decide", &code, "approve"];
        self.tenant.order(&decide).await?;
        let ran = finish(child, &mut complaint).await?;
        ensure!(ran.code == 0, "{company}: {ran:?}");
        Ok(())
    }

    /// A conversation of a client's, by itself.
    pub async fn client(&self, id: &str) -> anyhow::Result<Peer> {
        let era = PeerEra::Legacy;
        self.hub.bridge_as(id, era, everything(), friendly()).await
    }

    /// A command of the owner's that must succeed, under `--json`: its data.
    pub async fn tell(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let all: Vec<&str> = ["--json"].iter().chain(arguments).copied().collect();
        let (code, out, complaint) = self.hub.run(&all).await?;
        ensure!(code == 0, "{arguments:?}: {code} {out} {complaint}");
        serde_json::from_str(&out).with_context(|| format!("{arguments:?}: {out}"))
    }

    /// The same once its calendars and inboxes were read.
    pub async fn read(mut self) -> anyhow::Result<Self> {
        // A hub that was there before somebody signed in looks again half a minute later.
        self.hub = self.hub.restart().await?;
        let mut last = Value::Null;
        let read = until("the desk to be read", READ, async || {
            last = self.tell(&["desk", "status"]).await.unwrap_or_default();
            let accounts = last["accounts"].as_array().map_or(&[][..], Vec::as_slice);
            let fresh = accounts.iter().filter(|one| one["state"] == "fresh");
            fresh.count() == 2 * COMPANIES.len()
        });
        let read = read.await;
        read.with_context(|| format!("{last}; the hub said {:?}", self.hub.said()))?;
        Ok(self)
    }

    /// What a tenant keeps of its first person: `mailbox` or `calendar`.
    pub async fn kept(&self, tenant: &str, what: &str) -> anyhow::Result<Value> {
        let out = self.tenant.order(&["--tenant", tenant, what]).await?;
        serde_json::from_str(&out).with_context(|| format!("{what} of {tenant}"))
    }

    /// The letters that lie in a well-known folder of a tenant's first person, as Graph shows them.
    pub async fn letters(&self, tenant: &str, folder: &str) -> anyhow::Result<Vec<Value>> {
        let mailbox = self.kept(tenant, "mailbox").await?;
        let folders = mailbox["folders"].as_array().context("no folders")?;
        let found = folders.iter().find(|one| one["well_known"] == folder);
        let found = found.with_context(|| format!("no {folder}"))?;
        let mails = mailbox["mails"].as_array().context("no mails")?.iter();
        let within = mails.filter(|mail| mail["folder"] == found["id"]);
        Ok(within.map(|mail| mail["shown"].clone()).collect())
    }

    /// The records of the ledger, oldest first.
    pub async fn records(&self) -> anyhow::Result<Vec<Value>> {
        let arguments = ["audit", "export", "--format", "jsonl"];
        let (code, out, complaint) = self.hub.run(&arguments).await?;
        ensure!(code == 0, "{complaint}");
        let lines = out.lines().map(serde_json::from_str::<Value>);
        lines.map(|line| Ok(line?["record"].take())).collect()
    }
}

/// Where a tenant's settings are.
fn env_file(tenant: &Tenant, name: &str) -> std::path::PathBuf {
    match name {
        "first" => tenant.env_file(),
        other => tenant.env_file().with_extension(other),
    }
}

fn settings_of(path: &Path) -> anyhow::Result<HashMap<String, String>> {
    let text = std::fs::read_to_string(path)?;
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    Ok(pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect())
}

/// The table of one account. Its secret comes from the environment.
fn account(settings: &mut String, company: &str, env: &HashMap<String, String>) {
    // Writing to a String cannot fail.
    let _ = writeln!(
        settings,
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
        let _ = writeln!(settings, "{key} = {}", json!(value));
    }
}
