#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use legation_core::TaskId;
use serde_json::{Value, json};

use super::super::{BashSettings, LanguageServer, ShellMode};
use super::files::{Stand, off};

fn confined() -> Stand {
    let settings = BashSettings {
        mode: ShellMode::Confined,
        path: Some("/nowhere:/usr/local/bin:/usr/bin:/bin".into()),
        env: vec![("GIVEN".into(), "yes".into())],
        timeout_max: Duration::from_secs(30),
        ..off()
    };
    Stand::with(settings, Vec::new())
}

async fn bash(stand: &Stand, command: &str) -> Value {
    let facts = stand.call("bash", json!({"command": command})).await;
    facts.unwrap_or_else(|error| panic!("{command}: {error}"))
}

#[tokio::test]
async fn commands_are_run_and_say_how_they_ended() {
    let stand = confined();
    stand.put("sub/f", "text");
    let facts = bash(&stand, "cat sub/f; echo; echo oops >&2; exit 3").await;
    assert_eq!(facts["text"], "text\noops\n[exit code 3]");
    assert_eq!(
        (&facts["exit_code"], &facts["timed_out"]),
        (&json!(3), &json!(false))
    );
    assert_eq!(
        bash(&stand, "true").await["text"],
        "[done, and it said nothing]"
    );
    let facts = stand
        .call("bash", json!({"command": "ls", "cwd": "sub"}))
        .await
        .unwrap();
    assert_eq!(facts["text"], "f\n");
    let facts = bash(&stand, "echo $PATH $GIVEN $HOME; env | wc -l").await;
    assert_eq!(
        facts["text"],
        "/usr/local/bin:/usr/bin:/bin yes /tmp/home\n10\n"
    );
    for (arguments, error) in [
        (json!({"command": "ls", "cwd": ".."}), "leads out of"),
        (json!({"command": "ls", "cwd": "sub/f"}), "is no folder"),
        (
            json!({"command": "ls", "cwd": "none"}),
            "there is no `none`",
        ),
        (json!({"command": "a\u{0}b"}), "none that can be run"),
    ] {
        let said = stand.call("bash", arguments.clone()).await.unwrap_err();
        assert!(said.contains(error), "{arguments}: {said}");
    }
    assert!(
        !bash(&stand, "cat ../home/token; true").await["text"]
            .as_str()
            .unwrap()
            .contains("owner's")
    );
}

#[tokio::test]
async fn one_that_does_not_end_is_stopped_with_what_it_said() {
    let stand = confined();
    let arguments = json!({"command": "echo begun; sleep 100", "timeout_ms": 1500});
    let facts = stand.call("bash", arguments).await.unwrap();
    assert_eq!(facts["text"], "begun\n[stopped after 1.5 s without an end]");
    assert_eq!(
        (&facts["exit_code"], &facts["timed_out"]),
        (&Value::Null, &json!(true))
    );
}

#[tokio::test]
async fn a_command_is_not_run_beside_a_second_name_of_the_hubs_files() {
    let stand = confined();
    fs::hard_link(stand.home.token(), stand.work().join("token")).unwrap();
    let said = stand
        .call("bash", json!({"command": "cat token"}))
        .await
        .unwrap_err();
    assert!(said.contains("second name"), "{said}");
}

#[tokio::test]
async fn what_commands_change_for_a_task_is_taken_back() {
    let stand = confined();
    stand.put("a.txt", "one\n");
    stand.put("gone.txt", "two\n");
    stand.put("pic.png", b"\0\0");
    stand.put(".gitignore", "built\n");
    let run = |command: &str| stand.call_for("task_1", "bash", json!({"command": command}));
    let facts =
        run("echo 1 > a.txt; rm gone.txt; echo x > new.txt; echo y > built; printf z > pic.png")
            .await
            .unwrap();
    assert_eq!(
        facts["changed_files"],
        json!(["a.txt", "gone.txt", "new.txt", "pic.png"])
    );
    assert_eq!(
        facts["text"],
        Value::Null,
        "the engine reads the text where it is"
    );
    let facts = run("cat a.txt").await.unwrap();
    assert_eq!(facts["changed_files"], json!([]));
    run("echo again > a.txt").await.unwrap();
    let done = stand.undo.apply(&TaskId::new("task_1")).unwrap();
    assert_eq!(
        (done.restored.join(" "), done.removed.join(" ")),
        ("a.txt gone.txt".to_owned(), "new.txt".to_owned())
    );
    assert_eq!(done.kept.len(), 1);
    assert!(
        done.kept[0].0 == "pic.png" && done.kept[0].1.contains("no text"),
        "{:?}",
        done.kept
    );
    assert_eq!(
        (stand.text("a.txt"), stand.text("gone.txt")),
        ("one\n".to_owned(), "two\n".to_owned())
    );
    assert_eq!(stand.text("built"), "y\n");
}

