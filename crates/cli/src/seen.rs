//! Which tools were ever seen, and what was decided about their definitions.
//!
//! A running hub says it; without one its store does, so that a rule about a
//! tool can be checked while the tool's server, or the hub, is away.

use legation_api::mcp::{Review, Tools};
use legation_config::servers::{ServerSpec, Source};
use legation_core::ServerName;
use legation_policy::governance::native_tools;
use legation_policy::{KnownTool, NativeTool, PinState};
use legation_store::{PinRow, Reader};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::commands::audit::source::under_lock;
use crate::commands::{hub, mcp, workspace};
use crate::{CliError, Context};

/// The kind under which the store and the hub keep tools.
const TOOL: &str = "tool";

/// Every tool that was seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    tools: Vec<SeenTool>,
    /// Why nobody could be asked, where that is so.
    pub(crate) unasked: Option<CliError>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct SeenTool {
    server: ServerName,
    /// The folder that its server belongs to.
    folder: Option<String>,
    item: Box<str>,
    /// The JSON text of its `inputSchema`.
    schema: Option<Box<str>>,
    pub(crate) read_only_hint: bool,
    pub(crate) pin: PinState,
}

/// As much of a definition as matters here.
#[derive(Deserialize)]
struct Definition<'d> {
    #[serde(borrow, rename = "inputSchema")]
    schema: Option<&'d RawValue>,
    #[serde(default)]
    annotations: Annotations,
}

#[derive(Default, Deserialize)]
struct Annotations {
    #[serde(default, rename = "readOnlyHint")]
    read_only_hint: bool,
}

// === impl Seen ===

impl Seen {
    /// Asks the hub, or its store where none runs.
    pub(crate) fn read(context: &Context) -> Self {
        let read = match hub(context) {
            Ok(Some(client)) => of_hub(client),
            Ok(None) => of_store(context),
            Err(error) => Err(error),
        };
        match read {
            Ok(tools) => Self {
                tools,
                unasked: None,
            },
            Err(error) => Self {
                tools: Vec::new(),
                unasked: Some(error),
            },
        }
    }

    /// What rules may speak of: the servers that are configured, whether they
    /// are connected or not, the hub's own tools, and all that was ever seen.
    pub(crate) fn known(&self, context: &Context) -> Vec<KnownTool> {
        let servers = mcp::configured(context).servers;
        let trusted = |name: &ServerName| {
            let spec = servers.iter().find(|spec| spec.name == *name);
            spec.is_some_and(|spec| spec.trusted)
        };
        let configured = servers
            .iter()
            .map(|spec| KnownTool::server_only(spec.name.clone(), spec.trusted));
        let seen = self.tools.iter().map(|tool| KnownTool {
            item: Some(tool.item.clone()),
            schema: tool.schema.clone(),
            native: native(tool.server.as_str(), &tool.item),
            ..KnownTool::server_only(tool.server.clone(), trusted(&tool.server))
        });
        configured.chain(seen).collect()
    }

    /// A tool of a configured server.
    pub(crate) fn tool(&self, spec: &ServerSpec, item: &str) -> Option<&SeenTool> {
        let folder = match &spec.source {
            Source::Workspace { folder, .. } => Some(folder.display().to_string()),
            Source::Builtin
            | Source::Default { .. }
            | Source::User { .. }
            | Source::Plugin { .. }
            | Source::Additional { .. }
            | Source::Agent { .. } => None,
        };
        self.tools
            .iter()
            .find(|tool| tool.server == spec.name && *tool.item == *item && tool.folder == folder)
    }
}

/// What the program knows of a tool of its own.
pub(crate) fn native(server: &str, item: &str) -> Option<NativeTool> {
    let found = native_tools()
        .into_iter()
        .find(|tool| tool.server == server && tool.tool == item);
    found.map(|tool| NativeTool {
        changes: tool.native_change,
        // None of the servers that this build has leaves drafts.
        drafts: false,
    })
}

/// What a hub lists for its owner, and what waits to be looked at.
fn of_hub(mut client: legation_api::AdminClient) -> Result<Vec<SeenTool>, CliError> {
    let listed = client.call(&Tools {
        server: None,
        workspace: workspace(),
    })?;
    let waiting = client.call(&Review { server: None })?.waiting;
    let mut tools: Vec<SeenTool> = waiting
        .iter()
        .filter(|one| one.kind == TOOL)
        .filter_map(|one| SeenTool::of(&one.server, &one.item, &one.now, pin(&one.state)))
        .collect();
    for tool in &listed.tools {
        let waits = tools
            .iter()
            .any(|one| one.server.as_str() == tool.server && *one.item == *tool.tool);
        if !waits {
            let definition = tool.definition.get();
            tools.extend(SeenTool::of(
                &tool.server,
                &tool.tool,
                definition,
                PinState::Approved,
            ));
        }
    }
    Ok(tools)
}

fn of_store(context: &Context) -> Result<Vec<SeenTool>, CliError> {
    let Some((reader, _lock)) = under_lock(context, Reader::open, Reader::connect)? else {
        return Ok(Vec::new());
    };
    let rows = reader
        .pin_list()
        .map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
    let tools = rows.iter().filter(|row| row.kind == TOOL);
    Ok(tools.filter_map(SeenTool::of_row).collect())
}

fn pin(state: &str) -> PinState {
    match state {
        "new" => PinState::New,
        "changed" => PinState::Changed,
        "approved" => PinState::Approved,
        _ => PinState::Quarantined,
    }
}

// === impl SeenTool ===

impl SeenTool {
    fn of_row(row: &PinRow) -> Option<Self> {
        let definition = std::str::from_utf8(&row.definition).ok()?;
        Self::of(&row.server, &row.item, definition, pin(row.state.as_str()))
    }

    /// `server` has `@` and a folder where it belongs to one.
    fn of(server: &str, item: &str, definition: &str, pin: PinState) -> Option<Self> {
        let (name, folder) = match server.split_once("@/") {
            Some((name, folder)) => (name, Some(format!("/{folder}"))),
            None => (server, None),
        };
        let read = serde_json::from_str::<Definition<'_>>(definition).ok();
        Some(Self {
            server: ServerName::parse(name).ok()?,
            folder,
            item: item.into(),
            schema: read
                .as_ref()
                .and_then(|read| read.schema)
                .map(|schema| schema.get().into()),
            read_only_hint: read.is_some_and(|read| read.annotations.read_only_hint),
            pin,
        })
    }
}
