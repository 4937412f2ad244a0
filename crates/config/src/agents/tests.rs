use legation_core::Home;
use serde_json::json;

use super::*;

const REVIEWER: &str = r#"---
name: reviewer
description: "Looks at changes: nothing else."
model: qwen-coder # the small one
tools: [Read, 'Grep', github/*]
mcp-servers:
  notes:
    command: notes-server
    args: ["--folder", "."]
    env:
      LEVEL: 'high'
  docs:
    url: https://docs.example.com/mcp
---

Look at what changed, and say what is wrong with it.
"#;

#[test]
fn an_agents_file_is_read() {
    let agent = Agent::parse("file", REVIEWER).expect("an agent");
    let servers = json!({
        "notes": {
            "command": "notes-server", "args": ["--folder", "."], "env": { "LEVEL": "high" },
        },
        "docs": { "url": "https://docs.example.com/mcp" },
    });
    assert_eq!(
        agent,
        Agent {
            name: "reviewer".to_owned(),
            description: "Looks at changes: nothing else.".to_owned(),
            model: Some("qwen-coder".to_owned()),
            tools: Some(["Read", "Grep", "github/*"].map(str::to_owned).to_vec()),
            servers: servers.as_object().cloned().expect("an object"),
            prompt: "Look at what changed, and say what is wrong with it.".to_owned(),
            ..Agent::default()
        }
    );
}

#[test]
fn heads_are_written_in_several_ways() {
    for (text, tools, model) in [
        (
            "---\ntools: Read, Bash\nmodel: inherit\n---\nx",
            Some(vec!["Read", "Bash"]),
            None,
        ),
        (
            "---\ntools:\n  - Read\n  - Bash\n---\nx",
            Some(vec!["Read", "Bash"]),
            None,
        ),
        (
            "---\ntools:\n- Read\nmodel: small\n---\nx",
            Some(vec!["Read"]),
            Some("small"),
        ),
        ("---\r\nmodel: small\r\n---\r\nx", None, Some("small")),
        ("---\n---\nx", None, None),
        ("---\ntools: []\n---\nx", Some(vec![]), None),
        ("x", None, None),
    ] {
        let agent = Agent::parse("one", text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let tools = tools.map(|tools| tools.into_iter().map(str::to_owned).collect());
        assert_eq!(
            (agent.tools, agent.model.as_deref()),
            (tools, model),
            "{text}"
        );
        assert_eq!(
            (agent.name.as_str(), agent.prompt.as_str()),
            ("one", "x"),
            "{text}"
        );
    }
}

#[test]
fn what_is_not_understood_is_refused() {
    for (text, line) in [
        ("---\nname: x\n", 1),
        ("---\nname\n---\n", 2),
        ("---\nname: x\n  more: y\n---\n", 3),
        ("---\ndescription: |\n  long\n---\n", 2),
        ("---\nname: &a x\n---\n", 2),
        ("---\nname: \"x\n---\n", 2),
        ("---\ntools: [a, b\n---\n", 2),
        ("---\n- a\n---\n", 2),
    ] {
        let error = Agent::parse("one", text).expect_err(text);
        assert_eq!(error.line, line, "{text}: {error}");
    }
    let deep: String = (0..20)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    assert!(Agent::parse("one", &format!("---\n{deep}---\n")).is_err());
}

#[test]
fn a_folder_is_believed_only_if_it_is_trusted() {
    let home = tempfile::tempdir().expect("a folder");
    let work = tempfile::tempdir().expect("a folder");
    let put = |path: &Path, text: &str| {
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    };
    put(
        &work.path().join(".github/agents/reviewer.agent.md"),
        REVIEWER,
    );
    put(&work.path().join("AGENTS.md"), "Write tests.");
    put(&home.path().join("agents/own.agent.md"), "Mine.");
    let trusting = AgentFiles::new(home.path(), |_| true);
    let wary = AgentFiles::new(home.path(), |_| false);
    let folder = Some(work.path());
    assert_eq!(
        trusting.agent(folder, "reviewer").expect("it").name,
        "reviewer"
    );
    assert!(matches!(
        wary.agent(folder, "reviewer"),
        Err(AgentError::NotTrusted { .. })
    ));
    assert_eq!(wary.agent(folder, "own").expect("it").prompt, "Mine.");
    assert_eq!(
        trusting.instructions(work.path()).as_deref(),
        Some("Write tests.")
    );
    assert_eq!(wary.instructions(work.path()), None);
    let names = |files: &AgentFiles| -> Vec<String> {
        files
            .agents(folder)
            .into_iter()
            .map(|agent| agent.name)
            .collect()
    };
    assert_eq!(names(&trusting), ["own", "reviewer"]);
    assert_eq!(names(&wary), ["own"]);
    for bad in ["", "../own", "own.agent", "a/b", "none"] {
        assert!(
            matches!(trusting.agent(folder, bad), Err(AgentError::Unknown { .. })),
            "{bad}"
        );
    }
}

#[test]
fn a_link_is_no_agent() {
    let home = tempfile::tempdir().expect("a folder");
    let agents = home.path().join("agents");
    std::fs::create_dir_all(&agents).expect("a folder");
    let secret = home.path().join("secret");
    std::fs::write(&secret, "secret").expect("a file");
    std::os::unix::fs::symlink(&secret, agents.join("linked.agent.md")).expect("a link");
    let files = AgentFiles::new(home.path(), |_| true);
    assert!(matches!(
        files.agent(None, "linked"),
        Err(AgentError::Unknown { .. })
    ));
    std::fs::write(agents.join("long.md"), "x".repeat(70_000)).expect("a file");
    assert!(matches!(
        files.agent(None, "long"),
        Err(AgentError::Read { .. })
    ));
}

#[test]
fn a_folders_agent_starts_only_what_its_owner_agreed_to() {
    use crate::trust::{State, grant, status};
    use legation_core::Wall;

    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path().join("home"));
    std::fs::create_dir_all(home.root().join("agents")).expect("a folder");
    let work = folder.path().join("work");
    let place = work.join(".github/agents");
    std::fs::create_dir_all(&place).expect("a folder");
    let file = place.join("reviewer.agent.md");
    std::fs::write(&file, REVIEWER).expect("a file");
    std::fs::write(home.root().join("agents/own.md"), REVIEWER).expect("a file");
    let files = AgentFiles::new(home.root(), |_| true);
    let names = |loaded: &crate::Loaded| -> Vec<String> {
        let servers = loaded.servers.iter();
        servers.map(|spec| spec.label().into()).collect()
    };

    let agent = files.agent(Some(&work), "reviewer").expect("an agent");
    let loaded = servers(&home, &agent);
    assert!(loaded.servers.is_empty(), "{loaded:?}");
    assert_eq!(loaded.problems.len(), 2);
    assert!(
        loaded
            .problems
            .iter()
            .all(|problem| problem.kind.is_about_trust())
    );
    // The owner wrote his own agents himself.
    let own = files.agent(None, "own").expect("an agent");
    let real = home.root().join("agents/own.md");
    assert_eq!(
        names(&servers(&home, &own)),
        [
            format!("notes@{}", real.display()),
            format!("docs@{}", real.display())
        ]
    );

    let shown = status(&home, &work).expect("a folder");
    let keys: Vec<&str> = shown.servers.iter().map(|one| &*one.server).collect();
    let prefix = ".github/agents/reviewer.agent.md";
    assert_eq!(keys, [format!("{prefix}#notes"), format!("{prefix}#docs")]);
    assert_eq!(shown.servers[0].shown[0], "runs notes-server --folder .");
    grant(&home, &shown, Wall(0)).expect("granted");
    let loaded = servers(&home, &agent);
    assert!(
        !loaded
            .problems
            .iter()
            .any(|problem| problem.kind.is_about_trust())
    );
    assert_eq!(loaded.servers.len(), 2);
    assert!(loaded.servers.iter().all(|spec| spec.trusted));

    // What changes asks again, and the rest stays.
    let text = REVIEWER.replace("notes-server", "other-server");
    std::fs::write(&file, text).expect("a file");
    let agent = files.agent(Some(&work), "reviewer").expect("an agent");
    let loaded = servers(&home, &agent);
    assert_eq!(names(&loaded), [format!("docs@{}", file.display())]);
    let now = status(&home, &work).expect("a folder");
    assert_eq!(now.servers[0].state, State::Changed);
}

#[test]
fn members_stand_on_one_line_too() {
    let text = "---\nmcp-servers:\n  a: {command: run, args: \"-v\"}\n  b: {\"command\": \"b\", \"args\": [\"x\"]}\n---\nx";
    let agent = Agent::parse("one", text).expect("an agent");
    let servers = json!({
        "a": { "command": "run", "args": "-v" }, "b": { "command": "b", "args": ["x"] },
    });
    assert_eq!(Value::Object(agent.servers), servers);
    for bad in ["{a: b", "{a}", "{a: {b: c}}"] {
        assert!(
            Agent::parse("one", &format!("---\nx: {bad}\n---\n")).is_err(),
            "{bad}"
        );
    }
}
