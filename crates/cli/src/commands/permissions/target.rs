//! What a call is about, as the files and what was seen describe it.

use legation_config::servers::{ServerSpec, Source};
use legation_core::ServerName;
use legation_policy::governance::native_tools;
use legation_policy::{Origin, PinState, Target, Verb};

use crate::commands::mcp;
use crate::seen::{self, Seen};
use crate::{CliError, Context, Exit};

/// What is known of servers and tools.
pub(super) struct Targets {
    servers: Vec<ServerSpec>,
    pub(super) seen: Seen,
}

/// A target, and whether anybody ever saw its definition.
pub(super) struct Described {
    pub(super) target: Target,
    pub(super) seen: bool,
}

// === impl Targets ===

impl Targets {
    pub(super) fn read(context: &Context) -> Self {
        Self {
            servers: mcp::configured(context).servers,
            seen: Seen::read(context),
        }
    }

    /// A tool by its name as rules write it.
    ///
    /// # Errors
    /// When there is no such server.
    pub(super) fn named(&self, call: &str) -> Result<Described, CliError> {
        let wrong = || {
            let message = format!("{call:?} is not of the form server/tool");
            CliError::new(Exit::Usage, message)
        };
        let (server, item) = call.split_once('/').ok_or_else(wrong)?;
        let server = ServerName::parse(server).map_err(|error| CliError::usage(&error))?;
        if item.is_empty() {
            return Err(wrong());
        }
        let configured = self.servers.iter().any(|spec| spec.name == server);
        let builtin = native_tools()
            .into_iter()
            .any(|tool| tool.server == server.as_str());
        if !configured && !builtin {
            let message = format!("there is no server {server}");
            return Err(CliError::new(Exit::Usage, message)
                .with_hint("`legation mcp list` shows the servers"));
        }
        Ok(self.describe(server, Verb::CallTool, item))
    }

    /// Whatever was called, whether its server is still configured or not.
    pub(super) fn describe(&self, server: ServerName, verb: Verb, item: &str) -> Described {
        let spec = self.servers.iter().find(|spec| spec.name == server);
        let tool = spec
            .filter(|_| verb == Verb::CallTool)
            .and_then(|spec| self.seen.tool(spec, item));
        let origin = match spec.map(|spec| &spec.source) {
            None => Origin::Builtin,
            Some(Source::Workspace { folder, .. }) => {
                Origin::Workspace(folder.display().to_string().into())
            }
            Some(Source::Plugin { folder, .. }) => {
                Origin::Workspace(folder.display().to_string().into())
            }
            Some(Source::Additional { .. }) => Origin::Additional,
            Some(
                Source::Builtin
                | Source::Default { .. }
                | Source::User { .. }
                | Source::Agent { .. },
            ) => Origin::User,
        };
        let native = seen::native(server.as_str(), item);
        Described {
            seen: tool.is_some() || spec.is_none() || self.seen.unasked.is_some(),
            target: Target {
                verb,
                item: item.into(),
                definition: None,
                read_only_hint: tool.is_some_and(|tool| tool.read_only_hint),
                trusted: spec.is_none_or(|spec| spec.trusted),
                origin,
                entity: spec.and_then(|spec| spec.entity.clone()),
                pin: tool.map_or(PinState::Approved, |tool| tool.pin),
                native: native.filter(|_| spec.is_none()),
                fingerprint: spec.map(|spec| crate::governance::fingerprint(&spec.transport)),
                server,
            },
        }
    }
}
