//! The catalogue as one client sees it.

use legation_core::{EntityId, ServerName};
use legation_policy::governance::Fingerprint;
use legation_policy::{NativeTool, Origin, Verb};
use legation_wire::caps::ServerCapabilities;
use legation_wire::json::Raw;

/// The lists of the protocol and of the skills extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ListKind {
    /// `tools/list`.
    Tools,
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    Templates,
    /// `prompts/list`.
    Prompts,
    /// `skills/list` (SEP-2640).
    Skills,
}

/// One list, in the order clients see it.
#[derive(Debug)]
pub struct Listing {
    /// Differs whenever the content does; unique in one run of the hub.
    pub version: u64,
    /// What it holds.
    pub entries: Vec<Entry>,
}

/// One tool, resource, template, prompt or skill.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Whose it is.
    pub server: ServerName,
    /// The server's own name, URI or URI template for it.
    pub item: Box<str>,
    /// The definition as the server sent it, but for the name.
    pub raw: Raw,
    /// Whether the owner reviewed the server.
    pub trusted: bool,
    /// Where the server is configured.
    pub origin: Origin,
    /// `annotations.readOnlyHint` of a tool.
    pub read_only_hint: bool,
    /// Whose data the server holds, where its configuration says so.
    pub entity: Option<EntityId>,
    /// What the program knows of it, for a tool of its own.
    pub native: Option<NativeTool>,
    /// What the server is started with or reached at.
    pub fingerprint: Option<Fingerprint>,
}

/// What an endpoint says of itself in `initialize` and `server/discover`.
#[derive(Debug, Clone)]
pub struct Description {
    /// What the servers behind it can do, together.
    pub capabilities: ServerCapabilities,
    /// What they want the model to know.
    pub instructions: Option<String>,
}

// === impl ListKind ===

impl ListKind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Tools,
        Self::Resources,
        Self::Templates,
        Self::Prompts,
        Self::Skills,
    ];

    /// The method that reads it.
    #[must_use]
    pub fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
            Self::Prompts => "prompts/list",
            Self::Skills => "skills/list",
        }
    }

    /// The member of the result that holds the entries.
    #[must_use]
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Prompts => "prompts",
            Self::Skills => "skills",
        }
    }

    /// The act that an entry of it stands for.
    #[must_use]
    pub fn verb(self) -> Verb {
        match self {
            Self::Tools => Verb::CallTool,
            Self::Resources | Self::Templates | Self::Skills => Verb::ReadResource,
            Self::Prompts => Verb::GetPrompt,
        }
    }
}
