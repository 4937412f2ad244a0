use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::Arc;

use legation_core::process::GuardPath;
use legation_core::{
    Caller, Cancel, ClientId, EntityId, EntityLabels, ForTask, Home, OpContext, Principal, SeatId,
    SystemClock, TaskId, Via,
};
use legation_gate::{Outcome, TaskWish};
use legation_keystore::Keystore;
use legation_wire::json::Raw;
use serde_json::{Value, json};

use super::super::undo::Undo;
use super::super::{BashSettings, LanguageServer, Shell, ShellMode, Workspace};
use crate::Native as _;
use crate::tests::others::silent;

/// A folder to work in beside a data directory, and the server.
pub(super) struct Stand {
    pub(super) folder: tempfile::TempDir,
    pub(super) home: Home,
    pub(super) undo: Arc<Undo>,
    pub(super) server: Workspace,
}

impl Stand {
    pub(super) fn new() -> Self {
        Self::with(off(), Vec::new())
    }

    pub(super) fn with(bash: BashSettings, languages: Vec<LanguageServer>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        let home = Home::at(folder.path().join("home"));
        home.create().unwrap();
        fs::write(home.token(), "the owner's token").unwrap();
        let keystore = Arc::new(Keystore::open(&home.keys()).unwrap());
        let undo = Undo::new(home.clone(), keystore, SystemClock::shared());
        let undo = Arc::new(undo);
        let shell = Shell::new(bash, guard());
        let kept = Some(Arc::clone(&undo));
        Self {
            server: Workspace::new(home.clone(), kept, shell, languages),
            undo,
            folder,
            home,
        }
    }

    pub(super) fn work(&self) -> std::path::PathBuf {
        self.folder.path().join("work")
    }

