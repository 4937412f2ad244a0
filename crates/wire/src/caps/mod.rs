//! Capabilities of clients and servers, read from and written for any revision.
//!
//! Each type keeps what its peer declared and a flag per capability that the hub acts on.
//! Writing starts from the declaration, so vendor capabilities pass; members that the target
//! revision spells differently, or whose flag was changed, are rewritten.

mod client;
mod server;

#[cfg(test)]
mod tests;

pub use self::client::ClientCapabilities;
pub use self::server::ServerCapabilities;
use crate::json::{Object, Raw};

/// Identifier of the tasks extension (2026-07-28).
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Whether a capability's member is `true`.
fn flag(capability: Option<&Raw>, member: &str) -> bool {
    capability
        .and_then(|raw| raw.get(member))
        .and_then(|raw| raw.to_bool())
        .unwrap_or(false)
}

/// Makes a capability present or absent, and its boolean members say what the flags say.
fn put(object: &mut Object, name: &str, present: bool, members: &[(&str, bool)]) {
    if !present {
        object.remove(name);
        return;
    }
    let mut capability = object
        .get(name)
        .and_then(Raw::to_object)
        .unwrap_or_default();
    for (member, on) in members {
        match (on, flag(object.get(name), member)) {
            (true, false) => capability.set(member, Raw::bool(true)),
            (false, true) => drop(capability.remove(member)),
            _ => {}
        }
    }
    object.set(name, capability.to_raw());
}

/// Whether an extension is declared.
fn has_extension(object: &Object, name: &str) -> bool {
    object
        .get("extensions")
        .and_then(|map| map.get(name))
        .is_some()
}

/// Declares the tasks extension, or not; other extensions stay.
fn put_tasks_extension(object: &mut Object, on: bool) {
    if on == has_extension(object, TASKS_EXTENSION) {
        return;
    }
    let mut map = object
        .get("extensions")
        .and_then(Raw::to_object)
        .unwrap_or_default();
    if on {
        map.set(TASKS_EXTENSION, Raw::empty_object());
    } else {
        map.remove(TASKS_EXTENSION);
    }
    if map.is_empty() {
        object.remove("extensions");
    } else {
        object.set("extensions", map.to_raw());
    }
}

/// Writes the experimental tasks capability, which one revision has.
fn put_tasks_legacy(object: &mut Object, tasks: Option<&Raw>) {
    match tasks {
        Some(tasks) => object.set("tasks", tasks.clone()),
        None => drop(object.remove("tasks")),
    }
}
