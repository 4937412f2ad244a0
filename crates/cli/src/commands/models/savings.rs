//! `legation models savings`.

use std::collections::BTreeMap;

use clap::Args;
use legation_api::models::{Savings, SavingsAnswer, SavingsDay, SavingsRow};
use legation_core::Wall;
use legation_models::Day;
use legation_policy::governance::LlmProviders;
use legation_store::{SpendRow, Store, StoreOptions};

use crate::commands::audit::source::under_lock;
use crate::commands::hub;
use crate::table::{Table, printable};
use crate::{CliError, Context, Exit};

/// Days that are counted where nobody says how many.
const DAYS: u32 = 30;
/// Days that are kept.
const DAYS_MAX: u32 = 400;

/// Arguments of `legation models savings`.
#[derive(Debug, Args)]
pub struct SavingsArgs {
    /// How many days back, today included (UTC).
    #[arg(long, default_value_t = DAYS, value_parser = clap::value_parser!(u32).range(1..=i64::from(DAYS_MAX)))]
    days: u32,
}

pub(super) fn cmd_savings(context: &Context, args: &SavingsArgs) -> Result<(), CliError> {
    let days = Some(args.days);
    let answer = match hub(context)? {
        Some(mut client) => client.call(&Savings { days })?,
        None => offline(context, days)?,
    };
    context.output.result(&answer, render)
}

fn offline(context: &Context, days: Option<u32>) -> Result<SavingsAnswer, CliError> {
    let (from, until) = bounds(days, context.clock.wall());
    let open = |path: &std::path::Path| Store::open(path, StoreOptions::default());
    let rows = match under_lock(context, open, Store::connect)? {
        None => Vec::new(),
        Some((store, _lock)) => store
            .spend_list(from.0)
            .map_err(|error| CliError::new(Exit::Failed, legation_core::error::chain(&error)))?,
    };
    let governed = crate::commands::governance::find(context);
    Ok(answer(
        rows,
        (from, until),
        governed.governance().providers.good(),
    ))
}

/// The first and the last day that are counted.
#[must_use]
pub fn bounds(days: Option<u32>, now: Wall) -> (Day, Day) {
    let until = Day::of(now);
    let days = i64::from(days.unwrap_or(DAYS).clamp(1, DAYS_MAX));
    (Day(until.0 - days + 1), until)
}

/// What rows of these days add up to, by provider, model and job.
#[must_use]
pub fn answer(
    rows: Vec<SpendRow>,
    (from, until): (Day, Day),
    providers: Option<&LlmProviders>,
) -> SavingsAnswer {
    let mut sums: BTreeMap<(String, String, String), SavingsRow> = BTreeMap::new();
    let mut days: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for row in rows.into_iter().filter(|row| row.day <= until.0) {
        let (cost, saved) = days.entry(row.day).or_default();
        *cost = cost.saturating_add(row.cost_micro);
        *saved = saved.saturating_add(row.saved_micro);
        let key = (row.provider.clone(), row.model.clone(), row.job.clone());
        let sum = sums.entry(key).or_insert_with(|| SavingsRow {
            provider: row.provider,
            model: row.model,
            job: row.job,
            ..SavingsRow::default()
        });
        for (sum, more) in [
            (&mut sum.requests, row.requests),
            (&mut sum.uncounted, row.uncounted),
            (&mut sum.input_tokens, row.input),
            (&mut sum.output_tokens, row.output),
            (&mut sum.cost_micro_usd, row.cost_micro),
            (&mut sum.saved_micro_usd, row.saved_micro),
        ] {
            *sum = sum.saturating_add(u64::try_from(more).unwrap_or(0));
        }
    }
    let rows: Vec<SavingsRow> = sums.into_values().collect();
    let total = |of: fn(&SavingsRow) -> u64| {
        let each = rows.iter().map(of);
        each.fold(0, u64::saturating_add)
    };
    SavingsAnswer {
        from: from.to_string(),
        until: until.to_string(),
        against: providers.and_then(|providers| providers.savings_against.clone()),
        cost_micro_usd: total(|row| row.cost_micro_usd),
        saved_micro_usd: total(|row| row.saved_micro_usd),
        days: days.into_iter().map(day).collect(),
        rows,
    }
}

fn day((day, (cost, saved)): (i64, (i64, i64))) -> SavingsDay {
    SavingsDay {
        day: Day(day).to_string(),
        cost_micro_usd: u64::try_from(cost).unwrap_or(0),
        saved_micro_usd: u64::try_from(saved).unwrap_or(0),
    }
}

fn render(answer: &SavingsAnswer) -> String {
    let (from, until) = (&answer.from, &answer.until);
    if answer.rows.is_empty() {
        return format!("no model was asked from {from} to {until}\n");
    }
    let mut table = Table::new(&[
        "PROVIDER", "MODEL", "JOB", "REQUESTS", "IN", "OUT", "COST", "SAVED",
    ]);
    for row in &answer.rows {
        table.row([
            row.provider.clone(),
            row.model.clone(),
            row.job.clone(),
            row.requests.to_string(),
            row.input_tokens.to_string(),
            row.output_tokens.to_string(),
            dollars(row.cost_micro_usd),
            dollars(row.saved_micro_usd),
        ]);
    }
    let mut text = table.render();
    let (cost, saved) = (
        dollars(answer.cost_micro_usd),
        dollars(answer.saved_micro_usd),
    );
    text.push_str(&format!("\nfrom {from} to {until} (UTC): cost {cost}"));
    match &answer.against {
        Some(against) => text.push_str(&format!(
            "; local models saved {saved} at the prices of {}\n",
            printable(against)
        )),
        None => text.push_str(
            "; name a provider with prices as `savings_against` in llm_provider.json to see what local models save\n",
        ),
    }
    let uncounted: u64 = answer.rows.iter().map(|row| row.uncounted).sum();
    if uncounted > 0 {
        text.push_str(&format!(
            "{uncounted} answers came without a count of tokens and are not in it\n"
        ));
    }
    text
}

/// Millionths as a person reads them.
fn dollars(micro: u64) -> String {
    format!("${}.{:04}", micro / 1_000_000, micro % 1_000_000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(day: i64, provider: &str, cost: i64, saved: i64) -> SpendRow {
        SpendRow {
            day,
            provider: provider.to_owned(),
            model: "small".to_owned(),
            job: "delegate.task".to_owned(),
            requests: 2,
            uncounted: 1,
            input: 100,
            output: 10,
            cost_micro: cost,
            saved_micro: saved,
            ..SpendRow::default()
        }
    }

    #[test]
    fn rows_add_up_by_what_they_are_about() {
        let bounds = bounds(Some(2), Wall(10 * 86_400_000));
        assert_eq!(bounds, (Day(9), Day(10)));
        let rows = vec![
            row(9, "local", 0, 280),
            row(10, "local", 0, 20),
            row(10, "paid", 1_234_567, 0),
            // A clock that was set back.
            row(11, "paid", 5, 0),
        ];
        let answer = answer(rows, bounds, None);
        assert_eq!(
            (answer.cost_micro_usd, answer.saved_micro_usd),
            (1_234_567, 300)
        );
        assert_eq!(answer.rows.len(), 2);
        assert_eq!(
            (answer.rows[0].requests, answer.rows[0].input_tokens),
            (4, 200)
        );
        let text = render(&answer);
        assert!(
            text.contains("$1.2345") && text.contains("$0.0003"),
            "{text}"
        );
        assert!(text.contains("3 answers came without"), "{text}");
        assert!(text.contains("savings_against"), "{text}");
    }
}
