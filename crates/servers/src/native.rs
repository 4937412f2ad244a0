//! What a server in the hub is made of.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_core::{Caller, ClientId, EntityId, OpContext, TaskHandle};
use legation_engine::Turns;
use legation_gate::policy::NativeTool;
use legation_gate::{Outcome, Peer, TaskVerb, TaskWish, Unresolved};
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use serde::Serialize;

/// A server that lives in the hub. What it offers never changes while it runs.
pub trait Native: Send + Sync + fmt::Debug {
    /// Its name; no configured server may have it.
    fn name(&self) -> &'static str;

    /// What it wants models to know.
    fn instructions(&self) -> Option<&'static str> {
        None
    }

    /// Its tools.
    fn tools(&self) -> &[Tool];

    /// Its resources.
    fn resources(&self) -> &[Resource] {
        &[]
    }

    /// Its families of resources, each with the resources whose URIs begin so.
    fn templates(&self) -> &[Template] {
        &[]
    }

    /// Its prompts.
    fn prompts(&self) -> &[Prompt] {
        &[]
    }

    /// Whether it says by itself when its resources change, and logs.
    fn announces(&self) -> bool {
        false
    }

    /// Whether it is in lists that show several servers. Whoever names it alone
    /// finds it anyway.
    fn is_listed_for(&self, caller: &Caller) -> bool {
        let _everybody = caller;
        true
    }

    /// Whose data a call concerns; asked before anything is decided, with what
    /// the caller wrote.
    ///
    /// # Errors
    /// What the call named is not there or cannot be used.
    fn entity(&self, tool: &str, arguments: &Object) -> Result<Option<EntityId>, Unresolved> {
        let _nobody = (tool, arguments);
        Ok(None)
    }

    /// Who of it wants to know when the turns of delegated tasks begin and end, and may stop them.
    fn turns(&self) -> Option<Arc<dyn Turns>> {
        None
    }

    /// To whom a call sends something, where its arguments do not say so: an
    /// address, or whatever else names them.
    fn recipient(&self, tool: &str, arguments: &Object) -> Option<Box<str>> {
        let _nobody = (tool, arguments);
        None
    }

    /// Calls a tool of [`Native::tools`] with an object of arguments. `peer` is
    /// the client, which can be asked and shown progress. Where `wish` allows it a
    /// tool that [`Native::takes_tasks`] may answer [`Outcome::Task`], with `taskId`,
    /// `status`, `createdAt`, `lastUpdatedAt`, `ttlMs` and `pollIntervalMs`.
    fn call(
        &self,
        context: OpContext,
        tool: &'static str,
        arguments: Object,
        wish: TaskWish,
        peer: Arc<dyn Peer>,
    ) -> BoxFuture<'static, Outcome>;

    /// JSON Schema of the structured content that a tool answers with, if it says.
    fn output(&self, tool: &str) -> Option<&'static str> {
        let _none = tool;
        None
    }

    /// Whether a tool may answer with a task.
    fn takes_tasks(&self, tool: &str) -> bool {
        let _none = tool;
        false
    }

    /// What is known of a task before anything is decided about it; `None` where it
    /// is none of its own, or another client's.
    fn owns(&self, caller: &Caller, handle: &TaskHandle) -> Option<OwnTask> {
        let _none = (caller, handle);
        None
    }

    /// The handles of a caller's tasks, oldest first.
    fn tasks(&self, caller: &Caller) -> Vec<TaskHandle> {
        let _none = caller;
        Vec::new()
    }

    /// Reads, answers or cancels a task that it [`Native::owns`]. `Get` completes with
    /// the task in the extension's shape, and its `inputRequests`, `result` or `error`;
    /// the others with an empty object.
    fn task(
        &self,
        context: OpContext,
        handle: TaskHandle,
        verb: TaskVerb,
        peer: Arc<dyn Peer>,
    ) -> BoxFuture<'static, Outcome> {
        let _none = (context, verb, peer);
        Box::pin(std::future::ready(no_task(&handle)))
    }

    /// Reads a resource of [`Native::resources`].
    fn read(&self, context: OpContext, uri: &'static str) -> BoxFuture<'static, Outcome>;

    /// Whose data a resource of [`Native::templates`] is, or that there is none; asked
    /// before anything is decided.
    fn member_entity(&self, uri: &str) -> BoxFuture<'static, Result<Option<EntityId>, Unresolved>> {
        Box::pin(std::future::ready(Err(no_resource(uri))))
    }

    /// Reads a resource of [`Native::templates`].
    fn read_member(&self, context: OpContext, uri: &str) -> BoxFuture<'static, Outcome> {
        let (_nobody, error) = (context, no_resource(uri));
        let error = ErrorObject::new(codes::INVALID_PARAMS, &error.to_string());
        Box::pin(std::future::ready(Outcome::Error(error)))
    }
}

/// A task of a native server's, as it is decided about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnTask {
    /// The tool that was called.
    pub tool: &'static str,
    /// Whose data it brings.
    pub entity: Option<EntityId>,
}

/// Tells a client that one of its tasks moved on.
pub trait TaskNews: Send + Sync + fmt::Debug {
    /// `task` has the extension's shape, under the handle that the client has.
    fn moved(&self, client: &ClientId, task: Object);
}

/// There is no task with that handle.
pub(crate) fn no_task(handle: &TaskHandle) -> Outcome {
    let message = format!("there is no task {handle}");
    Outcome::Error(ErrorObject::new(codes::INVALID_PARAMS, &message))
}

/// There is no resource of that address.
pub(crate) fn no_resource(uri: &str) -> Unresolved {
    Unresolved::Unknown {
        what: "resource",
        name: uri.into(),
    }
}

