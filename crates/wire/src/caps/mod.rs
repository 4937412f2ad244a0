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
use crate::json::{Kind, Object, Raw};

/// Identifier of the tasks extension (2026-07-28).
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// Identifier of the events extension (2026-07-28, SEP-3415).
pub const EVENTS_EXTENSION: &str = "io.modelcontextprotocol/events";
/// Identifier of the skills extension (SEP-2640).
pub const SKILLS_EXTENSION: &str = "io.modelcontextprotocol/skills";
/// Its setting that says that directories can be read.
const DIRECTORY_READ: &str = "directoryRead";
/// How the events extension was spelled in its draft; some clients read no other.
const EVENTS: &str = "events";

/// Whether a capability's member is `true`.
fn flag(capability: Option<&Raw>, member: &str) -> bool {
    capability
        .and_then(|raw| raw.get(member))
        .and_then(|raw| raw.to_bool())
        .unwrap_or(false)
}

/// Makes a capability present or absent, and its boolean members say what the flags say. What
/// already says so is left as it was declared.
fn put(object: &mut Object, name: &str, present: bool, members: &[(&str, bool)]) {
    if !present {
        object.remove(name);
        return;
    }
    let declared = object.get(name);
    let right = declared.is_some_and(|raw| raw.kind() == Kind::Object);
    if right
        && members
            .iter()
            .all(|(member, on)| flag(declared, member) == *on)
    {
        return;
    }
    let mut capability = declared.and_then(Raw::to_object).unwrap_or_default();
    for (member, on) in members {
        if *on {
            capability.set(member, Raw::bool(true));
        } else {
            capability.remove(member);
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
    if on != has_extension(object, TASKS_EXTENSION) {
        put_extension(object, TASKS_EXTENSION, on.then(Raw::empty_object));
    }
}

/// Declares the events extension in both spellings, or in none.
fn put_events(object: &mut Object, declared: Option<Raw>) {
    match &declared {
        Some(declared) => object.set(EVENTS, declared.clone()),
        None => drop(object.remove(EVENTS)),
    }
    if declared.is_some() || has_extension(object, EVENTS_EXTENSION) {
        put_extension(object, EVENTS_EXTENSION, declared);
    }
}

/// Declares the skills extension with or without directories, or not at all.
fn put_skills(object: &mut Object, on: bool, directories: bool) {
    let extensions = object.get("extensions");
    let declared = extensions.and_then(|map| map.get(SKILLS_EXTENSION));
    if !on {
        if declared.is_some() {
            put_extension(object, SKILLS_EXTENSION, None);
        }
        return;
    }
    let mut settings = Object::new();
    if let Some(declared) = declared {
        settings.set(SKILLS_EXTENSION, declared);
    }
    put(
        &mut settings,
        SKILLS_EXTENSION,
        true,
        &[(DIRECTORY_READ, directories)],
    );
    put_extension(
        object,
        SKILLS_EXTENSION,
        settings.get(SKILLS_EXTENSION).cloned(),
    );
}

fn put_extension(object: &mut Object, name: &str, declared: Option<Raw>) {
    let map = object.get("extensions").and_then(Raw::to_object);
    let mut map = map.unwrap_or_default();
    match declared {
        Some(declared) => map.set(name, declared),
        None => drop(map.remove(name)),
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
