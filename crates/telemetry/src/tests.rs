//! Pages as a reader of their format reads them, spans as a collector gets them, and logs that have
//! grown.

mod collector;
mod log;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use legation_core::observe::{CallEnded, ModelEnded};

use crate::{Kind, Metrics, Page};

fn call<'a>(server: &'a str, outcome: &'static str, reason: Option<&'static str>) -> CallEnded<'a> {
    CallEnded {
        server: Some(server),
        method: "tools/call",
        rung: Some("execute"),
        outcome,
        reason,
        elapsed: Duration::from_micros(1_500),
        at_server: Some(Duration::from_millis(1)),
    }
}

fn text(metrics: &Metrics) -> String {
    let mut page = Page::default();
    metrics.write(&mut page);
    page.into_text()
}

/// Reads a page as promtool does: every family once, its kind before its samples, every sample of
/// the family it stands below, none twice, histograms that grow and end with everything.
fn read(page: &str) -> BTreeMap<String, f64> {
    let mut samples = BTreeMap::new();
    let mut families = BTreeSet::new();
    let (mut family, mut kind) = (String::new(), String::new());
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(families.insert(name.to_owned()), "{name} twice");
            assert!(!help.is_empty());
            family = name.to_owned();
            continue;
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, is) = rest.split_once(' ').unwrap();
            assert_eq!(name, family);
            assert!(["counter", "gauge", "histogram"].contains(&is));
            kind = is.to_owned();
            continue;
        }
        let (sample, value) = line.rsplit_once(' ').unwrap();
        let name = sample.split('{').next().unwrap();
        let suffix = name.strip_prefix(family.as_str()).unwrap();
        match kind.as_str() {
            "histogram" => assert!(["_bucket", "_sum", "_count"].contains(&suffix), "{line}"),
            _ => assert_eq!(suffix, "", "{line}"),
        }
        let value: f64 = value.parse().unwrap();
        assert!(value >= 0.0, "{line}");
        assert!(
            samples.insert(sample.to_owned(), value).is_none(),
            "{line} twice"
        );
    }
    samples
}

#[test]
fn calls_are_counted_by_server_rung_and_outcome() {
    let metrics = Metrics::default();
    for _ in 0..3 {
        metrics.count_call(&call("notes", "ok", None));
    }
    metrics.count_call(&call("notes", "refused", Some("HARD_BAN_VIOLATION")));
    metrics.count_call(&CallEnded {
        server: None,
        rung: None,
        at_server: None,
        ..call("", "refused", Some("UNKNOWN_TARGET"))
    });
    let page = text(&metrics);
    let samples = read(&page);
    let calls = |server: &str, rung: &str, outcome: &str| {
        let name = format!(
            "legation_server_calls_total{{server=\"{server}\",method=\"tools/call\",rung=\"{rung}\",outcome=\"{outcome}\"}}"
        );
        samples.get(&name).copied()
    };
    assert_eq!(calls("notes", "execute", "ok"), Some(3.0));
    assert_eq!(calls("notes", "execute", "refused"), Some(1.0));
    assert_eq!(calls("none", "none", "refused"), Some(1.0));
    let bucket = |le: &str| {
        let name = format!("legation_call_duration_seconds_bucket{{server=\"notes\",le=\"{le}\"}}");
        samples[&name]
    };
    assert_eq!(
        (bucket("0.001"), bucket("0.0025"), bucket("+Inf")),
        (0.0, 4.0, 4.0)
    );
    assert_eq!(
        samples["legation_call_duration_seconds_sum{server=\"notes\"}"],
        0.006
    );
    assert_eq!(
        samples["legation_server_duration_seconds_count{server=\"notes\"}"],
        4.0
    );
    assert_eq!(
        samples["legation_refusals_by_reason_total{reason=\"HARD_BAN_VIOLATION\"}"],
        1.0
    );
}

#[test]
fn what_threads_count_is_added_up_and_a_name_is_the_same_to_all() {
    let metrics = Metrics::default();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for name in 0..300 {
                    metrics.count_call(&call(&format!("server-{name}"), "ok", None));
                }
            });
        }
    });
    let page = text(&metrics);
    let samples = read(&page);
    let mut counts: Vec<f64> = samples
        .iter()
        .filter(|(name, _)| name.starts_with("legation_server_calls_total"))
        .map(|(_, count)| *count)
        .collect();
    counts.sort_by(f64::total_cmp);
    // 200 names with one call of each thread, and the rest of all under one.
    assert_eq!(counts.len(), 201);
    assert_eq!(
        (counts[0], counts[199], counts[200]),
        (4.0, 4.0, 4.0 * 100.0)
    );
}

#[test]
fn models_are_counted_by_provider() {
    let metrics = Metrics::default();
    let mut model = ModelEnded {
        provider: "local",
        outcome: "ok",
        input_tokens: Some(100),
        output_tokens: Some(20),
        cost_micro_usd: None,
        saved_micro_usd: Some(1_500),
        elapsed: Duration::from_secs(200),
    };
    metrics.count_model(&model);
    model.outcome = "timeout";
    model.input_tokens = None;
    metrics.count_model(&model);
    let samples = read(&text(&metrics));
    let of = |name: &str| samples[name];
    assert_eq!(
        of("legation_model_tokens_total{provider=\"local\",direction=\"input\"}"),
        100.0
    );
    assert_eq!(
        of("legation_model_tokens_total{provider=\"local\",direction=\"output\"}"),
        40.0
    );
    assert_eq!(
        of("legation_model_saved_usd_total{provider=\"local\"}"),
        0.003
    );
    assert_eq!(
        of("legation_model_answers_total{provider=\"local\",outcome=\"timeout\"}"),
        1.0
    );
    assert_eq!(
        of("legation_model_duration_seconds_bucket{provider=\"local\",le=\"120\"}"),
        0.0
    );
    assert_eq!(
        of("legation_model_duration_seconds_count{provider=\"local\"}"),
        2.0
    );
}

#[test]
fn however_many_names_there_are_the_page_stays_small() {
    let metrics = Metrics::default();
    for number in 0..5_000 {
        metrics.count_call(&call(&format!("server-{number}"), "ok", None));
    }
    let page = text(&metrics);
    let samples = read(&page);
    let of = |server: &str| {
        let name = format!("legation_server_duration_seconds_count{{server=\"{server}\"}}");
        samples.get(&name).copied()
    };
    assert_eq!((of("server-0"), of("other")), (Some(1.0), Some(4_800.0)));
    assert!(page.len() < 1 << 20, "{}", page.len());
}

#[test]
fn a_label_may_hold_anything() {
    let mut page = Page::default();
    page.family("a_total", Kind::Counter, "Some.")
        .sample(&[("name", "a\"b\\c\nd é")], 1);
    let wanted =
        "# HELP a_total Some.\n# TYPE a_total counter\na_total{name=\"a\\\"b\\\\c\\nd é\"} 1\n";
    assert_eq!(page.into_text(), wanted);
}
