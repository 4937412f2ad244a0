//! The ledger: what was recorded, how much, and whether it is whole.

use legation_api::audit::{CountsAnswer, VerifyAnswer};
use legation_api::models::SavingsAnswer;
use legation_core::Wall;

use maud::{Markup, html};
use serde_json::Value;

use super::ask::Failure;
use super::charts::{Chart, Series};
use super::fields::{Fields, encoded};
use super::html::{Frame, badge, counted, entity, fact, moment_ms, nothing, table};
use super::records::{self, Shown};

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;
/// Records of one page.
pub(crate) const PAGE: usize = 50;
/// Records that are looked at for one page, so that none takes long.
pub(crate) const SCAN: usize = 4_000;
/// The members that a filter can name, with their labels.
pub(crate) const FILTERS: [(&str, &str); 6] = [
    ("entity", "Chain"),
    ("kind", "Kind"),
    ("client", "Client"),
    ("server", "Server"),
    ("item", "Tool"),
    ("status", "Ended"),
];

/// The ledger's page.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) counts: Result<CountsAnswer, Failure>,
    pub(crate) savings: Result<SavingsAnswer, Failure>,
    pub(crate) records: Result<(Vec<Shown>, Option<i64>), Failure>,
    /// What was asked for.
    pub(crate) query: Fields,
}

