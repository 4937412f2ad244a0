//! Every route there is.

use legation_api::{
    Request, approvals, audit, conversation, desk, events, hub, inbox, mcp, models, tasks,
};
use schemars::{JsonSchema, schema_for};
use serde_json::Value;

use super::route::{Act, Admin, Number, Pages, Route, Verb};

const GET: Verb = Verb::Get;
const POST: Verb = Verb::Post;
const DELETE: Verb = Verb::Delete;

/// The routes, in the order of the document.
pub(super) fn routes() -> Vec<Route> {
    let mut routes = desk();
    routes.extend(servers());
    routes.extend(people());
    routes.extend(work());
    routes.extend(records());
    routes
}

/// What the desk does.
#[rustfmt::skip]
fn desk() -> Vec<Route> {
    let tool = |verb, path, tool, summary| Route {
        verb, path, id: tool, tag: "desk", summary, act: Act::Tool(tool),
    };
    vec![
        tool(GET, "/status", "status", "See how the desk stands."),
        tool(GET, "/doctor", "doctor", "Find what is wrong with the desk."),
        tool(GET, "/deals/list", "deals_list", "List deals."),
        tool(POST, "/deals/create", "deal_create", "Create a deal."),
        tool(GET, "/deals/{deal_id}", "deal_detail", "Read a deal."),
        tool(GET, "/deals/{deal_id}/timeline", "deal_timeline", "Read what happened to a deal."),
        tool(GET, "/graph/{profile_id}/mail/list", "mail_list", "List letters of an account."),
        tool(GET, "/graph/{profile_id}/mail/{message_id}", "mail_read", "Read a letter."),
        tool(POST, "/graph/{profile_id}/mail/{message_id}/move", "mail_move", "Move a letter."),
        tool(POST, "/graph/{profile_id}/mail/draft/create", "draft_email", "Put a letter into the Drafts folder. It is never sent."),
        tool(POST, "/graph/{profile_id}/drafts/generate", "draft_generate", "Draft answers to letters. They are never sent."),
        tool(GET, "/graph/{profile_id}/calendar/list", "calendar_list", "List meetings of an account."),
        tool(POST, "/graph/{profile_id}/calendar/event/create", "calendar_event_create", "Hold a time in a calendar."),
        tool(GET, "/triage/list", "triage_list", "List what waits to be sorted."),
        tool(POST, "/triage/classify", "triage_classify", "Sort an item."),
        tool(POST, "/filing/suggest", "filing_suggestion", "Suggest where to file an item."),
        tool(GET, "/reporting/morning-brief", "morning_brief", "Brief the day."),
        tool(GET, "/reporting/eod-digest", "eod_digest", "Sum up the day."),
        tool(POST, "/extraction/deadlines", "extraction_deadlines", "Find deadlines in a text."),
        route(POST, "/deals/{deal_id}/act", "desk", "Do something to a deal as the owner: stage, note, party, date, link, pause, resume, archive, restore.", admin::<desk::DealAct>()),
        route(GET, "/filing/list", "desk", "List suggestions where to file.", cut(admin::<desk::Filings>(), "filings", &["suggestion_id"])),
        route(POST, "/filing/{suggestion_id}/approve", "desk", "File a letter as suggested.", calls(admin::<desk::File>())),
        route(POST, "/filing/{suggestion_id}/undo", "desk", "Move a letter back to where it was before it was filed.", calls(admin::<desk::Unfile>())),
        route(POST, "/filing/{suggestion_id}/reject", "desk", "Refuse a suggestion.", admin::<desk::Reject>()),
    ]
}

