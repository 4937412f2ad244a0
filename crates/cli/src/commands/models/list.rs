//! `legation models list`.

use clap::Args;
use legation_models::{Endpoint, KeyPlace, LocalServer};
use legation_policy::governance::{Governance, LlmProviders, Provider, Template};
use serde::Serialize;

use crate::commands::doctor::is_before_first_start;
use crate::table::{Table, printable};
use crate::{CliError, Context};

/// Arguments of `legation models list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Do not look for model servers on this machine.
    #[arg(long)]
    configured: bool,
}

#[derive(Debug, Serialize)]
struct Answer {
    default_provider: String,
    fallbacks: Vec<String>,
    providers: Vec<Listed>,
    /// What runs on this machine, whether it is configured or not.
    found: Vec<Found>,
}

/// A provider, without anything secret.
#[derive(Debug, Serialize)]
struct Listed {
    provider: String,
    kind: Option<&'static str>,
    enabled: bool,
    /// Where it is; `null` where the text is no address.
    endpoint: Option<String>,
    model: Option<String>,
    hipaa_cleared: bool,
    /// Where its key is taken from.
    key: &'static str,
    /// Whether there is one; `null` where a request brings it or nobody needs it.
    api_key_set: Option<bool>,
}

#[derive(Debug, Serialize)]
struct Found {
    server: &'static str,
    version: Option<String>,
    endpoint: String,
    /// The provider that has this address.
    provider: Option<String>,
    models: Vec<FoundModel>,
}

#[derive(Debug, Serialize)]
struct FoundModel {
    name: String,
    context: Option<u64>,
    tools: Option<bool>,
    /// How it shows that it runs on another machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    elsewhere: Option<&'static str>,
}

pub(super) fn cmd_list(context: &Context, args: &ListArgs) -> Result<(), CliError> {
    let governed = crate::commands::governance::find(context);
    let begun;
    let providers = match super::providers(governed.governance()) {
        Err(_) if is_before_first_start(context) => {
            context
                .output
                .say("no hub has run here yet; this is what the first one begins with");
            // The files that its start writes down.
            begun = Governance::load(&Template::Personal.sources(), &[]).0;
            super::providers(&begun)?
        }
        providers => providers?,
    };
    let keys = super::keys(context)?;
    let listed = providers.providers.iter().map(|(name, provider)| Listed {
        provider: name.clone(),
        kind: provider.kind_as(name).map(|kind| kind.as_str()),
        enabled: provider.enabled,
        endpoint: place(provider).map(|place| place.to_string()),
        model: provider
            .default_model
            .clone()
            .or_else(|| providers.default_model.clone()),
        hipaa_cleared: provider.hipaa_cleared,
        key: key_word(&KeyPlace::of(name, provider)),
        api_key_set: match KeyPlace::of(name, provider) {
            KeyPlace::Caller | KeyPlace::Nowhere => None,
            // A keystore is not opened for one that is switched off.
            KeyPlace::Keystore if !provider.enabled => None,
            KeyPlace::Keystore | KeyPlace::Variable(_) => {
                Some(keys.get(name, provider, None).is_ok())
            }
        },
    });
    let listed = listed.collect();
    let found = match args.configured {
        true => Vec::new(),
        false => found(context, providers)?,
    };
    let answer = Answer {
        default_provider: providers.default_provider.clone(),
        fallbacks: providers.fallbacks.clone(),
        providers: listed,
        found,
    };
    context.output.result(&answer, render)
}

fn place(provider: &Provider) -> Option<Endpoint> {
    Endpoint::parse(provider.endpoint()?).ok()
}

fn key_word(place: &KeyPlace) -> &'static str {
    match place {
        KeyPlace::Variable(_) => "environment",
        KeyPlace::Keystore => "keystore",
        KeyPlace::Caller => "the caller's",
        KeyPlace::Nowhere => "none",
    }
}

fn found(context: &Context, providers: &LlmProviders) -> Result<Vec<Found>, CliError> {
    let router = super::router(context)?;
    let servers = super::run(async |ctx| Ok(LocalServer::find(router.client(), ctx).await))?;
    let owner = |server: &LocalServer| {
        let is_same = |provider: &Provider| {
            place(provider).is_some_and(|place| {
                let is_here = matches!(place.host(), "127.0.0.1" | "localhost" | "::1");
                is_here && place.port() == server.endpoint.port()
            })
        };
        let mut all = providers.providers.iter();
        all.find(|(_, provider)| is_same(provider))
            .map(|(name, _)| name.clone())
    };
    let servers = servers.iter().map(|server| Found {
        server: server.kind.as_str(),
        version: server.version.clone(),
        endpoint: server.endpoint.to_string(),
        provider: owner(server),
        models: server
            .models
            .iter()
            .map(|model| FoundModel {
                name: model.name.clone(),
                context: model.context,
                tools: model.tools,
                elsewhere: model.elsewhere,
            })
            .collect(),
    });
    Ok(servers.collect())
}

fn render(answer: &Answer) -> String {
    let mut table = Table::new(&["PROVIDER", "KIND", "STATE", "KEY", "MODEL", "ENDPOINT"]);
    for one in &answer.providers {
        let state = match (one.enabled, one.provider == answer.default_provider) {
            (false, _) => "off",
            (true, true) => "default",
            (true, false) => "on",
        };
        let key = match one.api_key_set {
            Some(true) | None => one.key.to_owned(),
            Some(false) => format!("{}, missing", one.key),
        };
        table.row([
            one.provider.clone(),
            one.kind.unwrap_or("unknown").to_owned(),
            state.to_owned(),
            key,
            one.model.clone().unwrap_or_else(|| "-".to_owned()),
            one.endpoint.clone().unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    let mut text = table.render();
    if !answer.fallbacks.is_empty() {
        text.push_str(&format!(
            "when one does not answer: {}\n",
            printable(&answer.fallbacks.join(", "))
        ));
    }
    // The first that a person would switch on.
    let local = answer
        .providers
        .iter()
        .find(|one| one.kind == Some("local_model") && !one.enabled);
    for server in &answer.found {
        let version = server.version.as_deref().unwrap_or_default();
        let provider = match &server.provider {
            Some(name) => format!("the provider {name}"),
            None => "no provider".to_owned(),
        };
        text.push_str(&format!(
            "\nfound {} {} at {}: {}\n",
            server.server,
            printable(version),
            server.endpoint,
            printable(&provider)
        ));
        for model in &server.models {
            let mut says = Vec::new();
            if let Some(context) = model.context {
                says.push(format!("{context} tokens"));
            }
            if model.tools == Some(false) {
                says.push("no tools".to_owned());
            }
            if let Some(elsewhere) = model.elsewhere {
                says.push(format!("not local: {elsewhere}"));
            }
            let says = says.join(", ");
            text.push_str(&format!("  {}  {says}\n", printable(&model.name)));
        }
        if let (None, Some(local)) = (&server.provider, local) {
            text.push_str(&format!(
                "  use it: legation models set enable {} --endpoint {}\n",
                printable(&local.provider),
                server.endpoint
            ));
        }
    }
    text
}