pub(crate) fn page(frame: &Frame, view: &Ledger) -> Markup {
    let verify = html! {
        p { "Every record is read and every chain computed anew. That takes a while where there are many." }
        div.actions { button type="submit" { "Verify the ledger" } }
    };
    html! {
        p.status-line #live role="status" {}
        section.card aria-labelledby="verify" {
            header { h2 #verify { "Is it whole?" } }
            (frame.form("/ledger/verify", &verify))
        }
        h2 { "How much" }
        (days(view))
        div #counts data-part="quiet" { (charts(view)) }
        h2 { "Records" }
        (filters(view))
        div #records data-part="quiet" { (found(view)) }
    }
}

fn days(view: &Ledger) -> Markup {
    let chosen = view.query.get("days").unwrap_or("7");
    html! {
        nav aria-label="Span of the charts" {
            p.actions {
                @for (days, label) in [("1", "Day"), ("7", "Week"), ("30", "Month"), ("90", "Quarter")] {
                    a href={ "/ledger?days=" (days) } aria-current=[(days == chosen).then_some("true")] { (label) }
                }
            }
        }
    }
}

fn charts(view: &Ledger) -> Markup {
    html! {
        @match &view.counts {
            Err(failure) => { (failure.shown()) }
            Ok(counts) => {
                @if counts.missing > 0 {
                    p.quiet { (counts.missing) " older records are being counted; reload in a moment." }
                }
                div.columns { (calls(counts)) (latency(counts)) }
            }
        }
        @match &view.savings {
            Err(failure) => { (failure.shown()) }
            Ok(savings) => { (saved(savings)) }
        }
    }
}

/// A count as a chart takes it; beyond 2⁵³ nobody sees a difference.
#[expect(clippy::cast_precision_loss, reason = "a chart shows three digits")]
fn float(count: u64) -> f64 {
    count as f64
}

fn calls(counts: &CountsAnswer) -> Markup {
    let series = |name, of: fn(&legation_api::audit::CountsSpan) -> u64| Series {
        name,
        values: counts.spans.iter().map(|span| float(of(span))).collect(),
    };
    let chart = Chart {
        title: "Calls and refusals",
        unit: "calls",
        ends: ends(counts),
        series: vec![
            series("made", |span| span.calls),
            series("refused", |span| span.refused),
        ],
    };
    let sum = |of: fn(&legation_api::audit::CountsSpan) -> u64| -> u64 {
        counts.spans.iter().map(of).sum()
    };
    html! {
        div {
            (chart.bars())
            p.quiet {
                (sum(|span| span.calls)) " made, " (sum(|span| span.refused)) " refused, "
                (sum(|span| span.failed)) " of those made did not end well"
            }
        }
    }
}

fn latency(counts: &CountsAnswer) -> Markup {
    let series = |name, of: fn(&legation_api::audit::CountsSpan) -> Option<f64>| Series {
        name,
        values: counts
            .spans
            .iter()
            .map(|span| of(span).unwrap_or(f64::NAN))
            .collect(),
    };
    let chart = Chart {
        title: "How long calls take",
        unit: "ms",
        ends: ends(counts),
        series: vec![
            series("median", |span| span.p50_ms),
            series("19 of 20", |span| span.p95_ms),
        ],
    };
    html! { div { (chart.lines()) } }
}

fn saved(savings: &SavingsAnswer) -> Markup {
    if savings.days.is_empty() {
        return nothing("No model was asked in this time, so nothing was spent or saved.");
    }
    let cents = |micro: u64| float(micro) / 10_000.0;
    let chart = Chart {
        title: "What models cost, and what local ones saved",
        unit: "US cents",
        ends: (savings.from.clone(), savings.until.clone()),
        series: vec![
            Series {
                name: "saved",
                values: by_day(savings, |day| cents(day.saved_micro_usd)),
            },
            Series {
                name: "cost",
                values: by_day(savings, |day| cents(day.cost_micro_usd)),
            },
        ],
    };
    chart.bars()
}

/// A number for each day of the answer, those without one included.
fn by_day(
    savings: &SavingsAnswer,
    of: impl Fn(&legation_api::models::SavingsDay) -> f64,
) -> Vec<f64> {
    let (Some(from), Some(until)) = (Wall::parse(&savings.from), Wall::parse(&savings.until))
    else {
        return Vec::new();
    };
    let count = usize::try_from((until.0 - from.0) / DAY_MS + 1).unwrap_or(0);
    let mut values = vec![0.0; count.min(400)];
    for day in &savings.days {
        let place =
            Wall::parse(&day.day).and_then(|at| usize::try_from((at.0 - from.0) / DAY_MS).ok());
        if let Some(value) = place.and_then(|place| values.get_mut(place)) {
            *value = of(day);
        }
    }
    values
}

fn ends(counts: &CountsAnswer) -> (String, String) {
    let spans = i64::try_from(counts.spans.len()).unwrap_or(0);
    let word = |at_ms: i64| {
        let text = Wall(at_ms).to_string();
        let end = if counts.span_ms < DAY_MS { 16 } else { 10 };
        text.get(..end).unwrap_or(&text).replace('T', " ")
    };
    let last = counts.from_ms + counts.span_ms * (spans - 1).max(0);
    (word(counts.from_ms), word(last))
}

fn filters(view: &Ledger) -> Markup {
    html! {
        form method="get" action="/ledger" role="search" aria-label="Records" {
            div.row {
                @for (name, label) in FILTERS {
                    label for={ "f-" (name) } { (label)
                        input #{ "f-" (name) } name=(name) value=[view.query.get(name)];
                    }
                }
                button type="submit" { "Find" }
            }
        }
    }
}

fn found(view: &Ledger) -> Markup {
    html! {
        @match &view.records {
            Err(failure) => { (failure.shown()) }
            Ok((records, next)) => {
                @if records.is_empty() { (nothing("None of those that were looked at is like that.")) }
                @else { (records::table("Records, newest first", records)) }
                p.actions {
                    @if view.query.get("before").is_some() { a href=(again(&view.query, None)) { "Newest" } }
                    @if let Some(next) = next { a href=(again(&view.query, Some(*next))) { "Look further back" } }
                }
            }
        }
    }
}

/// The same question from another place on.
fn again(query: &Fields, before: Option<i64>) -> String {
    let mut path = "/ledger?".to_owned();
    for (name, _) in FILTERS {
        if let Some(value) = query.get(name) {
            path.push_str(&format!("{name}={}&", encoded(value)));
        }
    }
    match before {
        Some(before) => path.push_str(&format!("before={before}")),
        None => drop(path.pop()),
    }
    path
}

/// What the verifier found.
pub(crate) fn verified(frame: &Frame, answer: &VerifyAnswer) -> Markup {
    let chains = html! {
        @for chain in &answer.chains {
            tr {
                td { (entity(&chain.entity)) }
                td.number { (chain.seq) }
                td.wide { code { (chain.hash) } }
            }
        }
    };
    html! {
        div class={ "notice " (if answer.intact { "good" } else { "bad" }) } role="status" {
            @if answer.intact {
                p { "The ledger is intact: " (counted_u64(answer.records, "record")) " in " (counted(answer.chains.len(), "chain")) "." }
            } @else {
                p { "The ledger is broken: " (counted_u64(answer.fault_count, "fault")) "." }
            }
        }
        @if !answer.faults.is_empty() {
            h2 { "Faults" }
            ul { @for fault in &answer.faults { li { (badge(&fault.kind)) " " (fault.what) } } }
        }
        section.card aria-label="What was checked" {
            dl {
                (fact("Calls begun", &html! { (answer.intents) }))
                (fact("Calls ended", &html! { (answer.outcomes) }))
                (fact("Refused", &html! { (answer.refused) }))
                (fact("Notes", &html! { (answer.notes) }))
                (fact("Running now", &html! { (answer.open) }))
                (fact("Checkpoints", &html! { (answer.checkpoints) ", the largest covers " (counted_u64(answer.covered, "record")) }))
                (fact("Trusted keys", &html! { @for key in &answer.public_keys { code { (key) } " " } }))
            }
        }
        h2 { "Chains" }
        (table("Chains", &["Chain", "Records", "Hash of the newest"], &chains))
        p.quiet {
            "A chain proves that nothing in it was changed. That nothing was cut off its end is proved by a checkpoint "
            "that the hub cannot write again: `legation audit verify --checkpoints`."
        }
        (frame.form("/ledger/verify", &html! { div.actions { button.plain type="submit" { "Verify again" } } }))
        p { a href="/ledger" { "The ledger" } }
    }
}

/// What was found of one call; `whole` leads to all of it where not all was looked at.
pub(crate) fn call(records: &[Shown], whole: Option<&str>) -> Markup {
    html! {
        @if records.is_empty() { (nothing("There is no such call among the records that were looked at.")) }
        @for Shown { record, members } in records {
            section.card aria-label={ "Record " (record.seq) } {
                header {
                    (badge(members.status.as_deref().unwrap_or(&members.kind)))
                    (entity(&record.entity)) span.quiet { "#" (record.seq) } (moment_ms(record.at_ms))
                }
                dl {
                    @for (name, value) in members_of(record.record.get()) { (fact(&name, &html! { (value) })) }
                    (fact("hash", &html! { code { (record.hash) } }))
                }
            }
        }
        @if let Some(whole) = whole { p { a href=(whole) { "Look through the whole ledger, which may take a while" } } }
        p { a href="/ledger" { "The ledger" } }
    }
}

/// The members of a record, as they stand in it.
fn members_of(text: &str) -> Vec<(String, String)> {
    let Ok(Value::Object(members)) = serde_json::from_str(text) else {
        return vec![("record".to_owned(), text.to_owned())];
    };
    let shown = members.into_iter().map(|(name, value)| match value {
        Value::String(text) => (name, text),
        other => (name, other.to_string()),
    });
    shown.collect()
}

fn counted_u64(count: u64, noun: &str) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), noun)
}
