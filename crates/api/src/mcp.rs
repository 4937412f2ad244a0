//! The servers behind the hub.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Done, request};

/// Every server and how it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct List {
    /// The folder whose workspace servers are wanted too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// Every server and how it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListAnswer {
    /// In the catalogue's order.
    pub servers: Vec<Server>,
    /// Entries that could not be used.
    pub problems: Vec<Problem>,
}

/// One server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Server {
    /// Its name in the configuration.
    pub name: String,
    /// What tells it from every other: its name, and of a workspace server the folder behind `@`.
    /// Commands take it as a name.
    #[serde(default)]
    pub label: String,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// `starting`, `connected`, `failed`, `needs-auth`, `disabled` or `filtered`.
    pub status: String,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The file, or the flag.
    pub source: String,
    /// What kind of source that is: `additional`, `plugin`, `workspace`, `user`, `default` or
    /// `agent`, of which the earlier counts where two have an entry of one name.
    #[serde(default)]
    pub source_kind: String,
    /// The plugin that brings it along, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// Where entries of the same name stand that do not count because of this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hides: Vec<String>,
    /// `stdio`, `http` or `sse`.
    pub transport: String,
    /// The command line or URL, references unexpanded.
    pub target: String,
    /// The command that prints further headers for its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers_helper: Option<String>,
    /// `shared`, `client` or `workspace`.
    pub instance: String,
    /// The protocol revision it speaks, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Its own name and version, unverified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_info: Option<serde_json::Value>,
    /// Its process, when it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Instances running.
    pub instances: usize,
    /// Calls under way.
    #[serde(default)]
    pub calls: usize,
    /// Restarts since the hub started.
    pub restarts: u64,
    /// Tools offered.
    pub tools: usize,
    /// Resources offered.
    pub resources: usize,
    /// Resource templates offered.
    pub templates: usize,
    /// Prompts offered.
    pub prompts: usize,
    /// Skills offered.
    #[serde(default)]
    pub skills: usize,
    /// The walls that it runs behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Walls>,
    /// Warnings about it, oldest first.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// What a server that is a program reaches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Walls {
    /// `none`, `named` or `all`.
    pub network: String,
    /// What it reaches where that is `named`: hosts and ports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Files and folders that it may read besides the system's, references unexpanded.
    pub read: Vec<String>,
    /// Files and folders that it may change, references unexpanded.
    pub write: Vec<String>,
    /// How many bytes each of its processes may hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// How many processes and threads it may have at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// Whether it runs only behind them.
    pub required: bool,
}

/// An entry of a configuration that could not be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// Which file or argument.
    pub source: String,
    /// Which server, when it is one entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// One server in full.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Show {
    /// Which one.
    pub name: String,
    /// The folder whose workspace servers are meant too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// One server in full.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShowAnswer {
    /// The server.
    pub server: Server,
    /// The last lines of its standard error.
    pub log: Vec<String>,
}

/// The last lines of a server's standard error.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Logs {
    /// Which one.
    pub name: String,
    /// At most so many lines.
    pub lines: usize,
    /// The folder the name is meant in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// The last lines of a server's standard error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogsAnswer {
    /// Oldest first.
    pub lines: Vec<String>,
}

/// Use a server that was disabled for this run of the hub.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Enable {
    /// Which one.
    pub name: String,
    /// The folder the name is meant in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// Stop a server for this run of the hub.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Disable {
    /// Which one.
    pub name: String,
    /// The folder the name is meant in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// Stop and start a server, or all.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReloadServer {
    /// Which one; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The folder the name is meant in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// Sign in at a server.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Auth {
    /// Which one.
    pub name: String,
    /// Sign in anew, whatever there is.
    #[serde(default)]
    pub force: bool,
    /// The folder the name is meant in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// What a wish to sign in came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthAnswer {
    /// Whether what there was serves still.
    pub ready: bool,
    /// Where somebody has to go, with a browser of the machine that the hub is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// Wait, for some seconds, until a sign-in is over.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct AuthWait {
    /// At which server.
    pub name: String,
    /// The folder the name is meant in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// How a sign-in is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthWaitAnswer {
    /// Whether it is over.
    pub over: bool,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What to do then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Bring the address that a browser elsewhere ended at; how the sign-in ends is for
