//! Servers, their tools, and definitions that wait to be looked at.

use legation_api::mcp::{Server, ShowAnswer, Tool, Waiting};
use legation_core::id::hex;
use maud::{Markup, html};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use similar::{ChangeTag, TextDiff};

use super::ask::Failure;
use super::fields::encoded;
use super::html::{Frame, badge, counted, digest, fact, moment, nothing, table};
use super::json::by_lines;

/// Lines around a change that are shown with it.
const AROUND: usize = 3;

/// Every server.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) servers: Vec<Server>,
    pub(crate) problems: Vec<legation_api::mcp::Problem>,
    /// How many definitions wait.
    pub(crate) definitions: Result<usize, Failure>,
}

/// One server.
#[derive(Debug)]
pub(crate) struct One {
    pub(crate) shown: ShowAnswer,
    pub(crate) tools: Result<Vec<Tool>, Failure>,
}

pub(crate) fn list(frame: &Frame, view: &Listing) -> Markup {
    let rows = html! {
        @for server in &view.servers {
            @let label = label(server);
            tr {
                td {
                    a href={ "/servers/" (encoded(label)) } { (server.display_name.as_deref().unwrap_or(label)) }
                }
                td {
                    (badge(&server.status))
                    @if let Some(reason) = &server.reason { p.quiet { (reason) } }
                }
                td { (server.transport) }
                td.number { (server.tools) }
                td.number { (server.calls) }
                td { (switches(frame, server)) }
            }
        }
    };
    let heads = [
        "Server",
        "State",
        "Transport",
        "Tools",
        "Calls now",
        "Switch",
    ];
    html! {
        p.status-line #live role="status" {}
        div #to-review data-part="told" {
            @match &view.definitions {
                Ok(0) => {}
                Ok(count) => {
                    div.notice.bad {
                        p { a href="/definitions" { (counted(*count, "definition")) " to review" } }
                        p.quiet { "They are new, or not what was agreed to. What is not agreed to is not offered." }
                    }
                }
                Err(failure) => { (failure.shown()) }
            }
        }
        div #servers data-part="quiet" {
            @if view.servers.is_empty() {
                (nothing("No server is configured. `legation mcp add` adds one."))
            } @else {
                (table("Servers", &heads, &rows))
            }
        }
        @if !view.problems.is_empty() {
            h2 { "Entries that cannot be used" }
            ul.list {
                @for problem in &view.problems {
                    li {
                        p { strong { (problem.server.as_deref().unwrap_or(&problem.source)) } ": " (problem.message) }
                        p.quiet { (problem.hint) }
                    }
                }
            }
        }
    }
}

pub(crate) fn one(frame: &Frame, view: &One) -> Markup {
    let server = &view.shown.server;
    html! {
        section.card aria-label="The server" {
            dl {
                (fact("State", &html! {
                    (badge(&server.status))
                    @if let Some(reason) = &server.reason { " " (reason) }
                }))
                @if let Some(hint) = &server.hint { (fact("What to do", &html! { (hint) })) }
                (fact("From", &html! { (server.source) }))
                (fact("Reached by", &html! { (server.transport) ": " code { (server.target) } }))
                (fact("Instance", &html! { (server.instance) ", " (counted(server.instances, "running instance")) }))
                @if let Some(revision) = &server.revision { (fact("Protocol", &html! { (revision) })) }
                (fact("Offers", &html! {
                    (counted(server.tools, "tool")) ", " (counted(server.resources, "resource")) ", "
                    (counted(server.prompts, "prompt")) ", " (counted(server.skills, "skill"))
                }))
                (fact("Restarts", &html! { (server.restarts) }))
            }
            div.actions { (switches(frame, server)) }
        }
        @if !server.warnings.is_empty() {
            h2 { "Warnings" }
            ul { @for warning in &server.warnings { li { (warning) } } }
        }
        h2 { "Tools" }
        @match &view.tools {
            Err(failure) => { (failure.shown()) }
            Ok(tools) if tools.is_empty() => { (nothing("It offers no tools now.")) }
            Ok(tools) => { ul.list { @for tool in tools { li { (tool_shown(tool)) } } } }
        }
        @if !view.shown.log.is_empty() {
            h2 { "Last lines of its standard error" }
            pre tabindex="0" { @for line in &view.shown.log { (line) "\n" } }
        }
        p { a href="/servers" { "All servers" } }
    }
}

