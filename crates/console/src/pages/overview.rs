//! The first page: how the hub is, and what waits for a person.

use legation_api::hub::StatusAnswer;
use legation_api::tasks::EngineStatusAnswer;
use maud::{Markup, html};

use super::ask::Failure;
use super::html::{badge, fact, nothing, span, tile};
use super::records::{self, Shown};

/// What the page shows. What could not be had says why.
#[derive(Debug)]
pub(crate) struct Overview {
    pub(crate) status: Result<StatusAnswer, Failure>,
    pub(crate) engine: Result<EngineStatusAnswer, Failure>,
    /// Questions that wait.
    pub(crate) waiting: Option<usize>,
    /// Definitions that wait to be looked at.
    pub(crate) definitions: Result<usize, Failure>,
    /// The newest records, newest first.
    pub(crate) records: Result<Vec<Shown>, Failure>,
}

pub(crate) fn page(view: &Overview) -> Markup {
    html! {
        p.status-line #live role="status" {}
        div #overview-tiles data-part="told" { (tiles(view)) }
        div #overview-hub data-part="quiet" { (hub(view)) }
        h2 { "What happened last" }
        div #overview-records data-part="quiet" {
            @match &view.records {
                Ok(found) if found.is_empty() => { (nothing("Nothing has been recorded yet.")) }
                Ok(found) => { (records::table("The newest records", found)) }
                Err(failure) => { (failure.shown()) }
            }
            p { a href="/ledger" { "The whole ledger" } }
        }
    }
}

fn tiles(view: &Overview) -> Markup {
    let definitions = view.definitions.as_ref().ok().copied();
    html! {
        div.tiles {
            @if let Ok(status) = &view.status {
                (tile("servers connected", &format!("{} of {}", status.connected, status.servers), Some(("/servers", "Servers"))))
            }
            @if let Some(waiting) = view.waiting {
                (tile("questions wait for you", &waiting.to_string(), Some(("/approvals", "Approvals"))))
            }
            @if let Some(definitions) = definitions {
                (tile("definitions to review", &definitions.to_string(), Some(("/definitions", "Review"))))
            }
            @if let Ok(engine) = &view.engine {
                (tile("tasks in the queue", &engine.queue_depth.to_string(), Some(("/tasks", "Tasks"))))
            }
        }
    }
}

fn hub(view: &Overview) -> Markup {
    html! {
        section.card aria-labelledby="hub" {
            header { h2 #hub { "This hub" } }
            @match &view.status {
                Err(failure) => { (failure.shown()) }
                Ok(status) => {
                    dl {
                        (fact("Version", &html! { (status.version) }))
                        (fact("Running for", &html! { (span(status.uptime_ms)) }))
                        (fact("Answers at", &html! {
                            (status.listen.as_deref().unwrap_or("nowhere"))
                            @if status.no_auth { " " strong { "without credentials" } }
                        }))
                        (fact("Data directory", &html! { code { (status.home) } }))
                        (fact("Rules", &html! { (status.rules) }))
                        (fact("Local model", &model(view)))
                    }
                    @if !status.problems.is_empty() {
                        h3 { "Problems" }
                        ul { @for problem in &status.problems { li { (problem) } } }
                    }
                }
            }
        }
    }
}

fn model(view: &Overview) -> Markup {
    html! {
        @match &view.engine {
            Err(_) => { (badge("off")) }
            Ok(engine) => {
                (badge(&engine.state)) " "
                @match &engine.model {
                    Some(model) => { (model) }
                    None => { "no model would have the next task" }
                }
            }
        }
    }
}
