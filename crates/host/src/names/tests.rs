use std::collections::{HashMap, HashSet};

use expect_test::expect;
use legation_core::ServerName;
use proptest::prelude::*;

use super::{FLAT_MAX, Names, Space, sanitise};

fn server(name: &str) -> ServerName {
    ServerName::parse(name).expect("a name")
}

#[test]
fn flat_names_read_as_server_and_item() {
    let long = "a_tool_with_a_name_that_goes_on_and_on_and_on";
    let cases = [
        ("files", "files", "read_file"),
        ("my server", "my server", "read.file"),
        ("größe", "größe", "名前"),
        ("team/files", "team/files", "read"),
        ("everything", "everything", long),
        ("fixture", "", "test.simple text"),
        // Three pairs that want the same name: the first keeps it.
        ("a", "a", "b-c"),
        ("a-b", "a-b", "c"),
        ("x", "", "a-b-c"),
    ];
    let mut names = Names::default();
    let text: String = cases
        .iter()
        .map(|(name, prefix, item)| {
            let flat = names.assign(Space::Tools, &server(name), prefix, item);
            format!("{name} {item} = {flat}\n")
        })
        .collect();
    expect![[r#"
        files read_file = files-read_file
        my server read.file = my_server-read_file
        größe 名前 = xn--gre-6ka8i-xn--ldr85b
        team/files read = team_files-read
        everything a_tool_with_a_name_that_goes_on_and_on_and_on = everything-a_tool_with_a_name_that_goe-668d0528b4
        fixture test.simple text = test.simple text
        a b-c = a-b-c
        a-b c = a-b-c-695274f6b8
        x a-b-c = a-b-c-b70fb1d417
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_name_survives_its_pair_and_a_restart() {
    let mut names = Names::default();
    let first = names.assign(Space::Tools, &server("a"), "a", "b-c");
    assert!(names.take_changed());
    let mut again = Names::from_raw(&names.to_raw());
    let second = again.assign(Space::Tools, &server("a-b"), "a-b", "c");
    assert_ne!(first, second, "the first pair's name is never given away");
    assert_eq!(again.assign(Space::Tools, &server("a"), "a", "b-c"), first);
    let prompt = again.assign(Space::Prompts, &server("a-b"), "a-b", "c");
    assert_eq!(&*prompt, "a-b-c", "prompts are named apart from tools");
    assert!(again.take_changed());
    assert!(!again.take_changed());
}

#[test]
fn a_register_that_makes_no_sense_is_read_as_far_as_it_does() {
    let raw = legation_wire::json::Raw::from_static(
        r#"{"tools":{"x":["a"],"y":[1,2],"z":["a","b"],"w":["/","b"]},"prompts":7}"#,
    );
    let names = Names::from_raw(&raw);
    assert!(names.owner(Space::Tools, "z").is_some());
    for name in ["x", "y", "w"] {
        assert!(names.owner(Space::Tools, name).is_none(), "{name}");
    }
}

proptest! {
    #[test]
    fn names_are_unique_reversible_and_within_bounds(
        pairs in proptest::collection::hash_set(("[a-c-]{1,3}|[a-zé/ ]{1,60}", "[a-c-]{0,4}|\\PC{1,80}"), 1..60)
    ) {
        let mut names = Names::default();
        let mut given = HashMap::new();
        for (name, item) in &pairs {
            let Ok(server) = ServerName::parse(name) else { continue };
            let flat = names.assign(Space::Tools, &server, name, item);
            prop_assert!(flat.len() <= FLAT_MAX, "{flat}");
            prop_assert!(flat.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'), "{flat}");
            prop_assert!(given.insert(flat, (server, item.clone())).is_none());
        }
        let mut again = Names::from_raw(&names.to_raw());
        for (flat, (server, item)) in &given {
            let owner = again.owner(Space::Tools, flat).expect("remembered").clone();
            prop_assert_eq!((&owner.server, &*owner.item), (server, item.as_str()));
            prop_assert_eq!(&again.assign(Space::Tools, server, server.as_str(), item), flat);
        }
    }

    #[test]
    fn different_texts_of_plain_characters_stay_different(texts in proptest::collection::hash_set("[A-Za-z0-9_-]{1,20}", 2..20)) {
        let clean: HashSet<String> = texts.iter().map(|text| sanitise(text)).collect();
        prop_assert_eq!(clean.len(), texts.len());
    }
}
