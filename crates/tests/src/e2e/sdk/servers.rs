//! The real servers of the matrix, and one fixed call of each of their tools.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail};
use serde_json::{Value, json};

use crate::e2e::tools::Tools;
use crate::harness::process::command;

/// One server and what is asked of it.
#[derive(Debug)]
pub(super) struct Upstream {
    /// The name it is configured under.
    pub(super) name: &'static str,
    /// How it is started: `command`, `args`, `env`.
    pub(super) entry: Value,
    /// Tool calls in order.
    pub(super) calls: Vec<(&'static str, Value)>,
    /// Resources to read.
    pub(super) reads: Vec<&'static str>,
    /// Prompts to get.
    pub(super) gets: Vec<(&'static str, Value)>,
}

/// The folder whose content the servers work on; made anew before each client.
#[derive(Debug)]
pub(super) struct Workspace {
    folder: PathBuf,
}

/// All servers of the matrix.
#[must_use]
pub(super) fn all(tools: &Tools, workspace: &Workspace) -> Vec<Upstream> {
    vec![
        everything(tools, workspace),
        filesystem(tools, workspace),
        memory(tools, workspace),
        time(tools, workspace),
        git(tools, workspace),
    ]
}

fn node(tools: &Tools, workspace: &Workspace, name: &str, args: &[String]) -> Value {
    let script = tools.module(
        "servers",
        &format!("@modelcontextprotocol/{name}/dist/index.js"),
    );
    let mut all = vec![script.display().to_string()];
    all.extend_from_slice(args);
    entry(&tools.node_bin().join("node"), &all, workspace)
}

fn python(tools: &Tools, workspace: &Workspace, name: &str) -> Value {
    entry(&tools.python(name), &[], workspace)
}

/// What comes back is compared with a direct connection, so nothing is filtered.
fn entry(command: &Path, args: &[String], workspace: &Workspace) -> Value {
    let env = environment(workspace);
    json!({"command": command, "args": args, "env": env, "filterMapping": "none"})
}

/// The variables that both a direct connection and the hub give every server.
fn environment(workspace: &Workspace) -> Value {
    let mut all = json!({
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": workspace.folder,
        "SDK_MATRIX": "the same on every road",
        "MEMORY_FILE_PATH": workspace.path("memory.jsonl"),
        "PYTHONDONTWRITEBYTECODE": "1",
    });
    for (name, value) in git_environment() {
        all[name] = value.into();
    }
    all
}

/// What makes a commit the same commit every time.
fn git_environment() -> [(&'static str, &'static str); 7] {
    let date = "2026-01-02T03:04:05+00:00";
    [
        ("GIT_AUTHOR_NAME", "Tester"),
        ("GIT_AUTHOR_EMAIL", "tester@example.com"),
        ("GIT_COMMITTER_NAME", "Tester"),
        ("GIT_COMMITTER_EMAIL", "tester@example.com"),
        ("GIT_AUTHOR_DATE", date),
        ("GIT_COMMITTER_DATE", date),
        ("GIT_CONFIG_NOSYSTEM", "1"),
    ]
}

fn everything(tools: &Tools, workspace: &Workspace) -> Upstream {
    let gzip = json!({"name": "hello.gz", "data": "data:text/plain;base64,aGVsbG8=", "outputType": "resource"});
    Upstream {
        name: "everything",
        entry: node(tools, workspace, "server-everything", &[]),
        calls: vec![
            ("echo", json!({"message": "héllo \u{1f980} \u{202e}x"})),
            (
                "get-annotated-message",
                json!({"messageType": "error", "includeImage": true}),
            ),
            ("get-env", json!({})),
            ("get-resource-links", json!({"count": 4})),
            (
                "get-resource-reference",
                json!({"resourceType": "Text", "resourceId": 1}),
            ),
            ("get-structured-content", json!({"location": "Chicago"})),
            ("get-sum", json!({"a": 2, "b": 3})),
            ("get-tiny-image", json!({})),
            ("gzip-file-as-resource", gzip),
            // Twice each, so that the next client finds them off again.
            ("toggle-simulated-logging", json!({})),
            ("toggle-simulated-logging", json!({})),
            ("toggle-subscriber-updates", json!({})),
            ("toggle-subscriber-updates", json!({})),
            (
                "trigger-long-running-operation",
                json!({"duration": 0.2, "steps": 2}),
            ),
            ("simulate-research-query", json!({"topic": "bridges"})),
        ],
        reads: vec![
            "demo://resource/static/document/features.md",
            "demo://resource/dynamic/text/1",
        ],
        gets: vec![
            ("simple-prompt", json!({})),
            ("args-prompt", json!({"city": "Bern", "state": "BE"})),
            (
                "completable-prompt",
                json!({"department": "Engineering", "name": "Alice"}),
            ),
            (
                "resource-prompt",
                json!({"resourceType": "Text", "resourceId": "1"}),
            ),
        ],
    }
}

fn filesystem(tools: &Tools, workspace: &Workspace) -> Upstream {
    let root = workspace.path("files");
    let at = |name: &str| root.join(name);
    Upstream {
        name: "filesystem",
        entry: node(
            tools,
            workspace,
            "server-filesystem",
            &[root.display().to_string()],
        ),
        calls: vec![
            ("read_file", json!({"path": at("a.txt")})),
            ("read_text_file", json!({"path": at("a.txt"), "head": 1})),
            ("read_media_file", json!({"path": at("pixel.png")})),
            (
                "read_multiple_files",
                json!({"paths": [at("a.txt"), at("b.md"), at("missing")]}),
            ),
            (
                "write_file",
                json!({"path": at("new.txt"), "content": "new\n"}),
            ),
            (
                "edit_file",
                json!({"path": at("a.txt"), "edits": [{"oldText": "second", "newText": "2nd"}]}),
            ),
            ("create_directory", json!({"path": at("made")})),
            ("list_directory", json!({"path": root})),
            ("list_directory_with_sizes", json!({"path": root})),
            ("directory_tree", json!({"path": root})),
            (
                "move_file",
                json!({"source": at("new.txt"), "destination": at("moved.txt")}),
            ),
            ("search_files", json!({"path": root, "pattern": "**/*.txt"})),
            ("get_file_info", json!({"path": at("b.md")})),
            ("list_allowed_directories", json!({})),
        ],
        reads: Vec::new(),
        gets: Vec::new(),
    }
}

fn memory(tools: &Tools, workspace: &Workspace) -> Upstream {
    let entity =
        |name: &str| json!({"name": name, "entityType": "person", "observations": ["one"]});
    let relation = json!({"from": "Ada", "to": "Grace", "relationType": "knows"});
    Upstream {
        name: "memory",
        entry: node(tools, workspace, "server-memory", &[]),
        calls: vec![
            (
                "create_entities",
                json!({"entities": [entity("Ada"), entity("Grace")]}),
            ),
            ("create_relations", json!({"relations": [relation]})),
            (
                "add_observations",
                json!({"observations": [{"entityName": "Ada", "contents": ["two", "three"]}]}),
            ),
            ("read_graph", json!({})),
            ("search_nodes", json!({"query": "Ada"})),
            ("open_nodes", json!({"names": ["Grace"]})),
            (
                "delete_observations",
                json!({"deletions": [{"entityName": "Ada", "observations": ["two"]}]}),
            ),
            ("delete_relations", json!({"relations": [relation]})),
            ("delete_entities", json!({"entityNames": ["Grace"]})),
        ],
        reads: vec!["memory://knowledge-graph"],
        gets: Vec::new(),
    }
}

fn time(tools: &Tools, workspace: &Workspace) -> Upstream {
    let convert = json!({"source_timezone": "Europe/Berlin", "time": "10:00", "target_timezone": "Asia/Tokyo"});
    Upstream {
        name: "time",
        entry: python(tools, workspace, "mcp-server-time"),
        calls: vec![
            ("get_current_time", json!({"timezone": "Etc/UTC"})),
            ("convert_time", convert),
        ],
        reads: Vec::new(),
        gets: Vec::new(),
    }
}

fn git(tools: &Tools, workspace: &Workspace) -> Upstream {
    let repo = workspace.path("repo");
    let with = |mut arguments: Value| {
        arguments["repo_path"] = json!(repo);
        arguments
    };
    Upstream {
        name: "git",
        entry: python(tools, workspace, "mcp-server-git"),
        calls: vec![
            ("git_status", with(json!({}))),
            ("git_diff_unstaged", with(json!({}))),
            ("git_add", with(json!({"files": ["file.txt"]}))),
            ("git_diff_staged", with(json!({}))),
            ("git_diff", with(json!({"target": "HEAD"}))),
            ("git_commit", with(json!({"message": "Second"}))),
            ("git_reset", with(json!({}))),
            ("git_log", with(json!({"max_count": 5}))),
            ("git_create_branch", with(json!({"branch_name": "topic"}))),
            ("git_checkout", with(json!({"branch_name": "topic"}))),
            ("git_show", with(json!({"revision": "HEAD"}))),
            ("git_branch", with(json!({"branch_type": "local"}))),
        ],
        reads: Vec::new(),
        gets: Vec::new(),
    }
}

// === impl Workspace ===

impl Workspace {
    /// A workspace in a folder.
    pub(super) fn new(folder: &Path) -> anyhow::Result<Self> {
        // Servers resolve links; the paths in their answers are real ones.
        let folder = folder.canonicalize().context("the folder is gone")?;
        std::fs::create_dir_all(folder.join("files"))?;
        Ok(Self { folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The same content again, whatever the last client did.
    pub(super) async fn reset(&self) -> anyhow::Result<()> {
        let files = self.path("files");
        for entry in std::fs::read_dir(&files)? {
            let path = entry?.path();
            if path.is_dir() {
                std::fs::remove_dir_all(path)?
            } else {
                std::fs::remove_file(path)?
            }
        }
        std::fs::write(files.join("a.txt"), "first\nsecond\nthird\n")?;
        std::fs::write(files.join("b.md"), "# Title\n")?;
        std::fs::create_dir_all(files.join("sub"))?;
        std::fs::write(files.join("sub/c.txt"), "below\n")?;
        std::fs::write(files.join("pixel.png"), b"\x89PNG\r\n\x1a\n")?;
        remove(&self.path("memory.jsonl"))?;
        let repo = self.path("repo");
        if repo.exists() {
            std::fs::remove_dir_all(&repo)?;
        }
        std::fs::create_dir_all(&repo)?;
        self.git(&["init", "--quiet", "--initial-branch=main"])
            .await?;
        std::fs::write(repo.join("file.txt"), "one\n")?;
        self.git(&["add", "file.txt"]).await?;
        self.git(&["commit", "--quiet", "--message=First"]).await?;
        std::fs::write(repo.join("file.txt"), "one\ntwo\n")?;
        Ok(())
    }

    async fn git(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let environment = git_environment()
            .into_iter()
            .chain([("PATH", "/usr/local/bin:/usr/bin:/bin")])
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .chain([("HOME".to_owned(), self.folder.display().to_string())])
            .collect();
        let mut git = command("git", &environment);
        let status = git
            .args(arguments)
            .current_dir(self.path("repo"))
            .stdin(Stdio::null())
            .status()
            .await?;
        if !status.success() {
            bail!("git {arguments:?} failed");
        }
        Ok(())
    }
}

fn remove(path: &Path) -> anyhow::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}
