//! The lists of native servers, made once.

use std::sync::Arc;

use legation_core::ServerName;
use legation_gate::policy::{
    DefinitionHash, KnownTool, NativeTool, Origin, PinState, Target, Verb,
};
use legation_gate::{Entry, ListKind, definition_hash};
use legation_wire::json::Raw;

use crate::native::READS;
use crate::natives::Fit;
use crate::{Native, Tool, audit, delegate, desk, hub, identity, inbox, teams, workspace};

/// A native server with everything that is asked of it often.
#[derive(Debug)]
pub(crate) struct Shelf {
    pub(crate) native: Arc<dyn Native>,
    pub(crate) name: ServerName,
    /// Under the server's own names.
    pub(crate) own: Vec<Entry>,
    /// Under flat names.
    pub(crate) flat: Vec<Entry>,
    pub(crate) resources: Vec<Entry>,
    pub(crate) templates: Vec<Entry>,
    /// Under the server's own names.
    pub(crate) prompts: Vec<Entry>,
    flat_prompts: Vec<Entry>,
    hashes: Vec<DefinitionHash>,
    /// What its tools take and answer, in their order.
    pub(crate) fits: Vec<Arc<Fit>>,
    /// Whether any of its tools may answer with a task.
    pub(crate) takes_tasks: bool,
}

// === impl Shelf ===

impl Shelf {
    pub(crate) fn new(native: Arc<dyn Native>, name: ServerName) -> Self {
        let entry = |item: &str, raw: Raw, reads: bool, native: NativeTool| Entry {
            server: name.clone(),
            item: item.into(),
            raw,
            trusted: true,
            origin: Origin::Builtin,
            read_only_hint: reads,
            entity: None,
            native: Some(native),
            fingerprint: None,
        };
        let tools = native.tools();
        let own: Vec<Entry> = tools
            .iter()
            .map(|tool| {
                let definition = tool.definition(
                    tool.name,
                    native.output(tool.name),
                    native.takes_tasks(tool.name),
                );
                entry(tool.name, definition, tool.reads, tool.facts)
            })
            .collect();
        let flat = tools
            .iter()
            .map(|tool| {
                let flat = flat_name(&name, tool.name);
                let definition = tool.definition(
                    &flat,
                    native.output(tool.name),
                    native.takes_tasks(tool.name),
                );
                entry(tool.name, definition, tool.reads, tool.facts)
            })
            .collect();
        let resources = native
            .resources()
            .iter()
            .map(|resource| entry(resource.uri, resource.definition(), true, READS))
            .collect();
        let templates = native
            .templates()
            .iter()
            .map(|template| entry(template.uri_template, template.definition(), true, READS))
            .collect();
        let prompts = native.prompts();
        let flat_prompts = prompts
            .iter()
            .map(|prompt| {
                let flat = flat_name(&name, prompt.name);
                entry(prompt.name, prompt.definition(&flat), true, READS)
            })
            .collect();
        let prompts = prompts
            .iter()
            .map(|prompt| entry(prompt.name, prompt.definition(prompt.name), true, READS))
            .collect();
        let hashes = own
            .iter()
            .map(|entry| definition_hash(&entry.raw))
            .collect();
        let fits = tools.iter().map(|tool| Fit::of(&*native, tool)).collect();
        let takes_tasks = tools.iter().any(|tool| native.takes_tasks(tool.name));
        Self {
            native,
            name,
            own,
            flat,
            resources,
            templates,
            prompts,
            flat_prompts,
            hashes,
            fits,
            takes_tasks,
        }
    }

    /// One list, under flat or own names.
    pub(crate) fn list(&self, kind: ListKind, flat: bool) -> &[Entry] {
        match kind {
            ListKind::Tools if flat => &self.flat,
            ListKind::Tools => &self.own,
            ListKind::Resources => &self.resources,
            ListKind::Templates => &self.templates,
            ListKind::Prompts if flat => &self.flat_prompts,
            ListKind::Prompts => &self.prompts,
            ListKind::Skills => &[],
        }
    }

