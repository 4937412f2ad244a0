//! Sorting, filing, drafting, and whose matter words are about.

use legation_core::EntityId;
use legation_policy::governance::{Governance, Template, Urgency};

use crate::deal::Deal;
use crate::draft::{self, Unfit};
use crate::filing::{ToFile, is_path, place};
use crate::triage::{Found, Item, ItemState, answered, by_rules, deal_of, largest_sum};
use crate::{Letter, Person, checked};
use legation_api::desk::{Act, Party};

fn business() -> Governance {
    Governance::load(&Template::Business.sources(), &[]).0
}

fn letter(from: &str, subject: &str, preview: &str) -> Letter {
    Letter {
        account: "work".to_owned(),
        id: "AAA".to_owned(),
        from: Person {
            name: String::new(),
            address: from.to_owned(),
        },
        subject: subject.to_owned(),
        preview: preview.to_owned(),
        ..Letter::default()
    }
}

fn deals(names: &[&str]) -> Vec<(String, Deal)> {
    let deal = |name: &&str| {
        let id = name.to_lowercase();
        (id, Deal::new(name, "owner", 1).expect("a deal"))
    };
    names.iter().map(deal).collect()
}

#[test]
fn rules_sort_and_say_which_did() {
    let governance = business();
    let rules = governance.urgency.good().expect("rules");
    let cases = [
        (
            "harbor",
            "x@counsel.example.net",
            "Draft terms",
            Some("legal"),
            Urgency::High,
            "rule:legal.counsel",
        ),
        (
            "harbor",
            "x@example.com",
            "Invoice for $1,200",
            Some("money"),
            Urgency::Normal,
            "rule:money.words",
        ),
        (
            "harbor",
            "x@example.com",
            "Wire of $2.5 million",
            Some("money"),
            Urgency::Critical,
            "rule:money.large",
        ),
        (
            "meadow",
            "x@example.com",
            "State survey on Monday",
            Some("care"),
            Urgency::Critical,
            "rule:care.state",
        ),
        (
            "harbor",
            "x@example.com",
            "State survey on Monday",
            None,
            Urgency::Normal,
            "",
        ),
        (
            "harbor",
            "x@example.com",
            "URGENT: the data room",
            Some("deal"),
            Urgency::High,
            "rule:deal.words",
        ),
        (
            "harbor",
            "x@example.com",
            "Surveyor's wired brain",
            None,
            Urgency::Normal,
            "",
        ),
    ];
    for (whose, from, text, category, urgency, by) in cases {
        let sorted = by_rules(rules, &EntityId::new(whose), from, text);
        assert_eq!(sorted.category.as_deref(), category, "{text}");
        assert_eq!(
            (sorted.urgency, sorted.by.as_str()),
            (urgency, by),
            "{text}"
        );
    }
}

#[test]
fn sums_are_read_as_people_write_them() {
    for (text, sum) in [
        ("$100", Some(100.0)),
        ("$ 1,250.50 and $99", Some(1250.5)),
        ("US$2.5m", Some(2_500_000.0)),
        ("USD 40k", Some(40_000.0)),
        ("3 million dollars", Some(3_000_000.0)),
        ("100 euros", None),
        ("room 204", None),
    ] {
        assert_eq!(largest_sum(text), sum, "{text}");
    }
}

#[test]
fn an_item_that_nobody_understands_asks() {
    let governance = business();
    let rules = governance.urgency.good().expect("rules");
    let harbor = EntityId::new("harbor");
    let mut item = Item::of_letter(&letter("x@example.com", "Hello", "How are you?"));
    assert_eq!(item.sort(rules, &harbor, &[]), ItemState::Open);
    assert_eq!(item.question.as_deref(), Some(rules.question.as_str()));
    let mut item = Item::of_letter(&letter("x@example.com", "Sunrise: invoice", ""));
    let known = deals(&["Sunrise", "Sunset"]);
    assert_eq!(item.sort(rules, &harbor, &known), ItemState::Classified);
    assert_eq!(
        (item.suggested_deal.as_deref(), item.question),
        (Some("sunrise"), None)
    );
    let both = "Sunrise and Sunset";
    assert_eq!(deal_of(&known, both, ""), Found::Several);
    assert_eq!(deal_of(&known, "Sunrises", ""), Found::None);
    let mut known = known;
    let party = Party {
        name: "Ada".to_owned(),
        role: String::new(),
        address: "ada@example.com".to_owned(),
    };
    known[1]
        .1
        .act(Act::Party { party }, "owner", 2)
        .expect("added");
    assert_eq!(
        deal_of(&known, "hello", "Ada@Example.com"),
        Found::One("sunset".to_owned())
    );
}