/// [`AuthWait`] to say.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct AuthBring {
    /// At which server.
    pub name: String,
    /// The address, with what the authorization server put into it.
    pub address: String,
    /// The folder the name is meant in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// Give a sign-in back and forget it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct AuthRevoke {
    /// At which server.
    pub name: String,
    /// The folder the name is meant in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthRevokeAnswer {
    /// Whether there was one.
    pub was_there: bool,
}

/// The tools clients see.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Tools {
    /// Only this server's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The folder whose workspace servers are meant too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// The tools clients see.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ToolsAnswer {
    /// In the catalogue's order.
    pub tools: Vec<Tool>,
}

/// One tool.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// The flat name clients call it by.
    pub name: String,
    /// Whose it is: the server's label.
    pub server: String,
    /// The server's own name for it.
    pub tool: String,
    /// The definition as clients see it.
    #[schemars(with = "serde_json::Value")]
    pub definition: Box<serde_json::value::RawValue>,
}

/// Call a tool as the owner.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    /// The flat name, or `server/tool`, where the server may be named with its folder.
    pub name: String,
    /// The arguments, an object.
    #[schemars(with = "serde_json::Value")]
    pub arguments: Box<serde_json::value::RawValue>,
    /// The folder whose workspace servers are meant too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// What the tool answered.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CallAnswer {
    /// The result as the server sent it.
    #[schemars(with = "serde_json::Value")]
    pub result: Box<serde_json::value::RawValue>,
}

/// The definitions that wait for somebody to look at them.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Review {
    /// Only this server's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

/// The definitions that wait for somebody to look at them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewAnswer {
    /// By server, kind and name.
    pub waiting: Vec<Waiting>,
}

/// One definition that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waiting {
    /// The server, with `@` and its folder where it belongs to one.
    pub server: String,
    /// `tool`, `prompt`, `template` or `instructions`.
    pub kind: String,
    /// Its name; empty for instructions.
    pub item: String,
    /// `new`, `changed` or `quarantined`.
    pub state: String,
    /// What was agreed to, where something was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What the server says now.
    pub now: String,
    /// What speaks against it, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// When it was first seen, RFC 3339.
    pub first_seen: String,
}

/// Agree to definitions, or refuse them.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Decide {
    /// As they were looked at.
    pub definitions: Vec<Looked>,
    /// Whether they may be used.
    pub accept: bool,
}

/// A definition as somebody looked at it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Looked {
    /// As in [`Waiting`].
    pub server: String,
    /// As in [`Waiting`].
    pub kind: String,
    /// As in [`Waiting`].
    pub item: String,
    /// As in [`Waiting`]: a decision about anything else is refused.
    pub now: String,
}

request!(List, "mcp.list", ListAnswer);
request!(Review, "mcp.review", ReviewAnswer);
request!(Decide, "mcp.decide", Done);
request!(Show, "mcp.show", ShowAnswer);
request!(Logs, "mcp.logs", LogsAnswer);
request!(Enable, "mcp.enable", Done);
request!(Disable, "mcp.disable", Done);
request!(Auth, "mcp.auth", AuthAnswer);
request!(AuthWait, "mcp.auth_wait", AuthWaitAnswer);
request!(AuthBring, "mcp.auth_bring", Done);
request!(AuthRevoke, "mcp.auth_revoke", AuthRevokeAnswer);
request!(ReloadServer, "mcp.reload", Done);
request!(Tools, "mcp.tools", ToolsAnswer);
request!(Call, "mcp.call", CallAnswer);

// === impl AuthBring ===

impl std::fmt::Debug for AuthBring {
    /// Without the address, which holds a code.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthBring")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
