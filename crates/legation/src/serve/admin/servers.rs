//! `mcp.list`, `mcp.show`, `mcp.logs`, `mcp.enable`, `mcp.disable`, `mcp.reload`.

use std::path::Path;
use std::sync::Arc;

use legation_api::Done;
use legation_api::mcp::{ListAnswer, Logs, LogsAnswer, Problem, Server, Show, ShowAnswer};
use legation_config::{ServerSpec, Source};
use legation_host::{NoServer, ServerStatus, State};
use legation_wire::message::ErrorObject;

use super::{failed, missing};
use crate::serve::hub::Inner;
use crate::serve::reload::everything;

/// How many lines of a server's log `mcp.show` gives.
const SHOWN_LINES: usize = 20;

pub(crate) fn list(hub: &Inner) -> ListAnswer {
    ListAnswer {
        servers: hub
            .host
            .status()
            .iter()
            .map(|one| server(hub, one))
            .collect(),
        problems: hub.host.problems().iter().map(problem).collect(),
    }
}

pub(crate) fn show(hub: &Inner, request: &Show) -> Result<ShowAnswer, ErrorObject> {
    let folder = folder(request.workspace.as_deref());
    let found = hub.host.status_named(&request.name, folder);
    let found = found.map_err(|error| {
        let problems = hub.host.problems();
        let problem = problems
            .into_iter()
            .find(|problem| problem.server.as_deref() == Some(request.name.as_str()));
        match (problem, &error) {
            (Some(problem), NoServer::Unknown { name }) => {
                missing(&format!("{name}: {}", problem.message), Some(problem.hint))
            }
            _ => no_server(&error),
        }
    })?;
    let log = hub
        .host
        .logs(&request.name, folder, SHOWN_LINES)
        .map_err(|error| no_server(&error))?;
    Ok(ShowAnswer {
        server: server(hub, &found),
        log,
    })
}

/// The folder a command was given in.
pub(crate) fn folder(workspace: Option<&str>) -> Option<&Path> {
    workspace.map(Path::new)
}

pub(crate) fn logs(hub: &Inner, request: &Logs) -> Result<LogsAnswer, ErrorObject> {
    let lines = hub
        .host
        .logs(
            &request.name,
            folder(request.workspace.as_deref()),
            request.lines,
        )
        .map_err(|error| no_server(&error))?;
    Ok(LogsAnswer { lines })
}

pub(crate) async fn switch(
    hub: &Inner,
    name: &str,
    workspace: Option<&str>,
    on: bool,
) -> Result<Done, ErrorObject> {
    hub.host
        .switch(name, folder(workspace), on)
        .await
        .map_err(|error| no_server(&error))?;
    Ok(Done {})
}

/// One server, or every file and every server that has failed.
pub(crate) async fn reload(
    hub: &Arc<Inner>,
    name: Option<&str>,
    workspace: Option<&str>,
) -> Result<Done, ErrorObject> {
    match name {
        Some(name) => hub
            .host
            .reload(name, folder(workspace))
            .await
            .map_err(|error| no_server(&error))?,
        None => {
            everything(hub).await;
            hub.host.reload_all().await;
        }
    }
    Ok(Done {})
}

pub(crate) fn no_server(error: &NoServer) -> ErrorObject {
    let (what, hint) = (error.to_string(), Some(error.hint().to_owned()));
    match error {
        NoServer::Unknown { .. } => missing(&what, hint),
        NoServer::Ambiguous { .. } => failed(&what, hint),
    }
}

fn server(hub: &Inner, status: &ServerStatus) -> Server {
    let (reason, hint) = match &status.state {
        State::Failed(reason) => (
            Some(reason.clone()),
            Some(format!(
                "`legation mcp show {}` shows the end of its log",
                status.spec.label()
            )),
        ),
        State::NeedsAuth => {
            let why = status.spec.waits_for_token();
            let why = why.unwrap_or("it wants its user to sign in");
            (Some(why.to_owned()), status.hint())
        }
        State::Starting | State::Connected => (None, status.hint()),
        State::Filtered(reason) => (Some(reason.clone()), status.hint()),
        State::Disabled => {
            let because = status.spec.off_because.as_deref().map(str::to_owned);
            let hint = because.as_ref().and_then(|_| status.hint());
            (because, hint)
        }
    };
    let spec = &status.spec;
    Server {
        name: status.name.to_string(),
        label: spec.label().into(),
        display_name: spec.display_name.as_ref().map(ToString::to_string),
        status: status.state.as_str().to_owned(),
        reason,
        hint,
        source: spec.source.to_string(),
        source_kind: spec.source.as_str().to_owned(),
        plugin: plugin(&spec.source),
        hides: hides(hub, spec),
        transport: spec.transport.as_str().to_owned(),
        target: spec.transport.shown(),
        headers_helper: spec.transport.headers_helper().map(str::to_owned),
        instance: spec.instance.as_str().to_owned(),
        revision: status.revision.map(|revision| revision.as_str().to_owned()),
        server_info: status
            .server_info
            .as_deref()
            .and_then(|text| serde_json::from_str(text).ok()),
        pid: status.pid,
        instances: status.instances,
        calls: status.calls,
        restarts: u64::from(status.restarts),
        tools: status.tools,
        resources: status.resources,
        templates: status.templates,
        prompts: status.prompts,
        skills: status.skills,
        sandbox: status.sandbox.as_ref().map(legation_cli::walls),
        warnings: status.warnings.clone(),
    }
}

fn plugin(source: &Source) -> Option<String> {
    match source {
        Source::Plugin { plugin, .. } => Some(plugin.to_string()),
        Source::Builtin
        | Source::Default { .. }
        | Source::User { .. }
        | Source::Workspace { .. }
        | Source::Additional { .. }
        | Source::Agent { .. } => None,
    }
}

/// Entries that are left out, and servers that this one stands before where both are seen.
fn hides(hub: &Inner, spec: &ServerSpec) -> Vec<String> {
    let mut hides = hub.aside.hidden_by(spec);
    let rank = spec.source.rank();
    let others = hub.host.specs().into_iter();
    let weaker = others.filter(|other| other.name == spec.name && other.source.rank() < rank);
    hides.extend(weaker.map(|other| other.source.to_string()));
    hides
}

fn problem(problem: &legation_config::Problem) -> Problem {
    Problem {
        source: problem.source.to_string(),
        server: problem.server.as_ref().map(ToString::to_string),
        message: problem.message.clone(),
        hint: problem.hint.clone(),
    }
}