#[tokio::test]
async fn links_are_taken_back_as_links() {
    let stand = confined();
    let work = stand.work();
    for name in ["a.txt", "other.txt", "dir/b.txt", "elsewhere/b.txt"] {
        stand.put(name, name);
    }
    let link = |target: &str, name: &str| symlink(target, work.join(name)).unwrap();
    link("a.txt", "becomes-file");
    link("a.txt", "turns");
    link("nowhere", "goes");
    link("a.txt", "stays");
    let command = "ln -sf other.txt a.txt; rm becomes-file; echo x > becomes-file; \
                   ln -sfn other.txt turns; rm goes; ln -s other.txt new; \
                   mv dir moved; ln -s elsewhere dir";
    let facts = stand
        .call_for("task_1", "bash", json!({"command": command}))
        .await
        .unwrap();
    let changed = [
        "a.txt",
        "becomes-file",
        "dir",
        "dir/b.txt",
        "goes",
        "moved/b.txt",
        "new",
        "turns",
    ];
    assert_eq!(facts["changed_files"], json!(changed));
    let done = stand.undo.apply(&TaskId::new("task_1")).unwrap();
    assert_eq!(done.kept, []);
    assert_eq!(
        (done.restored.join(" "), done.removed.join(" ")),
        (
            "a.txt becomes-file dir/b.txt goes turns".to_owned(),
            "dir moved/b.txt new".to_owned()
        )
    );
    for name in ["a.txt", "other.txt", "dir/b.txt", "elsewhere/b.txt"] {
        assert_eq!(stand.text(name), name);
        assert!(!work.join(name).is_symlink(), "{name}");
    }
    let leads = |name: &str| std::fs::read_link(work.join(name)).unwrap();
    for (name, target) in [
        ("becomes-file", "a.txt"),
        ("turns", "a.txt"),
        ("goes", "nowhere"),
        ("stays", "a.txt"),
    ] {
        assert_eq!(leads(name), std::path::Path::new(target), "{name}");
    }
    assert!(!work.join("new").is_symlink());
}

#[tokio::test]
async fn what_an_ignore_file_hid_is_not_taken_away() {
    let stand = confined();
    stand.put("a.txt", "one\n");
    stand.put(".gitignore", "secret\n");
    stand.put("secret", "there before");
    let command = json!({"command": "echo other > .gitignore; echo x > new.txt"});
    stand.call_for("task_1", "bash", command).await.unwrap();
    let done = stand.undo.apply(&TaskId::new("task_1")).unwrap();
    assert_eq!(done.restored, [".gitignore"]);
    let kept: Vec<_> = done.kept.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!((done.removed.len(), kept), (0, vec!["new.txt", "secret"]));
    assert_eq!(stand.text("secret"), "there before");
}

#[tokio::test]
async fn unconfined_ones_run_where_the_owner_says_so() {
    let settings = BashSettings {
        mode: ShellMode::Unconfined,
        home: Some("/".into()),
        ..off()
    };
    let server = LanguageServer::parse("*.txt: true").unwrap();
    let stand = Stand::with(settings, vec![server]);
    let facts = bash(&stand, "echo out; echo err >&2; cat; echo $HOME").await;
    assert_eq!(facts["text"], "out\nerr\n/\n");
    // One that says nothing more is stopped like any.
    let quiet = json!({"command": "exec >&- 2>&-; sleep 100", "timeout_ms": 1500});
    let facts = stand.call("bash", quiet).await.unwrap();
    assert_eq!(facts["timed_out"], json!(true));
    // Nobody is asked before a language server runs what the folder says.
    stand.put("a.txt", "");
    let said = stand
        .call("lsp_diagnostics", json!({"path": "a.txt"}))
        .await;
    assert!(said.unwrap_err().contains("within walls only"));
}
