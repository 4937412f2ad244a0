//! The demo's data directory and the servers it can find on this machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use legation_cli::{CliError, Context, Exit};
use legation_config::Environment;
use legation_core::Home;
use legation_core::home::{create_private_dir, write_private};
use legation_core::id::random_hex;
use legation_core::process::{OnceSpec, find_program, run_to_end};
use serde_json::{Map, Value, json};

use super::model::DemoModel;

/// What the demo's owner forbids, so that a refusal can be seen.
const FORBIDDEN: &str = r#"
[[rule]]
id = "demo.no-erasing"
rule = 'deny example/erase because "the owner of this demo lets nobody erase notes"'
match = ["example/erase"]
no_match = ["example/note"]
"#;

/// How long installing a Python server may take before it is left out.
const INSTALL_LIMIT: Duration = Duration::from_secs(120);

/// A temporary data directory; removed when dropped.
#[derive(Debug)]
pub(crate) struct DemoHome {
    root: PathBuf,
    pub(crate) home: Home,
    /// The folder that the demo's file server serves.
    pub(crate) folder: PathBuf,
}

// === impl DemoHome ===

impl DemoHome {
    /// Makes the directory with its rules and servers.
    pub(super) fn create(context: &Context, model: &DemoModel) -> Result<Self, CliError> {
        let name = random_hex().map_err(|error| CliError::new(Exit::Failed, error.to_string()))?;
        let root = std::env::temp_dir().join(format!("legation-demo-{}", &name[..12]));
        let demo = Self {
            home: Home::at(root.join("home")),
            folder: root.join("files"),
            root,
        };
        for folder in [&demo.root, &demo.folder] {
            create_private_dir(folder).map_err(|error| CliError::failed(&error))?;
        }
        let welcome = demo.folder.join("welcome.txt");
        write_private(
            &welcome,
            b"Every call you make here is decided and recorded.\n",
        )
        .map_err(|error| CliError::failed(&error))?;
        demo.home
            .create()
            .map_err(|error| CliError::failed(&error))?;
        let mut template = legation_cli::template(legation_policy::governance::Template::Personal);
        for (name, text) in &mut template.files {
            if name == legation_policy::governance::file::PERMISSIONS {
                text.to_mut().push_str(FORBIDDEN);
            }
            if name == legation_policy::governance::file::LLM_PROVIDER {
                *text = model.configure(text)?.into();
            }
        }
        legation_config::first_run::first_run(&demo.home, &template)
            .map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
        let servers = demo.servers(context);
        let text = serde_json::to_vec_pretty(&json!({ "mcpServers": servers }))
            .map_err(|error| CliError::failed(&error))?;
        write_private(&demo.home.servers(), &text).map_err(|error| CliError::failed(&error))?;
        Ok(demo)
    }

    /// The folder of everything.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    fn servers(&self, context: &Context) -> Map<String, Value> {
        let mut servers = Map::new();
        let program = std::env::current_exe()
            .map_or_else(|_| "legation".to_owned(), |path| path.display().to_string());
        servers.insert(
            "example".to_owned(),
            json!({"command": program, "args": ["example-server"]}),
        );
        if has(&context.environment, "npx") {
            let npx = |args: &[&str]| {
                let args: Vec<&str> = ["-y"].iter().chain(args).copied().collect();
                json!({"command": "npx", "args": args, "timeout": 60_000})
            };
            let folder = self.folder.display().to_string();
            servers.insert(
                "files".to_owned(),
                npx(&["@modelcontextprotocol/server-filesystem@2026.8.31", &folder]),
            );
            servers.insert(
                "everything".to_owned(),
                npx(&["@modelcontextprotocol/server-everything@2026.8.31"]),
            );
        } else {
            context
                .output
                .say("Node is not here: its servers are left out.");
        }
        match self.python_server(context) {
            Ok(Some(command)) => {
                servers.insert(
                    "time".to_owned(),
                    json!({"command": command, "args": ["--local-timezone", "UTC"]}),
                );
            }
            Ok(None) => context
                .output
                .say("Python is not here: its server is left out."),
            Err(reason) => {
                context.output.say(&format!(
                    "A Python server could not be installed and is left out: {reason}"
                ));
            }
        }
        servers
    }

    /// Installs `mcp-server-time` into an environment of the demo's own.
    fn python_server(&self, context: &Context) -> Result<Option<String>, String> {
        if !has(&context.environment, "python3") {
            return Ok(None);
        }
        let venv = self.root.join("python");
        let pip = venv.join("bin/pip").display().to_string();
        let steps: [(&str, &str, Vec<OsString>); 2] = [
            (
                "making a Python environment",
                "python3",
                vec!["-m".into(), "venv".into(), venv.clone().into()],
            ),
            (
                "installing mcp-server-time from PyPI",
                &pip,
                [
                    "install",
                    "--quiet",
                    "--disable-pip-version-check",
                    "mcp-server-time",
                ]
                .map(OsString::from)
                .to_vec(),
            ),
        ];
        for (what, program, args) in steps {
            context.output.say(&format!("{what} …"));
            run(&context.environment, program, args, &self.root)?;
        }
        Ok(Some(venv.join("bin/mcp-server-time").display().to_string()))
    }
}

impl Drop for DemoHome {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.root) {
            tracing::warn!(%error, root = %self.root.display(), "the demo's folder stays behind");
        }
    }
}

fn has(environment: &Environment, program: &str) -> bool {
    find_program(program.as_ref(), environment.get_os("PATH"), None).is_ok()
}

fn run(
    environment: &Environment,
    program: &str,
    args: Vec<OsString>,
    folder: &Path,
) -> Result<(), String> {
    let output = run_to_end(&OnceSpec {
        program: program.into(),
        args,
        env: environment
            .inherited_by_children()
            .chain(
                environment
                    .iter()
                    .filter(|(name, _)| name.to_string_lossy().starts_with("PIP_")),
            )
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        cwd: Some(folder.to_owned()),
        timeout: INSTALL_LIMIT,
        keep: 4096,
    })
    .map_err(|error| legation_core::error::chain(&error))?;
    if output.exit.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said
        .lines()
        .last()
        .unwrap_or(&output.exit.text)
        .trim()
        .to_owned())
}
