//! The agents: how each is brought before the scripted model, and started.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::e2e::agents::prepare_codex;
use crate::e2e::tools::Tools;

/// An agent that can be woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Client {
    Claude,
    Codex,
    Copilot,
    Opencode,
}

/// The key of a model that wants none.
const KEY: &str = "scripted";

// === impl Client ===

impl Client {
    pub(super) const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Copilot, Self::Opencode];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Opencode => "opencode",
        }
    }

    /// What a person did long ago: welcomes, trust in folders, the choice of a model.
    pub(super) fn prepare(
        self,
        home: &Path,
        folders: &[PathBuf; 2],
        port: u16,
    ) -> anyhow::Result<()> {
        match self {
            Self::Claude => {
                let trusted =
                    json!({"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true});
                let projects = folders
                    .iter()
                    .map(|at| (at.display().to_string(), trusted.clone()));
                let settings = json!({
                    "hasCompletedOnboarding": true,
                    "theme": "dark",
                    "customApiKeyResponses": {"approved": [KEY], "rejected": []},
                    "projects": projects.collect::<serde_json::Map<_, _>>(),
                });
                write(&home.join(".claude.json"), &settings)
            }
            Self::Codex => {
                prepare_codex(home, port)?;
                let file = home.join(".codex/config.toml");
                let mut settings = std::fs::read_to_string(&file)?;
                for folder in folders {
                    let folder = folder.display().to_string();
                    settings += &format!("\n[projects.{folder:?}]\ntrust_level = \"trusted\"\n");
                }
                Ok(std::fs::write(file, settings)?)
            }
            Self::Copilot => {
                let settings = json!({"banner": "never", "trustedFolders": folders, "trusted_folders": folders});
                write(&home.join(".copilot/config.json"), &settings)
            }
            Self::Opencode => {
                let folder = home.join(".config/opencode");
                // Otherwise it fetches a package of its own before it loads a plugin.
                std::fs::create_dir_all(folder.join("node_modules"))?;
                let there =
                    json!({"packages": {"": {"dependencies": {"@opencode-ai/plugin": "1.18.33"}}}});
                write(&folder.join("package-lock.json"), &there)?;
                let limit = json!({"context": 128_000, "output": 4_096});
                let model = json!({"name": "scripted", "limit": limit, "tool_call": true});
                let provider = json!({
                    "npm": "@ai-sdk/openai-compatible",
                    "name": "scripted",
                    "options": {"baseURL": format!("http://127.0.0.1:{port}/v1"), "apiKey": KEY},
                    "models": {"scripted": model},
                });
                let settings = json!({
                    "autoupdate": false,
                    "share": "disabled",
                    "model": "scripted/scripted",
                    "small_model": "scripted/scripted",
                    "enabled_providers": ["scripted"],
                    "provider": {"scripted": provider},
                    "permission": "allow",
                });
                write(&folder.join("opencode.json"), &settings)
            }
        }
    }

    /// Where the model is, and nothing that needs a network.
    pub(super) fn environment(self, environment: &mut HashMap<String, String>, port: u16) {
        let at = format!("http://127.0.0.1:{port}");
        let pairs: &[(&str, &str)] = match self {
            Self::Claude => &[
                ("ANTHROPIC_BASE_URL", &at),
                ("ANTHROPIC_API_KEY", KEY),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                ("DISABLE_TELEMETRY", "1"),
                ("DISABLE_AUTOUPDATER", "1"),
                ("DISABLE_ERROR_REPORTING", "1"),
                ("ENABLE_TOOL_SEARCH", "false"),
            ],
            Self::Codex => &[("SCRIPTED_KEY", KEY)],
            Self::Copilot => &[
                ("COPILOT_OFFLINE", "true"),
                ("COPILOT_PROVIDER_BASE_URL", &format!("{at}/v1")),
                ("COPILOT_PROVIDER_API_KEY", KEY),
                ("COPILOT_MODEL", "scripted"),
                ("COPILOT_AUTO_UPDATE", "false"),
            ],
            Self::Opencode => &[
                ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
                ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
                ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
                ("OPENCODE_DISABLE_SHARE", "1"),
                ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
            ],
        };
        let pairs = pairs.iter();
        environment.extend(pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    }

    /// The command of a session that begins with a prompt.
    pub(super) fn words(self, tools: &Tools, prompt: &str) -> Vec<String> {
        let program = tools.module(self.name(), &format!(".bin/{}", self.name()));
        let program = std::path::absolute(&program).unwrap_or(program);
        let arguments: &[&str] = match self {
            Self::Claude | Self::Codex => &[prompt],
            Self::Copilot => &[
                "--allow-all",
                "--disable-builtin-mcps",
                "--no-auto-update",
                "-i",
                prompt,
            ],
            Self::Opencode => &["--prompt", prompt],
        };
        let arguments = arguments.iter().map(|word| (*word).to_owned());
        std::iter::once(program.display().to_string())
            .chain(arguments)
            .collect()
    }

    /// What the program asks its user at first, and the keys that say yes.
    pub(super) fn question(self) -> Option<(&'static str, &'static [&'static str])> {
        match self {
            Self::Codex => Some(("Hooks need review", &["2", "Enter"])),
            Self::Claude | Self::Copilot | Self::Opencode => None,
        }
    }
}

fn write(file: &Path, value: &Value) -> anyhow::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    Ok(std::fs::write(file, value.to_string())?)
}
