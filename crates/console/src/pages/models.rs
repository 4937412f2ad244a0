//! Models: which provider has what, why, and what they cost.

use std::collections::BTreeSet;

use legation_api::models::{
    CapabilitiesAnswer, PreferencesAnswer, SavingsAnswer, SetPreferencesAnswer,
};
use maud::{Markup, html};

use super::ask::Failure;
use super::html::{Frame, badge, counted, dollars, fact, nothing, table};

/// Where nothing is preferred.
const DISABLED: &str = "disabled";
/// Begins the name of a field that holds a job's provider.
pub(crate) const JOB_FIELD: &str = "job.";

/// Everything about models.
#[derive(Debug)]
pub(crate) struct Models {
    pub(crate) preferences: PreferencesAnswer,
    pub(crate) savings: Result<SavingsAnswer, Failure>,
    /// What local servers say; only where it was asked for.
    pub(crate) capabilities: Option<Result<CapabilitiesAnswer, Failure>>,
    /// The jobs that can have a provider of their own.
    pub(crate) jobs: Vec<String>,
    /// The explanation that was asked for.
    pub(crate) explained: Option<Markup>,
}

pub(crate) fn page(frame: &Frame, view: &Models) -> Markup {
    html! {
        (card(frame, view))
        section.card aria-labelledby="explain" {
            header { h2 #explain { "Which model may have it?" } }
            form method="get" action="/models" {
                div.row {
                    label for="explain-entity" {
                        "Data of" " " span.quiet { "ids, or all" }
                        input #explain-entity name="entity";
                    }
                    label for="explain-job" {
                        "Job"
                        input #explain-job name="job" list="jobs";
                    }
                    button type="submit" name="explain" value="yes" { "Explain" }
                }
                datalist #jobs { @for job in &view.jobs { option value=(job) {} } }
            }
            @if let Some(explained) = &view.explained { (explained) }
        }
        (providers(&view.preferences))
        (capabilities(view))
        (savings(view))
    }
}

/// The provider card: the default, what entities need, what jobs prefer.
fn card(frame: &Frame, view: &Models) -> Markup {
    let all = &view.preferences;
    let names: BTreeSet<&str> = all.providers.keys().map(String::as_str).collect();
    let fields = html! {
        div.row {
            label for="default" { "Default"
                select #default name="default" {
                    (options(&names, Some(&all.default_provider)))
                    option value=(DISABLED) selected[all.default_provider == DISABLED] { "None" }
                }
            }
            p { (standing(all, &all.default_provider)) }
        }
        h3 { "Entities" }
        dl {
            @for (name, entity) in &all.entity_overrides {
                (fact(name, &html! {
                    @match &entity.provider {
                        Some(provider) => { strong { (provider) } " " (standing(all, provider)) }
                        None => { "uses the default" }
                    }
                    @if entity.required_hipaa_cleared { " " (badge("HIPAA clearance required")) }
                    @if let Some(notes) = &entity.notes { p.quiet { (notes) } }
                }))
            }
        }
        @if all.entity_overrides.is_empty() { p.quiet { "None prefers or needs anything of its own." } }
        fieldset {
            legend { "Jobs that prefer another" }
            @for job in &view.jobs {
                @let field = format!("{JOB_FIELD}{job}");
                @let chosen = all.per_job_overrides.get(job).map(|one| one.provider.as_str());
                label for=(field) { (job)
                    select #(field) name=(field) {
                        option value="" selected[chosen.is_none()] { "Default" }
                        (options(&names, chosen))
                    }
                }
            }
            @if view.jobs.is_empty() { p.quiet { "No job prefers anything." } }
        }
        div.actions {
            button type="submit" name="act" value="change" { "Change" }
            button.plain type="submit" name="act" value="try" { "Only say what would come of it" }
        }
    };
    let copilot = all.providers.iter().find(|(name, provider)| {
        name.contains("copilot") || provider.kind.as_deref() == Some("copilot_extension")
    });
    html! {
        section.card aria-labelledby="provider" {
            header { h2 #provider { "Model provider" } }
            (frame.form("/models", &fields))
            @if let Some((name, provider)) = copilot {
                p {
                    "Copilot (" (name) "): "
                    @if provider.enabled { (badge("on")) } @else { (badge("off")) }
                    " " span.quiet { "it has what a Copilot user asks, never what needs clearance" }
                }
            }
        }
    }
}

fn options(names: &BTreeSet<&str>, chosen: Option<&str>) -> Markup {
    html! {
        @for name in names { option value=(name) selected[chosen == Some(name)] { (name) } }
        // What the file names and does not describe is shown, not replaced.
        @if let Some(chosen) = chosen.filter(|chosen| *chosen != DISABLED && !names.contains(chosen)) {
            option value=(chosen) selected { (chosen) " (not described)" }
        }
    }
}

