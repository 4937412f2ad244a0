//! `lsp_diagnostics`: what a language server finds wrong with a file.
//!
//! A server is started for each call, confined as commands are, and ends with
//! it. One that stays would answer sooner, but it would have to be told of every
//! change, by whomever it was made, and would hold the memory of a project that
//! nobody works on.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use globset::Glob;
use legation_core::OpContext;
use legation_sandbox::{Job, Task};
use legation_wire::json::{Object, Raw};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::ChildStderr;

use super::answer::Answer;
use super::arguments::{self, DiagnosticsArguments};
use super::error::WorkspaceError;
use super::root::Root;
use super::{Shared, text};

mod talk;

use talk::Talk;

/// How long a server may take for everything.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Servers tell what they find bit by bit: what nothing follows for so long is
/// all of it.
const SETTLED: Duration = Duration::from_millis(1500);
/// Most findings that are shown.
const SHOWN: usize = 200;

/// A language server of the owner's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanguageServer {
    /// Which files it is for, such as `*.ts`.
    pub files: Vec<String>,
    /// Program and arguments.
    pub command: Vec<String>,
}

// === impl LanguageServer ===

impl LanguageServer {
    /// Reads `*.ts *.tsx: typescript-language-server --stdio`.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (files, command) = line.split_once(": ")?;
        let words =
            |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        let server = Self {
            files: words(files),
            command: words(command),
        };
        (!server.files.is_empty() && !server.command.is_empty()).then_some(server)
    }

    fn is_for(&self, path: &Path) -> bool {
        let name = path.file_name().map(Path::new);
        self.files.iter().any(|pattern| {
            let glob = Glob::new(pattern).map(|glob| glob.compile_matcher());
            glob.is_ok_and(|glob| {
                glob.is_match(path) || name.is_some_and(|name| glob.is_match(name))
            })
        })
    }
}

// === impl Shared ===

impl Shared {
    pub(super) async fn diagnostics(
        self: &Arc<Self>,
        context: &OpContext,
        arguments: &Object,
    ) -> Result<Answer, WorkspaceError> {
        let arguments: DiagnosticsArguments = arguments::read(arguments)?;
        let (shared, looking) = (Arc::clone(self), context.clone());
        let look = move || {
            let root = shared.root(&looking)?;
            let path = root.relative(&arguments.path)?;
            let (bytes, seen) = root.bytes(&path)?;
            let shown = path.display().to_string();
            let Some((text, _)) = text::decode(&bytes) else {
                let bytes = seen.bytes;
                return Err(WorkspaceError::Binary { path: shown, bytes });
            };
            root.linked_from_home();
            Ok((root, path, text))
        };
        let looked = tokio::task::spawn_blocking(look).await;
        let (root, path, text) = looked.unwrap_or(Err(WorkspaceError::Cancelled))?;
        let server = self.languages.iter().find(|server| server.is_for(&path));
        let Some(server) = server else {
            return Err(WorkspaceError::Language {
                why: format!("no language server is configured for {}", path.display()),
                hint: "Check it with a command instead, or let the owner name one: language_servers under [workspace] in legation.toml.",
            });
        };
        let mut job = self.start_server(&root, server).await?;
        let (Some(input), Some(output)) = (job.take_input(), job.take_output()) else {
            return Err(WorkspaceError::Cancelled);
        };
        let complaints = job.take_errors();
        let asked = async {
            tokio::select! {
                found = ask(input, output, (&root, &path, &text)) => found,
                () = unheard(complaints) => Err("ended".to_owned()),
            }
        };
        let found = tokio::select! {
            found = tokio::time::timeout(TIMEOUT, asked) => found,
            _reason = context.cancel.cancelled() => return Err(WorkspaceError::Cancelled),
        };
        let failed = |why: String| WorkspaceError::Language {
            why: format!("the language server `{}` {why}", server.command[0]),
            hint: "Check it with a command instead; the owner can try the server by hand.",
        };
        match found {
            Ok(Ok(found)) => Ok(shown(&path.display().to_string(), &found)),
            Ok(Err(why)) => Err(failed(why)),
            Err(_) => Err(failed(format!("said nothing for {} s", TIMEOUT.as_secs()))),
        }
    }

    async fn start_server(
        &self,
        root: &Root,
        server: &LanguageServer,
    ) -> Result<Job, WorkspaceError> {
        // It runs what the folder says, such as build scripts and plugins, and nobody is asked.
        if !self.shell.is_confined() {
            return Err(WorkspaceError::Language {
                why: "language servers run within walls only, and commands have none here"
                    .to_owned(),
                hint: "Use bash to check the file.",
            });
        }
        let task = Task {
            // It is looked up where it will run.
            program: "/usr/bin/env".into(),
            args: server.command.iter().map(Into::into).collect(),
            cwd: root.path().to_owned(),
            input: true,
            merged: false,
        };
        self.shell.start(root, task, false).await
    }
}