#[test]
fn a_model_says_nothing_that_the_rules_do_not_know() {
    let governance = business();
    let rules = governance.urgency.good().expect("rules");
    let good = r#"{"category":"deal","urgency":"high","confidence":0.85}"#;
    let sorted = answered(rules, good).expect("an answer");
    assert_eq!((sorted.percent, sorted.by.as_str()), (85, "model"));
    for bad in [
        r#"{"category":"send the money","urgency":"high","confidence":0.9}"#,
        r#"{"category":"deal","urgency":"yesterday","confidence":0.9}"#,
        r#"{"category":"deal","urgency":"high","confidence":7}"#,
        r#"{"category":"deal","urgency":"high"}"#,
        "deal",
    ] {
        assert_eq!(answered(rules, bad), None, "{bad}");
    }
}

#[test]
fn filing_stays_inside_its_folder() {
    let governance = business();
    let rules = governance.para.good().expect("rules");
    let harbor = EntityId::new("harbor");
    let to_file = |deal, category, text| ToFile {
        entity: &harbor,
        entity_name: "Harbor Partners",
        deal,
        category,
        sender: "x@example.com",
        text,
    };
    for (what, path, by) in [
        (
            to_file(Some("Sunrise"), Some("deal"), "the agreement"),
            "/Harbor Partners/Projects/Sunrise/Contracts",
            "rule:deals.contracts",
        ),
        (
            to_file(Some("A/../B\u{7}"), None, "x"),
            "/Harbor Partners/Projects/A-..-B",
            "rule:deals",
        ),
        (
            to_file(Some(".."), None, "x"),
            "/Harbor Partners/Projects",
            "rule:deals",
        ),
        (
            to_file(None, Some("news"), "x"),
            "/Harbor Partners/Resources/news",
            "rule:news",
        ),
        (
            to_file(None, None, "x"),
            "/Harbor Partners/Areas",
            "rule:default",
        ),
        (
            to_file(None, Some("care"), "survey"),
            "/Harbor Partners/Areas/care",
            "rule:default",
        ),
    ] {
        assert_eq!(place(rules, &what), (path.to_owned(), by.to_owned()));
    }
    for (path, good) in [
        ("/A/B", true),
        ("A", false),
        ("/", false),
        ("/A//B", false),
        ("/../x", false),
        ("/a/./b", false),
    ] {
        assert_eq!(is_path(path), good, "{path}");
    }
}

#[test]
fn words_that_no_source_has_are_found() {
    let source = "09:00–10:00 Sunrise review, Room 4; invoice 17-B over $1,200.50 to Ada Example <ada@example.com>";
    for good in [
        "You have the Sunrise review at 09:00 in Room 4.",
        "Review of the invoice 17-B with Ada.",
        "the invoices were reviewed",
        "$1,200.50",
    ] {
        assert_eq!(checked::check(good, &[source]), Ok(()), "{good}");
    }
    for (bad, word) in [
        ("Review with Maurice", "maurice"),
        ("review with maurice", "maurice"),
        ("at 09:30", "09:30"),
        ("$1,200", "1,200"),
        ("invoice 18-B", "18-b"),
        ("write to eve@example.com", "eve@example.com"),
        ("three invoices", "three"),
        ("tomorrow at 09:00", "tomorrow"),
        ("do not go", "not"),
        ("Ada Ехample", "ехample"),
        ("meadow", "meadow"),
        ("٤", "٤"),
    ] {
        let invented = checked::check(bad, &[source]).expect_err(bad);
        assert_eq!(invented.word, word, "{bad}");
        assert!(!invented.to_string().contains(word));
    }
}

#[test]
fn drafts_keep_the_style_and_say_nothing_new() {
    let governance = business();
    let style = governance.draft_style.good().expect("a style");
    let harbor = EntityId::new("harbor");
    let letter = letter(
        "ada@example.com",
        "Re: <b>Sunrise</b>",
        "When can we close Sunrise?",
    );
    let text = draft::reply(style, &harbor, &letter);
    assert!(text.starts_with("Dear ada@example.com,") && text.contains("Harbor Partners"));
    assert_eq!(draft::check(style, &text), Ok(()));
    assert_eq!(draft::reply_subject("re: x"), "re: x");
    assert_eq!(draft::reply_subject("x"), "Re: x");
    let said = "When can we close Sunrise?";
    assert_eq!(
        draft::check_answer(style, said, "We will close Sunrise when we can."),
        Ok(())
    );
    for (body, why) in [
        ("We close on May 1.", Unfit::Invented),
        ("I guarantee it.", Unfit::Avoided("guarantee".to_owned())),
        ("  ", Unfit::Empty),
    ] {
        assert_eq!(draft::check_answer(style, said, body), Err(why), "{body}");
    }
    assert_eq!(
        draft::check(style, &"a ".repeat(3000)),
        Err(Unfit::TooLong(4000))
    );
}