/// Whether a provider can be used, in words.
fn standing(all: &PreferencesAnswer, name: &str) -> Markup {
    html! {
        @match all.providers.get(name) {
            None if name == DISABLED => { span.quiet { "no model is asked" } }
            None => { (badge("not configured")) }
            Some(one) if !one.enabled => { (badge("off")) " " span.quiet { "`legation models set enable " (name) "`" } }
            Some(one) => {
                (badge("on"))
                @if one.hipaa_cleared { " " (badge("cleared")) }
            }
        }
    }
}

fn providers(all: &PreferencesAnswer) -> Markup {
    let rows = html! {
        @for (name, one) in &all.providers {
            tr {
                td { strong { (name) } @if let Some(notes) = &one.notes { p.quiet { (notes) } } }
                td { (one.kind.as_deref().unwrap_or("unknown")) }
                td { @if one.enabled { (badge("on")) } @else { (badge("off")) } }
                td { @if one.hipaa_cleared { (badge("cleared")) } @else { "no" } }
                td { (one.key) @if let Some(variable) = &one.auth_env_var { " " code { (variable) } } }
                td { (one.default_model.as_deref().unwrap_or("")) }
                td.wide { (one.endpoint.as_deref().unwrap_or("")) }
            }
        }
    };
    let heads = [
        "Provider",
        "Kind",
        "State",
        "Health data",
        "Key from",
        "Model",
        "Where",
    ];
    html! {
        h2 { "Providers" }
        @if all.providers.is_empty() { (nothing("There are none.")) } @else { (table("Providers", &heads, &rows)) }
        @if !all.fallbacks.is_empty() { p { "When one does not answer: " (all.fallbacks.join(", ")) } }
    }
}

fn capabilities(view: &Models) -> Markup {
    let yes = |is: Option<bool>| match is {
        Some(true) => "yes",
        Some(false) => "no",
        None => "not known",
    };
    html! {
        h2 { "What they can" }
        @match &view.capabilities {
            None => { p { a href="/models?ask=yes" { "Ask the servers on this machine" } } }
            Some(Err(failure)) => { (failure.shown()) }
            Some(Ok(found)) if found.providers.is_empty() => { (nothing("No provider is on.")) }
            Some(Ok(found)) => {
                @let rows = html! {
                    @for one in &found.providers {
                        tr {
                            td { strong { (one.provider) } }
                            td { (one.model.as_deref().unwrap_or("")) }
                            td { (yes(one.answers)) @if let Some(problem) = &one.problem { p.quiet { (problem) } } }
                            td { @if one.is_local { "this machine" } @else { "elsewhere" } }
                            td.number { @if let Some(tokens) = one.context_tokens { (tokens) } }
                            td { (yes(one.tools)) }
                        }
                    }
                };
                (table("What they can", &["Provider", "Model", "Answers", "Runs on", "Context", "Tools"], &rows))
            }
        }
    }
}

fn savings(view: &Models) -> Markup {
    html! {
        h2 { "What they cost" }
        @match &view.savings {
            Err(failure) => { (failure.shown()) }
            Ok(found) if found.rows.is_empty() => { (nothing("No model was asked in the last 30 days.")) }
            Ok(found) => {
                @let rows = html! {
                    @for row in &found.rows {
                        tr {
                            td { (row.provider) }
                            td { (row.model) }
                            td { (row.job) }
                            td.number { (row.requests) }
                            td.number { (row.input_tokens) }
                            td.number { (row.output_tokens) }
                            td.number { (dollars(row.cost_micro_usd)) }
                            td.number { (dollars(row.saved_micro_usd)) }
                        }
                    }
                };
                (table("What they cost", &["Provider", "Model", "Job", "Answers", "Read", "Written", "Cost", "Saved"], &rows))
                p {
                    "From " (found.from) " to " (found.until) ": cost " (dollars(found.cost_micro_usd))
                    @if let Some(against) = &found.against {
                        ", saved " (dollars(found.saved_micro_usd)) " at the prices of " (against)
                    }
                }
            }
        }
    }
}

/// What a change came to, in words.
pub(crate) fn changed(answer: &SetPreferencesAnswer) -> String {
    let mut text = match (answer.dry_run, answer.changes) {
        (true, true) => "It would be changed".to_owned(),
        (true, false) => "Nothing would change".to_owned(),
        (false, true) => "The preferences were changed".to_owned(),
        (false, false) => "Nothing was to be changed".to_owned(),
    };
    if !answer.warnings.is_empty() {
        let count = counted(answer.warnings.len(), "warning");
        text.push_str(&format!("; {count}: {}", answer.warnings.join("; ")));
    }
    text
}
