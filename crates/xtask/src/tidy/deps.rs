//! Who may depend on whom, and where packages come from.

use super::workspace::{Crate, Workspace};
use super::{Finding, documents};

/// The walls: each crate's folder and the crates of ours that it may name as normal dependencies.
///
/// A crate exists for what it may not depend on. `legation` is the composition root and may name
/// every crate of the product. `gate` may name `wire` because what passes it is `wire::json::Raw`.
/// `models` may name `wire` for event streams, whose format is the same whoever writes them, and
/// `gate` because no request leaves that is not redacted and recorded there.
/// `cli` may name `models` because the owner tries them with and without a running hub.
/// `tests` may name it because the product's own client is what stands in front of a real engine,
/// and `tui` because only its own parts can be made to fail in the middle of a terminal.
/// `servers` may name `engine` because the delegate server is a face of it, and `api` because the
/// engine speaks in its types.
/// `servers` and `cli` may name `entra` because agents and people sign in the same way, with and
/// without a running hub. `servers` may name `keystore` because what is kept of files for taking a
/// task back is sealed. `cli` may name `sandbox` because `doctor` tries it without a hub.
const WALLS: &[(&str, &[&str])] = &[
    ("alloc", &[]),
    ("core", &[]),
    ("crash", &[]),
    ("wire", &["core"]),
    ("policy", &["core"]),
    ("config", &["core"]),
    ("keystore", &["core"]),
    // It reads the owner's rules about briefs, drafts and filing where they are checked.
    // What is done to a deal is asked in the words of `api`, so that nothing is said in two.
    ("desk", &["api", "policy", "core"]),
    ("redact", &["core"]),
    ("filter", &["core", "wire"]),
    // Whom TLS trusts is one answer for the whole process, so everybody who connects may ask it.
    ("net", &["core"]),
    ("find", &[]),
    ("store", &["core", "net"]),
    ("ledger", &["core", "store", "keystore"]),
    (
        "models",
        &["gate", "core", "policy", "keystore", "net", "wire"],
    ),
    ("entra", &["core", "keystore", "net"]),
    ("oauth", &["core", "wire", "keystore", "net"]),
    (
        "gate",
        &[
            "policy", "redact", "filter", "ledger", "store", "keystore", "core", "wire",
        ],
    ),
    // Receivers of webhooks are told by whoever knows the inbox and the rules; `events` itself only
    // keeps who wants to hear what, and seals it.
    ("events", &["wire", "store", "keystore", "net", "core"]),
    ("front", &["gate", "events", "wire", "oauth", "core"]),
    ("bridge", &["wire", "core"]),
    (
        "host",
        // Servers that are programs run behind walls where that is wanted: `sandbox`.
        &[
            "gate", "filter", "wire", "oauth", "store", "config", "net", "sandbox", "core",
        ],
    ),
    // Documents from where somebody else's words lead are fetched as `oauth` fetches them.
    ("registry", &["oauth", "net", "core"]),
    ("inbox", &["core", "keystore", "filter"]),
    ("wake", &["core"]),
    // A sandbox has a way out to the hosts that are named, through the owner's proxies: `net`.
    ("sandbox", &["net", "core"]),
    (
        "servers",
        &[
            // What others wrote is kept for briefs without hidden characters: `filter`.
            "gate", "filter", "wire", "store", "inbox", "entra", "ledger", "models", "engine",
            "keystore", "sandbox", "desk", "find", "api", "core",
        ],
    ),
    // What leaves the engine leaves it in the words of `api`, so that nothing is said in two. Files of
    // agents are configuration, and are read where all of it is.
    (
        "engine",
        &[
            "api", "config", "gate", "models", "store", "keystore", "wire", "core",
        ],
    ),
    ("api", &["core"]),
    // The webhook sees rules, gate and models through a trait of its own.
    ("copilot", &["core", "net"]),
    // Numbers and spans come as events of `tracing`, so that nobody depends on who counts them.
    ("telemetry", &["core", "net"]),
    // Its acts go through what the composition root hands it, so that no page has a way past the gate.
    ("console", &["api", "core"]),
    (
        "cli",
        &[
            "api", "config", "entra", "ledger", "inbox", "wake", "models", "policy", "redact",
            "keystore", "store", "sandbox", "net", "registry", "core",
        ],
    ),
    ("tui", &["api", "core"]),
    ("legation", PRODUCT),
    ("devtenant", &["core"]),
    (
        "tests",
        &["legation", "api", "devtenant", "core", "models", "tui"],
    ),
    ("bench", &[]),
    ("xtask", &[]),
];

