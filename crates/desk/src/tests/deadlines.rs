//! Deadlines in sentences, with their days, times, zones and how sure they are.

use crate::deadline::{Confidence, FoundBy, Written, candidates, from_model, zone};

fn written(zone_name: &str) -> Written {
    Written {
        // A Wednesday.
        at: "2026-02-25T15:00:00Z".parse().expect("a moment"),
        zone: zone(zone_name).expect("a zone"),
    }
}

#[test]
fn what_people_write_is_read() {
    use Confidence::{High, Low, Medium};
    let cases = [
        ("Please sign by 2026-03-01.", "2026-03-01", None, High),
        (
            "The bid is due March 6, 2026 at 5 pm ET.",
            "2026-03-06",
            Some("17:00"),
            High,
        ),
        (
            "Responses are due no later than 6 March 2026, 17:30.",
            "2026-03-06",
            Some("17:30"),
            High,
        ),
        ("Respond before March 6th.", "2026-03-06", None, Medium),
        ("It must be filed by 3/4/2026.", "2026-03-04", None, Medium),
        ("It must be filed by 3/14/2026.", "2026-03-14", None, High),
        ("The option expires 14.03.2026.", "2026-03-14", None, High),
        ("Pay within 10 days.", "2026-03-07", None, Medium),
        ("Pay within 3 business days.", "2026-03-02", None, Medium),
        ("Please reply by Friday.", "2026-02-27", None, Medium),
        ("Please reply by next Friday.", "2026-03-06", None, Medium),
        (
            "Submit it tomorrow by noon.",
            "2026-02-26",
            Some("12:00"),
            Medium,
        ),
        (
            "We need the signed pages by EOD.",
            "2026-02-25",
            Some("17:00"),
            Medium,
        ),
        (
            "The rent is due at the end of the month.",
            "2026-02-28",
            None,
            Medium,
        ),
        ("We met on January 5, 2026.", "2026-01-05", None, Low),
        ("The lease expires December 31.", "2026-12-31", None, Medium),
        ("Due Jan. 15.", "2026-01-15", None, Medium),
        ("Due 29 February 2028.", "2028-02-29", None, High),
    ];
    for (text, date, time, confidence) in cases {
        let found = candidates(text, &written("America/New_York"));
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        let one = &found[0];
        assert_eq!(one.date.to_string(), date, "{text}");
        assert_eq!(one.time.as_deref(), time, "{text}");
        assert_eq!(one.confidence, confidence, "{text}");
        assert_eq!(one.source, FoundBy::Rule);
        let span: String = text
            .chars()
            .skip(one.start)
            .take(one.end - one.start)
            .collect();
        assert_eq!(span, one.raw_text, "{text}");
    }
    for text in [
        "Nothing here.",
        "Due 2026-02-30.",
        "Version 1.2.3 costs 30/40.",
        "Room 204 by the sea",
        "",
    ] {
        assert_eq!(candidates(text, &written("America/New_York")), [], "{text}");
    }
}

#[test]
fn days_are_reckoned_where_the_text_was_written() {
    let text = "Due by 04/03/2026 at 9 am.";
    let of = |name: &str| candidates(text, &written(name)).remove(0);
    let (york, berlin) = (of("America/New_York"), of("Europe/Berlin"));
    assert_eq!(york.date.to_string(), "2026-04-03");
    assert_eq!(berlin.date.to_string(), "2026-03-04");
    assert_eq!(berlin.timezone, "Europe/Berlin");
    // 9 am in Berlin in winter is 8 in UTC; in New York in summer time 13.
    assert_eq!(berlin.at_ms % 86_400_000, 8 * 3_600_000);
    assert_eq!(york.at_ms % 86_400_000, 13 * 3_600_000);
    let named = candidates("Due 2026-07-01 at 5 pm PT.", &written("Europe/Berlin")).remove(0);
    assert_eq!(named.timezone, "America/Los_Angeles");
    // It is still the day before in Honolulu.
    let late = Written {
        at: "2026-02-25T09:00:00Z".parse().expect("a moment"),
        zone: zone("Pacific/Honolulu").expect("a zone"),
    };
    assert_eq!(
        candidates("Reply by tomorrow.", &late)[0].date.to_string(),
        "2026-02-25"
    );
    assert!(zone("Mars/Olympus").is_err());
}

#[test]
fn spans_count_characters() {
    let text = "Grüße — bitte: respond by 2026-03-01 – danke";
    let found = candidates(text, &written("Europe/Berlin"));
    let span: String = text.chars().skip(found[0].start).take(10).collect();
    assert_eq!(span, "2026-03-01");
}

#[test]
fn a_model_points_only_at_words_that_stand_there() {
    let text = "The option lapses on the ides of March. Sign by 2026-03-01.";
    let at = written("Europe/Berlin");
    let known = candidates(text, &at);
    assert_eq!(known.len(), 1);
    let answer = |items: &str| format!(r#"{{"deadlines":[{items}]}}"#);
    let ides = r#"{"quote":"the ides of March","date":"2026-03-15"}"#;
    let found = from_model(text, &answer(ides), &at, &known);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].confidence, found[0].source),
        (Confidence::Low, FoundBy::Model)
    );
    assert_eq!(found[0].raw_text, "the ides of March");
    for refused in [
        // It stands nowhere.
        r#"{"quote":"the ides of April","date":"2026-04-15"}"#,
        // The rules read another day there, and found it already.
        r#"{"quote":"2026-03-01","date":"2026-03-02"}"#,
        r#"{"quote":"2026-03-01","date":"2026-03-01"}"#,
        r#"{"quote":"","date":"2026-03-01"}"#,
        r#"{"quote":"the ides of March","date":"soon"}"#,
        r#"{"quote":17}"#,
    ] {
        assert_eq!(
            from_model(text, &answer(refused), &at, &known),
            [],
            "{refused}"
        );
    }
    assert_eq!(from_model(text, "no JSON", &at, &known), []);
}
