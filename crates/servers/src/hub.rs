//! `hub`: what there is, for agents that do not read a list of thousands of
//! tools.

mod finder;
mod found;
mod meaning;

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_core::{Caller, OpContext};
use legation_find::Direction;
use legation_gate::{Listing, Outcome, Peer, TaskWish};
use legation_wire::json::Object;
use serde::Serialize;

use crate::native::READS;
use crate::{Native, Resource, Tool, failed, json_result, resource_result};

pub use self::finder::ServerText;
use self::finder::{Finder, Made, Sight};
use self::found::{Found, Wish};
pub use self::meaning::{Embedder, Meaning};

/// What `hub` needs to know of the hub it lives in.
pub trait HubView: Send + Sync + fmt::Debug {
    /// The servers a caller sees.
    fn servers(&self, caller: &Caller) -> Vec<ServerInfo>;

    /// The tools a caller may ever use, under flat names; `None` while the hub
    /// ends.
    fn tools(&self, context: &OpContext) -> Option<Arc<Listing>>;

    /// The skills a caller may ever read; `None` while the hub ends.
    fn skills(&self, context: &OpContext) -> Option<Arc<Listing>>;

    /// What the servers a caller sees say of themselves, with those of the hub's own.
    fn texts(&self, caller: &Caller) -> Vec<ServerText>;

    /// What waits for a person, of this client's calls.
    fn approvals(&self, caller: &Caller) -> Vec<ApprovalInfo>;
}

/// One server.
#[derive(Debug, Clone, Serialize)]
pub struct ServerInfo {
    /// Its name.
    pub name: String,
    /// What people read.
    pub title: String,
    /// `connected`, `starting`, `failed`, `needs-auth`, `disabled` or `filtered`.
    pub status: &'static str,
    /// How many tools it offers.
    pub tools: usize,
    /// What its owner can do about it, where something is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// One call that waits for a person.
#[derive(Debug, Clone, Serialize)]
pub struct ApprovalInfo {
    /// The approval's id.
    pub id: String,
    /// `server/tool`.
    pub call: String,
    /// `pending`, `granted` or `denied`.
    pub state: String,
    /// When it ends, RFC 3339.
    pub expires: String,
}

/// The server.
#[derive(Debug)]
pub struct Hub {
    view: Arc<dyn HubView>,
    finder: Arc<Finder>,
    meaning: Option<Arc<Meaning>>,
}

#[derive(Serialize)]
struct Servers {
    servers: Vec<ServerInfo>,
}

#[derive(Serialize)]
struct Approvals {
    approvals: Vec<ApprovalInfo>,
}

const SERVERS_URI: &str = "legation://servers";

pub(crate) const NAME: &str = "hub";

pub(crate) const TOOLS: &[Tool] = &[
    Tool {
        name: "servers",
        title: "List servers",
        description: "Lists the MCP servers behind this hub, with their status and how many tools each offers.",
        input: r#"{"type":"object","properties":{},"additionalProperties":false}"#,
        reads: true,
        facts: READS,
    },
    Tool {
        name: "find_tools",
        title: "Find tools",
        description: "Finds tools of all servers by what they do, best first: each with a summary and its arguments. Call what it finds with call_tool, or directly; `also` names tools of other servers that read the same. Skills, which are a server's instructions for a task, are found beside them. With `server` alone it lists that server's tools.",
        input: r#"{"type":"object","properties":{"query":{"type":"string","minLength":1,"description":"What the tool should do, in a few words"},"server":{"type":"string","minLength":1,"description":"Only tools of this server"},"detail":{"enum":["summary","whole"],"default":"summary","description":"Whether to return whole definitions, with their schemas"},"limit":{"type":"integer","minimum":1,"maximum":50,"default":10}},"additionalProperties":false}"#,
        reads: true,
        facts: READS,
    },
    Tool {
        name: "call_tool",
        title: "Call a tool",
        description: "Calls any tool of this hub by the name find_tools gave. The call is judged exactly as if the tool were called directly.",
        input: r#"{"type":"object","properties":{"name":{"type":"string","minLength":1,"description":"The tool's name"},"arguments":{"type":"object","description":"Its arguments"}},"required":["name"],"additionalProperties":false}"#,
        reads: false,
        facts: READS,
    },
    Tool {
        name: "approvals",
        title: "List approvals",
        description: "Lists your calls that wait for a person's approval. Only a person can approve them.",
        input: r#"{"type":"object","properties":{},"additionalProperties":false}"#,
        reads: true,
        facts: READS,
    },
];

const RESOURCES: &[Resource] = &[Resource {
    uri: SERVERS_URI,
    name: "servers",
    description: "The MCP servers behind this hub and their status",
    mime_type: "application/json",
}];

// === impl Hub ===

impl Hub {
    /// The server of the hub with this view.
    #[must_use]
    pub fn new(view: Arc<dyn HubView>) -> Self {
        Self {
            view,
            finder: Arc::default(),
            meaning: None,
        }
    }

