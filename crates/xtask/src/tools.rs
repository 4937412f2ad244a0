//! What the end-to-end stages need, installed under the target folder.
//!
//! Every version is pinned here; a group is installed again when its stamp says otherwise. npm
//! itself has to run under Node 22 or newer, because an older one silently picks old versions by
//! their `engines`; so Node comes first, from npm's own `node` package. Only the ordinary clients
//! are used, with whatever registries they are configured for.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::sys;

/// A package of Debian's, and where it puts what is needed of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Debian {
    name: &'static str,
    place: &'static str,
}

/// The database server that the store's contract runs over.
pub(crate) const POSTGRESQL: Debian = Debian {
    name: "postgresql",
    place: "/usr/lib/postgresql",
};

/// What gives that server a certificate.
pub(crate) const OPENSSL: Debian = Debian {
    name: "openssl",
    place: "/usr/bin/openssl",
};

/// What records the store's writes.
pub(crate) const STRACE: Debian = Debian {
    name: "strace",
    place: "/usr/bin/strace",
};

/// What tells which functions a program executes.
pub(crate) const VALGRIND: Debian = Debian {
    name: "valgrind",
    place: "/usr/bin/valgrind",
};

/// The terminal in which `legation watch` and real agents are looked at.
pub(crate) const TMUX: Debian = Debian {
    name: "tmux",
    place: "/usr/bin/tmux",
};

/// A session bus, and what shows notifications on it.
pub(crate) const DBUS: Debian = Debian {
    name: "dbus-daemon",
    place: "/usr/bin/dbus-daemon",
};
pub(crate) const NOTIFY: Debian = Debian {
    name: "libnotify-bin",
    place: "/usr/bin/notify-send",
};

/// One group of programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    /// Node itself.
    Node,
    /// The official conformance suite.
    Conformance,
    /// The TypeScript SDK, first generation.
    Sdk1,
    /// The TypeScript SDK, second generation.
    Sdk2,
    /// An authorization server.
    OAuth,
    /// A client of webhooks, of the AI SDK.
    AiSdk,
    /// Servers in TypeScript.
    Servers,
    /// More of them, whose tools are looked for and never called.
    Found,
    /// The Inspector.
    Inspector,
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Copilot CLI.
    Copilot,
    /// GitHub's library for agents of Copilot's chat.
    CopilotSdk,
    /// opencode.
    Opencode,
    /// The Python SDK and servers in Python.
    Python,
    /// Microsoft's client libraries for Python.
    MicrosoftPython,
    /// Microsoft's client libraries for Node.
    MicrosoftNode,
    /// A browser, for the development tenant's pages and the console's.
    Browser,
    /// Rules of accessibility.
    Axe,
    /// llama.cpp with its server.
    Engine,
    /// A validator of OpenAPI documents, and what makes up requests from them.
    OpenApi,
    /// A model of what words mean, with its weights.
    Embeddings,
    /// The generator of notes and the engine that redaction is compared with.
    Redaction,
}

// === impl Tool ===

