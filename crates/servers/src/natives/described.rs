//! What endpoints say of native servers.

use legation_gate::Description;
use legation_wire::caps::ServerCapabilities;
use legation_wire::json::{Object, Raw};

use crate::catalogue::Shelf;

/// The tasks capability of 2025-11-25, for tools.
const LEGACY_TASKS: &str = r#"{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}"#;

/// One native server, at an endpoint of its own.
pub(super) fn alone(shelf: &Shelf) -> Description {
    let native = shelf.native.as_ref();
    let mut raw = Object::new();
    if !native.tools().is_empty() {
        raw.set("tools", Raw::empty_object());
    }
    if !native.resources().is_empty() {
        let subscribe = Object::new().with("subscribe", Raw::bool(native.announces()));
        raw.set("resources", subscribe.to_raw());
    }
    if native.announces() {
        raw.set("logging", Raw::empty_object());
    }
    if !native.prompts().is_empty() {
        raw.set("prompts", Raw::empty_object());
    }
    let mut capabilities = ServerCapabilities {
        tools: !native.tools().is_empty(),
        resources: !native.resources().is_empty(),
        prompts: !native.prompts().is_empty(),
        resources_subscribe: native.announces(),
        logging: native.announces(),
        raw,
        ..ServerCapabilities::default()
    };
    add_tasks(&mut capabilities, shelf);
    Description {
        capabilities,
        instructions: native.instructions().map(str::to_owned),
    }
}

/// One native server among others.
pub(super) fn join(theirs: &mut Description, shelf: &Shelf) {
    let capabilities = &mut theirs.capabilities;
    capabilities.tools |= !shelf.own.is_empty();
    capabilities.resources |= !shelf.resources.is_empty();
    capabilities.prompts |= !shelf.prompts.is_empty();
    capabilities.resources_subscribe |= shelf.native.announces();
    capabilities.logging |= shelf.native.announces();
    add_tasks(capabilities, shelf);
    let Some(text) = shelf.native.instructions() else {
        return;
    };
    let part = format!("[{}] {text}", shelf.name);
    theirs.instructions = Some(match theirs.instructions.take() {
        Some(before) => format!("{before}\n\n{part}"),
        None => part,
    });
}

/// Tasks are shown in both shapes.
fn add_tasks(capabilities: &mut ServerCapabilities, shelf: &Shelf) {
    if !shelf.takes_tasks {
        return;
    }
    capabilities.tasks_ext = true;
    if !capabilities.legacy_tool_tasks() {
        capabilities.tasks_legacy = Some(Raw::from_static(LEGACY_TASKS));
    }
}
