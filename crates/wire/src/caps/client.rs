//! What a client can do for servers.

use super::{TASKS_EXTENSION, flag, has_extension, put, put_tasks_extension, put_tasks_legacy};
use crate::json::{Object, Raw};
use crate::revision::Revision;

/// Capabilities of a client. The default is a client that can do nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientCapabilities {
    /// As declared; vendor capabilities, `experimental` and `extensions` pass from here.
    pub raw: Object,
    /// Answers `roots/list`.
    pub roots: bool,
    /// Says when its roots change (up to 2025-11-25).
    pub roots_list_changed: bool,
    /// Answers `sampling/createMessage`.
    pub sampling: bool,
    /// Lets a person fill in a form (from 2025-06-18).
    pub elicitation_form: bool,
    /// Shows a person a URL to open (from 2025-11-25).
    pub elicitation_url: bool,
    /// The experimental tasks capability (2025-11-25), as declared.
    pub tasks_legacy: Option<Raw>,
    /// Understands results that are tasks (2026-07-28, tasks extension).
    pub tasks_ext: bool,
}

// === impl ClientCapabilities ===

impl ClientCapabilities {
    /// Whether these are those capabilities but for tasks: none of the handshake era, and of the
    /// modern one as said.
    pub fn is_of(&self, declared: &Self, tasks_ext: bool) -> bool {
        let flags = |caps: &Self| {
            (
                caps.roots,
                caps.roots_list_changed,
                caps.sampling,
                caps.elicitation_form,
                caps.elicitation_url,
            )
        };
        self.tasks_ext == tasks_ext
            && self.tasks_legacy.is_none()
            && flags(self) == flags(declared)
            && self.raw == declared.raw
    }

    /// Reads a declaration made under `revision`. What is not an object declares nothing.
    pub fn from_raw(raw: &Raw, revision: Revision) -> Self {
        let raw = raw.to_object().unwrap_or_default();
        let elicitation = raw
            .get("elicitation")
            .filter(|_| revision >= Revision::V2025_06_18);
        let url = elicitation.is_some_and(|raw| raw.get("url").is_some())
            && revision >= Revision::V2025_11_25;
        // An empty declaration means forms, as it did before there was anything else.
        let form = elicitation.is_some_and(|raw| raw.get("form").is_some())
            || (elicitation.is_some() && !url);
        Self {
            roots: raw.contains("roots"),
            roots_list_changed: !revision.is_modern() && flag(raw.get("roots"), "listChanged"),
            sampling: raw.contains("sampling"),
            elicitation_form: form,
            elicitation_url: url,
            tasks_legacy: raw
                .get("tasks")
                .filter(|_| revision == Revision::V2025_11_25)
                .cloned(),
            tasks_ext: revision.is_modern() && has_extension(&raw, TASKS_EXTENSION),
            raw,
        }
    }

    /// The declaration for a server of `revision`.
    pub fn to_raw(&self, revision: Revision) -> Raw {
        let mut object = self.raw.clone();
        let list_changed = self.roots_list_changed && !revision.is_modern();
        put(
            &mut object,
            "roots",
            self.roots,
            &[("listChanged", list_changed)],
        );
        put(&mut object, "sampling", self.sampling, &[]);
        self.put_elicitation(&mut object, revision);
        let tasks = self
            .tasks_legacy
            .as_ref()
            .filter(|_| revision == Revision::V2025_11_25);
        put_tasks_legacy(&mut object, tasks);
        put_tasks_extension(&mut object, self.tasks_ext && revision.is_modern());
        object.to_raw()
    }

    fn put_elicitation(&self, object: &mut Object, revision: Revision) {
        let url = self.elicitation_url && revision >= Revision::V2025_11_25;
        let form = self.elicitation_form && revision >= Revision::V2025_06_18;
        if !form && !url {
            object.remove("elicitation");
            return;
        }
        if revision < Revision::V2025_11_25 {
            object.set("elicitation", Raw::empty_object());
            return;
        }
        let mut modes = object
            .get("elicitation")
            .and_then(Raw::to_object)
            .unwrap_or_default();
        // An empty declaration stays one: servers of every revision read it as forms.
        let implicit = modes.is_empty() && !url;
        for (mode, on) in [("form", form), ("url", url)] {
            match (on, modes.contains(mode)) {
                (true, false) if !implicit => modes.set(mode, Raw::empty_object()),
                (false, true) => drop(modes.remove(mode)),
                _ => {}
            }
        }
        object.set("elicitation", modes.to_raw());
    }

    /// Whether nothing is declared that lets a server ask the client something.
    pub fn answers_nothing(&self) -> bool {
        !(self.roots || self.sampling || self.elicitation_form || self.elicitation_url)
    }

    /// Whether a request of this method (and elicitation mode) may be sent to the client.
    pub fn allows(&self, method: &str, url_mode: bool) -> bool {
        match method {
            "roots/list" => self.roots,
            "sampling/createMessage" => self.sampling,
            "elicitation/create" if url_mode => self.elicitation_url,
            "elicitation/create" => self.elicitation_form,
            _ => false,
        }
    }
}