fn tool_shown(tool: &Tool) -> Markup {
    let definition: Value = serde_json::from_str(tool.definition.get()).unwrap_or_default();
    let text = |name: &str| {
        definition
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let whole = by_lines(tool.definition.get());
    html! {
        h3 { code { (tool.tool) } }
        p.prose { (text("description")) }
        details {
            summary { "Definition of " (tool.tool) }
            pre tabindex="0" { (whole) }
        }
    }
}

fn switches(frame: &Frame, server: &Server) -> Markup {
    // The hub's own servers are part of it.
    if server.source.starts_with("builtin") {
        return html! { span.quiet { "part of the hub" } };
    }
    let label = label(server);
    let path = |verb: &str| format!("/servers/{}/{verb}", encoded(label));
    let name = html! { span.quiet-text { " " (label) } };
    html! {
        @if server.status == "disabled" {
            (frame.button(&path("enable"), &[], &html! { "Enable" (name) }))
        } @else {
            (frame.button(&path("reload"), &[], &html! { "Restart" (name) }))
            (frame.button(&path("disable"), &[], &html! { "Disable" (name) }))
        }
    }
}

/// Definitions that wait, each with what changed.
pub(crate) fn definitions(frame: &Frame, waiting: &[Waiting]) -> Markup {
    html! {
        p {
            "What a server says of its tools goes to models, which believe it. A definition that is new or not what was "
            "agreed to is looked at first; what is refused stays away."
        }
        div #definitions data-part="quiet" {
            @if waiting.is_empty() { (nothing("Nothing waits to be reviewed.")) }
            @for one in waiting { (definition(frame, one)) }
        }
        p { a href="/servers" { "All servers" } }
    }
}

fn definition(frame: &Frame, one: &Waiting) -> Markup {
    let whole = looked(one);
    let id = format!("d-{}", &whole[..12]);
    let name = match one.item.as_str() {
        "" => one.kind.clone(),
        item => format!("{} {item}", one.kind),
    };
    let fields = html! {
        input type="hidden" name="server" value=(one.server);
        input type="hidden" name="kind" value=(one.kind);
        input type="hidden" name="item" value=(one.item);
        input type="hidden" name="digest" value=(whole);
        div.actions {
            button type="submit" name="accept" value="yes" {
                "Accept" span.quiet-text { " " (name) " of " (one.server) }
            }
            button.no type="submit" name="accept" value="no" {
                "Refuse" span.quiet-text { " " (name) " of " (one.server) }
            }
        }
    };
    html! {
        article.card aria-labelledby=(id) {
            header { h2 #(id) { (one.server) ": " (name) } (badge(&one.state)) }
            dl {
                (fact("First seen", &moment(&one.first_seen)))
                (fact("Digest", &digest(&whole[..12], Some(&whole))))
            }
            @if !one.findings.is_empty() {
                h3 { "What speaks against it" }
                ul { @for finding in &one.findings { li { (finding) } } }
            }
            @match &one.before {
                Some(before) => {
                    h3 { "What changed" }
                    (diff(&by_lines(before), &by_lines(&one.now)))
                }
                None => {
                    h3 { "What it says" }
                    pre tabindex="0" { (by_lines(&one.now)) }
                }
            }
            (frame.form("/definitions", &fields))
        }
    }
}

/// What a person looked at, as a digest: a decision about anything else is none.
pub(crate) fn looked(one: &Waiting) -> String {
    let mut hash = Sha256::new();
    for part in [&one.server, &one.kind, &one.item, &one.now] {
        hash.update(part.len().to_be_bytes());
        hash.update(part.as_bytes());
    }
    hex(&hash.finalize())
}

/// A change, line by line. Words say what is added and removed, not colours alone.
fn diff(before: &str, now: &str) -> Markup {
    let diff = TextDiff::from_lines(before, now);
    let groups = diff.grouped_ops(AROUND);
    html! {
        pre.diff tabindex="0" {
            @if groups.is_empty() { span { "The words are the same; something between them is not." } }
            @for (place, group) in groups.iter().enumerate() {
                @if place > 0 { span { "⋯" } }
                @for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
                    @let line = change.value().trim_end_matches('\n');
                    @match change.tag() {
                        ChangeTag::Insert => { ins { "+ " (line) } }
                        ChangeTag::Delete => { del { "- " (line) } }
                        ChangeTag::Equal => { span { "  " (line) } }
                    }
                }
            }
        }
    }
}

/// What tells a server from every other; older hubs say its name alone.
fn label(server: &Server) -> &str {
    match server.label.as_str() {
        "" => &server.name,
        label => label,
    }
}
