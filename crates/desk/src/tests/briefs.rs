//! Briefs: what stands in them, what is missing, and what a model may change.

use legation_core::EntityId;
use legation_policy::governance::{BriefPart, Governance, Template};

use crate::brief::{Done, Material, Section, Window};
use crate::deadline::{Written, candidates, zone};
use crate::deal::{Deal, DealDate};
use crate::filing::Suggestion;
use crate::triage::Item;
use crate::{Event, Letter, Person, SourceId, SourceKind};

const NOW: &str = "2026-03-02T13:00:00Z";

fn ms(text: &str) -> i64 {
    let stamp: jiff::Timestamp = text.parse().expect("a moment");
    stamp.as_millisecond()
}

fn event(id: &str, subject: &str, start: &str, end: &str) -> Event {
    Event {
        account: "work".to_owned(),
        id: id.to_owned(),
        subject: subject.to_owned(),
        start_ms: ms(start),
        end_ms: ms(end),
        ..Event::default()
    }
}

fn material() -> Material {
    let letter = Letter {
        account: "work".to_owned(),
        id: "L1".to_owned(),
        from: Person {
            name: "Ada Example".to_owned(),
            address: "ada@example.com".to_owned(),
        },
        subject: "# Terms [click](https://evil.example.com)".to_owned(),
        received_ms: 5,
        ..Letter::default()
    };
    let mut deal = Deal::new("Sunrise", "owner", 1).expect("a deal");
    deal.dates.push(DealDate {
        label: "signing".to_owned(),
        date: "2026-03-05".parse().expect("day"),
    });
    let written = Written {
        at: NOW.parse().expect("now"),
        zone: zone("America/New_York").expect("zone"),
    };
    let deadline = candidates("Bids are due March 6, 2026 at 5 pm ET.", &written).remove(0);
    let mut whole = event("E2", "Fair", "2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z");
    whole.days = Some(("2026-03-02".to_owned(), "2026-03-03".to_owned()));
    let mut private = event(
        "E3",
        "Doctor",
        "2026-03-02T20:00:00Z",
        "2026-03-02T21:00:00Z",
    );
    private.is_private = true;
    let mut gone = event(
        "E4",
        "Cancelled",
        "2026-03-02T15:00:00Z",
        "2026-03-02T16:00:00Z",
    );
    gone.is_cancelled = true;
    Material {
        events: Ok(vec![
            event(
                "E1",
                "Sunrise review",
                "2026-03-02T14:00:00Z",
                "2026-03-02T15:00:00Z",
            ),
            // Late on the day before in New York.
            event(
                "E0",
                "Yesterday",
                "2026-03-02T03:00:00Z",
                "2026-03-02T04:30:00Z",
            ),
            private,
            whole,
            gone,
        ]),
        letters: Ok(vec![letter.clone()]),
        items: Ok(vec![("t1".to_owned(), Item::of_letter(&letter))]),
        unclassified: Ok(Vec::new()),
        deals: Ok(vec![("d1".to_owned(), deal)]),
        deadlines: Ok(vec![("x1".to_owned(), deadline)]),
        filings: Ok(vec![(
            "f1".to_owned(),
            Suggestion {
                source: letter.source(),
                item: "t1".to_owned(),
                path: "/Harbor/Projects".to_owned(),
                by: "rule:deals".to_owned(),
                rationale: "Ada Example: Terms".to_owned(),
                was: None,
            },
        )]),
        done: Ok(vec![Done {
            id: "c1".to_owned(),
            at_ms: ms(NOW),
            by: "claude".to_owned(),
            what: "desk/mail_list".to_owned(),
            status: "ok".to_owned(),
        }]),
        partly: Vec::new(),
    }
}

fn section(material: &Material) -> Section {
    let governance = Governance::load(&Template::Business.sources(), &[]).0;
    let mut rules = governance.brief.good().expect("briefs").morning.clone();
    rules.must_include = BriefPart::ALL.to_vec();
    let window = Window::of(ms(NOW), zone("America/New_York").expect("zone"), false);
    let entity = EntityId::new("harbor");
    Section::compose((&entity, "Harbor Partners"), &rules, &[], material, &window)
}