    /// The target of a tool by its own name.
    pub(crate) fn tool(&self, name: &str) -> Option<Target> {
        let at = self.own.iter().position(|entry| *entry.item == *name)?;
        let entry = &self.own[at];
        Some(self.target(Verb::CallTool, entry, self.hashes.get(at).copied()))
    }

    /// The target of a task of its own.
    pub(crate) fn task(&self, task: crate::OwnTask) -> Option<Target> {
        let mut target = self.tool(task.tool)?;
        target.verb = Verb::TaskUpdate;
        target.entity = task.entity;
        Some(target)
    }

    /// The target of a tool by its flat name.
    pub(crate) fn flat_tool(&self, flat: &str) -> Option<Target> {
        self.tool(self.own_name(flat)?)
    }

    /// The target of a prompt by its own name.
    pub(crate) fn prompt(&self, name: &str) -> Option<Target> {
        let entry = self.prompts.iter().find(|entry| *entry.item == *name)?;
        Some(self.target(Verb::GetPrompt, entry, None))
    }

    /// The target of a prompt by its flat name.
    pub(crate) fn flat_prompt(&self, flat: &str) -> Option<Target> {
        self.prompt(self.own_name(flat)?)
    }

    /// Whether a URI is of one of its templates.
    pub(crate) fn is_member(&self, uri: &str) -> bool {
        let fixed = self.resources.iter().any(|entry| *entry.item == *uri);
        let mut templates = self.native.templates().iter();
        !fixed && templates.any(|template| uri.starts_with(template.prefix))
    }

    fn own_name<'f>(&self, flat: &'f str) -> Option<&'f str> {
        let rest = flat.strip_prefix(self.name.as_str())?;
        rest.strip_prefix(['-', '/'])
    }

    /// The target of a resource.
    pub(crate) fn resource(&self, uri: &str) -> Option<Target> {
        if let Some(entry) = self.resources.iter().find(|entry| *entry.item == *uri) {
            return Some(self.target(Verb::ReadResource, entry, None));
        }
        let of = |template: &crate::Template| uri.strip_prefix(template.prefix);
        let mut templates = self.native.templates().iter().zip(&self.templates);
        let (_, entry) =
            templates.find(|(template, _)| of(template).is_some_and(|rest| !rest.is_empty()))?;
        Some(Target {
            item: uri.into(),
            ..self.target(Verb::ReadResource, entry, None)
        })
    }

    fn target(&self, verb: Verb, entry: &Entry, definition: Option<DefinitionHash>) -> Target {
        Target {
            server: self.name.clone(),
            verb,
            item: entry.item.clone(),
            definition,
            read_only_hint: entry.read_only_hint,
            trusted: true,
            origin: Origin::Builtin,
            entity: None,
            pin: PinState::Approved,
            native: entry.native,
            fingerprint: None,
        }
    }
}

/// Every tool that lives in the hub, for rules to speak of.
#[must_use]
pub fn known_tools() -> Vec<KnownTool> {
    let of = |server: &str, tools: &'static [Tool]| {
        let server = ServerName::parse(server).ok();
        let known = move |tool: &'static Tool| {
            Some(KnownTool {
                item: Some(tool.name.into()),
                schema: Some(tool.input.into()),
                native: Some(tool.facts),
                ..KnownTool::server_only(server.clone()?, true)
            })
        };
        tools.iter().filter_map(known)
    };
    let hub = of(hub::NAME, hub::TOOLS);
    hub.chain(of(audit::NAME, audit::TOOLS))
        .chain(of(identity::NAME, identity::TOOLS))
        .chain(of(teams::NAME, teams::TOOLS))
        .chain(of(inbox::NAME, inbox::TOOLS))
        .chain(of(delegate::NAME, delegate::TOOLS))
        .chain(of(workspace::NAME, workspace::TOOLS))
        .chain(of(desk::NAME, desk::TOOLS))
        .collect()
}

fn flat_name(server: &ServerName, tool: &str) -> String {
    format!("{server}-{tool}")
}
