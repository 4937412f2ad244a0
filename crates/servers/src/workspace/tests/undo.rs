use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use legation_api::tasks::UndoAnswer;
use legation_core::TaskId;
use serde_json::json;

use super::files::Stand;

fn kept(answer: &UndoAnswer) -> Vec<(&str, &str)> {
    let kept = answer.kept.iter();
    kept.map(|(path, why)| (path.as_str(), why.as_str()))
        .collect()
}

#[tokio::test]
async fn what_a_task_did_is_taken_back() {
    let stand = Stand::new();
    stand.put("a.txt", "one\n");
    stand.put("b.txt", "two\n");
    let script = stand.work().join("a.txt");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o750)).unwrap();
    let task = "task_1";
    for (tool, arguments) in [
        (
            "edit",
            json!({"path": "a.txt", "old_text": "one", "new_text": "1"}),
        ),
        ("write_file", json!({"path": "a.txt", "content": "again\n"})),
        (
            "write_file",
            json!({"path": "new/deep/c.txt", "content": "made\n"}),
        ),
        ("write_file", json!({"path": "b.txt", "content": "2\n"})),
        ("write_file", json!({"path": "b.txt", "content": "two\n"})),
    ] {
        stand.call_for(task, tool, arguments).await.unwrap();
    }
    stand
        .call(
            "write_file",
            json!({"path": "d.txt", "content": "somebody else's"}),
        )
        .await
        .unwrap();
    let id = TaskId::new(task);
    assert_eq!(
        stand.undo.changed_files(&id).unwrap(),
        ["a.txt", "new/deep/c.txt"]
    );
    let plan = stand.undo.plan(&id).unwrap();
    assert_eq!(stand.text("a.txt"), "again\n", "a plan does nothing");
    let done = stand.undo.apply(&id).unwrap();
    assert_eq!(done, plan);
    assert_eq!(
        (done.restored.join(" "), done.removed.join(" ")),
        ("a.txt".to_owned(), "new/deep/c.txt".to_owned())
    );
    assert_eq!(kept(&done), []);
    assert_eq!(stand.text("a.txt"), "one\n");
    assert_eq!(
        fs::metadata(&script).unwrap().permissions().mode() & 0o777,
        0o750
    );
    assert!(
        !stand.work().join("new").exists(),
        "folders that it made go too"
    );
    assert_eq!(stand.text("d.txt"), "somebody else's");
    assert_eq!(stand.undo.apply(&id).unwrap(), UndoAnswer::default());
    let nothing = stand.undo.plan(&TaskId::new("task_2")).unwrap_err();
    assert!(nothing.to_string().contains("nothing is kept"), "{nothing}");
}

#[tokio::test]
async fn what_others_changed_since_stays() {
    let stand = Stand::new();
    let task = "task_1";
    for name in ["since", "between", "gone", "mine"] {
        stand.put(name, "before");
        let write = json!({"path": name, "content": "by the task"});
        stand.call_for(task, "write_file", write).await.unwrap();
    }
    stand.put("since", "by a person");
    stand.put("between", "by a person");
    let write = json!({"path": "between", "content": "by the task again"});
    stand.call_for(task, "write_file", write).await.unwrap();
    fs::remove_file(stand.work().join("gone")).unwrap();
    let done = stand.undo.apply(&TaskId::new(task)).unwrap();
    assert_eq!(done.restored, ["mine"]);
    assert_eq!(
        kept(&done),
        [
            (
                "between",
                "somebody else changed it between two changes of the task"
            ),
            ("gone", "somebody changed it since"),
            ("since", "somebody changed it since"),
        ]
    );
    assert_eq!(stand.text("since"), "by a person");
}

#[tokio::test]
async fn copies_are_sealed_for_the_entity_and_end_with_its_key() {
    let stand = Stand::new();
    stand.put("a.txt", "canary 4711");
    let write = json!({"path": "a.txt", "content": "new"});
    stand.call_for("task_1", "write_file", write).await.unwrap();
    let folder = stand.home.undo().join("task_1");
    let mode = fs::metadata(&folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let files: Vec<_> = fs::read_dir(&folder).unwrap().flatten().collect();
    assert_eq!(files.len(), 2);
    for file in &files {
        let bytes = fs::read(file.path()).unwrap();
        let found = bytes.windows(6).any(|window| window == b"canary");
        assert!(!found, "{}", file.path().display());
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    let id = TaskId::new("task_1");
    let keystore = legation_keystore::Keystore::open(&stand.home.keys()).unwrap();
    let name = format!("undo-{}", legation_core::id::hex(b"harbor"));
    assert!(keystore.destroy(&name).unwrap());
    let error = stand.undo.apply(&id).unwrap_err();
    assert!(
        legation_core::error::chain(&error).contains("its key was destroyed"),
        "{error}"
    );
    assert_eq!(stand.text("a.txt"), "new");
    stand.undo.forget(&id);
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_task_whose_id_is_a_path_stays_in_its_place() {
    let stand = Stand::new();
    stand.put("a.txt", "before");
    let task = "../../work/x";
    let write = json!({"path": "a.txt", "content": "after"});
    stand.call_for(task, "write_file", write).await.unwrap();
    let inside: Vec<_> = fs::read_dir(stand.work()).unwrap().flatten().collect();
    assert_eq!(inside.len(), 1, "{inside:?}");
    stand.undo.apply(&TaskId::new(task)).unwrap();
    assert_eq!(stand.text("a.txt"), "before");
}

#[tokio::test]
async fn nothing_is_changed_where_nothing_can_be_kept() {
    let stand = Stand::new();
    stand.put("a.txt", "before");
    // A file where the folder of copies would be.
    fs::write(stand.home.undo(), "").unwrap();
    for (tool, arguments) in [
        ("write_file", json!({"path": "a.txt", "content": "after"})),
        (
            "write_file",
            json!({"path": "new/b.txt", "content": "after"}),
        ),
        (
            "edit",
            json!({"path": "a.txt", "old_text": "before", "new_text": "after"}),
        ),
    ] {
        let said = stand.call_for("task_1", tool, arguments).await.unwrap_err();
        assert!(said.contains("could not be kept"), "{said}");
    }
    assert_eq!(stand.text("a.txt"), "before");
    assert!(!stand.work().join("new").exists());
}