    pub(super) fn put(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.work().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn text(&self, path: &str) -> String {
        String::from_utf8(fs::read(self.work().join(path)).unwrap()).unwrap()
    }

    async fn call_in(
        &self,
        folder: &Path,
        tool: &'static str,
        arguments: Value,
    ) -> Result<Value, String> {
        let context = context(folder);
        let call = self
            .server
            .call(context, tool, object(&arguments), TaskWish::Never, silent());
        result(call.await)
    }

    /// A call that is made for a task.
    pub(super) async fn call_for(
        &self,
        task: &str,
        tool: &'static str,
        arguments: Value,
    ) -> Result<Value, String> {
        let labels = EntityLabels::of(EntityId::new("harbor"));
        let id = TaskId::new(task);
        let context = context(&self.work()).for_task(ForTask { id, labels });
        let call = self
            .server
            .call(context, tool, object(&arguments), TaskWish::Never, silent());
        result(call.await)
    }

    /// The facts, or what the error says.
    pub(super) async fn call(&self, tool: &'static str, arguments: Value) -> Result<Value, String> {
        self.call_in(&self.work(), tool, arguments).await
    }

    async fn said(&self, tool: &'static str, arguments: Value) -> String {
        match self.call(tool, arguments).await {
            Ok(facts) => facts["text"].as_str().unwrap().to_owned(),
            Err(error) => format!("error: {error}"),
        }
    }
}

/// The program that tests are guarded by.
pub(super) fn guard() -> GuardPath {
    let test = std::env::current_exe().unwrap();
    let target = test.parent().and_then(Path::parent).unwrap();
    GuardPath {
        program: target.join("examples/shell"),
        args: vec!["guard".into()],
    }
}

fn context(folder: &Path) -> OpContext {
    let principal = Principal {
        client: ClientId::new("agent"),
        via: Via::Socket,
    };
    let caller = Caller {
        principal,
        seat: SeatId::new("seat"),
        workspace: Some(Arc::from(folder)),
    };
    OpContext::new(caller, Cancel::new())
}

pub(super) fn off() -> BashSettings {
    BashSettings {
        mode: ShellMode::Off,
        network: false,
        read: Vec::new(),
        write: Vec::new(),
        path: None,
        home: None,
        env: Vec::new(),
        timeout_max: std::time::Duration::from_mins(10),
    }
}

pub(super) fn object(value: &Value) -> legation_wire::json::Object {
    Raw::from_serialize(value).to_object().unwrap()
}

pub(super) fn result(outcome: Outcome) -> Result<Value, String> {
    let Outcome::Complete(raw) = outcome else {
        panic!("no result: {outcome:?}");
    };
    let result: Value = raw.deserialize().unwrap();
    if result["isError"] == json!(true) {
        return Err(result["content"][0]["text"].as_str().unwrap().to_owned());
    }
    Ok(result["structuredContent"].clone())
}

#[tokio::test]
async fn files_are_read_in_whole_and_in_part() {
    let stand = Stand::new();
    stand.put("a.txt", "one\ntwo\nthree");
    stand.put("empty", "");
    stand.put("latin.txt", b"caf\xe9\n");
    stand.put("wide.txt", b"\xff\xfeh\0i\0\n\0");
    stand.put("program", b"\x7fELF\0\0");
    for (arguments, said) in [
        (json!({"path": "a.txt"}), "one\ntwo\nthree"),
        (json!({"file_path": "./a.txt"}), "one\ntwo\nthree"),
        (
            json!({"path": "a.txt", "offset": 2, "limit": 1}),
            "two\n[lines 2 to 2 of 3 of a.txt; go on with offset 3]",
        ),
        (
            json!({"path": "a.txt", "offset": 3}),
            "three\n[lines 3 to 3 of 3 of a.txt]",
        ),
        (json!({"path": "empty"}), "[empty is empty]"),
        (json!({"path": "latin.txt"}), "caf\u{e9}\n"),
        (json!({"path": "wide.txt"}), "hi\n"),
    ] {
        assert_eq!(
            stand.said("read_file", arguments.clone()).await,
            said,
            "{arguments}"
        );
    }
    for (arguments, error) in [
        (json!({"path": "a.txt", "offset": 4}), "has 3 lines"),
        (json!({"path": "program"}), "holds no text (6 bytes)"),
        (json!({"path": "nothing"}), "there is no `nothing`"),
        (json!({"path": "."}), "is a folder, not a file"),
        (json!({}), "missing field `path`"),
    ] {
        let said = stand
            .call("read_file", arguments.clone())
            .await
            .unwrap_err();
        assert!(said.contains(error), "{arguments}: {said}");
    }
    let absolute = stand.work().canonicalize().unwrap().join("a.txt");
    let facts = stand
        .call("read_file", json!({"path": absolute}))
        .await
        .unwrap();
    assert_eq!(facts["path"], "a.txt");
    assert_eq!(
        (&facts["lines"], &facts["total_lines"]),
        (&json!(3), &json!(3))
    );
}

#[tokio::test]
async fn nothing_leads_out_of_the_folder() {
    let stand = Stand::new();
    fs::write(stand.folder.path().join("outside.txt"), "outside").unwrap();
    stand.put("inside.txt", "inside");
    let work = stand.work();
    symlink("../outside.txt", work.join("link.txt")).unwrap();
    symlink("..", work.join("up")).unwrap();
    symlink("/etc", work.join("etc")).unwrap();
    symlink("/proc/self/root", work.join("root")).unwrap();
    symlink("inside.txt", work.join("fine.txt")).unwrap();
    fs::hard_link(stand.home.token(), work.join("token")).unwrap();
    let status = std::fs::File::open("/dev/null").is_ok();
    assert!(status, "the system has /dev/null");
    for path in [
        "../outside.txt",
        "link.txt",
        "up/outside.txt",
        "up/work/../outside.txt",
        "etc/passwd",
        "root/etc/passwd",
        "/etc/passwd",
        "/proc/self/environ",
        "a/../../outside.txt",
        "token",
    ] {
        for (tool, arguments) in [
            ("read_file", json!({"path": path})),
            ("write_file", json!({"path": path, "content": "gone"})),
            (
                "edit",
                json!({"path": path, "old_text": "o", "new_text": "gone"}),
            ),
            ("grep", json!({"pattern": "out|root|token", "path": path})),
        ] {
            if path == "token" && tool == "write_file" {
                // The name in the folder may be given another file.
                continue;
            }
            let said = stand.call(tool, arguments).await.unwrap_err();
            let refused = said.contains("leads out of") || said.contains("belongs to the hub");
            assert!(refused, "{tool} {path}: {said}");
        }
    }
    let outside = fs::read_to_string(stand.folder.path().join("outside.txt")).unwrap();
    assert_eq!(outside, "outside");
    assert_eq!(
        stand.said("read_file", json!({"path": "fine.txt"})).await,
        "inside"
    );
    let found = stand
        .said("glob", json!({"pattern": "**/*", "ignored": true}))
        .await;
    assert!(
        !found.contains("passwd") && !found.contains("outside"),
        "{found}"
    );
    let found = stand
        .said("grep", json!({"pattern": "owner", "ignored": true}))
        .await;
    assert_eq!(found, "nothing matches `owner`");
}

#[tokio::test]
async fn folders_that_hold_the_hub_or_none_are_not_worked_in() {
    let stand = Stand::new();
    let read = json!({"path": "token"});
    for folder in [
        stand.home.root(),
        Path::new("/"),
        Path::new("/proc"),
        Path::new("/nowhere"),
    ] {
        let said = stand
            .call_in(folder, "read_file", read.clone())
            .await
            .unwrap_err();
        assert!(
            said.contains("cannot be worked in"),
            "{}: {said}",
            folder.display()
        );
    }
    // One that holds the data directory may be worked in, but for that.
    let above = stand.folder.path();
    for path in ["home/token", "work/../home/token"] {
        let said = stand
            .call_in(above, "read_file", json!({"path": path}))
            .await
            .unwrap_err();
        assert!(said.contains("belongs to the hub"), "{said}");
    }
    let write = json!({"path": "home/governance/permissions.toml", "content": ""});
    let said = stand.call_in(above, "write_file", write).await.unwrap_err();
    assert!(said.contains("belongs to the hub"), "{said}");
    let facts = stand
        .call_in(above, "glob", json!({"pattern": "*", "ignored": true}))
        .await
        .unwrap();
    assert!(
        !facts["text"].as_str().unwrap().contains("token"),
        "{facts}"
    );
}

#[tokio::test]
async fn a_link_that_flips_while_it_is_followed_never_leads_out() {
    let stand = Stand::new();
    fs::create_dir(stand.folder.path().join("secret")).unwrap();
    fs::write(stand.folder.path().join("secret/f"), "outside").unwrap();
    stand.put("real/f", "inside");
    let (link, work) = (stand.work().join("d"), stand.work());
    // There from the beginning: a call that finds nothing makes a folder of that name.
    symlink("real", &link).unwrap();
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let flip = {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            let mut at = 0_u32;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let target = ["real", "../secret"][at as usize % 2];
                let new = work.join("flip");
                drop(fs::remove_file(&new));
                symlink(target, &new).unwrap();
                fs::rename(&new, &link).unwrap();
                at += 1;
            }
            at
        })
    };
    let mut seen = [0_u32; 2];
    for at in 0..400 {
        match stand.call("read_file", json!({"path": "d/f"})).await {
            Ok(facts) => {
                let text = facts["text"].as_str().unwrap();
                assert!(text.starts_with("inside"), "{text}");
                seen[0] += 1;
            }
            Err(_) => seen[1] += 1,
        }
        let write = json!({"path": "d/f", "content": format!("inside {at}")});
        drop(stand.call("write_file", write).await);
        let found = stand
            .call("grep", json!({"pattern": "outside", "ignored": true}))
            .await;
        if let Ok(facts) = found {
            assert_eq!(facts["matches"], 0, "{facts}");
        }
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let flips = flip.join().unwrap();
    let outside = fs::read_to_string(stand.folder.path().join("secret/f")).unwrap();
    assert_eq!(outside, "outside");
    assert!(
        flips > 10 && seen[0] > 0 && seen[1] > 0,
        "{flips} flips, {seen:?}"
    );
}

