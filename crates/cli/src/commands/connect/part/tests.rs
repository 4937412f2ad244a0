use serde_json::json;

use super::*;

const CLIENT: Client = Client::Claude;

fn hooks() -> Vec<(String, Value)> {
    let ours = |what: &str| json!({"hooks": [{"type": "command", "command": format!("'/p q/legation' inbox {what}")}]});
    vec![
        ("Stop".to_owned(), ours("waker --client claude")),
        ("SessionEnd".to_owned(), ours("session end --client claude")),
    ]
}

#[test]
fn hooks_join_those_of_others_and_leave_without_a_trace() {
    for text in [
        "",
        "{}\n",
        "{\n  // mine\n  \"theme\": \"dark\",\n}\n",
        "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"say done\"\n          }\n        ]\n      }\n    ]\n  }\n}\n",
    ] {
        let part = Part::Hooks(hooks());
        let once = with_hooks(text, &hooks()).expect("added");
        assert_eq!(with_hooks(&once, &hooks()).expect("the same"), once);
        assert_eq!(once.matches("legation").count(), 2, "{once}");
        let back = part.taken_out(CLIENT, &once, None).expect("taken out");
        let back = back.expect("a file");
        let value = |text: &str| jsonc::entry(text, HOOKS, "Stop").expect("read");
        assert_eq!(value(&back), value(text), "{back}");
        assert!(!back.contains("legation"), "{back}");
        assert_eq!(back.contains("mine"), text.contains("mine"));
    }
}

#[test]
fn a_command_that_somebody_put_beside_the_hubs_stays_and_is_not_shown() {
    let mut once = with_hooks("", &hooks()).expect("added");
    let mut groups = jsonc::entry(&once, HOOKS, "Stop")
        .expect("read")
        .expect("there");
    let theirs = [
        json!({"type": "command", "command": "curl -H secret"}),
        json!({"type": "command", "command": "echo an inbox session begins"}),
    ];
    groups[0]["hooks"]
        .as_array_mut()
        .expect("a list")
        .extend(theirs.clone());
    once = jsonc::with_entry(&once, HOOKS, "Stop", Some(&groups)).expect("set");
    let part = Part::Hooks(hooks());
    let back = part
        .taken_out(CLIENT, &once, None)
        .expect("taken out")
        .expect("a file");
    let left = jsonc::entry(&back, HOOKS, "Stop").expect("read");
    assert_eq!(left, Some(json!([{"hooks": theirs}])));
    assert!(!back.contains("legation"), "{back}");
    let diff = part.diff(CLIENT, &once, &back);
    assert!(
        diff.contains("-Stop: ") && !diff.contains("secret"),
        "{diff}"
    );
    let again = with_hooks(&once, &hooks()).expect("added");
    assert_eq!(again.matches("legation").count(), 2, "{again}");
}

#[test]
fn hooks_of_another_shape_are_not_touched() {
    for text in [
        "[]",
        "{\"hooks\": 3}",
        "{\"hooks\": {\"Stop\": {}}}",
        "{half",
    ] {
        assert!(with_hooks(text, &hooks()).is_err(), "{text}");
    }
}

#[test]
fn a_change_shows_the_hubs_commands_and_nobody_elses() {
    let text = r#"{"hooks": {"Stop": [{"command": "curl -H secret"}]}, "env": {"KEY": "secret"}}"#;
    let after = with_hooks(text, &hooks()).expect("added");
    let diff = Part::Hooks(hooks()).diff(CLIENT, text, &after);
    assert!(diff.contains("+Stop: ") && diff.contains("waker"), "{diff}");
    assert!(!diff.contains("secret"), "{diff}");
}

#[test]
fn a_block_is_put_replaced_and_taken_out() {
    for (text, left) in [
        ("", None),
        ("\n\n", None),
        ("# Mine\n\nText.", Some("# Mine\n\nText.\n")),
        ("# Mine\n", Some("# Mine\n")),
    ] {
        let once = with_block(text, "Pull first.\n");
        assert!(once.contains("Pull first."));
        assert_eq!(with_block(&once, "Pull first."), once);
        let other = with_block(&once, "Pull last.");
        assert!(other.contains("Pull last.") && !other.contains("Pull first."));
        let back = Part::Block.taken_out(CLIENT, &other, None).expect("taken");
        assert_eq!(back.as_deref(), left, "{text:?}");
    }
    // What was written behind it stays.
    let more = with_block("# Mine\n", "Pull.") + "\nMore.\n";
    let back = Part::Block.taken_out(CLIENT, &more, None).expect("taken");
    assert_eq!(back.as_deref(), Some("# Mine\n\nMore.\n"));
}

#[test]
fn a_member_is_turned_on_and_back() {
    let on = Part::On("experimental".to_owned());
    for text in ["", "{}\n", "{\n  \"banner\": \"never\"\n}\n"] {
        let after = jsonc::with_member(text, "experimental", Some(&json!(true))).expect("set");
        let read = jsonc::member(&after, "experimental").expect("read");
        assert_eq!(read, Some(json!(true)));
        let back = on.taken_out(CLIENT, &after, None).expect("taken");
        let back = back.expect("a file");
        assert_eq!(jsonc::member(&back, "experimental").expect("read"), None);
        assert_eq!(back.contains("never"), text.contains("never"));
    }
    let off = on.taken_out(CLIENT, "{\"experimental\": true}", Some(&json!(false)));
    assert_eq!(
        off.expect("set").as_deref(),
        Some("{\"experimental\": false}")
    );
}

#[test]
fn a_file_of_the_hubs_is_removed_unless_somebody_made_it_his() {
    let ours = format!("// {OWN} copilot`.\ncode\n// and a line of mine\n");
    assert_eq!(
        Part::Own.taken_out(CLIENT, &ours, None).expect("read"),
        None
    );
    let theirs = Part::Own.taken_out(CLIENT, "mine", None).expect("read");
    assert_eq!(theirs.as_deref(), Some("mine"));
}
