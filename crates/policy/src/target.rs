//! What a decision is about: one verb on one item of one server.

use std::fmt;

use legation_core::id::{EntityId, ServerName};

use crate::governance::{ALL, Fingerprint};

/// What a client wants done. The words are MCP's own method names, so that a
/// rule file can be read next to the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// `tools/call`.
    CallTool,
    /// `resources/read`, and `resources/subscribe`, which reads repeatedly.
    ReadResource,
    /// `prompts/get`.
    GetPrompt,
    /// `completion/complete`.
    Complete,
    /// `tasks/update`: input handed to a running task.
    TaskUpdate,
    /// `tasks/cancel`.
    TaskCancel,
    /// `sampling/createMessage`: the server asks for the client's model. A
    /// kind of its own: no rule reaches it that does not name it, unless the
    /// rule refuses.
    Sample,
}

/// What is known of the definition that would be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PinState {
    /// The definition is the one that was pinned, or there is none to pin.
    #[default]
    Approved,
    /// Nobody has looked at it yet.
    New,
    /// It is not what was pinned.
    Changed,
    /// A check or a person set it aside.
    Quarantined,
}

/// What the program knows of a tool of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NativeTool {
    /// It changes something outside the hub's own records.
    pub changes: bool,
    /// It can leave a draft instead of doing the thing.
    pub drafts: bool,
}

/// SHA-256 of a tool's, prompt's or resource's definition as it was pinned.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DefinitionHash(pub [u8; 32]);

/// Where the server's configuration came from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The owner's own `mcp.json`.
    User,
    /// A workspace file; the text is the folder it belongs to.
    Workspace(Box<str>),
    /// Named on the command line for this run.
    Additional,
    /// A server that lives in this process.
    Builtin,
}

/// The whole subject of a decision, owned, because a [`crate::Permitted`]
/// carries it to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The server that would be called.
    pub server: ServerName,
    /// What would be done.
    pub verb: Verb,
    /// The upstream's own tool name, resource URI or prompt name.
    pub item: Box<str>,
    /// The definition the caller saw, where there is one.
    pub definition: Option<DefinitionHash>,
    /// The upstream's `annotations.readOnlyHint`, `false` when absent. It is
    /// the server's claim; only a rule turns it into a fact.
    pub read_only_hint: bool,
    /// Whether the owner reviewed the server.
    pub trusted: bool,
    /// Where the server's configuration came from.
    pub origin: Origin,
    /// Whose data the server holds, where its configuration says so.
    pub entity: Option<EntityId>,
    /// What is known of the definition.
    pub pin: PinState,
    /// What the program knows of it, for a tool of its own.
    pub native: Option<NativeTool>,
    /// What the server is started with or reached at; `None` for a server of
    /// the hub's own, and where it is not known, which no allow-list allows.
    pub fingerprint: Option<Fingerprint>,
}

/// The parts of a [`Target`] that rules read, borrowed, so that filtering a
/// list of thousands of tools allocates nothing.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The server that would be called.
    pub server: &'a ServerName,
    /// What would be done.
    pub verb: Verb,
    /// The upstream's own tool name, resource URI or prompt name.
    pub item: &'a str,
    /// The upstream's `annotations.readOnlyHint`.
    pub read_only_hint: bool,
    /// Whether the owner reviewed the server.
    pub trusted: bool,
    /// Where the server's configuration came from.
    pub origin: &'a Origin,
    /// Whose data the server holds.
    pub entity: Option<&'a EntityId>,
    /// What is known of the definition.
    pub pin: PinState,
    /// What the program knows of a tool of its own.
    pub native: Option<NativeTool>,
    /// What the server is started with or reached at.
    pub fingerprint: Option<Fingerprint>,
}

// === impl Verb ===

impl Verb {
    /// Every verb, in the order of the enum.
    pub const ALL: [Self; 7] = [
        Self::CallTool,
        Self::ReadResource,
        Self::GetPrompt,
        Self::Complete,
        Self::TaskUpdate,
        Self::TaskCancel,
        Self::Sample,
    ];

