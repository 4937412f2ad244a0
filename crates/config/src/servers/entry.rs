//! One entry of `mcpServers`, field by field.
//!
//! Read by hand rather than derived: an error has to name the field in the
//! file's own words and say what to write instead, unknown fields have to be
//! kept, and one wrong field must not hide what is wrong with the next entry.

mod check;
mod memory;
mod oauth;
mod oidc;
mod reach;
mod sandbox;

use std::time::Duration;

use legation_core::{EntityId, ServerName};
use serde_json::{Map, Value};

use super::{
    EnvFile, EnvMode, EraChoice, Instance, OAuthEntry, Problem, ProblemKind, SandboxChoice,
    ServerSpec, Source, Transport, is_socket,
};
use crate::environment::{SecretTemplate, Template};

use check::{Wrong, check_references, is_header_name, kind_of, no_nul, not_a, template, wrong};

/// Names of the servers that live in the hub.
const NATIVE: [&str; 8] = [
    "hub",
    "audit",
    "identity",
    "teams",
    "inbox",
    "delegate",
    "desk",
    "workspace",
];

/// A reader that removes what it understood, so that the rest is unknown.
struct Fields<'a> {
    rest: Map<String, Value>,
    warnings: Vec<Wrong>,
    source: &'a Source,
}

/// Reads the entry `name` of `source`. Warnings accompany a server, an error
/// stands instead of it.
pub(crate) fn read_entry(
    name: &str,
    entry: &Value,
    source: &Source,
    trusted: bool,
) -> (Option<ServerSpec>, Vec<Problem>) {
    let problem = |wrong: Wrong| Problem {
        source: source.clone(),
        server: Some(name.into()),
        kind: wrong.kind,
        message: wrong.message,
        hint: wrong.hint,
    };
    let server_name = match ServerName::parse(name) {
        Ok(server_name) => server_name,
        Err(error) => {
            let wrong = wrong(error.to_string(), "Rename the entry.");
            return (None, vec![problem(wrong)]);
        }
    };
    if NATIVE.contains(&name) {
        let wrong = wrong(
            "the name belongs to a server of the hub's own".to_owned(),
            "Rename the entry.",
        );
        return (None, vec![problem(wrong)]);
    }
    let Value::Object(members) = entry else {
        let wrong = wrong(
            format!("the entry is {}, not an object", kind_of(entry)),
            "Write {\"command\": …} or {\"type\": \"http\", \"url\": …}.",
        );
        return (None, vec![problem(wrong)]);
    };
    let mut fields = Fields {
        rest: members.clone(),
        warnings: Vec::new(),
        source,
    };
    match fields.spec(server_name, trusted) {
        Ok(spec) => {
            let warnings = fields.warnings.into_iter().map(problem).collect();
            (Some(spec), warnings)
        }
        Err(error) => (None, vec![problem(error)]),
    }
}

// === impl Fields ===

