//! What an install would do, and did.

use legation_api::mcp::Server;
use legation_core::ServerName;
use legation_registry::Recipe;
use serde::Serialize;

use super::answers::{Told, line};
use super::find::Candidate;
use crate::table::{counted, printable};

#[derive(Debug, Serialize)]
pub(super) struct Plan {
    name: String,
    /// Where it comes from.
    origin: String,
    description: String,
    /// `npm`, `pypi`, `oci`, `mcpb` or `remote`.
    from: &'static str,
    /// The program and its arguments, or the address, exactly as they will stand in mcp.json.
    target: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    /// Variables or headers, with references in the place of secrets.
    variables: Vec<Variable>,
    /// Secrets in the keystore that it refers to.
    secrets: Vec<String>,
    /// Those of them that are not there yet.
    missing_secrets: Vec<String>,
    /// What could be set besides.
    unset: Vec<String>,
    /// The other ways it is offered.
    others: Vec<String>,
    pub(super) notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    pub(super) file: String,
    pub(super) changed: bool,
    pub(super) dry_run: bool,
    /// How the running hub found it; absent when none runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) server: Option<Server>,
    #[serde(skip)]
    is_local: bool,
}

#[derive(Debug, Serialize)]
struct Variable {
    name: String,
    value: String,
}

// === impl Plan ===

impl Plan {
    pub(super) fn new(name: &ServerName, found: &Candidate, recipe: &Recipe, told: &Told) -> Self {
        let (target, cwd, pairs) = match recipe {
            Recipe::Program {
                command,
                args,
                cwd,
                env,
            } => {
                let words = std::iter::once(command).chain(args).cloned();
                (words.collect(), cwd.clone(), env)
            }
            Recipe::Address { url, headers, .. } => (vec![url.clone()], None, headers),
        };
        let variables = pairs.iter().map(|(name, value)| Variable {
            name: name.clone(),
            value: value.clone(),
        });
        let unset = found.way.inputs.iter();
        let unset = unset.filter(|input| told.answers.of(&input.key).is_none());
        Self {
            name: name.to_string(),
            origin: found.origin.clone(),
            description: found.description.clone(),
            from: found.kind(),
            target,
            cwd,
            variables: variables.collect(),
            secrets: told.referred.clone(),
            missing_secrets: told.missing.clone(),
            unset: unset.map(line).collect(),
            others: found.others.clone(),
            notes: found
                .notes
                .iter()
                .chain(&found.way.notes)
                .cloned()
                .collect(),
            sha256: found
                .bundle
                .as_ref()
                .map(|bundle| bundle.sha256().to_owned()),
            file: String::new(),
            changed: false,
            dry_run: false,
            server: None,
            is_local: found.is_local(),
        }
    }

    /// For a person: whatever a publisher wrote is shown as text and moves nothing on a terminal.
    pub(super) fn render(&self) -> String {
        let mut text = String::new();
        let mut put = |name: &str, value: &str| {
            text.push_str(format!("{name:<9} {}", printable(value)).trim_end());
            text.push('\n');
        };
        put("name", &self.name);
        put("from", &format!("{}, {}", self.from, self.origin));
        if !self.description.is_empty() {
            put("about", &self.description);
        }
        let words: Vec<String> = self.target.iter().map(|word| quoted(word)).collect();
        put(
            if self.is_local { "runs" } else { "address" },
            &words.join(" "),
        );
        if let Some(cwd) = &self.cwd {
            put("in", cwd);
        }
        for variable in &self.variables {
            let what = if self.is_local { "variable" } else { "header" };
            put(what, &format!("{}={}", variable.name, variable.value));
        }
        if let Some(sha256) = &self.sha256 {
            put("sha256", sha256);
        }
        for secret in &self.missing_secrets {
            put(
                "secret",
                &format!("keep it with `legation secret set {secret}`"),
            );
        }
        for unset in &self.unset {
            put("may set", unset);
        }
        for other in &self.others {
            put("or from", other);
        }
        for note in &self.notes {
            put("note", note);
        }
        let verb = match (self.changed, self.dry_run) {
            (true, _) => "was installed; `legation mcp install --undo` takes it back",
            (false, true) => "would be installed",
            (false, false) => "would be written",
        };
        put("file", &format!("{} {verb}", self.file));
        match &self.server {
            Some(server) if server.reason.is_some() => {
                let reason = server.reason.as_deref().unwrap_or_default();
                put("status", &format!("{}: {reason}", server.status));
            }
            Some(server) => {
                let tools = counted(server.tools, "tool");
                put("status", &format!("{}, {tools}", server.status));
            }
            None if self.changed => {
                put("status", "not connected yet: it is when a hub runs");
            }
            None => {}
        }
        text
    }
}

/// A word that keeps its limits on a line.
fn quoted(word: &str) -> String {
    let plain = |letter: char| !letter.is_whitespace() && letter != '"' && letter != '\'';
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("\"{}\"", word.replace('"', "\\\""))
    }
}
