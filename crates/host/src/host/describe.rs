//! What an endpoint says of itself.

use legation_core::{Caller, ServerName};
use legation_gate::{Description, Endpoint, Unresolved};
use legation_wire::caps::ServerCapabilities;
use legation_wire::json::{Object, Raw};

use super::Inner;
use crate::glob;

/// Longest instructions of several servers together, in bytes: clients cut
/// what is longer.
const INSTRUCTIONS_MAX: usize = 2_048;
/// Longest part of one server's in them, in bytes.
const PART_MAX: usize = 400;

/// The capability of 2025-11-25 that stands for tools called as tasks.
const LEGACY_TASKS: &str = r#"{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}"#;

impl Inner {
    /// The capabilities and instructions of an endpoint.
    pub(super) fn description(
        &self,
        caller: &Caller,
        endpoint: &Endpoint,
    ) -> Result<Description, Unresolved> {
        let servers = self.servers(caller, endpoint)?;
        let one = matches!(endpoint, Endpoint::Server(_));
        let included = &self.common.settings.discovery.instructions;
        let mut told = Vec::new();
        let mut offered = Vec::new();
        for server in &servers {
            let Some(shown) = server.shown(caller) else {
                continue;
            };
            let about = &shown.definitions.about;
            offered.push(ServerCapabilities::from_raw(
                &about.capabilities.to_raw(),
                about.revision,
            ));
            if let Some(text) = &about.instructions
                && shown.pinned.shows_instructions()
                && (one || glob::any(included, server.spec.name.as_str()))
            {
                told.push((server.spec.name.to_string(), text.clone()));
            }
        }
        let capabilities = match offered.pop() {
            Some(only) if one => of_one(only),
            last => of_many(offered.iter().chain(last.as_ref())),
        };
        let instructions = match told.pop() {
            Some((_, only)) if one => Some(only),
            None => None,
            Some(last) => {
                told.push(last);
                Some(join(&told))
            }
        };
        Ok(Description {
            capabilities,
            instructions,
        })
    }

    /// What every server a caller sees says of itself and may be passed on.
    pub(super) fn instructions(&self, caller: &Caller) -> Vec<(ServerName, String)> {
        let roster = self.roster.load();
        roster
            .visible(caller)
            .filter_map(|server| {
                let shown = server.shown(caller)?;
                let text = shown.definitions.about.instructions.clone()?;
                let passes = shown.pinned.shows_instructions();
                passes.then(|| (server.spec.name.clone(), text))
            })
            .collect()
    }
}

/// One server's own capabilities, but that the hub always tells of changes.
/// Extensions the hub does not know are left out: it could not carry them.
fn of_one(server: ServerCapabilities) -> ServerCapabilities {
    let mut raw = Object::new();
    if let Some(experimental) = &server.experimental {
        raw.set("experimental", experimental.clone());
    }
    let mut one = ServerCapabilities {
        tools_list_changed: server.tools,
        resources_list_changed: server.resources,
        prompts_list_changed: server.prompts,
        raw,
        ..server
    };
    set_tasks(&mut one);
    one
}

/// The capabilities of several servers, of which more may come at any time.
fn of_many<'a>(servers: impl Iterator<Item = &'a ServerCapabilities>) -> ServerCapabilities {
    let mut many = ServerCapabilities {
        tools: true,
        tools_list_changed: true,
        resources: true,
        resources_subscribe: true,
        resources_list_changed: true,
        prompts: true,
        prompts_list_changed: true,
        logging: true,
        completions: true,
        ..ServerCapabilities::default()
    };
    for server in servers {
        many.tasks_ext |= server.tasks_ext || server.legacy_tool_tasks();
        many.skills |= server.skills;
        many.skill_directories |= server.skill_directories;
    }
    set_tasks(&mut many);
    many
}

/// Tasks of either shape are shown in both.
fn set_tasks(capabilities: &mut ServerCapabilities) {
    let any = capabilities.tasks_ext || capabilities.legacy_tool_tasks();
    capabilities.tasks_ext = any;
    capabilities.tasks_legacy = any.then(|| Raw::from_static(LEGACY_TASKS));
}

fn join(told: &[(String, String)]) -> String {
    let mut text = "Names begin with the server they belong to. The servers say:".to_owned();
    for (server, instructions) in told {
        let first = instructions.split("\n\n").next().unwrap_or_default();
        let part = format!("\n\n[{server}] {}", cut(first.trim(), PART_MAX));
        if text.len() + part.len() > INSTRUCTIONS_MAX {
            break;
        }
        text.push_str(&part);
    }
    text
}

fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let mut end = max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}
