use std::sync::Arc;

use legation_config::{Instance, Settings, Source};
use legation_gate::{Endpoint, Item, ListKind, ServerSet as _, Unresolved};
use legation_wire::revision::Revision;

use crate::testing::{Bench, Scripted, caller, server_name, spec, spec_of, times};

fn offering(capabilities: &str, lists: &[(ListKind, &[&str])]) -> Arc<Scripted> {
    let server = Scripted::new(Revision::V2025_11_25, capabilities, |_, _| {
        Box::pin(async { Ok(legation_wire::json::Raw::empty_object()) })
    });
    for (kind, entries) in lists {
        server.offer(*kind, entries);
    }
    server
}

#[tokio::test]
async fn lists_merge_in_order_and_only_names_change() {
    let bench = Bench::new();
    let tool = r#"{"x":1,"name":"t", "inputSchema":{ "a" : 1.50 },"_meta":{"v":[1,2]}}"#;
    let tools = [r#"{"name":"z"}"#, tool, r#"{"name":"a"}"#];
    for name in ["beta", "alpha", "own"] {
        bench.serve(
            name,
            &offering(r#"{"tools":{}}"#, &[(ListKind::Tools, &tools)]),
        );
    }
    let file = Source::User { file: "f".into() };
    let own = serde_json::json!({"command": "c", "prefix": ""});
    let default = serde_json::json!({"command": "c", "isDefaultServer": true});
    bench
        .apply(vec![
            spec_of("own", &own, file.clone()),
            spec("alpha", Instance::Shared),
            spec_of("beta", &default, file),
        ])
        .await;
    bench.settle().await;
    let me = caller("me", None);
    let names = bench.names(&me, &Endpoint::All, ListKind::Tools);
    assert_eq!(
        names,
        [
            "beta-z", "beta-t", "beta-a", "alpha-z", "alpha-t", "alpha-a", "z", "t", "a"
        ]
    );
    let listing = bench
        .host
        .listing(&me, &Endpoint::All, ListKind::Tools)
        .expect("a list");
    assert_eq!(
        listing.entries[1].raw.as_text(),
        r#"{"x":1,"name":"beta-t","inputSchema":{ "a" : 1.50 },"_meta":{"v":[1,2]}}"#
    );
    let own = Endpoint::Server(server_name("alpha"));
    assert_eq!(bench.names(&me, &own, ListKind::Tools), ["z", "t", "a"]);
    let again = bench
        .host
        .listing(&me, &Endpoint::All, ListKind::Tools)
        .expect("a list");
    assert!(Arc::ptr_eq(&listing, &again), "nothing changed");
    let nowhere = Endpoint::Server(server_name("gamma"));
    assert!(matches!(
        bench.host.listing(&me, &nowhere, ListKind::Tools),
        Err(Unresolved::NoEndpoint { what: "server", .. })
    ));
    bench.host.shutdown().await;
}

#[tokio::test]
async fn names_resolve_flat_namespaced_and_plain() {
    let bench = Bench::new();
    let tools: &[&str] = &[r#"{"name":"read/file","annotations":{"readOnlyHint":true}}"#];
    let prompts: &[&str] = &[r#"{"name":"p"}"#];
    let both = r#"{"tools":{},"prompts":{}}"#;
    let lists = [(ListKind::Tools, tools), (ListKind::Prompts, prompts)];
    bench.serve("team/files", &offering(both, &lists));
    bench
        .apply(vec![spec("team/files", Instance::Shared)])
        .await;
    bench.settle().await;
    let me = caller("me", None);
    let server = Endpoint::Server(server_name("team/files"));
    for (endpoint, name) in [
        (&Endpoint::All, "team_files-read_file"),
        (&Endpoint::All, "team/files/read/file"),
        (&server, "read/file"),
    ] {
        let item = Item::Tool(name.into());
        let target = bench.resolve(&me, endpoint, &item).await.expect("found");
        assert_eq!(
            (target.server.as_str(), &*target.item),
            ("team/files", "read/file")
        );
        assert!(target.read_only_hint && target.definition.is_some());
    }
    for (endpoint, name) in [
        (&Endpoint::All, "read/file"),
        (&server, "team_files-read_file"),
    ] {
        let item = Item::Tool(name.into());
        let missing = bench.resolve(&me, endpoint, &item).await;
        assert!(
            matches!(missing, Err(Unresolved::Unknown { what: "tool", .. })),
            "{name}"
        );
    }
    let prompt = Item::PromptArgument("team_files-p".into());
    assert!(bench.resolve(&me, &Endpoint::All, &prompt).await.is_ok());
    bench.host.shutdown().await;
}

#[tokio::test]
async fn a_uri_of_two_servers_is_refused_with_both_names() {
    let bench = Bench::new();
    let shared = r#"{"uri":"doc://shared","name":"s"}"#;
    let template: &[&str] = &[r#"{"uriTemplate":"db://{table}","name":"t"}"#];
    let capabilities = r#"{"resources":{}}"#;
    let own = [shared, r#"{"uri":"doc://one","name":"o"}"#];
    let one = [
        (ListKind::Resources, &own[..]),
        (ListKind::Templates, template),
    ];
    bench.serve("one", &offering(capabilities, &one));
    bench.serve(
        "two",
        &offering(capabilities, &[(ListKind::Resources, &[shared])]),
    );
    bench
        .apply(vec![
            spec("one", Instance::Shared),
            spec("two", Instance::Shared),
        ])
        .await;
    bench.settle().await;
    let me = caller("me", None);
    let find = |uri: &str| Item::Resource(uri.into());
    let both = bench
        .resolve(&me, &Endpoint::All, &find("doc://shared"))
        .await;
    let error = both.expect_err("ambiguous").to_string();
    assert!(error.contains("one") && error.contains("two"), "{error}");
    for (uri, owner, pinned) in [("doc://one", "one", true), ("db://users", "one", true)] {
        let target = bench
            .resolve(&me, &Endpoint::All, &find(uri))
            .await
            .expect(uri);
        assert_eq!((target.server.as_str(), &*target.item), (owner, uri));
        assert_eq!(target.definition.is_some(), pinned, "{uri}");
    }
    let unknown = bench
        .resolve(&me, &Endpoint::All, &find("doc://none"))
        .await;
    assert!(matches!(unknown, Err(Unresolved::Unknown { .. })));
    let two = Endpoint::Server(server_name("two"));
    let unlisted = bench
        .resolve(&me, &two, &find("doc://none"))
        .await
        .expect("the only one");
    assert_eq!(
        (unlisted.server.as_str(), unlisted.definition),
        ("two", None)
    );
    bench.host.shutdown().await;
}

const REFUNDS: &str = r#"{"uri":"skill://acme/refunds/SKILL.md","frontmatter":{"name":"refunds","description":"d"},"resources":"dynamic","x":1}"#;
const NOTES: &str = r#"{"uri":"skill://notes/SKILL.md","frontmatter":{"name":"notes","description":"d"},"resources":"dynamic"}"#;

/// Three servers: one has a skill of its own and one at an address of the second's, the third does not say
/// that it has any.
async fn skilled() -> Bench {
    let bench = Bench::new();
    let misnamed = NOTES.replace("skill://notes", "skill://notes/other");
    let reports = NOTES.replace("notes", "reports");
    let declared = |settings: &str| {
        format!(
            r#"{{"resources":{{}},"extensions":{{"io.modelcontextprotocol/skills":{settings}}}}}"#
        )
    };
    let one = [REFUNDS, NOTES, misnamed.as_str()];
    let directories = declared(r#"{"directoryRead":true}"#);
    bench.serve("one", &offering(&directories, &[(ListKind::Skills, &one)]));
    let two = [NOTES, reports.as_str()];
    bench.serve(
        "two",
        &offering(&declared("{}"), &[(ListKind::Skills, &two)]),
    );
    // What it lists does not count without a word that it has any.
    let silent = [(ListKind::Skills, &one[..])];
    bench.serve("three", &offering(r#"{"resources":{}}"#, &silent));
    let specs = ["one", "two", "three"].map(|name| spec(name, Instance::Shared));
    bench.apply(specs.to_vec()).await;
    bench.settle().await;
    bench
}

#[tokio::test]
async fn skills_are_listed_with_their_server_and_none_of_two_at_one_address() {
    let bench = skilled().await;
    let me = caller("me", None);
    let all = bench.names(&me, &Endpoint::All, ListKind::Skills);
    assert_eq!(
        all,
        ["skill://acme/refunds/SKILL.md", "skill://reports/SKILL.md"]
    );
    let listing = bench.host.listing(&me, &Endpoint::All, ListKind::Skills);
    let listing = listing.expect("a list");
    assert_eq!(
        listing.entries[0].raw.as_text(),
        REFUNDS.replace(r#""x":1"#, r#""x":1,"_meta":{"io.legation/server":"one"}"#)
    );
    let alone = |name: &str| Endpoint::Server(server_name(name));
    let listing = bench.host.listing(&me, &alone("two"), ListKind::Skills);
    assert_eq!(listing.expect("a list").entries[0].raw.as_text(), NOTES);
    assert_eq!(bench.names(&me, &alone("three"), ListKind::Skills), [""; 0]);
    let describe = |endpoint: &Endpoint| {
        let described = bench.host.describe(&me, endpoint).expect("an endpoint");
        let capabilities = described.capabilities;
        (capabilities.skills, capabilities.skill_directories)
    };
    assert_eq!(describe(&Endpoint::All), (true, true));
    assert_eq!(describe(&alone("two")), (true, false));
    assert_eq!(describe(&alone("three")), (false, false));
    bench.host.shutdown().await;
}

#[tokio::test]
async fn skills_and_their_files_belong_to_their_server() {
    let bench = skilled().await;
    let me = caller("me", None);
    let owner = async |item: Item| {
        let target = bench.resolve(&me, &Endpoint::All, &item).await;
        target.map(|target| target.server.to_string())
    };
    let is_of_one = [
        Item::Skill("skill://acme/refunds/SKILL.md".into()),
        Item::Resource("skill://acme/refunds/examples/a.md".into()),
        Item::Directory("skill://acme/refunds/examples".into()),
        Item::Directory("skill://acme".into()),
    ];
    for item in is_of_one {
        assert_eq!(owner(item.clone()).await.as_deref(), Ok("one"), "{item:?}");
    }
    let nobodys = [
        Item::Skill("skill://none/SKILL.md".into()),
        Item::Resource("skill://acme/refunds/../a.md".into()),
        // Its owner reads no directories, and nobody else is asked.
        Item::Directory("skill://reports".into()),
    ];
    for item in nobodys {
        let found = owner(item.clone()).await;
        assert!(
            matches!(found, Err(Unresolved::Unknown { .. })),
            "{item:?}: {found:?}"
        );
    }
    for item in [
        Item::Skill("skill://notes/SKILL.md".into()),
        Item::Resource("skill://notes/a.md".into()),
    ] {
        let found = owner(item.clone()).await;
        assert!(
            matches!(found, Err(Unresolved::Ambiguous { .. })),
            "{item:?}: {found:?}"
        );
    }
    bench.host.shutdown().await;
}

#[tokio::test]
async fn views_show_their_part_and_nothing_else_resolves() {
    let mut settings = Settings::defaults();
    let view = legation_config::View {
        servers: vec!["al*".into()],
        tools: vec!["read_*".into()],
    };
    settings.views.insert("safe".into(), view);
    let bench = Bench::with(settings, times());
    let tools: &[&str] = &[r#"{"name":"read_a"}"#, r#"{"name":"write_a"}"#];
    for name in ["alpha", "beta"] {
        bench.serve(
            name,
            &offering(r#"{"tools":{}}"#, &[(ListKind::Tools, tools)]),
        );
    }
    bench
        .apply(vec![
            spec("alpha", Instance::Shared),
            spec("beta", Instance::Shared),
        ])
        .await;
    bench.settle().await;
    let me = caller("me", None);
    let safe = Endpoint::View("safe".into());
    assert_eq!(bench.names(&me, &safe, ListKind::Tools), ["alpha-read_a"]);
    for (name, found) in [
        ("alpha-read_a", true),
        ("alpha-write_a", false),
        ("beta-read_a", false),
        ("alpha/write_a", false),
    ] {
        let item = Item::Tool(name.into());
        assert_eq!(
            bench.resolve(&me, &safe, &item).await.is_ok(),
            found,
            "{name}"
        );
    }
    let none = bench.host.describe(&me, &Endpoint::View("other".into()));
    assert!(matches!(
        none,
        Err(Unresolved::NoEndpoint { what: "view", .. })
    ));
    assert!(bench.host.covers(&me, &safe, &server_name("alpha")));
    assert!(!bench.host.covers(&me, &safe, &server_name("beta")));
    bench.host.shutdown().await;
}

#[tokio::test]
async fn workspace_servers_are_seen_from_their_folder_only() {
    let bench = Bench::new();
    let tools: &[&str] = &[r#"{"name":"t"}"#];
    bench.serve(
        "x",
        &offering(r#"{"tools":{}}"#, &[(ListKind::Tools, tools)]),
    );
    let source = Source::Workspace {
        folder: "/projects/a".into(),
        file: "/projects/a/.mcp.json".into(),
    };
    let entry = serde_json::json!({"command": "c", "instance": "workspace"});
    let mut workspace = spec_of("x", &entry, source);
    workspace.trusted = true;
    bench.apply(vec![workspace]).await;
    bench.settle().await;
    for (folder, sees) in [
        (Some("/projects/a"), true),
        (Some("/projects/a/deep"), true),
        (Some("/projects/ab"), false),
        (None, false),
    ] {
        let me = caller("me", folder);
        let names = bench.names(&me, &Endpoint::All, ListKind::Tools);
        assert_eq!(!names.is_empty(), sees, "{folder:?}");
    }
    bench.host.shutdown().await;
}

#[tokio::test]
async fn capabilities_and_instructions_join() {
    let bench = Bench::new();
    for (name, capabilities) in [
        (
            "a",
            r#"{"tools":{},"experimental":{"v":{}},"tasks":{"requests":{"tools":{"call":{}}}}}"#,
        ),
        ("b", r#"{"prompts":{}}"#),
    ] {
        let server = offering(capabilities, &[]);
        let instructions = format!("{name} says.\n\nAnd more, {}", "x".repeat(4_000));
        server.about.lock().expect("a lock").instructions = Some(instructions);
        bench.serve(name, &server);
    }
    bench
        .apply(vec![
            spec("a", Instance::Shared),
            spec("b", Instance::Shared),
        ])
        .await;
    bench.settle().await;
    let me = caller("me", None);
    let all = bench
        .host
        .describe(&me, &Endpoint::All)
        .expect("an endpoint");
    let capabilities = &all.capabilities;
    assert!(capabilities.tools_list_changed && capabilities.resources && capabilities.tasks_ext);
    assert!(capabilities.experimental.is_none());
    let text = all.instructions.expect("some");
    assert!(text.contains("[a] a says.") && text.contains("[b] b says.") && text.len() < 2_048);
    let a = Endpoint::Server(server_name("a"));
    let a = bench.host.describe(&me, &a).expect("an endpoint");
    assert!(a.capabilities.tools_list_changed && !a.capabilities.prompts);
    assert!(a.capabilities.experimental.is_some());
    assert!(a.instructions.expect("its own").len() > 4_000);
    bench.host.shutdown().await;
}

#[tokio::test]
async fn five_thousand_tools_merge_fast() {
    let bench = Bench::new();
    let mut specs = Vec::new();
    for n in 0..50 {
        let name = format!("server-{n}");
        let tools: Vec<String> = (0..100)
            .map(|t| format!(r#"{{"name":"tool_{t}"}}"#))
            .collect();
        let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
        bench.serve(
            &name,
            &offering(r#"{"tools":{}}"#, &[(ListKind::Tools, &tools)]),
        );
        specs.push(spec(&name, Instance::Shared));
    }
    bench.apply(specs).await;
    bench.settle().await;
    let me = caller("me", None);
    let listing = bench
        .host
        .listing(&me, &Endpoint::All, ListKind::Tools)
        .expect("a list");
    assert_eq!(listing.entries.len(), 5_000);
    let names = bench.names(&me, &Endpoint::All, ListKind::Tools);
    let unique: std::collections::HashSet<_> = names.iter().collect();
    assert_eq!(unique.len(), 5_000);
    bench.host.shutdown().await;
}

#[tokio::test]
async fn targets_and_entries_say_whose_data_and_what_is_run() {
    use legation_gate::policy::governance::Fingerprint;

    let bench = Bench::new();
    let tools = [r#"{"name":"t"}"#];
    for name in ["mail", "remote"] {
        bench.serve(
            name,
            &offering(r#"{"tools":{}}"#, &[(ListKind::Tools, &tools)]),
        );
    }
    let file = Source::User { file: "f".into() };
    let mail = serde_json::json!({"command": "run", "args": ["-y", "${MAIL}"], "entity": "acme"});
    let remote = serde_json::json!({"type": "http", "url": "https://example.com/mcp"});
    bench
        .apply(vec![
            spec_of("mail", &mail, file.clone()),
            spec_of("remote", &remote, file),
        ])
        .await;
    bench.settle().await;
    let me = caller("me", None);
    let listing = bench
        .host
        .listing(&me, &Endpoint::All, ListKind::Tools)
        .expect("a list");
    for (name, entity, print) in [
        (
            "mail",
            Some("acme"),
            // As it is written: what ${MAIL} stands for is not what was allowed.
            Fingerprint::of_command(&["run", "-y", "${MAIL}"]),
        ),
        (
            "remote",
            None,
            Fingerprint::of_url("https://example.com/mcp"),
        ),
    ] {
        let item = Item::Tool(format!("{name}/t").into());
        let target = bench
            .resolve(&me, &Endpoint::All, &item)
            .await
            .expect("a target");
        let question = target.question();
        assert_eq!(question.entity.map(|entity| entity.as_str()), entity);
        assert_eq!(question.fingerprint, Some(print));
        let entry = listing
            .entries
            .iter()
            .find(|entry| entry.server == target.server);
        let entry = entry.expect("listed");
        assert_eq!(
            (&entry.entity, entry.fingerprint),
            (&target.entity, Some(print))
        );
    }
    bench.host.shutdown().await;
}
