use super::*;

fn add(tally: &mut Tally, at_ms: i64, text: &str) {
    tally.add(tally.position + 1, at_ms, text.as_bytes());
}

#[test]
fn records_are_counted_by_what_they_are() {
    let mut tally = Tally::default();
    for (at_ms, text) in [
        (0, r#"{"kind":"intent","call":"a"}"#),
        (
            1,
            r#"{"kind":"outcome","status":"ok","execution_time_ms":3.5}"#,
        ),
        (2, r#"{"kind":"intent","call":"b"}"#),
        (
            3,
            r#"{"kind":"outcome","status":"timeout","execution_time_ms":900.0}"#,
        ),
        (
            4,
            r#"{"kind":"refused","reason":"a \"kind\":\"intent\" in a text"}"#,
        ),
        (5, r#"{"kind":"note"}"#),
        (6, "damaged"),
        (HOUR_MS, r#"{"kind":"intent","call":"c"}"#),
    ] {
        add(&mut tally, at_ms, text);
    }
    let first = tally.sums(0, HOUR_MS);
    assert_eq!((first.calls, first.refused, first.failed), (2, 1, 1));
    let both = tally.sums(0, 2 * HOUR_MS);
    assert_eq!((both.calls, both.refused, both.failed), (3, 1, 1));
    assert_eq!(tally.sums(-HOUR_MS, HOUR_MS), Sums::default());
    assert_eq!(tally.position, 8);
    tally.forget(HOUR_MS);
    assert_eq!(tally.sums(0, 2 * HOUR_MS).calls, 1);
}

#[test]
fn a_quantile_is_as_exact_as_a_quarter_of_it() {
    let mut tally = Tally::default();
    for ms in 1..=1_000 {
        let text = format!(r#"{{"kind":"outcome","status":"ok","execution_time_ms":{ms}.0}}"#);
        add(&mut tally, 0, &text);
    }
    let sums = tally.sums(0, HOUR_MS);
    for (share, exact) in [(0.5, 500.0), (0.95, 950.0), (1.0, 1_000.0), (0.001, 1.0)] {
        let found = sums.quantile(share).expect("calls ended");
        assert!(found >= exact && found <= exact * STEP, "{share}: {found}");
    }
    assert_eq!(Sums::default().quantile(0.5), None);
}

#[test]
fn times_beyond_the_steps_are_in_the_last_one() {
    for (ms, expected) in [
        (0.0, 0),
        (LEAST_MS, 0),
        (0.06, 1),
        (1e12, STEPS),
        (f64::NAN, STEPS),
    ] {
        assert_eq!(step(ms), expected, "{ms}");
    }
    let most = LEAST_MS * STEP.powi(i32::from(STEPS));
    assert!(most > 4.0 * 3_600_000.0, "{most}");
}