    /// The same that looks for what is meant, too.
    #[must_use]
    pub fn with_meaning(self, meaning: Option<Arc<Meaning>>) -> Self {
        Self { meaning, ..self }
    }

    fn find(&self, context: &OpContext, arguments: &Object) -> BoxFuture<'static, Outcome> {
        let now = |outcome: Outcome| Box::pin(std::future::ready(outcome));
        let wish = match Wish::read(arguments) {
            Ok(wish) => wish,
            Err(why) => return now(failed(why)),
        };
        let (Some(tools), Some(skills)) = (self.view.tools(context), self.view.skills(context))
        else {
            return now(failed("the hub is stopping; nothing was searched"));
        };
        let sight = Sight {
            tools,
            skills,
            texts: self.view.texts(&context.caller),
        };
        let kept = self.finder.kept(&sight);
        if let (Some(made), None) = (&kept, &self.meaning) {
            return now(answer(made, &wish, None));
        }
        let finder = Arc::clone(&self.finder);
        let (meaning, context) = (self.meaning.clone(), context.clone());
        Box::pin(async move {
            let made = match kept {
                Some(made) => made,
                None => match tokio::task::spawn_blocking(move || finder.make(sight)).await {
                    Ok(made) => made,
                    Err(_) => return failed("the index could not be made; nothing was searched"),
                },
            };
            let meant = match (&meaning, wish.query()) {
                (Some(meaning), Some(query)) if made.vectors.get().is_some() => {
                    meaning.of(&context, query).await
                }
                (Some(meaning), _) => {
                    meaning.learn(&made);
                    None
                }
                (None, _) => None,
            };
            let Some(meant) = meant else {
                return answer(&made, &wish, None);
            };
            // As many products as numbers in all vectors: some milliseconds for ten thousand tools.
            let near = move || answer(&made, &wish, Some(&meant));
            let found = tokio::task::spawn_blocking(near).await;
            found.unwrap_or_else(|_| failed("the search broke off; nothing was found"))
        })
    }
}

fn answer(made: &Made, wish: &Wish, meant: Option<&Direction>) -> Outcome {
    match Found::search(made, wish, meant) {
        Ok(found) => json_result(&found),
        Err(why) => failed(&why),
    }
}

impl Native for Hub {
    fn name(&self) -> &'static str {
        NAME
    }

    fn instructions(&self) -> Option<&'static str> {
        Some(
            "find_tools finds tools of every server by what they do; call_tool calls one by name. A call that waits for a person returns an approval id: tell your user, and make the same call again later.",
        )
    }

    fn tools(&self) -> &[Tool] {
        TOOLS
    }

    fn resources(&self) -> &[Resource] {
        RESOURCES
    }

    fn call(
        &self,
        context: OpContext,
        tool: &'static str,
        arguments: Object,
        _wish: TaskWish,
        _peer: Arc<dyn Peer>,
    ) -> BoxFuture<'static, Outcome> {
        let outcome = match tool {
            "servers" => json_result(&Servers {
                servers: self.view.servers(&context.caller),
            }),
            "find_tools" => return self.find(&context, &arguments),
            "approvals" => json_result(&Approvals {
                approvals: self.view.approvals(&context.caller),
            }),
            // The gate resolves it to the tool it names; only a call that names none comes here.
            _ => failed(
                "`name` must be the name of a tool, as find_tools gives it; nothing was called",
            ),
        };
        Box::pin(std::future::ready(outcome))
    }

    fn read(&self, context: OpContext, uri: &'static str) -> BoxFuture<'static, Outcome> {
        let servers = Servers {
            servers: self.view.servers(&context.caller),
        };
        Box::pin(std::future::ready(resource_result(uri, &servers)))
    }
}