    /// The MCP method this verb stands for.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CallTool => "tools/call",
            Self::ReadResource => "resources/read",
            Self::GetPrompt => "prompts/get",
            Self::Complete => "completion/complete",
            Self::TaskUpdate => "tasks/update",
            Self::TaskCancel => "tasks/cancel",
            Self::Sample => "sampling/createMessage",
        }
    }

    /// The verb whose [`Verb::as_str`] is `text`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.as_str() == text)
    }

    /// What a person calls it, to be followed by the item.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::CallTool => "calling the tool",
            Self::ReadResource => "reading the resource",
            Self::GetPrompt => "getting the prompt",
            Self::Complete => "completing an argument of",
            Self::TaskUpdate => "answering the task of",
            Self::TaskCancel => "cancelling the task of",
            Self::Sample => "using the client's model for",
        }
    }

    /// One bit per verb, for a rule's set of verbs.
    pub(crate) fn bit(self) -> u8 {
        match self {
            Self::CallTool => 1,
            Self::ReadResource => 1 << 1,
            Self::GetPrompt => 1 << 2,
            Self::Complete => 1 << 3,
            Self::TaskUpdate => 1 << 4,
            Self::TaskCancel => 1 << 5,
            Self::Sample => 1 << 6,
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl DefinitionHash ===

impl fmt::Display for DefinitionHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for DefinitionHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DefinitionHash({self})")
    }
}

// === impl Origin ===

impl Origin {
    /// The word a rule file uses for this origin.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Workspace(_) => "workspace",
            Self::Additional => "additional",
            Self::Builtin => "builtin",
        }
    }
}

// === impl Target ===

impl Target {
    /// What rules know of it beside its names, as words: where it is configured,
    /// then `trusted`, `read_only`, `all` where it is about every entity, and the
    /// state of its definition, where they are so. [`Target::set_traits`] reads them back.
    pub fn traits(&self) -> impl Iterator<Item = &'static str> {
        let pin = match self.pin {
            PinState::Approved => None,
            PinState::New => Some("new"),
            PinState::Changed => Some("changed"),
            PinState::Quarantined => Some("quarantined"),
        };
        [
            Some(self.origin.as_str()),
            self.trusted.then_some("trusted"),
            self.read_only_hint.then_some("read_only"),
            self.is_of_all().then_some("all"),
            pin,
        ]
        .into_iter()
        .flatten()
    }

    /// Takes over what [`Target::traits`] said. `folder` is where a workspace's
    /// server comes from, which no record says.
    pub fn set_traits(&mut self, traits: &[String], folder: &str) {
        let has = |word: &str| traits.iter().any(|one| one == word);
        self.trusted = has("trusted");
        self.read_only_hint = has("read_only");
        self.origin = match traits.first().map(String::as_str) {
            Some("workspace") => Origin::Workspace(folder.into()),
            Some("additional") => Origin::Additional,
            Some("builtin") => Origin::Builtin,
            _ => Origin::User,
        };
        let pins = [
            ("new", PinState::New),
            ("changed", PinState::Changed),
            ("quarantined", PinState::Quarantined),
        ];
        let pin = pins.into_iter().find(|(word, _)| has(word));
        self.pin = pin.map_or(PinState::Approved, |(_, pin)| pin);
        if has("all") {
            self.entity = Some(EntityId::new(ALL));
        }
    }

    fn is_of_all(&self) -> bool {
        let entity = self.entity.as_ref();
        entity.is_some_and(|entity| entity.as_str() == ALL)
    }

    /// The parts that rules read.
    pub fn question(&self) -> Question<'_> {
        Question {
            server: &self.server,
            verb: self.verb,
            item: &self.item,
            read_only_hint: self.read_only_hint,
            trusted: self.trusted,
            origin: &self.origin,
            entity: self.entity.as_ref(),
            pin: self.pin,
            native: self.native,
            fingerprint: self.fingerprint,
        }
    }
}