/// The hub itself, its servers, their tools, and models.
#[rustfmt::skip]
fn servers() -> Vec<Route> {
    vec![
        route(GET, "/api/v1/hub", "hub", "How the hub is.", admin::<hub::Status>()),
        route(POST, "/api/v1/hub/reload", "hub", "Read every file again.", admin::<hub::Reload>()),
        route(GET, "/api/v1/servers", "servers", "Every server and how it is.", cut(admin::<mcp::List>(), "servers", &["label"])),
        route(GET, "/api/v1/servers/{name}", "servers", "One server in full.", admin::<mcp::Show>()),
        route(GET, "/api/v1/servers/{name}/log", "servers", "The last lines of a server's standard error.", with(admin::<mcp::Logs>(), LINES)),
        route(POST, "/api/v1/servers/{name}/enable", "servers", "Use a server that was disabled for this run of the hub.", admin::<mcp::Enable>()),
        route(POST, "/api/v1/servers/{name}/disable", "servers", "Stop a server for this run of the hub.", admin::<mcp::Disable>()),
        route(POST, "/api/v1/servers/{name}/reload", "servers", "Stop and start a server.", admin::<mcp::ReloadServer>()),
        Route { verb: POST, path: "/api/v1/servers/{server}/tools/{tool}/call", id: "call", tag: "tools", summary: "Call a tool as the owner, through the gate.", act: Act::AnyTool },
        route(GET, "/api/v1/tools", "tools", "The tools clients see.", cut(admin::<mcp::Tools>(), "tools", &["server", "tool"])),
        route(GET, "/api/v1/definitions", "tools", "The definitions that wait for somebody to look at them.", cut(admin::<mcp::Review>(), "waiting", &["server", "kind", "item", "now"])),
        route(POST, "/api/v1/definitions/decide", "tools", "Agree to definitions, or refuse them.", admin::<mcp::Decide>()),
        route(GET, "/ops/llm-provider", "models", "Which models are preferred, without keys.", admin::<models::Preferences>()),
        route(POST, "/ops/llm-provider", "models", "Change which models are preferred.", admin::<models::SetPreferences>()),
        route(GET, "/api/v1/models", "models", "What is known of the providers that are on.", admin::<models::Capabilities>()),
        route(GET, "/api/v1/models/savings", "models", "What models cost and what local ones saved.", with(admin::<models::Savings>(), DAYS)),
        Route { verb: POST, path: "/rpc", id: "rpc", tag: "hub", summary: "The session API over JSON-RPC 2.0.", act: Act::Rpc },
        Route { verb: GET, path: "/api/v1/events", id: "events", tag: "hub", summary: "What happens, as it happens, from any event on.", act: Act::Events },
        Route { verb: GET, path: "/openapi.json", id: "openapi", tag: "hub", summary: "This document.", act: Act::Document },
    ]
}

/// What waits for people, and what they are told.
#[rustfmt::skip]
fn people() -> Vec<Route> {
    vec![
        route(GET, "/api/v1/approvals", "approvals", "Everything that waits for a person, and every grant that lasts.", cut(admin::<approvals::List>(), "waiting", &["id"])),
        route(GET, "/api/v1/approvals/{id}", "approvals", "One call that waits.", admin::<approvals::Find>()),
        route(POST, "/api/v1/approvals/{id}/answer", "approvals", "Answer an approval, or reject a proposal.", admin::<approvals::Answer>()),
        route(POST, "/api/v1/approvals/{id}/certify", "approvals", "Certify a proposal, as a person.", admin::<approvals::Certify>()),
        route(DELETE, "/api/v1/grants/{id}", "approvals", "Take a grant back.", admin::<approvals::Revoke>()),
        route(GET, "/api/v1/inbox", "inbox", "Messages, newest first.", before(admin::<inbox::List>(), "messages", "seq", false)),
        route(POST, "/api/v1/inbox", "inbox", "Keep a message of a local producer.", admin::<inbox::Post>()),
        route(GET, "/api/v1/inbox/{id}", "inbox", "One message, in its newest version.", admin::<inbox::Show>()),
        route(GET, "/api/v1/subscriptions", "events", "The webhooks that clients subscribed.", cut(admin::<events::List>(), "subscriptions", &["id"])),
        route(POST, "/api/v1/subscriptions/{id}/test", "events", "Ask a subscription's receiver for a sign of life.", admin::<events::Test>()),
        route(DELETE, "/api/v1/subscriptions/{id}", "events", "End a subscription.", admin::<events::Remove>()),
    ]
}

