//! What words lead to.

use legation_core::EntityId;

use crate::hub::Business;
use crate::intent::{Intent, Wanted};
use crate::whose::{self, Whose};

pub(super) fn businesses() -> Vec<Business> {
    let business = |id: &str, name: &str, words: &[&str], is_hipaa, is_allowed| Business {
        id: EntityId::new(id),
        name: name.to_owned(),
        words: words.iter().map(ToString::to_string).collect(),
        accounts: vec![format!("{id}-m365")],
        deals: match id {
            "harbor" => vec![("sunrise".to_owned(), "Sunrise II".to_owned())],
            _ => Vec::new(),
        },
        is_hipaa,
        is_allowed,
    };
    vec![
        business("harbor", "Harbor Partners", &["data room"], false, true),
        business(
            "meadow",
            "Meadow Care Homes",
            &["resident", "facility"],
            true,
            true,
        ),
        business("quarry", "Quarry Holdings", &[], false, false),
    ]
}

#[test]
fn words_say_what_is_wanted() {
    for (text, wanted) in [
        ("Show me today's morning brief", Intent::MorningBrief),
        ("MORNING BRIEFING please", Intent::MorningBrief),
        ("what happened at the end of day", Intent::EodDigest),
        ("eod?", Intent::EodDigest),
        ("anything in my inbox", Intent::MailList),
        (
            "Draft an email to Maurice about the Sunrise deal",
            Intent::DraftEmail,
        ),
        ("write a reply to this message", Intent::DraftEmail),
        ("my meetings this week", Intent::CalendarList),
        ("deals list", Intent::DealsList),
        ("how are the deals", Intent::DealsList),
        ("deal status", Intent::DealsList),
        ("tell me about the Sunrise deal", Intent::DealDetail),
        ("history of the deal Sunrise", Intent::DealTimeline),
        ("deadlines in: pay by Friday", Intent::Deadlines),
        ("what is in triage", Intent::TriageList),
        ("health", Intent::Status),
        ("tell me a joke", Intent::General),
        ("", Intent::General),
        ("emailing is fun", Intent::General),
    ] {
        assert_eq!(Wanted::of(text, false).first(), wanted, "{text}");
    }
    assert_eq!(Wanted::of("and sunrise?", true).first(), Intent::DealDetail);
    for intent in Intent::ALL {
        assert_eq!(Intent::parse(intent.as_str()), Some(*intent));
    }
}

#[test]
fn a_doubt_is_one() {
    for (text, is_certain) in [
        ("morning brief", true),
        ("draft an email about the meeting", true),
        ("mail and meetings", false),
        ("good day", false),
    ] {
        assert_eq!(Wanted::of(text, false).is_certain(), is_certain, "{text}");
    }
}

#[test]
fn words_say_whose_it_is_or_it_is_asked() {
    let businesses = businesses();
    let of = |text: &str| match whose::whose(text, &businesses) {
        Whose::One(business) => business.id.to_string(),
        Whose::Unclear => "unclear".to_owned(),
        Whose::Several => "several".to_owned(),
        Whose::NotTheirs => "not theirs".to_owned(),
    };
    for (text, wanted) in [
        ("brief for Harbor Partners", "harbor"),
        ("brief for HARBOR", "harbor"),
        ("mail in harbor-m365", "harbor"),
        ("the Sunrise  II deal", "harbor"),
        ("the data-room is open", "harbor"),
        ("who is the resident", "meadow"),
        ("presidents and residential matters", "unclear"),
        ("brief", "unclear"),
        ("harbor and meadow", "several"),
        ("quarry", "not theirs"),
        ("harbor and quarry holdings", "not theirs"),
    ] {
        assert_eq!(of(text), wanted, "{text}");
    }
    let deal = whose::deal("tell me of Sunrise II", &businesses).unwrap();
    assert_eq!(deal.id, "sunrise");
    let only = &businesses[..1];
    assert!(matches!(whose::whose("brief", only), Whose::One(_)));
    assert!(matches!(whose::whose("brief", &[]), Whose::Unclear));
}
