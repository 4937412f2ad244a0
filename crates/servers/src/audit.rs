//! `audit`: the record, for agents. A client sees its own calls and no other's.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_core::OpContext;
use legation_gate::policy::NativeTool;
use legation_gate::{Outcome, Peer, TaskWish};
use legation_wire::json::{Object, Raw};
use serde::Serialize;

use crate::native::READS;
use crate::{Native, Resource, Tool, failed, json_result, resource_result};

/// What `audit` needs of the ledger.
pub trait AuditView: Send + Sync + fmt::Debug {
    /// Adds a record of the caller's own words; on disk on return.
    fn log(&self, context: &OpContext, event: Event) -> BoxFuture<'static, Result<(), String>>;

    /// The caller's records that match, newest first.
    fn query(
        &self,
        context: &OpContext,
        query: Query,
    ) -> BoxFuture<'static, Result<Vec<Raw>, String>>;

    /// Checks every chain; the answer is what `legation audit verify --json`
    /// prints, without what belongs to other entities.
    fn verify(&self, context: &OpContext) -> BoxFuture<'static, Result<Raw, String>>;
}

/// What an agent says it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// What was done.
    pub action: String,
    /// To what.
    pub resource: String,
    /// How it ended.
    pub outcome: String,
}

/// Which records are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Of this server.
    pub server: Option<String>,
    /// Of this tool, resource or prompt, by its own name.
    pub item: Option<String>,
    /// Under this agent's identity.
    pub agent_id: Option<String>,
    /// That ended so.
    pub status: Option<String>,
    /// At most so many.
    pub limit: usize,
}

/// The server.
#[derive(Debug)]
pub struct Audit {
    view: Arc<dyn AuditView>,
}

#[derive(Serialize)]
struct Records {
    records: Vec<Raw>,
}

#[derive(Serialize)]
struct Logged {
    recorded: bool,
}

/// Longest text of an event, in bytes: a record is a line, not a document.
const TEXT_MAX: usize = 512;
const LIMIT: usize = 20;
const LIMIT_MAX: usize = 200;

const RECENT_URI: &str = "legation://audit/recent";
/// How many records the resource holds.
const RECENT: usize = 50;

pub(crate) const NAME: &str = "audit";

pub(crate) const TOOLS: &[Tool] = &[
    Tool {
        name: "log",
        title: "Record an event",
        description: "Adds an event of your own to the tamper-evident record: what you did, to what, and how it ended. Do not put personal data into it. Calls through this hub are recorded by themselves.",
        input: r#"{"type":"object","properties":{"action":{"type":"string","minLength":1,"maxLength":512},"resource":{"type":"string","minLength":1,"maxLength":512},"outcome":{"type":"string","minLength":1,"maxLength":512}},"required":["action","resource","outcome"],"additionalProperties":false}"#,
        reads: false,
        facts: NativeTool {
            changes: true,
            drafts: false,
        },
    },
    Tool {
        name: "query",
        title: "Read the record",
        description: "Reads the records of your own calls and events, newest first. Each names the agent's identity it was made under, its sponsor and its attribution.",
        input: r#"{"type":"object","properties":{"server":{"type":"string"},"item":{"type":"string","description":"A tool, resource or prompt by its own name"},"agent_id":{"type":"string","description":"The id of the agent under whose identity the call was made"},"status":{"type":"string","description":"How the call ended, such as ok, tool_error, error, refused or unknown"},"limit":{"type":"integer","minimum":1,"maximum":200,"default":20}},"additionalProperties":false}"#,
        reads: true,
        facts: READS,
    },
    Tool {
        name: "verify",
        title: "Verify the record",
        description: "Checks that nothing in the record was changed, dropped or added since it was written.",
        input: r#"{"type":"object","properties":{},"additionalProperties":false}"#,
        reads: true,
        facts: READS,
    },
];

const RESOURCES: &[Resource] = &[Resource {
    uri: RECENT_URI,
    name: "recent",
    description: "The last records of your own calls",
    mime_type: "application/json",
}];

// === impl Audit ===

impl Audit {
    /// The server of the ledger with this view.
    #[must_use]
    pub fn new(view: Arc<dyn AuditView>) -> Self {
        Self { view }
    }

    fn log(&self, context: &OpContext, arguments: &Object) -> BoxFuture<'static, Outcome> {
        let text = |key: &str| {
            let text = arguments.get(key).and_then(Raw::to_str)?;
            (1..=TEXT_MAX)
                .contains(&text.len())
                .then(|| text.into_owned())
        };
        let (Some(action), Some(resource), Some(outcome)) =
            (text("action"), text("resource"), text("outcome"))
        else {
            return ready(failed(
                "`action`, `resource` and `outcome` must be texts of at most 512 bytes; nothing was recorded",
            ));
        };
        let event = Event {
            action,
            resource,
            outcome,
        };
        let logged = self.view.log(context, event);
        Box::pin(async move {
            match logged.await {
                Ok(()) => json_result(&Logged { recorded: true }),
                Err(error) => failed(&error),
            }
        })
    }

    fn query(&self, context: &OpContext, arguments: &Object) -> BoxFuture<'static, Outcome> {
        let text = |key: &str| arguments.get(key).and_then(Raw::to_str).map(String::from);
        let limit = match arguments.get("limit") {
            None => LIMIT,
            Some(raw) => match raw.to_i64().and_then(|limit| usize::try_from(limit).ok()) {
                Some(limit @ 1..=LIMIT_MAX) => limit,
                _ => {
                    return ready(failed(
                        "`limit` must be a number from 1 to 200; nothing was read",
                    ));
                }
            },
        };
        let query = Query {
            server: text("server"),
            item: text("item"),
            agent_id: text("agent_id"),
            status: text("status"),
            limit,
        };
        let records = self.view.query(context, query);
        Box::pin(async move {
            match records.await {
                Ok(records) => json_result(&Records { records }),
                Err(error) => failed(&error),
            }
        })
    }

    fn verify(&self, context: &OpContext) -> BoxFuture<'static, Outcome> {
        let report = self.view.verify(context);
        Box::pin(async move {
            match report.await {
                Ok(report) => json_result(&report),
                Err(error) => failed(&error),
            }
        })
    }
}

impl Native for Audit {
    fn name(&self) -> &'static str {
        NAME
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
        match tool {
            "log" => self.log(&context, &arguments),
            "query" => self.query(&context, &arguments),
            _ => self.verify(&context),
        }
    }

    fn read(&self, context: OpContext, uri: &'static str) -> BoxFuture<'static, Outcome> {
        let query = Query {
            limit: RECENT,
            ..Query::default()
        };
        let records = self.view.query(&context, query);
        Box::pin(async move {
            match records.await {
                Ok(records) => resource_result(uri, &Records { records }),
                Err(message) => Outcome::Error(legation_wire::message::ErrorObject::new(
                    legation_wire::codes::INTERNAL_ERROR,
                    &message,
                )),
            }
        })
    }
}

fn ready(outcome: Outcome) -> BoxFuture<'static, Outcome> {
    Box::pin(std::future::ready(outcome))
}