impl Tool {
    /// The folder it is installed in.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Conformance => "conformance",
            Self::Sdk1 => "sdk1",
            Self::Sdk2 => "sdk2",
            Self::OAuth => "oauth",
            Self::AiSdk => "ai-sdk",
            Self::Servers => "servers",
            Self::Found => "found",
            Self::Inspector => "inspector",
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::CopilotSdk => "copilot-sdk",
            Self::Opencode => "opencode",
            Self::Python => "python",
            Self::MicrosoftPython => "microsoft-python",
            Self::MicrosoftNode => "microsoft-node",
            Self::Browser => "browser",
            Self::Axe => "axe",
            Self::Engine => "engine",
            Self::OpenApi => "openapi",
            Self::Embeddings => "embeddings",
            Self::Redaction => "redaction",
        }
    }

    fn packages(self) -> &'static [&'static str] {
        match self {
            Self::Node => &["node@22.23.3"],
            Self::Conformance => &["@modelcontextprotocol/conformance@0.2.0-alpha.12"],
            Self::Sdk1 => &["@modelcontextprotocol/sdk@1.32.2"],
            Self::Sdk2 => &[
                "@modelcontextprotocol/client@2.4.0",
                "@modelcontextprotocol/server@2.4.0",
            ],
            Self::OAuth => &["oidc-provider@9.13.3"],
            Self::AiSdk => &["@ai-sdk/mcp@2.0.99"],
            Self::Servers => &[
                "@modelcontextprotocol/server-everything@2026.8.31",
                "@modelcontextprotocol/server-filesystem@2026.8.31",
                "@modelcontextprotocol/server-memory@2026.8.31",
            ],
            Self::Found => &[
                "@modelcontextprotocol/server-sequential-thinking@2026.8.31",
                "@modelcontextprotocol/server-github@2025.4.8",
                "@modelcontextprotocol/server-slack@2025.4.25",
                "@playwright/mcp@0.0.83",
            ],
            Self::Inspector => &["@modelcontextprotocol/inspector@2.12.0"],
            Self::Claude => &["@anthropic-ai/claude-code@2.1.329"],
            Self::Codex => &["@openai/codex@0.169.0"],
            Self::Copilot => &["@github/copilot@1.0.102"],
            Self::CopilotSdk => &["@copilot-extensions/preview-sdk@5.0.1"],
            Self::Opencode => &["opencode-ai@1.18.33"],
            Self::Python => &[
                "mcp==2.3.0",
                "mcp-server-git",
                "mcp-server-time",
                "mcp-server-fetch",
            ],
            // msgraph-core imports `deprecated` and does not say so.
            Self::MicrosoftPython => &[
                "msal==1.39.0",
                "azure-identity==1.27.0",
                "msgraph-sdk==1.65.0",
                "deprecated",
            ],
            Self::MicrosoftNode => &[
                "@azure/msal-node@7.2.1",
                "@azure/identity@4.13.1",
                "@microsoft/microsoft-graph-client@3.0.7",
            ],
            Self::Browser => &["@sparticuz/chromium@153.0.0", "puppeteer-core@25.16.0"],
            Self::Axe => &["axe-core@4.14.1"],
            Self::Engine => &["xllamacpp==2026.10.11549"],
            Self::OpenApi => &["schemathesis==4.32.5", "openapi-spec-validator==0.9.0"],
            Self::Embeddings => &["wordllama==0.4.0.post1"],
            Self::Redaction => &["faker==40.54.0", "presidio-analyzer==2.2.366"],
        }
    }
}

/// Installs what is missing; the folder that holds all groups.
pub(crate) fn ensure(tools: &[Tool]) -> Result<PathBuf> {
    let folder = sys::target_dir().join("tools");
    for tool in std::iter::once(&Tool::Node).chain(tools) {
        ensure_one(&folder, *tool)?;
    }
    Ok(folder)
}

/// Installs packages that are missing, which only root may.
pub(crate) fn debian(packages: &[Debian]) -> Result<()> {
    let missing: Vec<&str> = packages
        .iter()
        .filter(|package| !Path::new(package.place).exists())
        .map(|package| package.name)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    apt(&missing)
}

/// What merges the counts of programs that this compiler made: the one of the toolchain, which
/// `rustup component add llvm-tools` brings, or Debian's of the same version of LLVM.
pub(crate) fn profdata() -> Result<PathBuf> {
    let own = Path::new(rustc(&["--print", "sysroot"])?.trim())
        .join("lib/rustlib")
        .join(rustc_says("host: ")?)
        .join("bin/llvm-profdata");
    if own.is_file() {
        return Ok(own);
    }
    let llvm = rustc_says("LLVM version: ")?;
    let package = format!("llvm-{}", llvm.split('.').next().unwrap_or(&llvm));
    let place = Path::new("/usr/lib")
        .join(&package)
        .join("bin/llvm-profdata");
    if !place.is_file() {
        let found = apt(&[&package]);
        found.context("or: rustup component add llvm-tools")?;
    }
    Ok(place)
}

/// What the compiler says of itself on the line that begins so.
pub(crate) fn rustc_says(line: &str) -> Result<String> {
    let version = rustc(&["-vV"])?;
    let found = version.lines().find_map(|text| text.strip_prefix(line));
    let found = found.with_context(|| format!("rustc does not say its {line}{version}"))?;
    Ok(found.trim().to_owned())
}