impl Fields<'_> {
    fn spec(&mut self, name: ServerName, trusted: bool) -> Result<ServerSpec, Wrong> {
        let transport = self.transport()?;
        let oauth = match transport {
            Transport::Http { .. } => self.oauth()?,
            Transport::Stdio { .. } | Transport::Memory { .. } => OAuthEntry::default(),
        };
        let oidc = match transport {
            Transport::Memory { .. } => None,
            Transport::Stdio { .. } | Transport::Http { .. } => self.oidc(&transport)?,
        };
        let sandbox = match transport {
            Transport::Stdio { .. } => self.sandbox()?,
            Transport::Http { .. } | Transport::Memory { .. } => SandboxChoice::Unsaid,
        };
        let env_file = match transport {
            Transport::Stdio { .. } => self.env_file()?,
            Transport::Http { .. } | Transport::Memory { .. } => None,
        };
        let is_memory = transport.memory().is_some();
        let default_instance = match self.source {
            // There is one of it, whoever calls.
            _ if is_memory => Instance::Shared,
            Source::Workspace { .. } => Instance::Workspace,
            Source::Builtin
            | Source::Default { .. }
            | Source::User { .. }
            | Source::Plugin { .. }
            | Source::Additional { .. }
            | Source::Agent { .. } => Instance::Shared,
        };
        let spec = ServerSpec {
            name,
            source: self.source.clone(),
            trusted,
            transport,
            sandbox,
            oauth,
            oidc,
            tools: self.tools()?,
            timeout: self.timeout()?,
            display_name: self.text("displayName")?,
            is_default: self.boolean("isDefaultServer")?,
            era: self
                .choice(
                    "era",
                    &[EraChoice::Auto, EraChoice::Legacy, EraChoice::Modern],
                    EraChoice::as_str,
                )?
                .unwrap_or_default(),
            instance: self.instance(is_memory)?.unwrap_or(default_instance),
            prefix: self.text("prefix")?,
            disabled: self.boolean("disabled")?,
            filtered: None,
            off_because: None,
            github: None,
            env_mode: self.choice(
                "envMode",
                &[EnvMode::Direct, EnvMode::Indirect],
                EnvMode::as_str,
            )?,
            env_file,
            entity: self.entity(is_memory)?,
            events: self.events()?,
            filter_mapping: self.rest.shift_remove("filterMapping"),
            unknown: Map::new(),
        };
        // Other clients write it to say where the entry came from.
        self.rest.shift_remove("source");
        let names: Vec<String> = self
            .rest
            .keys()
            .map(|key| format!("`{}`", key.escape_debug()))
            .collect();
        if !names.is_empty() {
            self.warn(
                format!("without effect here: {}", names.join(", ")),
                "Check the spelling; unknown fields are kept for other clients.",
            );
        }
        Ok(ServerSpec {
            unknown: std::mem::take(&mut self.rest),
            ..spec
        })
    }

    fn transport(&mut self) -> Result<Transport, Wrong> {
        let has_command = self.rest.contains_key("command");
        let has_url = self.rest.contains_key("url");
        let kind = self.text("type")?;
        match kind.as_deref() {
            Some("local" | "stdio") => self.stdio(),
            Some("http" | "streamable-http" | "streamableHttp") => self.http(false),
            Some("sse") => self.http(true),
            Some("memory") => self.memory(),
            Some(other) => Err(wrong(
                format!("type {other:?} is not known"),
                "Use \"stdio\" (or \"local\") for a command, \"http\" or \"sse\" for an address, and \"memory\" for \
                 a server of the hub's own.",
            )),
            None if has_command && has_url => Err(wrong(
                "it has both `command` and `url`, so it is not clear which is meant",
                "Remove one of them, or add \"type\": \"stdio\" or \"type\": \"http\".",
            )),
            None if has_command => self.stdio(),
            None if has_url => {
                self.warn(
                    "it has a `url` and no `type`; http is assumed".to_owned(),
                    "Add \"type\": \"http\": other clients refuse the entry without it.",
                );
                self.http(false)
            }
            None => Err(wrong(
                "it has neither `command` nor `url`, so there is nothing to start or reach",
                "Write {\"command\": …} or {\"type\": \"http\", \"url\": …}.",
            )),
        }
    }

    fn stdio(&mut self) -> Result<Transport, Wrong> {
        let command = self.required("command")?;
        let args = self
            .texts("args")?
            .unwrap_or_default()
            .iter()
            .enumerate()
            .map(|(index, text)| template(&format!("args[{index}]"), text))
            .collect::<Result<_, _>>()?;
        let cwd = self
            .text("cwd")?
            .filter(|cwd| !cwd.is_empty())
            .map(|cwd| template("cwd", &cwd))
            .transpose()?;
        let env = self.pairs("env")?;
        for (name, _) in &env {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(wrong(
                    format!("env has the name {name:?}, which no variable can have"),
                    "Rename it.",
                ));
            }
        }
        Ok(Transport::Stdio {
            command,
            args,
            cwd,
            env,
        })
    }

    fn http(&mut self, sse: bool) -> Result<Transport, Wrong> {
        if sse && self.rest.get("era").and_then(Value::as_str) == Some("modern") {
            return Err(wrong(
                "type `sse` and era `modern` exclude each other: that transport belongs to the older era",
                "Remove `era`, or write \"type\": \"http\".",
            ));
        }
        let url = self.required("url")?;
        let plain = url.as_str();
        let known = ["https://", "http://"].iter();
        let mut known = known.map(|scheme| plain.starts_with(scheme));
        if !url.has_references() && !is_socket(plain) && !known.any(|is| is) {
            return Err(wrong(
                format!("url {plain:?} does not start with https:// or http://"),
                "Write the whole address of the endpoint; that of a Unix socket is \
                 unix:///PATH.sock:/mcp.",
            ));
        }
        let headers = self.pairs("headers")?;
        for (name, _) in &headers {
            if !is_header_name(name) {
                return Err(wrong(
                    format!("headers has the name {name:?}, which no header can have"),
                    "Header names are letters, digits and dashes.",
                ));
            }
        }
        Ok(Transport::Http {
            url,
            headers,
            reach: Box::new(self.reach(sse)?),
        })
    }

    fn tools(&mut self) -> Result<Vec<Box<str>>, Wrong> {
        let tools = self.texts("tools")?.unwrap_or_else(|| vec!["*".into()]);
        if tools.is_empty() {
            self.warn(
                "`tools` is empty, so the server offers none".to_owned(),
                "Write [\"*\"] for all tools, or set \"disabled\": true.",
            );
        }
        Ok(tools)
    }

    /// Whoever can put messages before agents is somebody the owner chose.
    fn events(&mut self) -> Result<Vec<Box<str>>, Wrong> {
        let all = || vec!["*".into()];
        let events = match self.rest.get("events") {
            Some(Value::Bool(on)) => {
                let on = *on;
                self.rest.shift_remove("events");
                if on { all() } else { Vec::new() }
            }
            Some(Value::Array(_) | Value::Null) | None => self.texts("events")?.unwrap_or_else(all),
            Some(other) => return Err(not_a("events", "true, false or a list of texts", other)),
        };
        Ok(match self.source {
            // The inbox outlives an agent.
            Source::Workspace { .. } | Source::Plugin { .. } | Source::Agent { .. } => Vec::new(),
            Source::Builtin
            | Source::Default { .. }
            | Source::User { .. }
            | Source::Additional { .. } => events,
        })
    }

    fn timeout(&mut self) -> Result<Option<Duration>, Wrong> {
        let Some(value) = self.take("timeout") else {
            return Ok(None);
        };
        match value.as_u64() {
            Some(ms) if ms > 0 => Ok(Some(Duration::from_millis(ms))),
            _ => Err(wrong(
                format!("timeout is {value}, not a whole number of milliseconds above 0"),
                "Write \"timeout\": 60000 for one minute.",
            )),
        }
    }

    fn env_file(&mut self) -> Result<Option<EnvFile>, Wrong> {
        let Some(path) = self.text("envFile")?.filter(|path| !path.is_empty()) else {
            return Ok(None);
        };
        let path = template("envFile", &path)?;
        if self.source.trusted_folder().is_some() && path.has_references() {
            return Err(wrong(
                "envFile has a reference, so nobody can agree to what is in the file",
                "Write its path within the folder.",
            ));
        }
        Ok(Some(EnvFile::new(path, self.source)))
    }

    fn instance(&mut self, is_memory: bool) -> Result<Option<Instance>, Wrong> {
        if is_memory {
            return Ok(None);
        }
        let known = [Instance::Shared, Instance::Client, Instance::Workspace];
        self.choice("instance", &known, Instance::as_str)
    }

    fn entity(&mut self, is_memory: bool) -> Result<Option<EntityId>, Wrong> {
        if is_memory {
            return Ok(None);
        }
        let Some(name) = self.text("entity")? else {
            return Ok(None);
        };
        if self.source.trusted_folder().is_some() {
            self.warn(
                "a folder's file cannot say whose data a server holds; `entity` is ignored"
                    .to_owned(),
                "Put the entry into your own mcp.json.",
            );
            return Ok(None);
        }
        Ok(Some(EntityId::new(&*name)))
    }

    /// The value of a field, where `null` is as good as absent.
    fn take(&mut self, key: &str) -> Option<Value> {
        self.rest.shift_remove(key).filter(|value| !value.is_null())
    }

    fn text(&mut self, key: &str) -> Result<Option<Box<str>>, Wrong> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) => no_nul(key, &text).map(|()| Some(text.into())),
            Some(other) => Err(not_a(key, "a text", &other)),
        }
    }

    fn required(&mut self, key: &str) -> Result<Template, Wrong> {
        match self.text(key)? {
            Some(text) if !text.trim().is_empty() => template(key, &text),
            _ => Err(wrong(
                format!("{key} is missing or empty"),
                format!("Add \"{key}\": \"…\"."),
            )),
        }
    }

    fn boolean(&mut self, key: &str) -> Result<bool, Wrong> {
        match self.take(key) {
            None => Ok(false),
            Some(Value::Bool(value)) => Ok(value),
            Some(other) => Err(not_a(key, "true or false", &other)),
        }
    }

    fn texts(&mut self, key: &str) -> Result<Option<Vec<Box<str>>>, Wrong> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Array(items)) => items
                .iter()
                .enumerate()
                .map(|(index, item)| {
                    let key = format!("{key}[{index}]");
                    let text = item.as_str().ok_or_else(|| not_a(&key, "a text", item))?;
                    no_nul(&key, text)?;
                    Ok(text.into())
                })
                .collect::<Result<_, _>>()
                .map(Some),
            Some(other) => Err(not_a(key, "a list of texts", &other)),
        }
    }

    fn pairs(&mut self, key: &str) -> Result<Vec<(Box<str>, SecretTemplate)>, Wrong> {
        match self.take(key) {
            None => Ok(Vec::new()),
            Some(Value::Object(members)) => members
                .iter()
                .map(|(name, value)| {
                    let key = format!("{key}.{}", name.escape_debug());
                    let text = value.as_str().ok_or_else(|| not_a(&key, "a text", value))?;
                    no_nul(&key, text)?;
                    check_references(&key, text)?;
                    Ok((name.as_str().into(), SecretTemplate::new(text)))
                })
                .collect(),
            Some(other) => Err(not_a(key, "an object of texts", &other)),
        }
    }

    fn choice<T: Copy>(
        &mut self,
        key: &str,
        choices: &[T],
        word: fn(T) -> &'static str,
    ) -> Result<Option<T>, Wrong> {
        let Some(text) = self.text(key)? else {
            return Ok(None);
        };
        let found = choices.iter().find(|choice| word(**choice) == &*text);
        found.copied().map(Some).ok_or_else(|| {
            let known: Vec<&str> = choices.iter().map(|choice| word(*choice)).collect();
            wrong(
                format!("{key} is {text:?}, which is not known"),
                format!("Use one of: {}.", known.join(", ")),
            )
        })
    }

    fn warn(&mut self, message: String, hint: &str) {
        self.warnings.push(Wrong {
            kind: ProblemKind::Ignored,
            message,
            hint: hint.to_owned(),
        });
    }
}
