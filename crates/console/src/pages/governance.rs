//! The rules: which files hold, what they say, and what other rules would have
//! answered.

use legation_api::governance::{
    DecideAnswer, ExplainAnswer, FilesAnswer, ProviderAnswer, ReplayAnswer, Said,
};
use maud::{Markup, html};

use super::ask::Failure;
use super::fields::{Fields, encoded};
use super::html::{Frame, badge, counted, fact, table};

/// Most calls that are decided again from a page.
pub(crate) const REPLAY_MAX: usize = 10_000;

/// The page of the rules.
#[derive(Debug)]
pub(crate) struct Governance {
    pub(crate) files: Result<FilesAnswer, Failure>,
    pub(crate) hub: String,
    /// What was asked for.
    pub(crate) query: Fields,
    /// Its answer.
    pub(crate) answer: Option<Markup>,
}

pub(crate) fn page(frame: &Frame, view: &Governance) -> Markup {
    html! {
        p { "In force: " (view.hub) }
        (files(&view.files))
        @if let Some(answer) = &view.answer {
            section.card #answer aria-labelledby="answered" { header { h2 #answered { "Answer" } } (answer) }
        }
        div.columns { (decide(&view.query)) (explain(&view.query)) }
        (replay(frame))
    }
}

fn files(found: &Result<FilesAnswer, Failure>) -> Markup {
    html! {
        @match found {
            Err(failure) => { (failure.shown()) }
            Ok(found) => {
                @let rows = html! {
                    @for one in &found.files {
                        tr { td { code { (one.file) } } td { (badge(&one.state)) } td.wide { (one.says) } }
                    }
                };
                (table("Governance files", &["File", "State", "Says"], &rows))
            }
        }
    }
}