/// One tool.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// Its plain name.
    pub name: &'static str,
    /// What people read.
    pub title: &'static str,
    /// What models read.
    pub description: &'static str,
    /// JSON Schema of its arguments.
    pub input: &'static str,
    /// Whether it changes nothing.
    pub reads: bool,
    /// What rules know of it. `call_tool` neither reads nor changes: what it
    /// does is decided as the call it stands for.
    pub facts: NativeTool,
}

/// Tools that can leave nothing of what was there, which the protocol calls
/// destructive; all others of the hub's own only add.
const OVERWRITES: [&str; 3] = ["write_file", "edit", "bash"];

/// The facts of a tool that leaves everything as it is.
pub(crate) const READS: NativeTool = NativeTool {
    changes: false,
    drafts: false,
};

/// One resource.
#[derive(Debug, Clone, Copy)]
pub struct Resource {
    /// Its URI.
    pub uri: &'static str,
    /// Its plain name.
    pub name: &'static str,
    /// What it holds.
    pub description: &'static str,
    /// The type of its content.
    pub mime_type: &'static str,
}

/// A family of resources.
#[derive(Debug, Clone, Copy)]
pub struct Template {
    /// URI template (RFC 6570) with one variable at its end.
    pub uri_template: &'static str,
    /// What the URIs of its resources begin with.
    pub prefix: &'static str,
    /// Its plain name.
    pub name: &'static str,
    /// What its resources hold.
    pub description: &'static str,
    /// The type of their content.
    pub mime_type: &'static str,
}

/// One prompt, without arguments.
#[derive(Debug, Clone, Copy)]
pub struct Prompt {
    /// Its plain name.
    pub name: &'static str,
    /// What people read.
    pub title: &'static str,
    /// What it is for.
    pub description: &'static str,
    /// What it says to the model.
    pub text: &'static str,
}

// === impl Tool ===

impl Tool {
    /// Its definition, under a name of the endpoint's.
    pub(crate) fn definition(
        &self,
        name: &str,
        output: Option<&'static str>,
        takes_tasks: bool,
    ) -> Raw {
        let annotations = Object::new()
            .with("readOnlyHint", Raw::bool(self.reads))
            .with(
                "destructiveHint",
                Raw::bool(OVERWRITES.contains(&self.name)),
            )
            .with("openWorldHint", Raw::bool(false));
        let mut definition = Object::new()
            .with("name", Raw::str(name))
            .with("title", Raw::str(self.title))
            .with("description", Raw::str(self.description))
            .with("inputSchema", Raw::from_static(self.input))
            .with("annotations", annotations.to_raw());
        if let Some(output) = output {
            definition.set("outputSchema", Raw::from_static(output));
        }
        if takes_tasks {
            // Without it a client of 2025-11-25 may not ask for a task.
            let execution = Raw::from_static(r#"{"taskSupport":"optional"}"#);
            definition.set("execution", execution);
        }
        definition.to_raw()
    }
}

// === impl Resource ===

impl Resource {
    /// Its definition.
    pub(crate) fn definition(&self) -> Raw {
        Object::new()
            .with("uri", Raw::str(self.uri))
            .with("name", Raw::str(self.name))
            .with("description", Raw::str(self.description))
            .with("mimeType", Raw::str(self.mime_type))
            .to_raw()
    }
}

// === impl Template ===

impl Template {
    /// Its definition.
    pub(crate) fn definition(&self) -> Raw {
        Object::new()
            .with("uriTemplate", Raw::str(self.uri_template))
            .with("name", Raw::str(self.name))
            .with("description", Raw::str(self.description))
            .with("mimeType", Raw::str(self.mime_type))
            .to_raw()
    }
}

// === impl Prompt ===

impl Prompt {
    /// Its definition, under a name of the endpoint's.
    pub(crate) fn definition(&self, name: &str) -> Raw {
        Object::new()
            .with("name", Raw::str(name))
            .with("title", Raw::str(self.title))
            .with("description", Raw::str(self.description))
            .to_raw()
    }

    /// What `prompts/get` answers.
    pub(crate) fn result(&self) -> Outcome {
        let content = Object::new()
            .with("type", Raw::str("text"))
            .with("text", Raw::str(self.text))
            .to_raw();
        let message = Object::new()
            .with("role", Raw::str("user"))
            .with("content", content)
            .to_raw();
        let result = Object::new()
            .with("description", Raw::str(self.description))
            .with("messages", Raw::array([&message]));
        Outcome::Complete(result.to_raw())
    }
}

/// A result with structure, and the same as text for models.
#[must_use]
pub fn json_result<T: Serialize>(value: &T) -> Outcome {
    let structured = Raw::from_serialize(value);
    let result = Object::new()
        .with("content", content(structured.as_text()))
        .with("structuredContent", structured);
    Outcome::Complete(result.to_raw())
}

/// A tool's own error: what was not done, and what to do next.
#[must_use]
pub fn failed(message: &str) -> Outcome {
    let result = Object::new()
        .with("content", content(message))
        .with("isError", Raw::bool(true));
    Outcome::Complete(result.to_raw())
}

/// The content of a resource.
#[must_use]
pub fn resource_result<T: Serialize>(uri: &str, value: &T) -> Outcome {
    let text = Raw::from_serialize(value);
    let contents = Object::new()
        .with("uri", Raw::str(uri))
        .with("mimeType", Raw::str("application/json"))
        .with("text", Raw::str(text.as_text()))
        .to_raw();
    let result = Object::new().with("contents", Raw::array([&contents]));
    Outcome::Complete(result.to_raw())
}

fn content(text: &str) -> Raw {
    let block = Object::new()
        .with("type", Raw::str("text"))
        .with("text", Raw::str(text))
        .to_raw();
    Raw::array([&block])
}
