//! The agents Legation knows how to configure: where each keeps its MCP
//! servers and in which shape.

use std::path::PathBuf;

use clap::ValueEnum;
use legation_config::environment::Environment;
use serde_json::{Value, json};

/// An agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    /// Claude Code.
    Claude,
    /// GitHub Copilot CLI.
    Copilot,
    /// OpenAI Codex.
    Codex,
    /// Visual Studio Code.
    Vscode,
    /// JetBrains Junie.
    Jetbrains,
    /// opencode.
    Opencode,
    /// Gemini CLI.
    Gemini,
}

/// How the agent reaches the hub.
#[derive(Debug, Clone)]
pub(crate) enum Road {
    /// It starts this command and speaks over its standard input and output.
    Bridge {
        /// The program, absolute.
        command: String,
        /// Its arguments.
        args: Vec<String>,
    },
    /// It speaks HTTP.
    Http {
        /// Where.
        url: String,
        /// The value of the `Authorization` header; a secret.
        authorization: legation_core::Secret,
    },
}

/// The format of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Toml,
}

// === impl Client ===

impl Client {
    pub(crate) const ALL: [Self; 7] = [
        Self::Claude,
        Self::Copilot,
        Self::Codex,
        Self::Vscode,
        Self::Jetbrains,
        Self::Opencode,
        Self::Gemini,
    ];

    /// Its name as an argument and as the client's id.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Copilot => "copilot",
            Self::Codex => "codex",
            Self::Vscode => "vscode",
            Self::Jetbrains => "jetbrains",
            Self::Opencode => "opencode",
            Self::Gemini => "gemini",
        }
    }

    /// Its name for people.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Copilot => "Copilot CLI",
            Self::Codex => "Codex",
            Self::Vscode => "Visual Studio Code",
            Self::Jetbrains => "JetBrains Junie",
            Self::Opencode => "opencode",
            Self::Gemini => "Gemini CLI",
        }
    }

    pub(crate) fn format(self) -> Format {
        match self {
            Self::Codex => Format::Toml,
            Self::Claude
            | Self::Copilot
            | Self::Vscode
            | Self::Jetbrains
            | Self::Opencode
            | Self::Gemini => Format::Json,
        }
    }

    /// The member of the file that holds the servers.
    pub(crate) fn member(self) -> &'static str {
        match self {
            Self::Claude | Self::Copilot | Self::Jetbrains | Self::Gemini => "mcpServers",
            Self::Codex => "mcp_servers",
            Self::Vscode => "servers",
            Self::Opencode => "mcp",
        }
    }

    /// The file of the user's own configuration.
    pub(crate) fn file(self, environment: &Environment) -> Option<PathBuf> {
        let home = environment.user_home()?;
        let directory = |name: &str, default: &str| {
            environment
                .get(name)
                .filter(|text| !text.is_empty())
                .map_or_else(|| home.join(default), PathBuf::from)
        };
        Some(match self {
            Self::Claude => match environment.get("CLAUDE_CONFIG_DIR") {
                Some(folder) if !folder.is_empty() => PathBuf::from(folder).join(".claude.json"),
                _ => home.join(".claude.json"),
            },
            Self::Copilot => directory("COPILOT_HOME", ".copilot").join("mcp-config.json"),
            Self::Codex => directory("CODEX_HOME", ".codex").join("config.toml"),
            Self::Vscode if cfg!(target_os = "macos") => {
                home.join("Library/Application Support/Code/User/mcp.json")
            }
            Self::Vscode => directory("XDG_CONFIG_HOME", ".config").join("Code/User/mcp.json"),
            Self::Jetbrains => home.join(".junie/mcp/mcp.json"),
            Self::Opencode => {
                directory("XDG_CONFIG_HOME", ".config").join("opencode/opencode.json")
            }
            Self::Gemini => home.join(".gemini/settings.json"),
        })
    }

    /// The folder of the user's own configuration, where the agent has hooks,
    /// extensions, commands and rules in it.
    pub(crate) fn folder(self, environment: &Environment) -> Option<PathBuf> {
        let home = environment.user_home()?;
        let directory = |name: &str, default: &str| {
            environment
                .get(name)
                .filter(|text| !text.is_empty())
                .map_or_else(|| home.join(default), PathBuf::from)
        };
        match self {
            Self::Claude => Some(directory("CLAUDE_CONFIG_DIR", ".claude")),
            Self::Copilot => Some(directory("COPILOT_HOME", ".copilot")),
            Self::Codex => Some(directory("CODEX_HOME", ".codex")),
            Self::Opencode => Some(directory("XDG_CONFIG_HOME", ".config").join("opencode")),
            Self::Gemini => Some(home.join(".gemini")),
            Self::Vscode | Self::Jetbrains => None,
        }
    }

    /// Whether the agent can be given HTTP with a bearer token in its file.
    pub(crate) fn takes_http(self) -> bool {
        match self {
            Self::Claude
            | Self::Copilot
            | Self::Codex
            | Self::Vscode
            | Self::Opencode
            | Self::Gemini => true,
            // Junie starts programs only.
            Self::Jetbrains => false,
        }
    }

    /// The entry of the hub, in the agent's own shape.
    pub(crate) fn entry(self, road: &Road) -> Value {
        match road {
            Road::Bridge { command, args } => match self {
                Self::Claude | Self::Vscode => {
                    json!({"type": "stdio", "command": command, "args": args})
                }
                Self::Copilot => {
                    json!({"type": "local", "command": command, "args": args, "tools": ["*"]})
                }
                Self::Codex | Self::Jetbrains | Self::Gemini => {
                    json!({"command": command, "args": args})
                }
                Self::Opencode => {
                    let whole: Vec<&String> = std::iter::once(command).chain(args).collect();
                    json!({"type": "local", "command": whole, "enabled": true})
                }
            },
            Road::Http { url, authorization } => {
                let headers = json!({"Authorization": authorization.reveal()});
                match self {
                    Self::Claude | Self::Vscode | Self::Jetbrains => {
                        json!({"type": "http", "url": url, "headers": headers})
                    }
                    Self::Codex => json!({"url": url, "http_headers": headers}),
                    Self::Copilot => {
                        json!({"type": "http", "url": url, "headers": headers, "tools": ["*"]})
                    }
                    Self::Opencode => {
                        json!({"type": "remote", "url": url, "headers": headers, "enabled": true})
                    }
                    Self::Gemini => json!({"httpUrl": url, "headers": headers}),
                }
            }
        }
    }
}
