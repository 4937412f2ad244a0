//! `legation mcp search`.

use clap::Args;
use legation_core::error::chain;
use legation_registry::{Found, Proxies, Registry, RegistryError, SEARCH_MAX};
use serde::Serialize;

use crate::commands::config::settings_to_connect;
use crate::table::{Table, printable};
use crate::{CliError, Context, Exit};

/// Arguments of `legation mcp search`.
#[derive(Debug, Args)]
pub struct SearchArgs {
    /// Words that all stand in a server's name, title or description; the longest in its name.
    #[arg(required = true)]
    words: Vec<String>,

    /// Another registry than that of `registry.url`.
    #[arg(long, value_name = "URL")]
    registry: Option<String>,

    /// How many are shown.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
}

#[derive(Debug, Serialize)]
struct Answer {
    registry: String,
    servers: Vec<Listed>,
    /// Whether there may be more.
    more: bool,
}

#[derive(Debug, Serialize)]
struct Listed {
    name: String,
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    description: String,
    deprecated: bool,
    /// `npm`, `pypi`, `oci`, `mcpb`, `remote` and others.
    kinds: Vec<String>,
}

pub(super) fn cmd_search(context: &Context, args: &SearchArgs) -> Result<(), CliError> {
    let registry = open(context, args.registry.as_deref())?;
    let most = usize::from(args.limit).min(SEARCH_MAX);
    let (servers, more) = run(registry.search(&args.words, most))?;
    let answer = Answer {
        registry: registry.url().to_owned(),
        servers: servers.into_iter().map(Listed::from_found).collect(),
        more,
    };
    context.output.result(&answer, render)
}

fn render(answer: &Answer) -> String {
    if answer.servers.is_empty() {
        return format!(
            "{} lists no such server; a registry looks for the longest word in names\n",
            printable(&answer.registry)
        );
    }
    let mut table = Table::new(&["NAME", "VERSION", "FROM", "DESCRIPTION"]);
    for one in &answer.servers {
        let about = if one.deprecated { "(deprecated) " } else { "" };
        table.row([
            one.name.clone(),
            one.version.clone(),
            one.kinds.join(", "),
            format!("{about}{}", one.description),
        ]);
    }
    let mut text = table.render();
    if answer.more {
        text.push_str("there are more; see --limit\n");
    }
    text.push_str("install one with `legation mcp install NAME`\n");
    text
}

/// The registry that is named, or that of the settings.
pub(super) fn open(context: &Context, named: Option<&str>) -> Result<Registry, CliError> {
    let settings = settings_to_connect(context)?;
    let url = named.or(settings.registry_url.as_deref()).ok_or_else(|| {
        CliError::new(Exit::Usage, "no registry is configured; nobody was asked")
            .with_hint("name one with --registry URL, or set `registry.url` in legation.toml")
    })?;
    Registry::new(url, proxies(context)).map_err(|error| failed(&error))
}

/// The proxies that the environment names.
pub(super) fn proxies(context: &Context) -> Proxies {
    Proxies::of_environment(|name| context.environment.get(name))
}

/// Waits for an answer.
pub(super) fn run<T>(
    asking: impl Future<Output = Result<T, RegistryError>>,
) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::failed(&error))?;
    let answer = runtime.block_on(asking);
    // A name that is being looked up is not waited for.
    runtime.shutdown_background();
    answer.map_err(|error| failed(&error))
}

/// A registry's failure; what it says of itself may hold words of others.
pub(super) fn failed(error: &RegistryError) -> CliError {
    let exit = match error {
        RegistryError::Fetch(_) | RegistryError::Download(_) | RegistryError::Status { .. } => {
            Exit::NotReachable
        }
        RegistryError::Address { .. }
        | RegistryError::Name { .. }
        | RegistryError::NoHash
        | RegistryError::Unanswered { .. } => Exit::Usage,
        RegistryError::Unknown { .. }
        | RegistryError::Unreadable { .. }
        | RegistryError::Another { .. }
        | RegistryError::Endless { .. } => Exit::Failed,
        RegistryError::Hash { .. } => Exit::Refused,
    };
    let message = format!("{}; nothing was installed", chain(error));
    CliError::new(exit, printable(&message)).with_hint(error.hint())
}

// === impl Listed ===

impl Listed {
    fn from_found(found: Found) -> Self {
        Self {
            name: found.name,
            version: found.version,
            title: found.title,
            description: found.description,
            deprecated: found.is_deprecated,
            kinds: found.kinds,
        }
    }
}
