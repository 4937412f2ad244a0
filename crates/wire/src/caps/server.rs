//! What a server offers.

use super::{
    DIRECTORY_READ, EVENTS, EVENTS_EXTENSION, SKILLS_EXTENSION, TASKS_EXTENSION, flag,
    has_extension, put, put_events, put_skills, put_tasks_extension, put_tasks_legacy,
};
use crate::json::{Object, Raw};
use crate::revision::Revision;

/// Capabilities of a server. The default is a server that offers nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerCapabilities {
    /// As declared; vendor capabilities and other extensions pass from here.
    pub raw: Object,
    /// Offers tools.
    pub tools: bool,
    /// Says when the list of tools changes.
    pub tools_list_changed: bool,
    /// Offers resources.
    pub resources: bool,
    /// Says when a resource changes.
    pub resources_subscribe: bool,
    /// Says when the list of resources changes.
    pub resources_list_changed: bool,
    /// Offers prompts.
    pub prompts: bool,
    /// Says when the list of prompts changes.
    pub prompts_list_changed: bool,
    /// Sends log messages.
    pub logging: bool,
    /// Completes arguments. A server of 2024-11-05 cannot declare this, so one with prompts or
    /// resources counts as doing so.
    pub completions: bool,
    /// The experimental tasks capability (2025-11-25), as declared.
    pub tasks_legacy: Option<Raw>,
    /// Answers with tasks (2026-07-28, tasks extension).
    pub tasks_ext: bool,
    /// Serves skills (skills extension, which revisions before 2025-11-25 do not have). Their
    /// files are resources, so a server without those has none.
    pub skills: bool,
    /// Lists what is in a directory of them (`directoryRead`).
    pub skill_directories: bool,
    /// Non-standard capabilities, as declared.
    pub experimental: Option<Raw>,
}

// === impl ServerCapabilities ===

impl ServerCapabilities {
    /// Reads a declaration made under `revision`. What is not an object declares nothing.
    pub fn from_raw(raw: &Raw, revision: Revision) -> Self {
        let raw = raw.to_object().unwrap_or_default();
        let (tools, resources, prompts) =
            (raw.get("tools"), raw.get("resources"), raw.get("prompts"));
        let skills = raw
            .get("extensions")
            .and_then(|map| map.get(SKILLS_EXTENSION));
        let skills = skills.filter(|_| revision >= Revision::V2025_11_25 && resources.is_some());
        let undeclared =
            revision < Revision::V2025_03_26 && (resources.is_some() || prompts.is_some());
        Self {
            tools: tools.is_some(),
            tools_list_changed: flag(tools, "listChanged"),
            resources: resources.is_some(),
            resources_subscribe: flag(resources, "subscribe"),
            resources_list_changed: flag(resources, "listChanged"),
            prompts: prompts.is_some(),
            prompts_list_changed: flag(prompts, "listChanged"),
            logging: raw.contains("logging"),
            completions: raw.contains("completions") || undeclared,
            tasks_legacy: raw
                .get("tasks")
                .filter(|_| revision == Revision::V2025_11_25)
                .cloned(),
            tasks_ext: revision.is_modern() && has_extension(&raw, TASKS_EXTENSION),
            skills: skills.is_some(),
            skill_directories: flag(skills.as_ref(), DIRECTORY_READ),
            experimental: raw.get("experimental").cloned(),
            raw,
        }
    }

    /// The declaration for a client of `revision`.
    pub fn to_raw(&self, revision: Revision) -> Raw {
        let mut object = self.raw.clone();
        if let Some(experimental) = &self.experimental {
            object.set("experimental", experimental.clone());
        } else {
            object.remove("experimental");
        }
        put(&mut object, "logging", self.logging, &[]);
        put(
            &mut object,
            "completions",
            self.completions && revision >= Revision::V2025_03_26,
            &[],
        );
        put(
            &mut object,
            "prompts",
            self.prompts,
            &[("listChanged", self.prompts_list_changed)],
        );
        let resources = [
            ("subscribe", self.resources_subscribe),
            ("listChanged", self.resources_list_changed),
        ];
        put(&mut object, "resources", self.resources, &resources);
        put(
            &mut object,
            "tools",
            self.tools,
            &[("listChanged", self.tools_list_changed)],
        );
        let tasks = self
            .tasks_legacy
            .as_ref()
            .filter(|_| revision == Revision::V2025_11_25);
        put_tasks_legacy(&mut object, tasks);
        put_tasks_extension(&mut object, self.tasks_ext && revision.is_modern());
        let skills = self.skills && revision >= Revision::V2025_11_25;
        put_skills(&mut object, skills, self.skill_directories);
        object.to_raw()
    }

    /// Whether it offers events (2026-07-28, events extension), in either spelling.
    pub fn events(&self) -> bool {
        has_extension(&self.raw, EVENTS_EXTENSION) || self.raw.contains(EVENTS)
    }

    /// Declares events in both spellings, or in none whatever was declared before.
    pub fn set_events(&mut self, on: bool) {
        let declared = on.then(|| Object::new().with("listChanged", Raw::bool(true)).to_raw());
        put_events(&mut self.raw, declared);
    }

    /// Whether tools of this server can be called as tasks of 2025-11-25.
    pub fn legacy_tool_tasks(&self) -> bool {
        let requests = self
            .tasks_legacy
            .as_ref()
            .and_then(|tasks| tasks.get("requests"));
        requests
            .and_then(|requests| requests.get("tools"))
            .and_then(|tools| tools.get("call"))
            .is_some()
    }
}