fn rustc(arguments: &[&str]) -> Result<String> {
    let mut rustc = sys::command(sys::env("RUSTC").unwrap_or_else(|| "rustc".to_owned()));
    let output = rustc.args(arguments).output();
    let output = output.context("rustc cannot be started")?;
    Ok(String::from_utf8(output.stdout)?)
}

/// Installs packages of Debian's.
fn apt(missing: &[&str]) -> Result<()> {
    let names = missing.join(" ");
    let hint = format!("install it yourself: apt-get install {names}");
    sys::say(&format!("installing {names}"));
    let apt = |arguments: &[&str]| {
        let mut command = sys::command("apt-get");
        command
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive");
        finish(&mut command, "apt-get", &hint)
    };
    let mut install = vec!["install", "--yes", "--no-install-recommends"];
    install.extend(missing);
    if apt(&install).is_err() {
        // Its lists may be old or absent.
        apt(&["update"])?;
        apt(&install)?;
    }
    Ok(())
}

/// The folder that holds `node`, to be put first on PATH.
pub(crate) fn node_bin(folder: &Path) -> PathBuf {
    folder.join("node/node_modules/node/bin")
}

/// The same cargo with nextest in reach, or nothing if it cannot be had.
pub(crate) fn nextest(mut cargo: Command) -> Result<Option<Command>> {
    let works = |command: &mut Command| {
        let quiet = command
            .args(["nextest", "--version"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        quiet.status().is_ok_and(|status| status.success())
    };
    if works(&mut sys::cargo()) {
        return Ok(Some(cargo));
    }
    let folder = sys::target_dir().join("tools");
    let path = prefixed(&folder.join("bin"));
    if !works(sys::cargo().env("PATH", &path)) {
        sys::say("installing cargo-nextest (once, some minutes)");
        let mut install = sys::cargo();
        install
            .args(["install", "--locked", "cargo-nextest", "--root"])
            .arg(&folder);
        if !install.status()?.success() {
            sys::say("cargo-nextest cannot be installed; going on with `cargo test`");
            return Ok(None);
        }
    }
    cargo.env("PATH", &path);
    Ok(Some(cargo))
}

/// Installs one group of Python packages; the interpreter that has them.
pub(crate) fn python(tool: Tool) -> Result<PathBuf> {
    let folder = sys::target_dir().join("tools");
    ensure_one(&folder, tool)?;
    Ok(folder.join(tool.folder()).join("bin/python"))
}

fn ensure_one(folder: &Path, tool: Tool) -> Result<()> {
    let place = folder.join(tool.folder());
    let stamp = place.join("stamp");
    let wanted = tool.packages().join("\n");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    sys::say(&format!("installing {}", tool.packages().join(", ")));
    std::fs::create_dir_all(&place)
        .with_context(|| format!("cannot create {}", place.display()))?;
    match tool {
        Tool::Python
        | Tool::MicrosoftPython
        | Tool::Engine
        | Tool::OpenApi
        | Tool::Embeddings
        | Tool::Redaction => install_python(&place, tool.packages())?,
        _ => install_npm(folder, &place, tool.packages())?,
    }
    std::fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
}

fn install_npm(folder: &Path, place: &Path, packages: &[&str]) -> Result<()> {
    std::fs::write(place.join("package.json"), "{\"private\": true}\n")?;
    let mut npm = sys::command("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel", "error"])
        .args(packages)
        .env("PATH", prefixed(&node_bin(folder)))
        .current_dir(place);
    finish(
        &mut npm,
        "npm",
        "install Node.js with npm and run the command again",
    )
}

fn install_python(place: &Path, packages: &[&str]) -> Result<()> {
    let hint = "install Python 3.10 or newer with venv and run the command again";
    finish(
        sys::command("python3").args(["-m", "venv"]).arg(place),
        "python3",
        hint,
    )?;
    let mut pip = sys::command(place.join("bin/python"));
    finish(
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ])
        .args(packages),
        "pip",
        hint,
    )
}

fn finish(command: &mut Command, name: &str, hint: &str) -> Result<()> {
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("{name} cannot be started; {hint}"))?;
    if !status.success() {
        bail!("{name} failed with {status}; nothing of this group was marked as installed");
    }
    Ok(())
}

fn prefixed(first: &Path) -> String {
    format!(
        "{}:{}",
        first.display(),
        sys::env("PATH").unwrap_or_default()
    )
}