#[tokio::test]
async fn special_files_are_refused() {
    let stand = Stand::new();
    let pipe = stand.work().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let _listens = std::os::unix::net::UnixListener::bind(stand.work().join("sock")).unwrap();
    for (path, kind) in [("pipe", "a pipe"), ("sock", "a socket")] {
        for tool in ["read_file", "write_file"] {
            let said = stand
                .call(tool, json!({"path": path, "content": ""}))
                .await
                .unwrap_err();
            assert!(said.contains(kind), "{tool} {path}: {said}");
        }
    }
    let found = stand.said("grep", json!({"pattern": "."})).await;
    assert_eq!(found, "nothing matches `.`");
}

#[tokio::test]
async fn files_are_written_whole_and_keep_their_mode() {
    let stand = Stand::new();
    let facts = stand
        .call(
            "write_file",
            json!({"path": "new/deep/f.txt", "content": "a\nb\n"}),
        )
        .await
        .unwrap();
    assert_eq!(
        (&facts["created"], &facts["lines"]),
        (&json!(true), &json!(2))
    );
    assert_eq!(stand.text("new/deep/f.txt"), "a\nb\n");
    stand.put("run.sh", "old");
    let script = stand.work().join("run.sh");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o751)).unwrap();
    let facts = stand
        .call("write_file", json!({"path": "run.sh", "content": "new"}))
        .await
        .unwrap();
    assert_eq!(facts["created"], false);
    assert!(facts["diff"].as_str().unwrap().contains("+new"), "{facts}");
    assert_eq!(
        fs::metadata(&script).unwrap().permissions().mode() & 0o777,
        0o751
    );
    symlink("run.sh", stand.work().join("alias")).unwrap();
    stand
        .call(
            "write_file",
            json!({"path": "alias", "content": "by its alias"}),
        )
        .await
        .unwrap();
    assert_eq!(stand.text("run.sh"), "by its alias");
    assert!(
        fs::symlink_metadata(stand.work().join("alias"))
            .unwrap()
            .is_symlink()
    );
    let left: Vec<_> = fs::read_dir(stand.work())
        .unwrap()
        .flatten()
        .map(|one| one.file_name())
        .collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[tokio::test]
