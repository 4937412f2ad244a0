use serde_json::json;

use super::*;
use legation_core::Clock as _;
use legation_core::Wall;
use legation_core::clock::ManualClock;

/// Noon of 30 June 2026.
const NOON_MS: i64 = 1_782_820_800_000;

/// Rows in memory.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) rows: Mutex<Vec<Spend>>,
    broken: bool,
}

impl SpendBook for Rows {
    fn add(&self, row: Spend) -> Result<(), BookError> {
        self.rows.lock().expect("not poisoned").push(row);
        Ok(())
    }

    fn since(&self, provider: &str, from: Day) -> Result<Spent, BookError> {
        if self.broken {
            return Err(BookError("the disk is gone".into()));
        }
        let rows = self.rows.lock().expect("not poisoned");
        let rows = rows
            .iter()
            .filter(|row| row.provider == provider && row.day >= from);
        Ok(rows.fold(Spent::default(), |spent, row| Spent {
            tokens: spent.tokens + row.usage.input.unwrap_or(0) + row.usage.output.unwrap_or(0),
            cost_micro_usd: spent.cost_micro_usd + row.cost_micro_usd.unwrap_or(0),
        }))
    }
}

fn provider(limits: serde_json::Value) -> Provider {
    let entry = json!({ "kind": "openai_direct", "enabled": true, "hipaa_cleared": false, "limits": limits });
    serde_json::from_value(entry).expect("a provider")
}

fn row(tokens: u64, cost: u64, day: Day) -> Spend {
    Spend {
        day,
        provider: "paid".to_owned(),
        model: "small".to_owned(),
        labels: None,
        job: None,
        usage: Usage {
            input: Some(tokens),
            output: Some(0),
            ..Usage::default()
        },
        cost_micro_usd: Some(cost),
        saved_micro_usd: None,
    }
}

fn meter(rows: Rows) -> (Arc<ManualClock>, Arc<Rows>, Meter) {
    let clock = Arc::new(ManualClock::at(Wall(NOON_MS)));
    let rows = Arc::new(rows);
    let meter = Meter::new(Arc::clone(&rows) as Arc<dyn SpendBook>, clock.clone());
    (clock, rows, meter)
}

#[test]
fn a_minute_has_so_many_requests() {
    let (clock, _, meter) = meter(Rows::default());
    let paid = provider(json!({ "requests_per_minute": 2 }));
    meter.admit("paid", &paid).expect("the first");
    clock.advance(Duration::from_secs(20));
    meter.admit("paid", &paid).expect("the second");
    let limited = meter.admit("paid", &paid).expect_err("the third");
    assert!(
        matches!(limited, Limited::Rate { most: 2, again_in } if again_in == Duration::from_secs(40)),
        "{limited}"
    );
    meter.admit("other", &paid).expect("each has its own");
    meter.admit("paid", &provider(json!({}))).expect("no limit");
    clock.advance(Duration::from_secs(40));
    meter
        .admit("paid", &paid)
        .expect("the first is a minute ago");
    assert!(meter.admit("paid", &paid).is_err());
    let none = provider(json!({ "requests_per_minute": 0 }));
    assert!(meter.admit("third", &none).is_err());
}

#[test]
fn what_is_used_up_is_asked_no_more() {
    let (clock, rows, meter) = meter(Rows::default());
    let tokens = provider(json!({ "tokens_per_day": 1000 }));
    let money = provider(json!({ "usd_per_month": 0.5 }));
    let today = Day::of(clock.wall());
    assert_eq!(today.to_string(), "2026-06-30");
    rows.add(row(500, 499_999, Day(today.0 - 1))).expect("kept");
    rows.add(row(5, 9, Day(today.0 - 30))).expect("kept");
    rows.add(row(999, 0, today)).expect("kept");
    meter.admit("paid", &tokens).expect("one is left");
    meter.admit("paid", &money).expect("a bit is left");
    rows.add(row(1, 1, today)).expect("kept");
    assert!(matches!(
        meter.admit("paid", &tokens),
        Err(Limited::Tokens { most: 1000 })
    ));
    assert!(matches!(
        meter.admit("paid", &money),
        Err(Limited::Money { .. })
    ));
    meter.admit("other", &tokens).expect("each has its own");
    clock.advance(Duration::from_secs(12 * 3600));
    meter.admit("paid", &tokens).expect("the day is over");
    meter.admit("paid", &money).expect("and so is the month");
}

#[test]
fn a_book_that_cannot_be_read_admits_nobody() {
    let broken = Rows {
        broken: true,
        ..Rows::default()
    };
    let (_, _, meter) = meter(broken);
    let paid = provider(json!({ "tokens_per_day": 1000 }));
    let limited = meter.admit("paid", &paid).expect_err("not known");
    assert!(matches!(limited, Limited::Book(_)) && !limited.hint().is_empty());
    meter
        .admit("paid", &provider(json!({})))
        .expect("nothing to know");
}

#[test]
fn every_answer_is_a_row_whatever_ends_it() {
    let (_, rows, meter) = meter(Rows::default());
    let meter = Arc::new(meter);
    let prices = json!({ "input": 2.0, "output": 8.0 });
    let providers: LlmProviders = serde_json::from_value(json!({
        "default_provider": "local", "savings_against": "paid",
        "providers": {
            "local": { "kind": "local_model", "enabled": true, "hipaa_cleared": false },
            "paid": { "kind": "openai_direct", "enabled": true, "hipaa_cleared": false, "prices": prices },
        },
    }))
    .expect("providers");
    let selected = |provider: &str, kind| Selected {
        provider: provider.to_owned(),
        kind,
        model: None,
        source: legation_policy::provider::ChoiceSource::Default,
    };
    let usage = Usage {
        input: Some(100),
        output: Some(10),
        ..Usage::default()
    };
    let job = Some("delegate.task".to_owned());
    let local = selected("local", ProviderKind::LocalModel);
    let wanted = |job: Option<String>| Wanted {
        job,
        ..Wanted::for_nobody()
    };
    let mut entry = meter.entry(&providers, &local, ("chat", "qwen"), &wanted(job.clone()));
    entry.begun();
    entry.count(usage);
    drop(entry);
    let paid = selected("paid", ProviderKind::OpenaiDirect);
    let mut entry = meter.entry(&providers, &paid, ("chat", "gpt"), &wanted(None));
    entry.begun();
    entry.count(usage);
    drop(entry);
    let mut entry = meter.entry(&providers, &paid, ("chat", "gpt"), &wanted(None));
    entry.begun();
    drop(entry);
    // Nobody began to answer.
    drop(meter.entry(&providers, &paid, ("chat", "gpt"), &wanted(None)));
    let rows = rows.rows.lock().expect("not poisoned");
    let told = |row: &Spend| {
        (
            row.provider.clone(),
            row.cost_micro_usd,
            row.saved_micro_usd,
        )
    };
    let told: Vec<_> = rows.iter().map(told).collect();
    assert_eq!(
        told,
        [
            ("local".to_owned(), None, Some(280)),
            ("paid".to_owned(), Some(280), None),
            ("paid".to_owned(), None, None),
        ]
    );
    assert_eq!((rows[0].job.clone(), rows[0].model.as_str()), (job, "qwen"));
}
