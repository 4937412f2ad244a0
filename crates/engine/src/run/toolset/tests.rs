use serde_json::json;

use super::*;

fn offer(server: &str, item: &str, schema: Value) -> Offer {
    Offer {
        flat: format!("{server}-{item}").into(),
        server: server.into(),
        item: item.into(),
        description: format!("Does {item}."),
        schema,
        reads: item.starts_with("read"),
    }
}

fn offers() -> Vec<Offer> {
    let read = json!({
        "type": "object", "required": ["path"], "additionalProperties": false,
        "properties": { "path": { "type": "string" }, "from": { "type": "integer" } },
    });
    let edit = json!({
        "type": "object", "required": ["path", "edits"],
        "properties": { "path": { "type": "string" }, "edits": { "type": "array" } },
    });
    vec![
        offer("github", "issue_list", json!({ "type": "object" })),
        offer("workspace", "read_file", read),
        offer("workspace", "edit", edit),
        offer("hub", "find_tools", json!({ "type": "object" })),
        offer("hub", "servers", json!({ "type": "object" })),
        offer("delegate", "chat", json!({ "type": "object" })),
    ]
}

fn choose(patterns: Option<&[&str]>, budget_bytes: usize) -> Vec<String> {
    let choice = ToolChoice {
        patterns: patterns.map(|all| all.iter().map(|one| (*one).to_owned()).collect()),
        own: Vec::new(),
        budget_bytes,
    };
    let tools = Toolset::choose(offers(), &choice).tools;
    tools.iter().map(|tool| tool.name.to_string()).collect()
}

fn all() -> Toolset {
    let choice = ToolChoice {
        patterns: Some(vec!["*".to_owned()]),
        own: Vec::new(),
        budget_bytes: usize::MAX,
    };
    Toolset::choose(offers(), &choice)
}

#[test]
fn a_run_has_the_tools_it_may_have_as_far_as_they_fit() {
    let wide = usize::MAX;
    assert_eq!(choose(None, wide), ["read_file", "edit", "find_tools"]);
    let every = [
        "read_file",
        "edit",
        "find_tools",
        "github-issue_list",
        "hub-servers",
    ];
    assert_eq!(choose(Some(&["*"]), wide), every);
    assert_eq!(
        choose(Some(&["Read", "github/*"]), wide),
        ["read_file", "github-issue_list"]
    );
    assert_eq!(
        choose(Some(&["delegate/*", "delegate-chat"]), wide),
        [""; 0]
    );
    assert_eq!(choose(Some(&[]), wide), [""; 0]);
    // What is left out for want of room is found by the finder, which comes before.
    let room = Toolset::choose(
        offers(),
        &ToolChoice {
            patterns: None,
            own: Vec::new(),
            budget_bytes: wide,
        },
    );
    let room = choose(Some(&["*"]), room.bytes());
    assert_eq!(room, ["read_file", "edit", "find_tools"]);
}

#[test]
fn a_name_is_understood_as_models_spell_it() {
    for (name, tool) in [
        ("read_file", "read_file"),
        ("ReadFile", "read_file"),
        ("functions.read_file", "read_file"),
        ("workspace-read_file", "read_file"),
        ("mcp__legation__workspace-read_file", "read_file"),
        ("Read", "read_file"),
        ("str_replace", "edit"),
        ("github/issue_list", "github-issue_list"),
        ("github_issue_list", "github-issue_list"),
    ] {
        let found = all().find(name).map(|tool| tool.name.to_string());
        assert_eq!(found.as_deref(), Some(tool), "{name}");
    }
    let unknown = plan(&all(), "raed_fiel", json!({})).expect_err("there is none");
    assert!(
        unknown.0.contains("Tools there are: read_file"),
        "{}",
        unknown.0
    );
    let none = plan(&Toolset::none(), "read_file", json!({})).expect_err("there is none");
    assert!(none.0.contains("no tools for this task"), "{}", none.0);
}

fn plan(tools: &Toolset, name: &str, arguments: Value) -> Result<PlannedCall, Unfit> {
    let called = Called {
        id: "c1".to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_string(),
        is_cut: !arguments.is_object(),
    };
    tools.plan(&called, arguments)
}

#[test]
fn arguments_are_fitted_and_checked() {
    for (arguments, fitted) in [
        (json!({"path": "a"}), json!({"path": "a"})),
        (
            json!({"path": "12", "from": "12"}),
            json!({"path": "12", "from": 12}),
        ),
    ] {
        let planned = plan(&all(), "read_file", arguments).expect("a call");
        assert_eq!(planned.arguments, fitted);
        assert!(planned.reads && planned.id == "c1" && &*planned.flat == "workspace-read_file");
    }
    for (arguments, why) in [
        (json!({}), "path"),
        (json!({"path": "a", "form": 1}), "form"),
        (json!({"path": 1}), "/path"),
        (json!(["a"]), "no JSON object"),
        (json!("path a"), "no JSON object"),
    ] {
        let unfit = plan(&all(), "read_file", arguments.clone()).expect_err("it does not fit");
        assert!(unfit.0.contains(why), "{arguments}: {}", unfit.0);
    }
    // Text within a list stays as it is written.
    let edits = json!({"path": "A", "edits": "[{\"new\": \"Text\"}]"});
    let planned = plan(&all(), "edit", edits).expect("an edit");
    assert_eq!(planned.arguments["edits"], json!([{ "new": "Text" }]));
}

#[test]
fn a_call_that_was_cut_is_not_made() {
    let called = Called {
        id: "c1".to_owned(),
        name: "read_file".to_owned(),
        arguments: "{}".to_owned(),
        is_cut: true,
    };
    let unfit = all()
        .plan(&called, json!({ "path": "a" }))
        .expect_err("it is cut");
    assert!(unfit.0.contains("cut off"), "{}", unfit.0);
}

#[test]
fn a_schema_that_is_none_is_left_to_the_server() {
    let mut offers = offers();
    offers[1].schema = json!({ "type": 12 });
    let choice = ToolChoice {
        patterns: None,
        own: Vec::new(),
        budget_bytes: usize::MAX,
    };
    let tools = Toolset::choose(offers, &choice);
    assert!(plan(&tools, "read_file", json!({ "anything": 1 })).is_ok());
}
