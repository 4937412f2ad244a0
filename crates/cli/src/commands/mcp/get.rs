//! `legation mcp get`.

use clap::Args;
use legation_api::mcp::Walls;
use legation_config::SandboxPolicy;
use legation_config::servers::{Loaded, ServerSpec, Transport};
use legation_core::net::Destinations;
use serde::Serialize;

use crate::{CliError, Context, Exit};

/// Arguments of `legation mcp get`.
#[derive(Debug, Args)]
pub struct GetArgs {
    /// Which server.
    name: String,
}

/// An entry as written; values of variables and headers are left out, since
/// they may be secrets.
#[derive(Debug, Serialize)]
struct Entry {
    name: String,
    source: String,
    #[serde(rename = "type")]
    transport: &'static str,
    target: String,
    names: Vec<String>,
    tools: Vec<String>,
    instance: &'static str,
    era: &'static str,
    entity: Option<String>,
    /// How an address is reached, where that is said.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reached: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<Walls>,
    timeout_ms: Option<u128>,
    disabled: bool,
}

pub(crate) fn cmd_get(context: &Context, args: &GetArgs) -> Result<(), CliError> {
    let loaded = super::configured(context);
    let spec = loaded
        .servers
        .iter()
        .find(|spec| spec.name.as_str() == args.name);
    let Some(spec) = spec else {
        let problem = loaded
            .problems
            .iter()
            .find(|problem| problem.server.as_deref() == Some(args.name.as_str()));
        return Err(match problem {
            Some(problem) => {
                CliError::new(Exit::Failed, format!("{}: {}", args.name, problem.message))
                    .with_hint(problem.hint.clone())
            }
            None => unknown(&loaded, &args.name),
        });
    };
    context.output.result(&entry(spec), render)
}

/// A file that cannot be read may hold it.
fn unknown(loaded: &Loaded, name: &str) -> CliError {
    let broken = loaded
        .problems
        .iter()
        .find(|problem| problem.server.is_none());
    match broken {
        Some(problem) => CliError::new(
            Exit::Usage,
            format!("{}: {}", problem.source, problem.message),
        )
        .with_hint(problem.hint.clone()),
        None => CliError::new(Exit::Failed, format!("there is no server `{name}`"))
            .with_hint("`legation mcp list` shows the servers"),
    }
}

fn entry(spec: &ServerSpec) -> Entry {
    let (names, reached) = match &spec.transport {
        Transport::Stdio { env, .. } => (env.as_slice(), Vec::new()),
        Transport::Http { headers, reach, .. } => (headers.as_slice(), reach.shown()),
        Transport::Memory { .. } => ([].as_slice(), Vec::new()),
    };
    Entry {
        name: spec.name.to_string(),
        source: match spec.source.file() {
            Some(file) => format!("{} ({})", spec.source.as_str(), file.display()),
            None => spec.source.as_str().to_owned(),
        },
        transport: spec.transport.as_str(),
        target: spec.transport.shown(),
        names: names.iter().map(|(name, _)| name.to_string()).collect(),
        tools: spec.tools.iter().map(ToString::to_string).collect(),
        instance: spec.instance.as_str(),
        era: spec.era.as_str(),
        entity: spec.entity.as_ref().map(ToString::to_string),
        reached,
        sandbox: spec
            .sandbox(SandboxPolicy::Asked, &Destinations::default())
            .map(|entry| crate::walls(&entry)),
        timeout_ms: spec.timeout.map(|timeout| timeout.as_millis()),
        disabled: spec.disabled,
    }
}

fn render(entry: &Entry) -> String {
    let what = if entry.transport == "stdio" {
        "env"
    } else {
        "headers"
    };
    let mut text = format!(
        "name      {}\nsource    {}\ntype      {}\ntarget    {}\n{what:<9} {}\ntools     {}\ninstance  {}\nera       {}\nentity    {}\ndisabled  {}\n",
        entry.name,
        entry.source,
        entry.transport,
        crate::table::printable(&entry.target),
        if entry.names.is_empty() {
            "-".to_owned()
        } else {
            entry.names.join(", ")
        },
        entry.tools.join(", "),
        entry.instance,
        entry.era,
        entry
            .entity
            .as_deref()
            .map_or_else(|| "-".to_owned(), crate::table::printable),
        if entry.disabled { "yes" } else { "no" },
    );
    if !entry.reached.is_empty() {
        text.push_str(&format!("reached   by {}\n", entry.reached.join(", ")));
    }
    if let Some(sandbox) = &entry.sandbox {
        let line = crate::table::printable(&crate::walls::line(sandbox));
        text.push_str(&format!("sandbox   {line}\n"));
    }
    text
}
