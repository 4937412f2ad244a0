//! What waits for a person, with everything that is decided on.

use legation_api::approvals::{Grant, ListAnswer, Posted, Waiting};
use maud::{Markup, html};

use super::fields::encoded;
use super::html::{Frame, badge, digest, entity, fact, moment, nothing, table};
use super::json::by_lines;

pub(crate) fn page(frame: &Frame, view: &ListAnswer) -> Markup {
    html! {
        p.status-line #live role="status" {}
        div #waiting data-part="told" aria-live="polite" {
            @if view.waiting.is_empty() { (nothing("Nothing waits for you.")) }
            @for one in &view.waiting { (waiting(frame, one)) }
        }
        @if !view.reported.is_empty() {
            div.notice.bad {
                p { "Rows that were changed by another hand, and are not honoured:" }
                ul { @for row in &view.reported { li { code { (row) } } } }
            }
        }
        h2 { "Grants that last" }
        div #grants data-part="quiet" {
            @if view.grants.is_empty() {
                (nothing("There are none: every call that is asked about is asked about again."))
            } @else {
                (grants(frame, &view.grants))
            }
        }
    }
}

fn waiting(frame: &Frame, one: &Waiting) -> Markup {
    let subject = match one.server.as_str() {
        "" => one.item.clone(),
        server => format!("{server}/{}", one.item),
    };
    let heading = format!("w-{}", one.id);
    html! {
        article.card #(one.id) aria-labelledby=(heading) {
            header {
                h2 #(heading) { (subject) }
                (badge(&one.state))
                span.quiet { (one.kind) " " (one.id) }
            }
            dl {
                (fact("Asked by", &html! {
                    (one.client)
                    @if let Some(other) = &one.on_behalf_of { " for " (other) }
                }))
                (fact("Business of", &entity(&one.entity)))
                (fact("Why", &html! { (one.reason) " " span.quiet { "(rule " code { (one.rule) } ")" } }))
                (fact("Asked", &moment(&one.created)))
                (fact("Can be answered until", &moment(&one.expires)))
                @if let Some(short) = &one.short_digest {
                    (fact("Digest", &digest(short, one.digest.as_deref())))
                }
                @if let Some(posted) = &one.posted { (fact("Also asked", &elsewhere(posted))) }
            }
            h3 { "What it would do" }
            pre tabindex="0" { (by_lines(&one.arguments)) }
            @if one.state == "pending" { (answers(frame, one)) }
        }
    }
}

fn elsewhere(posted: &Posted) -> Markup {
    html! {
        (posted.to) " " (badge(&posted.state))
        @if let Some(at) = &posted.at { " " (moment(at)) }
        @if let Some(problem) = &posted.problem { p.quiet { (problem) } }
    }
}

fn answers(frame: &Frame, one: &Waiting) -> Markup {
    let path = format!("/approvals/{}", encoded(&one.id));
    let hidden = html! {
        input type="hidden" name="digest" value=(one.digest.as_deref().unwrap_or_default());
    };
    if one.kind == "proposal" {
        let field = format!("pin-{}", one.id);
        let certify = html! {
            (hidden)
            label for=(field) { "Your PIN" span.quiet { " certifies that a person read this" } }
            input #(field) name="pin" type="password" autocomplete="off" required;
            div.actions { button type="submit" { "Certify " span.quiet-text { (one.id) } } }
        };
        let reject = html! {
            (hidden)
            div.actions {
                button.no type="submit" name="answer" value="deny" { "Reject " span.quiet-text { (one.id) } }
            }
        };
        return html! {
            (frame.form(&format!("{path}/certify"), &html! { div.fields { (certify) } }))
            (frame.form(&path, &reject))
        };
    }
    let fields = html! {
        (hidden)
        div.actions {
            @for answer in &one.answers {
                button type="submit" name="answer" value=(answer) class=[(answer == "deny").then_some("no")] {
                    (words(answer)) span.quiet-text { " " (one.id) }
                }
            }
        }
    };
    frame.form(&path, &fields)
}

/// What an answer means, as a button says it.
fn words(answer: &str) -> &str {
    match answer {
        "once" => "Approve once",
        "session" => "Approve for this session",
        "here" => "Approve in this folder",
        "always" => "Approve always",
        "deny" => "Deny",
        other => other,
    }
}

fn grants(frame: &Frame, grants: &[Grant]) -> Markup {
    let rows = html! {
        @for grant in grants {
            tr {
                td {
                    (grant.client)
                    @if let Some(other) = &grant.on_behalf_of { " for " (other) }
                }
                td.wide { (grant.server) "/" (grant.item) }
                td { (entity(&grant.entity)) }
                td { (grant.scope) }
                td {
                    @match &grant.expires {
                        Some(at) => { (moment(at)) }
                        None => { "until it is taken back" }
                    }
                }
                td {
                    (frame.button(
                        &format!("/grants/{}/revoke", encoded(&grant.id)),
                        &[],
                        &html! { "Take back" span.quiet-text { " " (grant.server) "/" (grant.item) " of " (grant.client) } },
                    ))
                }
            }
        }
    };
    let heads = [
        "Client",
        "May call",
        "Business of",
        "Scope",
        "Until",
        "Take back",
    ];
    table("Grants that last", &heads, &rows)
}