/// Reads what a server complains about, for ever: a pipe that is full would hold
/// it up.
async fn unheard(complaints: Option<ChildStderr>) {
    if let Some(mut complaints) = complaints {
        drop(tokio::io::copy(&mut complaints, &mut tokio::io::sink()).await);
    }
    std::future::pending::<()>().await;
}

/// Shows the file to a server and waits for what it finds.
async fn ask(
    input: impl AsyncWrite + Unpin,
    output: impl AsyncRead + Unpin,
    (root, path, text): (&Root, &Path, &str),
) -> Result<Vec<Value>, String> {
    let mut talk = Talk::new(input, output);
    let uri = |path: &Path| format!("file://{}", encoded(&path.display().to_string()));
    let folder = uri(root.path());
    let file = uri(&root.path().join(path));
    let opened = talk
        .ask(
            "initialize",
            json!({
                "processId": null,
                "rootUri": folder,
                "workspaceFolders": [{"uri": folder, "name": "workspace"}],
                "capabilities": {
                    "textDocument": {
                        "publishDiagnostics": {"relatedInformation": false},
                        "diagnostic": {"dynamicRegistration": false},
                        "synchronization": {},
                    },
                    "workspace": {"workspaceFolders": true, "configuration": true},
                },
            }),
        )
        .await?;
    talk.tell("initialized", json!({})).await?;
    talk.tell(
        "textDocument/didOpen",
        json!({"textDocument": {
            "uri": file, "languageId": language(path), "version": 1, "text": text,
        }}),
    )
    .await?;
    if !opened["capabilities"]["diagnosticProvider"].is_null() {
        let params = json!({"textDocument": {"uri": file}});
        let report = talk.ask("textDocument/diagnostic", params).await?;
        if let Value::Array(items) = &report["items"] {
            return Ok(items.clone());
        }
    }
    talk.published(&file, SETTLED).await
}

fn shown(path: &str, found: &[Value]) -> Answer {
    let mut text = String::new();
    let mut errors = 0_u64;
    for one in found.iter().take(SHOWN) {
        let kind = match one["severity"].as_u64() {
            Some(2) => "warning",
            Some(3) => "information",
            Some(4) => "hint",
            _ => "error",
        };
        errors += u64::from(kind == "error");
        let place = |what: &str| {
            one["range"]["start"][what]
                .as_u64()
                .unwrap_or(0)
                .saturating_add(1)
        };
        let message = one["message"].as_str().unwrap_or("without a word");
        let code = match &one["code"] {
            Value::String(code) => format!(" [{code}]"),
            Value::Number(code) => format!(" [{code}]"),
            _ => String::new(),
        };
        let (line, column) = (place("line"), place("character"));
        text += &format!("{path}:{line}:{column}: {kind}{code}: {message}\n");
    }
    if found.is_empty() {
        text = format!("nothing is wrong with {path}");
    } else if found.len() > SHOWN {
        text += &format!("[{} more]\n", found.len() - SHOWN);
    }
    let facts = Object::new()
        .with("path", Raw::str(path))
        .with("diagnostics", Raw::from_serialize(&found.len()))
        .with("errors", Raw::from_serialize(&errors));
    Answer { text, facts }
}

/// What the protocol calls the language of a file.
fn language(path: &Path) -> String {
    let ending = path
        .extension()
        .map(|ending| ending.to_string_lossy().to_lowercase());
    let known = match ending.as_deref().unwrap_or_default() {
        "rs" => "rust",
        "ts" | "mts" | "cts" => "typescript",
        "tsx" => "typescriptreact",
        "js" | "mjs" | "cjs" => "javascript",
        "jsx" => "javascriptreact",
        "py" | "pyi" => "python",
        "rb" => "ruby",
        "sh" | "bash" => "shellscript",
        "h" | "c" => "c",
        "hpp" | "cc" | "cpp" | "cxx" => "cpp",
        "cs" => "csharp",
        "md" => "markdown",
        "yml" => "yaml",
        other => other,
    };
    known.to_owned()
}

/// A path as an address has it (RFC 3986).
fn encoded(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        if plain(byte) {
            text.push(char::from(byte));
        } else {
            text += &format!("%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_read_from_a_line_and_found_by_name() {
        let server = LanguageServer::parse("*.ts src/**/*.js: tls --stdio").unwrap();
        assert_eq!(server.command, ["tls", "--stdio"]);
        for (path, is_for) in [
            ("a.ts", true),
            ("x/a.ts", true),
            ("src/x/a.js", true),
            ("a.js", false),
        ] {
            assert_eq!(server.is_for(Path::new(path)), is_for, "{path}");
        }
        for line in ["", "*.ts", ": x", "*.ts: "] {
            assert_eq!(LanguageServer::parse(line), None, "{line}");
        }
        assert_eq!(encoded("/a b/\u{fc}"), "/a%20b/%C3%BC");
    }
}
