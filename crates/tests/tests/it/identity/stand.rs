//! A tenant and a hub with accounts in it.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{Answer, Answerer, Peer};
pub(crate) use legation_tests::harness::sign_in::{Ran, begin, finish, shown};
use legation_tests::harness::tenant::Tenant;
pub(crate) use legation_tests::harness::tenant::order;
use serde_json::{Value, json};

/// How an account is written: its name, its entity, and what it is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The application, on behalf of the human.
    Application,
    /// The agent as its own user.
    Agent,
}

/// A tenant, and what it says of itself.
pub(crate) struct Stand {
    tenant: Tenant,
    pub(crate) env: HashMap<String, String>,
}

// === impl Stand ===

impl Stand {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let tenant = Tenant::start(true).await?;
        let env = tenant.settings()?;
        Ok(Self { tenant, env })
    }

    fn value(&self, name: &str) -> &str {
        &self.env[name]
    }

    /// The table of one account. Secrets come from the environment; see [`Stand::secrets`].
    pub(crate) fn account(&self, name: &str, entity: &str, kind: Kind) -> String {
        let mut keys = vec![
            ("entity", entity),
            ("tenant_id", self.value("TENANT_ID")),
            ("authority", self.value("AUTHORITY_HOST")),
            ("graph", self.value("GRAPH_BASE")),
            ("ca_file", self.value("CA_BUNDLE")),
            ("client_id", self.value("CLIENT_ID")),
            ("api_client_id", self.value("API_CLIENT_ID")),
        ];
        match kind {
            Kind::Application => keys.push(("human", self.value("AGENT_USER_ID"))),
            Kind::Agent => keys.extend([
                ("blueprint_id", self.value("BLUEPRINT_ID")),
                ("agent_id", self.value("AGENT_ID")),
                ("agent_user", self.value("AGENT_USER_UPN")),
                ("human", self.value("HUMAN_ID")),
            ]),
        }
        // Requests are counted here: nothing is read in the background.
        let mut text = format!("\n[accounts.{name}]\ninbox = \"off\"\n");
        for (key, value) in keys {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{key} = {}", json!(value));
        }
        text
    }

    /// The secrets of an account, as variables.
    pub(crate) fn secrets(&self, name: &str, kind: Kind) -> HashMap<String, String> {
        let name = name.to_uppercase().replace('-', "_");
        let secret = |key: &str, from: &str| {
            (
                format!("LEGATION_{name}_{key}"),
                self.value(from).to_owned(),
            )
        };
        let mut secrets = HashMap::from([secret("CLIENT_SECRET", "API_CLIENT_SECRET")]);
        if kind == Kind::Agent {
            secrets.extend([secret("BLUEPRINT_SECRET", "BLUEPRINT_SECRET")]);
        }
        secrets
    }

    /// What a hub with these accounts of the owner's is started with.
    pub(crate) fn options(&self, accounts: &[(&str, Kind)]) -> HubOptions {
        let mut options = HubOptions {
            servers: json!({}),
            ..HubOptions::default()
        };
        for (name, kind) in accounts {
            options.settings += &self.account(name, "personal", *kind);
            options.environment.extend(self.secrets(name, *kind));
        }
        options
    }

    /// A hub with one account that acts on behalf of the human.
    pub(crate) async fn hub(&self) -> anyhow::Result<Hub> {
        Hub::start(self.options(&[("work", Kind::Application)])).await
    }

    /// A command of the tenant's.
    pub(crate) async fn order(&self, arguments: &[&str]) -> anyhow::Result<()> {
        self.tenant.order(arguments).await?;
        Ok(())
    }

    /// What [`order`] needs to find the tenant.
    pub(crate) fn control(&self) -> Arc<std::path::Path> {
        self.tenant.home().into()
    }

    /// A client's person, who enters every code that is shown.
    pub(crate) fn enters(&self) -> Answerer {
        let control = self.control();
        Arc::new(move |_, params| {
            let code = code_in(params["message"].as_str().unwrap());
            let control = Arc::clone(&control);
            tokio::runtime::Handle::current().spawn(async move {
                order(&control, &["decide", &code, "approve"])
                    .await
                    .unwrap();
            });
            json!({"action": "accept", "content": {"entered": true}})
        })
    }

    /// Runs a command; whoever is asked for a code enters it.
    pub(crate) async fn run(&self, hub: &Hub, arguments: &[&str]) -> anyhow::Result<Ran> {
        let mut child = begin(hub, arguments)?;
        let (code, mut complaint) = shown(&mut child).await?;
        if let Some(code) = code {
            self.order(&["decide", &code, "approve"]).await?;
        }
        finish(child, &mut complaint).await
    }

    /// The same, which has to succeed: its answer.
    pub(crate) async fn answer(&self, hub: &Hub, arguments: &[&str]) -> anyhow::Result<Value> {
        let ran = self.run(hub, arguments).await?;
        anyhow::ensure!(ran.code == 0, "{arguments:?}: {ran:?}");
        Ok(serde_json::from_str(&ran.out)?)
    }
}

/// The code in a sentence that ends with it.
pub(crate) fn code_in(message: &str) -> String {
    let word = message.split_whitespace().last().unwrap();
    word.trim_end_matches('.').to_owned()
}

/// What a tool answered, whether it went well or not.
pub(crate) fn content(answer: &Answer) -> &Value {
    let content = &answer.value["result"]["structuredContent"];
    assert!(content.is_object(), "{}", answer.text);
    content
}

/// Calls a tool of `identity`.
pub(crate) async fn call(peer: &Peer, tool: &str) -> anyhow::Result<Value> {
    let answer = peer.call(&format!("identity-{tool}"), json!({})).await?;
    Ok(content(&answer).clone())
}
