//! Which entity a text means, and whose data an address may get.

use legation_core::{ClientId, EntityId};

use super::super::{Date, Governance, Meant, NamePattern, OperatorProfile, Template, ToolPattern};
use super::{broken, edited, errors};

fn profile() -> OperatorProfile {
    let (governance, _) = Governance::load(&Template::Business.sources(), &[]);
    governance.profile.good().expect("a profile").clone()
}

#[test]
fn a_text_means_an_entity_whatever_its_case_and_width() {
    let profile = profile();
    let meadow = || Meant::Entity(EntityId::new("meadow"));
    for (text, means) in [
        ("meadow", meadow()),
        ("MEADOW", meadow()),
        (" Meadow ", meadow()),
        ("ｍｅａｄｏｗ", meadow()),
        ("meadow-m365", meadow()),
        ("all", Meant::All),
        ("ALL", Meant::All),
        // Cyrillic е and а; a Greek omicron.
        ("m\u{435}adow", Meant::LooksLike(EntityId::new("meadow"))),
        ("me\u{430}dow", Meant::LooksLike(EntityId::new("meadow"))),
        ("harb\u{3bf}r", Meant::LooksLike(EntityId::new("harbor"))),
        ("nobody", Meant::Unknown),
        ("", Meant::Unknown),
        ("mead ow", Meant::Unknown),
    ] {
        assert_eq!(profile.meant(text), means, "{text:?}");
    }
}

#[test]
fn two_names_that_look_alike_break_the_profile() {
    for (name, other) in [
        ("harb0r", "harbor"),
        ("rneadow", "meadow"),
        ("meadow", "meadow"),
    ] {
        let sources = edited(
            "operator_profile.json",
            "\"profile_ids\": [\"personal-m365\"]",
            &format!("\"profile_ids\": [\"{name}\"]"),
        );
        let (governance, problems) = Governance::load(&sources, &[]);
        assert_eq!(broken(&governance), ["operator_profile.json"], "{name}");
        let said = &errors(&problems)[0];
        assert!(
            said.contains("told apart") && said.contains(other),
            "{said}"
        );
    }
}

#[test]
fn an_address_gets_what_the_nearest_clearance_says() {
    let profile = profile();
    for (address, entities) in [
        ("jordan@harbor.example.com", vec!["harbor"]),
        ("Anyone@HARBOR.example.com", vec!["harbor"]),
        ("partner@counsel.example.net", vec!["harbor", "quarry"]),
        ("reviewer@auditor.example.net", vec!["meadow"]),
        ("other@auditor.example.net", vec![]),
        ("evil@harbor.example.com.example.net", vec![]),
        ("not an address", vec![]),
    ] {
        let got: Vec<EntityId> = profile.recipient(address).into_iter().collect();
        let wanted: Vec<EntityId> = entities.into_iter().map(EntityId::new).collect();
        assert_eq!(got, wanted, "{address}");
    }
    assert!(profile.is_on_list("counsel", "Partner@Counsel.example.net"));
    assert!(!profile.is_on_list("counsel", "partner@counsel.example.net.evil.example"));
    assert!(!profile.is_on_list("nothing", "partner@counsel.example.net"));
    assert!(profile.github_login("Jordan-Example").is_some());
    assert!(profile.github_login("jordan").is_none());
}

#[test]
fn the_pattern_that_says_more_of_a_client_wins() {
    let sources = edited(
        "role_cards.json",
        "\"claude\": \"assistant\"",
        "\"*\": \"reader\", \"claude*\": \"owner\", \"claude\": \"assistant\"",
    );
    let (governance, _) = Governance::load(&sources, &[]);
    let roles = governance.roles.good().expect("roles");
    let role = |client: &str| roles.role_of(&ClientId::new(client)).map(|(name, _)| name);
    assert_eq!(role("claude"), Some("assistant"));
    assert_eq!(role("claude-2"), Some("owner"));
    assert_eq!(role("anyone"), Some("reader"));
    let (governance, _) = Governance::load(&Template::Business.sources(), &[]);
    assert!(
        governance
            .roles
            .good()
            .expect("roles")
            .role_of(&ClientId::new("anyone"))
            .is_none()
    );
}

#[test]
fn patterns_are_pairs_or_everything() {
    for good in ["*", "desk/*", "*/send", "a/b/c", "desk/?ail_list"] {
        assert!(ToolPattern::parse(good).is_ok(), "{good}");
    }
    for bad in ["", "desk", "/x", "desk/", " desk/x", "desk/\u{7}"] {
        assert!(ToolPattern::parse(bad).is_err(), "{bad:?}");
    }
    assert!(NamePattern::parse(&"x".repeat(513)).is_err());
}

#[test]
fn a_day_ends_where_the_next_begins() {
    for (text, end_ms) in [
        ("1970-01-01", 86_400_000),
        ("1970-12-31", 365 * 86_400_000),
        ("2000-02-29", 951_868_800_000),
        ("2024-12-31", 1_735_689_600_000),
    ] {
        let date = Date::parse(text).expect(text);
        assert_eq!((date.end_ms(), date.to_string().as_str()), (end_ms, text));
    }
    for bad in [
        "2023-02-29",
        "1900-02-29",
        "2024-13-01",
        "2024-00-10",
        "2024-1-01",
        "24-01-01",
        "2024-04-31",
        "2024-01-00",
    ] {
        assert_eq!(Date::parse(bad), None, "{bad}");
    }
}