/// Every crate that is part of the shipped binary.
const PRODUCT: &[&str] = &[
    "alloc",
    "core",
    "wire",
    "policy",
    "desk",
    "config",
    "keystore",
    "redact",
    "filter",
    "find",
    "store",
    "ledger",
    "models",
    "entra",
    "oauth",
    "net",
    "gate",
    "front",
    "bridge",
    "host",
    "inbox",
    "events",
    "wake",
    "sandbox",
    "servers",
    "engine",
    "api",
    "console",
    "copilot",
    "telemetry",
    "registry",
    "cli",
    "tui",
    "devtenant",
];

/// Crates that may name `rmcp`. Its typed round trip drops members it does not know, so the way of
/// a call through the hub must not use it.
const MAY_NAME_RMCP: &[&str] = &["wire", "oauth", "servers", "tests"];

/// No edge between crates of ours outside the table, no crate that is not in it.
pub(super) fn crate_walls(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for krate in &workspace.crates {
        let place = format!("{}/Cargo.toml", krate.folder);
        let error = |message: String| Finding::error("crate-walls", &place, message);
        let short = short_name(krate);
        if krate.folder != format!("crates/{short}") {
            findings.push(error(format!(
                "the package {} lives in another folder",
                krate.name
            )));
        }
        let Some((_, allowed)) = WALLS.iter().find(|(name, _)| *name == short) else {
            findings.push(error(format!("`{short}` is not in the table of crates")));
            continue;
        };
        for dependency in krate.dependencies.iter().filter(|d| d.normal) {
            let Some(other) = workspace.crates.iter().find(|c| c.name == dependency.name) else {
                continue;
            };
            let other = short_name(other);
            if !allowed.contains(&other) {
                findings.push(error(format!("`{short}` may not depend on `{other}`")));
            }
        }
    }
    findings
}

/// A dependency's version is stated once, in the root manifest, and never as "any".
pub(super) fn one_version(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in workspace
        .files
        .iter()
        .filter(|f| documents::is_manifest(&f.path))
    {
        let Ok(manifest) = toml::from_str::<toml::Table>(&file.text) else {
            findings.push(Finding::error(
                "one-version",
                &file.path,
                "the manifest does not parse",
            ));
            continue;
        };
        for (section, name, value) in dependencies(&manifest) {
            let place = format!("{} [{section}] {name}", file.path);
            let version = value
                .as_str()
                .or_else(|| value.get("version").and_then(|v| v.as_str()));
            let inherited = value.get("workspace").and_then(toml::Value::as_bool) == Some(true);
            if version == Some("*") {
                findings.push(Finding::error(
                    "one-version",
                    place,
                    "any version is no version",
                ));
            } else if file.path != "Cargo.toml" && !inherited {
                let message = "state the version in the root manifest and inherit it here";
                findings.push(Finding::error("one-version", place, message));
            }
        }
    }
    findings
}

/// Packages come from the registry alone: a git or path source outside is not in the lock file's
/// checksums.
pub(super) fn sources(workspace: &Workspace) -> Vec<Finding> {
    let foreign = workspace
        .foreign
        .iter()
        .filter(|f| !f.source.starts_with("registry+"));
    foreign
        .map(|f| {
            let message = format!("comes from {} and not from the registry", f.source);
            Finding::error("sources", format!("{} {}", f.name, f.version), message)
        })
        .collect()
}

/// `rmcp` is named only where a typed protocol is harmless.
pub(super) fn rmcp(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for krate in &workspace.crates {
        if MAY_NAME_RMCP.contains(&short_name(krate)) {
            continue;
        }
        if krate
            .dependencies
            .iter()
            .any(|d| d.name.starts_with("rmcp"))
        {
            let place = format!("{}/Cargo.toml", krate.folder);
            findings.push(Finding::error(
                "rmcp",
                place,
                "this crate may not depend on `rmcp`",
            ));
        }
    }
    findings
}

/// The crate's name without the prefix.
fn short_name(krate: &Crate) -> &str {
    krate.name.strip_prefix("legation-").unwrap_or(&krate.name)
}

/// Every entry of every dependency table of a manifest: table, name, value.
fn dependencies(manifest: &toml::Table) -> Vec<(String, &String, &toml::Value)> {
    let mut found = Vec::new();
    let mut tables: Vec<(String, Option<&toml::Value>)> = Vec::new();
    for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
        tables.push((kind.to_owned(), manifest.get(kind)));
        tables.push((
            format!("workspace.{kind}"),
            manifest.get("workspace").and_then(|w| w.get(kind)),
        ));
        let targets = manifest.get("target").and_then(toml::Value::as_table);
        for (target, value) in targets.into_iter().flatten() {
            tables.push((format!("target.{target}.{kind}"), value.get(kind)));
        }
    }
    for (section, table) in tables {
        for (name, value) in table.and_then(toml::Value::as_table).into_iter().flatten() {
            found.push((section.clone(), name, value));
        }
    }
    found
}