fn decide(query: &Fields) -> Markup {
    let value = |name| query.get(name);
    html! {
        section.card aria-labelledby="decide" {
            header { h2 #decide { "What would become of a call?" } }
            form.fields method="get" action="/governance" {
                label for="call" { "Call " span.quiet { "as server/tool" }
                    input #call name="call" required value=[value("call")]; }
                label for="client" { "Client " span.quiet { "the owner when empty" }
                    input #client name="client" value=[value("client")]; }
                label for="entity" { "Data of " span.quiet { "as the server's entry says when empty" }
                    input #entity name="entity" value=[value("entity")]; }
                label for="arguments" { "Arguments " span.quiet { "JSON" }
                    textarea #arguments name="arguments" { (value("arguments").unwrap_or("{}")) } }
                div.actions { button type="submit" name="ask" value="decide" { "Explain" } }
            }
        }
    }
}

fn explain(query: &Fields) -> Markup {
    html! {
        section.card aria-labelledby="say" {
            header { h2 #say { "What do the files say?" } }
            form.fields method="get" action="/governance" {
                label for="tool" { "Of a tool " span.quiet { "as server/tool" }
                    input #tool name="tool" required value=[query.get("tool")]; }
                div.actions { button type="submit" name="ask" value="tool" { "Explain the tool" } }
            }
            form.fields method="get" action="/governance" {
                label for="who" { "Of a client"
                    input #who name="who" required value=[query.get("who")]; }
                div.actions { button type="submit" name="ask" value="client" { "Explain the client" } }
            }
            p { "Of models: " a href="/models#explain" { "Which model may have it?" } }
        }
    }
}

fn replay(frame: &Frame) -> Markup {
    let fields = html! {
        div.fields {
            label for="last" { "How many calls, from the newest"
                input #last name="last" type="number" min="1" max=(REPLAY_MAX) value="1000"; }
            label for="rules" {
                "Rules to try " span.quiet { "in the place of permissions.toml; those in force when empty" }
                textarea #rules name="rules" spellcheck="false" {}
            }
            div.actions { button type="submit" { "Decide again" } }
        }
    };
    html! {
        section.card aria-labelledby="replay" {
            header { h2 #replay { "What would other rules have answered?" } }
            p.quiet { "Recorded calls are decided again; nothing is called and nothing is changed." }
            (frame.form("/governance/replay", &fields))
        }
    }
}

/// What the rules would answer to a call.
pub(crate) fn decided(answer: &DecideAnswer) -> Markup {
    let rows = html! {
        @for one in &answer.layers {
            tr {
                td { (one.layer) }
                td { (one.verdict) }
                td { code { (one.rule) } }
                td.wide { (one.reason) }
            }
        }
    };
    let told = match answer.outcome.as_str() {
        "denies" => "It would be refused",
        "asks" => "A person would be asked",
        _ => "It would be allowed",
    };
    html! {
        p { strong { (told) } " by the rule " code { (answer.rule) } ", as far as " (answer.rung) }
        p.quiet { "Definition: " (answer.definition) }
        (table("Layer by layer", &["Layer", "Verdict", "Rule", "Reason"], &rows))
    }
}

/// What the files say of a tool or a client.
pub(crate) fn explained(answer: &ExplainAnswer) -> Markup {
    html! {
        p { strong { (answer.subject) } }
        dl { @for one in &answer.says { (fact(&one.file, &html! { (one.says) })) } }
    }
}

/// Which model may have a request, and why.
pub(crate) fn provider(answer: &ProviderAnswer) -> Markup {
    let nobody = || "nobody".to_owned();
    let names = |names: &[String]| match names {
        [] => nobody(),
        names => names.join(", "),
    };
    html! {
        div aria-live="polite" {
            @match (&answer.provider, &answer.blocked) {
                (Some(provider), _) => {
                    p {
                        strong { (provider) } ", model " (answer.model.as_deref().unwrap_or("the provider's own"))
                        @if let Some(source) = &answer.source { span.quiet { " (" (source) ")" } }
                    }
                }
                (None, Some(blocked)) => {
                    div.notice.bad {
                        p { "No model gets it: " (blocked.reason) " " span.quiet { (blocked.reason_code) } }
                        p.quiet { (blocked.next_safe_step) }
                    }
                }
                (None, None) => {}
            }
            dl {
                (fact("Data of", &html! { (names(&answer.entity_context)) }))
                @if answer.needs_clearance {
                    (fact("Clearance", &html! { "only a provider cleared for health information" }))
                }
                @if !answer.redacted_first.is_empty() {
                    (fact("Redacted first", &html! { (names(&answer.redacted_first)) }))
                }
                @for one in &answer.preferences {
                    (fact("Wish", &html! {
                        (one.of) " wants " (one.provider) ": "
                        (if one.may_have_it { "taken" } else { "passed over" })
                    }))
                }
                @for one in &answer.considered {
                    (fact(&one.provider, &html! {
                        @if one.may_have_it { (badge("allowed")) } @else { (badge("denied")) " " (one.why_not.join("; ")) }
                    }))
                }
                @if !answer.fallbacks.is_empty() {
                    (fact("When it does not answer", &html! { (names(&answer.fallbacks)) }))
                }
            }
        }
    }
}

/// What deciding again came to.
pub(crate) fn replayed(answer: &ReplayAnswer) -> Markup {
    let rows = html! {
        @for one in &answer.differences {
            tr {
                td.number { (one.calls) }
                td { (one.what.client) }
                td.wide {
                    @if one.what.verb != "tools/call" { (one.what.verb) " " }
                    (one.what.server) "/" (one.what.item)
                }
                td { (said(&one.what.before)) }
                td { (said(&one.what.after)) }
                td { a href={ "/ledger/calls/" (encoded(&one.last)) } { "the newest" } }
            }
        }
    };
    let heads = ["Calls", "Client", "What", "Was", "Would be", "Look at"];
    html! {
        p {
            (counted(answer.calls, "call")) " decided again: " (answer.same) " the same, " (answer.changed)
            " with another answer, " (answer.by_another_rule) " by another rule, " (answer.depends)
            " depending on what is not recorded"
        }
        @if answer.without_decision > 0 {
            p.quiet { (counted(answer.without_decision, "call")) " had no decision of the rules to begin with" }
        }
        @if !answer.differences.is_empty() { (table("Differences", &heads, &rows)) }
        p { a href="/governance" { "The rules" } }
    }
}

fn said(said: &Said) -> Markup {
    html! {
        (badge(&said.answer))
        @if let Some(rung) = said.rung.as_ref().filter(|rung| *rung != "execute") { " " (rung) }
        @if let Some(rule) = &said.rule { p.quiet { "by " code { (rule) } } }
        @for one in &said.depends { p.quiet { code { (one.rule) } " reads " (one.reads.join(", ")) } }
    }
}
