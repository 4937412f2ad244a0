//! The hub's own tools, whether this build has them yet or not.
//!
//! Governance files may speak of all of them, and must say how far each goes
//! that changes something.

use super::load::ToolName;

/// A server of the hub's own: its name, its tools that only read, and those
/// that change something.
struct Native {
    server: &'static str,
    reads: &'static [&'static str],
    changes: &'static [&'static str],
}

const NATIVE: &[Native] = &[
    Native {
        server: "identity",
        reads: &["whoami"],
        changes: &["bootstrap", "refresh", "revoke"],
    },
    Native {
        server: "teams",
        reads: &["poll", "presence"],
        changes: &["connect", "send", "ask", "update"],
    },
    Native {
        server: "inbox",
        reads: &["pull", "wait"],
        changes: &["watch_chat", "unwatch_chat"],
    },
    Native {
        server: "audit",
        reads: &["query", "verify"],
        changes: &["log"],
    },
    Native {
        server: "delegate",
        reads: &["poll_task", "get_history", "get_capabilities", "status"],
        changes: &["chat", "cancel", "report_issue"],
    },
    Native {
        server: "workspace",
        reads: &["read_file", "glob", "grep", "lsp_diagnostics"],
        changes: &["write_file", "edit", "bash"],
    },
    Native {
        server: "desk",
        reads: &[
            "status",
            "doctor",
            "deals_list",
            "deal_detail",
            "deal_timeline",
            "morning_brief",
            "eod_digest",
            "mail_list",
            "mail_read",
            "calendar_list",
            "triage_list",
        ],
        changes: &[
            "deal_create",
            "triage_classify",
            "draft_email",
            "draft_generate",
            "calendar_event_create",
            "extraction_deadlines",
            "mail_move",
            "filing_suggestion",
        ],
    },
    Native {
        server: "hub",
        // A call through `call_tool` is judged as the call it makes.
        reads: &["servers", "find_tools", "call_tool", "approvals"],
        changes: &[],
    },
];

/// Every tool of the hub's own.
pub fn native_tools<'a>() -> impl Iterator<Item = ToolName<'a>> {
    NATIVE.iter().flat_map(|native| {
        let named = |native_change: bool| {
            move |tool: &&'static str| ToolName::<'a> {
                server: native.server,
                tool,
                native_change,
            }
        };
        let reads = native.reads.iter().map(named(false));
        reads.chain(native.changes.iter().map(named(true)))
    })
}