async fn edits_fit_exactly_or_say_why_not() {
    let stand = Stand::new();
    stand.put("a.py", "def f():\n    return 1\n\ndef g():\n    return 1\n");
    let edit = |value: Value| stand.call("edit", value);
    for (arguments, error) in [
        (
            json!({"path": "a.py", "old_text": "return 1", "new_text": "x"}),
            "2 times, at lines 2, 5",
        ),
        (
            json!({"path": "a.py", "old_text": "def f():\n  return 1", "new_text": "x"}),
            "from line 1 there is the same with other white space",
        ),
        (
            json!({"path": "a.py", "old_text": "def g():\n    return 2", "new_text": "x"}),
            "its first line is there as line 4",
        ),
        (
            json!({"path": "a.py", "old_text": "class", "new_text": "x"}),
            "old_text is not in a.py",
        ),
        (
            json!({"path": "a.py", "old_text": "", "new_text": "x"}),
            "old_text is empty",
        ),
        (
            json!({"path": "a.py", "old_text": "def g", "new_text": "def g"}),
            "leave a.py as it is",
        ),
        (json!({"path": "a.py"}), "nothing to edit"),
        (
            json!({"path": "b.py", "old_text": "a", "new_text": "b"}),
            "there is no `b.py`",
        ),
        (
            json!({"path": "a.py", "edits": [
                {"old_text": "def f", "new_text": "def h"}, {"old_text": "nope", "new_text": "x"}]}),
            "edit 2 of 2: old_text is not in a.py",
        ),
    ] {
        let said = edit(arguments.clone()).await.unwrap_err();
        assert!(said.contains(error), "{arguments}: {said}");
    }
    assert!(
        stand.text("a.py").starts_with("def f():\n    return 1"),
        "nothing was changed"
    );
    let facts = edit(json!({"path": "a.py", "edits": [
        {"old_string": "def f", "new_string": "def h"},
        {"old_text": "return 1", "new_text": "return 2", "replace_all": true}]}))
    .await
    .unwrap();
    assert_eq!(facts["edits"], 2);
    assert_eq!(
        stand.text("a.py"),
        "def h():\n    return 2\n\ndef g():\n    return 2\n"
    );
}

