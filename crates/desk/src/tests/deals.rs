//! Stages follow each other, and nothing happens to what is put away.

use legation_api::desk::{self as asked, Act, Day, Link, Party};

use crate::deal::{Deal, DealError, DealStatus, Stage};

fn deal(stage: Stage) -> Deal {
    let mut deal = Deal::new("Sunrise", "owner", 1).expect("a deal");
    deal.stage = stage;
    deal
}

#[test]
fn every_pair_of_stages_is_allowed_or_refused_as_the_rule_says() {
    for (at, from) in Stage::ALL.into_iter().enumerate() {
        for (to_at, to) in Stage::ALL.into_iter().enumerate() {
            let mut deal = deal(from);
            if from == Stage::Archived {
                deal.status = DealStatus::Archived;
            }
            // Nobody can ask for the archive as a stage.
            let Ok(stage) = serde_json::from_value::<asked::Stage>(to.as_str().into()) else {
                assert_eq!(to, Stage::Archived);
                continue;
            };
            let done = deal.act(Act::Stage { stage }, "owner", 2);
            let forward = to_at > at;
            let back = to_at + 1 == at;
            let allowed = from != Stage::Archived && (forward || back);
            assert_eq!(
                done.is_ok(),
                allowed,
                "{} to {}",
                from.as_str(),
                to.as_str()
            );
            assert_eq!(deal.stage, if allowed { to } else { from });
            let closed = deal.status == DealStatus::Closed;
            assert_eq!(closed, allowed && to == Stage::Closed);
        }
    }
}

#[test]
fn an_archived_deal_comes_back_as_it_was() {
    let mut deal = deal(Stage::DdActive);
    let event = deal.act(Act::Archive, "owner", 5).expect("archived");
    assert_eq!(
        (event.action.as_str(), event.by.as_str()),
        ("archived", "owner")
    );
    let note = Act::Note {
        text: "late".to_owned(),
    };
    assert_eq!(deal.act(note, "owner", 6), Err(DealError::Archived));
    deal.act(Act::Restore, "owner", 7).expect("restored");
    assert_eq!(
        (deal.stage, deal.status),
        (Stage::DdActive, DealStatus::Active)
    );
    assert_eq!((deal.updated_ms, deal.notes.len()), (7, 0));
    assert!(deal.act(Act::Restore, "owner", 8).is_err());
}

#[test]
fn parts_are_added_once_and_changed_by_name() {
    let mut deal = deal(Stage::DealIdentified);
    let party = |role: &str| Act::Party {
        party: Party {
            name: "Ada Example".to_owned(),
            role: role.to_owned(),
            address: "ada@example.com".to_owned(),
        },
    };
    deal.act(party("buyer"), "a", 1).expect("added");
    assert!(matches!(
        deal.act(party("buyer"), "a", 2),
        Err(DealError::Already(_))
    ));
    deal.act(party("seller"), "a", 3).expect("changed");
    assert_eq!(deal.parties.len(), 1);
    let date = |day: &str| Act::Date {
        date: Day {
            label: "signing".to_owned(),
            date: day.to_owned(),
        },
    };
    deal.act(date("2026-05-01"), "a", 4).expect("added");
    deal.act(date("2026-04-01"), "a", 5).expect("moved");
    for none in ["", "soon", "2026-02-30", "1/5/2026"] {
        assert!(
            matches!(deal.act(date(none), "a", 5), Err(DealError::Unfit(_))),
            "{none}"
        );
    }
    let next = deal.next_date("2026-03-01".parse().expect("a day"));
    assert_eq!(next.expect("a date").date.to_string(), "2026-04-01");
    assert!(
        deal.next_date("2026-05-02".parse().expect("a day"))
            .is_none()
    );
    for (target, good) in [
        ("https://example.com/x", true),
        ("mail/work/AAA=", true),
        ("http://example.com", false),
        ("javascript:alert(1)", false),
        ("mail/work/", false),
        ("file:///etc/passwd", false),
    ] {
        let link = Link {
            label: "x".to_owned(),
            target: target.to_owned(),
        };
        assert_eq!(
            deal.act(Act::Link { link }, "a", 6).is_ok(),
            good,
            "{target}"
        );
    }
    assert!(!format!("{deal:?}").contains("Sunrise"));
}
