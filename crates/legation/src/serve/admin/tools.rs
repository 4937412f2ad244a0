//! `mcp.tools` and `mcp.call`: the owner as a client, through the gate.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_api::mcp::{Call, CallAnswer, Tool, Tools, ToolsAnswer};
use legation_config::clients::OWNER;
use legation_core::{Caller, Cancel, ClientId, OpContext, Principal, SeatId, Via};
use legation_gate::{Ask, Endpoint, Item, ListKind, Outcome, Peer, Refusal, Request, TaskWish};
use legation_wire::caps::ClientCapabilities;
use legation_wire::codes;
use legation_wire::json::{Limits, Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::revision::Revision;

use super::failed;
use super::servers::no_server;
use crate::serve::hub::Inner;

/// A person at a command line: nothing can be asked of it during a call.
#[derive(Debug, Default)]
struct CommandLine(ClientCapabilities);

pub(crate) fn list(hub: &Inner, request: &Tools) -> Result<ToolsAnswer, ErrorObject> {
    let context = context(request.workspace.as_deref());
    if let Some(name) = &request.server {
        // A name that is wrong is told apart from a server without tools.
        hub.host.logs(name, 0).map_err(|error| no_server(&error))?;
    }
    // The owner sees what the rules keep from every client, too: who writes
    // rules needs the names.
    let listing = hub
        .gate
        .servers()
        .listing(&context.caller, &Endpoint::All, ListKind::Tools)
        .map_err(|error| Refusal::from(error).to_error())?;
    let wanted = |server: &str| {
        request
            .server
            .as_deref()
            .is_none_or(|wanted| wanted == server)
    };
    let tools = listing
        .entries
        .iter()
        .filter(|entry| wanted(entry.server.as_str()))
        .filter_map(|entry| {
            Some(Tool {
                name: entry.raw.get("name")?.to_str()?.into_owned(),
                server: entry.server.to_string(),
                tool: entry.item.to_string(),
                definition: entry.raw.deserialize().ok()?,
            })
        })
        .collect();
    Ok(ToolsAnswer { tools })
}

pub(crate) async fn call(hub: &Inner, request: Call) -> Result<CallAnswer, ErrorObject> {
    let context = context(request.workspace.as_deref());
    let arguments = Raw::parse(request.arguments.get().to_owned().into(), &Limits::CLIENT)
        .map_err(|error| {
            ErrorObject::new(
                codes::INVALID_PARAMS,
                &format!("the arguments are no JSON object: {error}; nothing was called"),
            )
        })?;
    let mut params = Object::new();
    params.set("name", Raw::str(&request.name));
    params.set("arguments", arguments);
    let request = Request {
        endpoint: Endpoint::All,
        item: Item::Tool(request.name.into()),
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

fn context(workspace: Option<&str>) -> OpContext {
    let principal = Principal {
        client: ClientId::new(OWNER),
        via: Via::Admin,
    };
    let caller = Caller {
        principal,
        seat: SeatId::new("admin"),
        workspace: workspace.map(|folder| Arc::from(Path::new(folder))),
    };
    OpContext::new(caller, Cancel::new())
}

// === impl CommandLine ===

impl Peer for CommandLine {
    fn revision(&self) -> Revision {
        Revision::V2025_11_25
    }

    fn capabilities(&self) -> &ClientCapabilities {
        &self.0
    }

    fn client_info(&self) -> Option<Raw> {
        None
    }

    fn takes_input_required(&self) -> bool {
        false
    }

    fn log_level(&self) -> Option<Box<str>> {
        None
    }

    fn wants_progress(&self) -> bool {
        false
    }

    fn progress(&self, _params: Object) {}

    fn log(&self, _params: Raw) {}

    fn ask(&self, ask: Ask) -> BoxFuture<'static, Result<Raw, ErrorObject>> {
        let message = format!("{} cannot be answered at a command line", ask.method);
        Box::pin(std::future::ready(Err(ErrorObject::new(
            codes::METHOD_NOT_FOUND,
            &message,
        ))))
    }
}