#[tokio::test]
async fn line_endings_and_encodings_stay() {
    let stand = Stand::new();
    stand.put("dos.txt", "one\r\ntwo\r\nthree\r\n");
    stand.put("latin.txt", b"caf\xe9 one\n");
    stand.put("bom.txt", "\u{feff}one\n");
    let edit = |path: &str, old: &str, new: &str| {
        stand.call(
            "edit",
            json!({"path": path, "old_text": old, "new_text": new}),
        )
    };
    edit("dos.txt", "one\ntwo", "1\n2").await.unwrap();
    assert_eq!(stand.text("dos.txt"), "1\r\n2\r\nthree\r\n");
    edit("latin.txt", "one", "\u{fc}ber").await.unwrap();
    assert_eq!(
        fs::read(stand.work().join("latin.txt")).unwrap(),
        b"caf\xe9 \xfcber\n"
    );
    let said = edit("latin.txt", "caf", "\u{4f60}").await.unwrap_err();
    assert!(said.contains("not in UTF-8"), "{said}");
    edit("bom.txt", "one", "two").await.unwrap();
    assert_eq!(stand.text("bom.txt"), "\u{feff}two\n");
}

#[tokio::test]
async fn files_and_lines_are_found() {
    let stand = Stand::new();
    stand.put(".gitignore", "target/\n*.log\n");
    stand.put("src/main.rs", "fn main() {\n    help();\n}\n");
    stand.put("src/lib/help.rs", "pub fn help() {}\n");
    stand.put("target/out.rs", "fn help() {}\n");
    stand.put("a.log", "help\n");
    stand.put("pic.png", b"\x89PNG\0help");
    for (arguments, said) in [
        (json!({"pattern": "*.rs"}), "src/main.rs\nsrc/lib/help.rs"),
        (json!({"pattern": "src/*.rs"}), "src/main.rs"),
        (
            json!({"pattern": "*.rs", "path": "src/lib"}),
            "src/lib/help.rs",
        ),
        (
            json!({"pattern": "*.rs", "ignored": true, "limit": 1}),
            "src/main.rs\n[2 more; narrow the pattern, or raise limit]",
        ),
        (json!({"pattern": "*.c"}), "no file matches `*.c`"),
    ] {
        assert_eq!(
            stand.said("glob", arguments.clone()).await,
            said,
            "{arguments}"
        );
    }
    for (arguments, said) in [
        (
            json!({"pattern": "help\\("}),
            "src/main.rs:2:    help();\nsrc/lib/help.rs:1:pub fn help() {}\n",
        ),
        (
            json!({"pattern": "help(", "literal": true, "path": "src/main.rs"}),
            "src/main.rs:2:    help();\n",
        ),
        (
            json!({"pattern": "HELP", "ignore_case": true, "output": "count"}),
            "src/main.rs:1\nsrc/lib/help.rs:1\n",
        ),
        (
            json!({"pattern": "help", "glob": "lib/*.rs", "path": "src", "output": "files"}),
            "src/lib/help.rs\n",
        ),
        (
            json!({"pattern": "help", "glob": "main.rs", "context": 1}),
            "src/main.rs-1-fn main() {\nsrc/main.rs:2:    help();\nsrc/main.rs-3-}\n",
        ),
        (
            json!({"pattern": "help", "limit": 1}),
            "src/main.rs:2:    help();\n[there may be more; narrow the pattern or path, or raise limit]\n",
        ),
    ] {
        assert_eq!(
            stand.said("grep", arguments.clone()).await,
            said,
            "{arguments}"
        );
    }
    let said = stand
        .call("grep", json!({"pattern": "("}))
        .await
        .unwrap_err();
    assert!(said.contains("no regular expression"), "{said}");
}

#[tokio::test]
async fn without_a_folder_or_a_shell_the_tools_say_so() {
    let stand = Stand::new();
    let context = crate::tests::others::context();
    let outcome = stand.server.call(
        context,
        "glob",
        object(&json!({"pattern": "*"})),
        TaskWish::Never,
        silent(),
    );
    let said = result(outcome.await).unwrap_err();
    assert!(said.contains("works in no folder"), "{said}");
    let said = stand
        .call("bash", json!({"command": "true"}))
        .await
        .unwrap_err();
    assert!(said.contains("switched them off"), "{said}");
}