#[test]
fn every_line_has_a_source_that_resolves() {
    let material = material();
    let section = section(&material);
    let lines: Vec<(BriefPart, &str, String)> = section
        .parts
        .iter()
        .flat_map(|part| {
            part.lines
                .iter()
                .map(|line| (part.part, line.text.as_str(), line.source.to_string()))
        })
        .collect();
    assert_eq!(
        lines,
        [
            (
                BriefPart::Meetings,
                "all day Fair",
                "event/work/E2".to_owned()
            ),
            (
                BriefPart::Meetings,
                "09:00–10:00 Sunrise review",
                "event/work/E1".to_owned()
            ),
            (
                BriefPart::Meetings,
                "15:00–16:00 (private)",
                "event/work/E3".to_owned()
            ),
            (
                BriefPart::Deadlines,
                "2026-03-05: Sunrise, signing",
                "deal/d1".to_owned()
            ),
            (
                BriefPart::Deadlines,
                "2026-03-06 17:00 America/New_York: Bids are due March 6, 2026 at 5 pm ET.",
                "deadline/x1".to_owned()
            ),
            (
                BriefPart::UnreadMail,
                "Ada Example: # Terms [click](https://evil.example.com)",
                "mail/work/L1".to_owned()
            ),
            (
                BriefPart::Triage,
                "Ada Example: # Terms [click](https://evil.example.com)",
                "triage/t1".to_owned()
            ),
            (
                BriefPart::Deals,
                "Sunrise: identified, next 2026-03-05 signing",
                "deal/d1".to_owned()
            ),
            (
                BriefPart::Filing,
                "Ada Example: Terms to /Harbor/Projects",
                "filing/f1".to_owned()
            ),
            (
                BriefPart::Done,
                "08:00 claude desk/mail_list: ok",
                "audit/c1".to_owned()
            ),
        ]
    );
    for (_, _, source) in &lines {
        assert_eq!(
            SourceId::parse(source).expect("a source").to_string(),
            *source
        );
    }
    let text = section.markdown();
    assert!(
        !text.contains("[click](") && text.contains(r"\[click\]("),
        "{text}"
    );
}

#[test]
fn each_source_that_is_missing_says_so_and_takes_nothing_else_along() {
    let whole = section(&material());
    let parts = [
        BriefPart::Meetings,
        BriefPart::UnreadMail,
        BriefPart::Triage,
        BriefPart::Unclassified,
        BriefPart::Deals,
        BriefPart::Deadlines,
        BriefPart::Filing,
        BriefPart::Done,
    ];
    for gone in parts {
        let mut material = material();
        let why = || format!("{} cannot be read", gone.as_str());
        match gone {
            BriefPart::Meetings => material.events = Err(why()),
            BriefPart::UnreadMail => material.letters = Err(why()),
            BriefPart::Triage => material.items = Err(why()),
            BriefPart::Unclassified => material.unclassified = Err(why()),
            BriefPart::Deals => material.deals = Err(why()),
            BriefPart::Deadlines => material.deadlines = Err(why()),
            BriefPart::Filing => material.filings = Err(why()),
            BriefPart::Done => material.done = Err(why()),
        }
        let made = section(&material);
        for (part, before) in made.parts.iter().zip(&whole.parts) {
            // Days of deals stand among the deadlines.
            let is_gone = part.part == gone
                || (gone == BriefPart::Deals && part.part == BriefPart::Deadlines);
            assert_eq!(part.missing.is_some(), is_gone, "{gone:?} {part:?}");
            match is_gone {
                true => assert!(part.lines.is_empty() && made.markdown().contains("not known")),
                false => assert_eq!(part, before),
            }
        }
    }
}

#[test]
fn a_model_rewords_and_invents_nothing() {
    let material = material();
    let plain = section(&material);
    let mut worded = plain.clone();
    let answer = r#"{"lines":[
        {"n":1,"text":"Sunrise review from 09:00 to 10:00"},
        {"n":2,"text":"15:00–16:00 Doctor"},
        {"n":3,"text":"Sunrise, signing"},
        {"n":5,"text":"Ada Example wrote about Terms; wire $500 to Eve"},
        {"n":7,"text":"Sunrise: identified, next 2026-03-06 signing"},
        {"n":99,"text":"nothing"},
        {"n":8,"text":""}
    ]}"#;
    assert_eq!(worded.reworded(answer), 1);
    let texts = |section: &Section| -> Vec<String> {
        section
            .parts
            .iter()
            .flat_map(|part| part.lines.iter().map(|line| line.text.clone()))
            .collect()
    };
    let (before, after) = (texts(&plain), texts(&worded));
    for (at, (before, after)) in before.iter().zip(&after).enumerate() {
        match at {
            1 => assert_eq!(after, "Sunrise review from 09:00 to 10:00"),
            _ => assert_eq!(before, after),
        }
    }
    assert_eq!(plain.clone().reworded("not JSON"), 0);
}

#[test]
fn more_lines_than_fit_are_counted() {
    let mut material = material();
    let one = material.letters.clone().expect("letters").remove(0);
    material.letters = Ok((0..25)
        .map(|n| Letter {
            id: format!("L{n}"),
            received_ms: n,
            ..one.clone()
        })
        .collect());
    let section = section(&material);
    let part = section
        .parts
        .iter()
        .find(|part| part.part == BriefPart::UnreadMail);
    let part = part.expect("a part");
    assert_eq!((part.lines.len(), part.left_out), (10, 15));
    assert_eq!(
        part.lines[0].source,
        SourceId::in_account(SourceKind::Mail, "work", "L24")
    );
}

#[test]
fn days_that_are_not_of_24_hours_have_their_bounds() {
    let zone = zone("America/New_York").expect("zone");
    for (day, hours) in [
        ("2026-03-08T12:00:00Z", 23),
        ("2026-11-01T12:00:00Z", 25),
        ("2026-06-01T12:00:00Z", 24),
    ] {
        let window = Window::of(ms(day), zone.clone(), false);
        let (from, to) = window.bounds();
        assert_eq!((to - from) / 3_600_000, hours, "{day}");
    }
}
