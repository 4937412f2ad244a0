//! `mcp.tools` and `mcp.call`: the owner as a client, through the gate.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_api::mcp::{Call, CallAnswer, Tool, Tools, ToolsAnswer};
use legation_config::Source;
use legation_config::clients::OWNER;
use legation_core::{Caller, Cancel, ClientId, OpContext, Principal, SeatId, Via};
use legation_gate::policy::Origin;
use legation_gate::{
    Ask, Endpoint, Entry, Item, ListKind, Outcome, Peer, Refusal, Request, TaskWish,
};
use legation_wire::caps::ClientCapabilities;
use legation_wire::codes;
use legation_wire::json::{Limits, Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::revision::Revision;

use super::failed;
use super::servers::{folder, no_server};
use crate::serve::hub::Inner;

/// Where the owner sits at a command line.
const SEAT: &str = "admin";

/// A person at a command line: nothing can be asked of it during a call.
#[derive(Debug, Default)]
struct CommandLine(ClientCapabilities);

pub(crate) fn list(hub: &Inner, request: &Tools) -> Result<ToolsAnswer, ErrorObject> {
    let mut tools: Vec<(Box<str>, Tool)> = Vec::new();
    let folders: Vec<Arc<Path>> = hub.host.folders().borrow().iter().cloned().collect();
    let here = folder(request.workspace.as_deref()).map(Arc::from);
    let elsewhere = folders.into_iter().map(|folder| (Some(folder), true));
    for (workspace, is_elsewhere) in std::iter::once((here, false)).chain(elsewhere) {
        // The owner sees what the rules keep from every client, too: who writes
        // rules needs the names.
        let listing = hub
            .gate
            .servers()
            .listing(&caller(workspace), &Endpoint::All, ListKind::Tools)
            .map_err(|error| Refusal::from(error).to_error())?;
        for entry in &listing.entries {
            let own = matches!(entry.origin, Origin::Workspace(_));
            let server = label(entry);
            let known =
                |(label, tool): &(Box<str>, Tool)| **label == *server && *tool.tool == *entry.item;
            if (is_elsewhere && !own) || tools.iter().any(known) {
                continue;
            }
            tools.extend(tool(entry, &server).map(|tool| (server, tool)));
        }
    }
    if let Some(name) = &request.server {
        let meant = hub
            .host
            .status_named(name, folder(request.workspace.as_deref()));
        let label = match meant {
            Ok(status) => status.spec.label(),
            // The hub's own servers are none of the host's.
            Err(_) if tools.iter().any(|(label, _)| **label == **name) => name.as_str().into(),
            // A name that is wrong is told apart from a server without tools.
            Err(error) => return Err(no_server(&error)),
        };
        tools.retain(|(of, _)| *of == label);
    }
    let tools = tools.into_iter().map(|(_, tool)| tool).collect();
    Ok(ToolsAnswer { tools })
}

fn tool(entry: &Entry, server: &str) -> Option<Tool> {
    Some(Tool {
        name: entry.raw.get("name")?.to_str()?.into_owned(),
        server: server.to_owned(),
        tool: entry.item.to_string(),
        definition: entry.raw.deserialize().ok()?,
    })
}

/// As [`legation_config::ServerSpec::label`].
fn label(entry: &Entry) -> Box<str> {
    match &entry.origin {
        Origin::Workspace(folder) => format!("{}@{folder}", entry.server).into(),
        Origin::User | Origin::Additional | Origin::Builtin => entry.server.as_str().into(),
    }
}

/// A tool of a server that is named with its folder: the name it has there, and the folder.
fn in_its_folder(hub: &Inner, name: &str) -> Option<(String, Arc<Path>)> {
    hub.host.specs().iter().find_map(|spec| {
        let Source::Workspace { folder, .. } = &spec.source else {
            return None;
        };
        let tool = name.strip_prefix(&*spec.label())?.strip_prefix('/')?;
        Some((format!("{}/{tool}", spec.name), Arc::from(&**folder)))
    })
}

pub(crate) async fn call(hub: &Inner, request: Call) -> Result<CallAnswer, ErrorObject> {
    call_from(hub, request, SeatId::new(SEAT)).await
}

/// The same from a seat of the hub's own.
pub(super) async fn call_from(
    hub: &Inner,
    request: Call,
    seat: SeatId,
) -> Result<CallAnswer, ErrorObject> {
    let (name, workspace) = match in_its_folder(hub, &request.name) {
        Some((name, folder)) => (name, Some(folder)),
        None => {
            let here = folder(request.workspace.as_deref());
            (request.name, here.map(Arc::from))
        }
    };
    let caller = Caller {
        seat,
        ..caller(workspace)
    };
    let context = OpContext::new(caller, Cancel::new());
    let arguments = Raw::parse(request.arguments.get().to_owned().into(), &Limits::CLIENT)
        .map_err(|error| {
            ErrorObject::new(
                codes::INVALID_PARAMS,
                &format!("the arguments are no JSON object: {error}; nothing was called"),
            )
        })?;
    let mut params = Object::new();
    params.set("name", Raw::str(&name));
    params.set("arguments", arguments);
    let request = Request {
        endpoint: Endpoint::All,
        item: Item::Tool(name.into()),
        params,
        retry: None,
        task: TaskWish::Never,
        peer: Arc::new(CommandLine::default()),
    };
    let outcome = hub
        .gate
        .call(&context, request)
        .await
        .map_err(|refusal| refusal.to_error())?;
    match outcome {
        Outcome::Complete(result) => {
            let result = result
                .deserialize()
                .map_err(|error| failed(&error.to_string(), None))?;
            Ok(CallAnswer { result })
        }
        Outcome::Error(error) => Err(error),
        Outcome::Failed(failure) => Err(failed(&failure.to_string(), Some(failure.hint()))),
        Outcome::InputRequired(_) | Outcome::Task(_) => Err(failed(
            "the tool wants something that a command line cannot give",
            Some("call it from an agent".to_owned()),
        )),
    }
}

pub(in crate::serve) fn caller(workspace: Option<Arc<Path>>) -> Caller {
    let principal = Principal {
        client: ClientId::new(OWNER),
        via: Via::Admin,
    };
    Caller {
        principal,
        seat: SeatId::new(SEAT),
        workspace,
    }
}

// === impl CommandLine ===

impl Peer for CommandLine {
    fn revision(&self) -> Revision {
        Revision::V2025_11_25
    }

    fn capabilities(&self) -> &ClientCapabilities {
        &self.0
    }

    fn ask(&self, ask: Ask) -> BoxFuture<'static, Result<Raw, ErrorObject>> {
        let message = format!("{} cannot be answered at a command line", ask.method);
        Box::pin(std::future::ready(Err(ErrorObject::new(
            codes::METHOD_NOT_FOUND,
            &message,
        ))))
    }
}