/// Delegated tasks and their conversations.
#[rustfmt::skip]
fn work() -> Vec<Route> {
    vec![
        route(GET, "/api/v1/engine", "tasks", "How the engine is.", admin::<tasks::EngineStatus>()),
        route(GET, "/api/v1/tasks", "tasks", "Tasks, newest first; those in the queue in their order.", with(admin::<tasks::List>(), LIMIT)),
        route(POST, "/api/v1/tasks", "tasks", "Hand in a task as the owner.", admin::<tasks::Submit>()),
        route(GET, "/api/v1/tasks/{task_id}", "tasks", "One task.", admin::<tasks::Show>()),
        route(GET, "/api/v1/tasks/{task_id}/wait", "tasks", "Wait until a task is over, asks something, or the time is up.", with(admin::<tasks::Wait>(), TIMEOUT)),
        route(POST, "/api/v1/tasks/{task_id}/cancel", "tasks", "Call a task off.", admin::<tasks::Cancel>()),
        route(POST, "/api/v1/tasks/{task_id}/answer", "tasks", "Answer what a task asks.", admin::<tasks::Answer>()),
        route(POST, "/api/v1/tasks/{task_id}/steer", "tasks", "Say something to a task between its steps.", admin::<tasks::Steer>()),
        route(POST, "/api/v1/tasks/{task_id}/edit", "tasks", "Change a task that has not begun.", admin::<tasks::Edit>()),
        route(POST, "/api/v1/tasks/{task_id}/undo", "tasks", "Take back what a task did to files.", admin::<tasks::Undo>()),
        route(GET, "/api/v1/sessions", "sessions", "Sessions, the most recently used first.", cut(admin::<conversation::Sessions>(), "sessions", &["id"])),
        route(POST, "/api/v1/sessions", "sessions", "The current session of a folder, which is begun if there is none.", admin::<conversation::Open>()),
        route(DELETE, "/api/v1/sessions/{session}", "sessions", "Delete a session with everything in it.", admin::<conversation::Delete>()),
        route(GET, "/api/v1/sessions/{session}/messages", "sessions", "Entries of a session, oldest first; pages go back in time.", before(admin::<conversation::History>(), "messages", "seq", true)),
        route(GET, "/api/v1/sessions/{session}/export", "sessions", "A session with everything in it.", admin::<conversation::Export>()),
    ]
}

/// The ledger.
#[rustfmt::skip]
fn records() -> Vec<Route> {
    vec![
        route(GET, "/api/v1/audit", "audit", "Records that match, newest first.", before(admin::<audit::Query>(), "records", "position", false)),
        route(GET, "/api/v1/audit/calls/{call}", "audit", "Everything about one call.", admin::<audit::Show>()),
        route(POST, "/api/v1/audit/verify", "audit", "Check every chain.", admin::<audit::Verify>()),
    ]
}

const LINES: &[Number] = &[Number {
    member: "lines",
    least: 1,
    most: 10_000,
    default: 100,
}];
const DAYS: &[Number] = &[Number {
    member: "days",
    least: 1,
    most: 3660,
    default: 30,
}];
const LIMIT: &[Number] = &[Number {
    member: "limit",
    least: 1,
    most: 1000,
    default: 100,
}];
/// A minute: who waits longer asks again.
const TIMEOUT: &[Number] = &[Number {
    member: "timeout_ms",
    least: 0,
    most: 60_000,
    default: 30_000,
}];

fn route(
    verb: Verb,
    path: &'static str,
    tag: &'static str,
    summary: &'static str,
    act: Admin,
) -> Route {
    Route {
        verb,
        path,
        id: act.method,
        tag,
        summary,
        act: Act::Admin(act),
    }
}

fn admin<R: Request + JsonSchema>() -> Admin
where
    R::Answer: JsonSchema,
{
    Admin {
        method: R::METHOD,
        request: schema::<R>,
        answer: schema::<R::Answer>,
        numbers: &[],
        pages: None,
        is_call: false,
    }
}

fn schema<T: JsonSchema>() -> Value {
    schema_for!(T).to_value()
}

fn calls(admin: Admin) -> Admin {
    Admin {
        is_call: true,
        ..admin
    }
}

fn with(admin: Admin, numbers: &'static [Number]) -> Admin {
    Admin { numbers, ..admin }
}

fn cut(admin: Admin, list: &'static str, keys: &'static [&'static str]) -> Admin {
    let pages = Some(Pages::Cut { list, keys });
    Admin { pages, ..admin }
}

fn before(admin: Admin, list: &'static str, place: &'static str, is_oldest_first: bool) -> Admin {
    let pages = Some(Pages::Before {
        list,
        place,
        is_oldest_first,
    });
    Admin { pages, ..admin }
}
