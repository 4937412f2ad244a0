//! Our entries in the shape of another program.

use serde_json::{Map, Value, json};

use super::{FOLDER, Foreign};
use crate::environment::{KEYRING, respelled};

pub use super::goose::with_extension as with_goose_extension;

/// A secret of ours as something that Visual Studio Code asks its user for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VscodeInput {
    /// Its name there.
    pub id: String,
    /// What is offered to the user, where the entry says what holds without the secret.
    pub default: Option<String>,
}

// === impl VscodeInput ===

impl VscodeInput {
    /// The input that stands for a secret of the keystore. One that was taken over from there has its old name.
    #[must_use]
    pub fn of_secret(secret: &str, default: Option<&str>) -> Self {
        let id = secret.strip_prefix("vscode-").unwrap_or(secret);
        Self {
            id: id.to_owned(),
            default: default.map(str::to_owned),
        }
    }

    /// What stands in an entry in its place.
    #[must_use]
    pub fn reference(&self) -> String {
        format!("${{input:{}}}", self.id)
    }

    /// `inputs` of a file with this one among them.
    ///
    /// # Errors
    /// `inputs` is no list, in words.
    pub fn among(&self, inputs: Option<Value>) -> Result<Value, String> {
        let mut inputs = match inputs {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(inputs)) => inputs,
            Some(_) => return Err("inputs is not a list".to_owned()),
        };
        if !inputs.iter().any(|input| input["id"] == *self.id) {
            let mut input = json!({
                "type": "promptString", "id": self.id, "description": self.id, "password": true,
            });
            if let Some(default) = &self.default {
                input["default"] = json!(default);
            }
            inputs.push(input);
        }
        Ok(Value::Array(inputs))
    }
}

/// What stands in the place of a secret of the keystore, by its name and by what holds without it.
pub type Secrets<'a> = &'a dyn Fn(&str, Option<&str>) -> Option<String>;

/// An entry of ours in the shape of `program`, with what `secret` knows in the place of secrets of
/// the keystore.
///
/// # Errors
/// Why the program cannot be given it, in words.
pub fn written(
    program: Foreign,
    name: &str,
    entry: &Value,
    secret: Secrets<'_>,
) -> Result<Value, String> {
    let spell = |text: &str| spelled(program, false, text, secret);
    let text = |key: &str| {
        let text = entry.get(key).and_then(Value::as_str);
        text.map(&spell).transpose()
    };
    let all_headers = || -> Result<Map<String, Value>, String> {
        let spell = |text: &str| spelled(program, true, text, secret);
        let members = entry.get("headers").and_then(Value::as_object);
        let members = members.into_iter().flatten();
        members
            .map(|(name, value)| Ok((name.clone(), json!(spell(value.as_str().unwrap_or(""))?))))
            .collect()
    };
    let is_on = entry.get("disabled") != Some(&json!(true));
    let timeout = entry.get("timeout").and_then(Value::as_u64);
    let all = json!(["*"]);
    let tools = entry.get("tools").filter(|tools| **tools != all);
    if let Some(command) = text("command")? {
        let args = entry.get("args").and_then(Value::as_array);
        let args = args.into_iter().flatten();
        let args: Vec<String> = args
            .map(|arg| spell(arg.as_str().unwrap_or("")))
            .collect::<Result<_, _>>()?;
        let program_of = Stdio {
            command,
            args,
            cwd: folder_of(program, entry)
                .map_or_else(|| text("cwd"), |folder| Ok(Some(folder)))?,
            passed: passed(program, entry),
            env: env_without_passed(program, entry, &spell)?,
        };
        return Ok(program_of.in_shape_of(program, name, is_on, (timeout, tools)));
    }
    let Some(url) = text("url")? else {
        return Err("it has neither a command nor an address".to_owned());
    };
    let headers = match program {
        Foreign::Codex => literal_headers(entry, &spell)?,
        _ => all_headers()?,
    };
    let mut out = address(program, name, entry, (url, headers));
    rest(program, &mut out, is_on, (timeout, tools));
    Ok(Value::Object(out))
}

/// Where a program runs of which each folder has its own process, where `program` can say that.
fn folder_of(program: Foreign, entry: &Value) -> Option<String> {
    let is_open = entry.get("instance") == Some(&json!("workspace")) && entry.get("cwd").is_none();
    (is_open && matches!(program, Foreign::Vscode | Foreign::Cursor)).then(|| FOLDER.to_owned())
}

/// The headers that Codex takes from no variable.
fn literal_headers(
    entry: &Value,
    spell: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Map<String, Value>, String> {
    let variables = header_variables(entry);
    let own = entry.get("headers").and_then(Value::as_object);
    let own = own.into_iter().flatten();
    own.filter(|(name, _)| !variables.names(name))
        .map(|(name, value)| Ok((name.clone(), json!(spell(value.as_str().unwrap_or(""))?))))
        .collect()
}

/// A server at an address.
fn address(
    program: Foreign,
    name: &str,
    entry: &Value,
    (url, headers): (String, Map<String, Value>),
) -> Map<String, Value> {
    let is_sse = entry.get("type").and_then(Value::as_str) == Some("sse");
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| drop(out.insert(key.to_owned(), value));
    let member = match program {
        Foreign::Claude | Foreign::Cursor | Foreign::Vscode | Foreign::Copilot => {
            put("type", json!(if is_sse { "sse" } else { "http" }));
            put("url", json!(url));
            "headers"
        }
        Foreign::Codex => {
            put("url", json!(url));
            let variables = header_variables(entry);
            if let Some(variable) = variables.bearer {
                put("bearer_token_env_var", json!(variable));
            }
            if !variables.others.is_empty() {
                put("env_http_headers", Value::Object(variables.others));
            }
            "http_headers"
        }
        Foreign::Goose => {
            put(
                "type",
                json!(if is_sse { "sse" } else { "streamable_http" }),
            );
            put("name", json!(name));
            put("uri", json!(url));
            "headers"
        }
        Foreign::Opencode => {
            put("type", json!("remote"));
            put("url", json!(url));
            "headers"
        }
    };
    if !headers.is_empty() {
        put(member, Value::Object(headers));
    }
    out
}

/// Members that both kinds of server have.
fn rest(
    program: Foreign,
    out: &mut Map<String, Value>,
    is_on: bool,
    (timeout, tools): (Option<u64>, Option<&Value>),
) {
    let mut put = |key: &str, value: Value| drop(out.insert(key.to_owned(), value));
    match program {
        Foreign::Claude | Foreign::Cursor | Foreign::Vscode => {}
        Foreign::Copilot => {
            put("tools", tools.cloned().unwrap_or_else(|| json!(["*"])));
            if let Some(timeout) = timeout {
                put("timeout", json!(timeout));
            }
        }
        Foreign::Codex => {
            if !is_on {
                put("enabled", json!(false));
            }
            if let Some(timeout) = timeout {
                put("tool_timeout_sec", json!(timeout.div_ceil(1000)));
            }
            if let Some(tools) = tools {
                put("enabled_tools", tools.clone());
            }
        }
        Foreign::Goose => {
            put("enabled", json!(is_on));
            if let Some(timeout) = timeout {
                put("timeout", json!(timeout.div_ceil(1000)));
            }
            if let Some(tools) = tools {
                put("available_tools", tools.clone());
            }
        }
        Foreign::Opencode => put("enabled", json!(is_on)),
    }
}

/// A program to start, with references as the other program spells them.
struct Stdio {
    command: String,
    args: Vec<String>,
    cwd: Option<String>,
    /// Variables that are passed on under their own names.
    passed: Vec<String>,
    env: Map<String, Value>,
}

/// The text with references as `program` spells them, `in_header` or elsewhere.
fn spelled(
    program: Foreign,
    in_header: bool,
    text: &str,
    secret: Secrets<'_>,
) -> Result<String, String> {
    let follows = |mark: char| match program {
        Foreign::Copilot => mark == '{' || mark == '_' || mark.is_ascii_alphabetic(),
        Foreign::Codex | Foreign::Opencode => false,
        Foreign::Claude | Foreign::Vscode | Foreign::Cursor => mark == '{',
        Foreign::Goose => in_header && mark == '{',
    };
    let mut literals = text.split("$$").skip(1);
    if literals.any(|rest| rest.starts_with(follows)) {
        return Err("it holds a dollar sign that the program would follow".to_owned());
    }
    respelled(text, |name, default| {
        if let Some(name) = name.strip_prefix(KEYRING) {
            return secret(name, default).ok_or_else(|| format!("it refers to the secret {name}"));
        }
        match (program, default) {
            (Foreign::Claude | Foreign::Copilot, None) => Ok(format!("${{{name}}}")),
            (Foreign::Claude | Foreign::Copilot, Some(default)) => {
                Ok(format!("${{{name}:-{default}}}"))
            }
            (Foreign::Vscode | Foreign::Cursor, None) => Ok(format!("${{env:{name}}}")),
            (Foreign::Opencode, None) => Ok(format!("{{env:{name}}}")),
            (Foreign::Goose, None) if in_header => Ok(format!("${{{name}}}")),
            (_, Some(_)) => Err(format!("it refers to {name} with a default")),
            (Foreign::Codex | Foreign::Goose, None) => {
                Err(format!("it refers to the variable {name}"))
            }
        }
    })
}

/// The variable that a whole text refers to.
fn whole_variable(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${")?.strip_suffix('}')?;
    let is_plain = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_plain.then_some(name)
}

/// Variables that a program passes on which follows no reference there.
fn passed(program: Foreign, entry: &Value) -> Vec<String> {
    if !matches!(program, Foreign::Codex | Foreign::Goose) {
        return Vec::new();
    }
    let env = entry.get("env").and_then(Value::as_object);
    let env = env.into_iter().flatten();
    env.filter(|(name, value)| value.as_str().and_then(whole_variable) == Some(name))
        .map(|(name, _)| name.clone())
        .collect()
}

fn env_without_passed(
    program: Foreign,
    entry: &Value,
    spell: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Map<String, Value>, String> {
    let passed = passed(program, entry);
    let env = entry.get("env").and_then(Value::as_object);
    let env = env.into_iter().flatten();
    env.filter(|(name, _)| !passed.contains(name))
        .map(|(name, value)| Ok((name.clone(), json!(spell(value.as_str().unwrap_or(""))?))))
        .collect()
}

/// Headers that Codex takes from variables.
#[derive(Default)]
struct HeaderVariables {
    bearer: Option<String>,
    others: Map<String, Value>,
}

fn header_variables(entry: &Value) -> HeaderVariables {
    let mut found = HeaderVariables::default();
    let headers = entry.get("headers").and_then(Value::as_object);
    for (name, value) in headers.into_iter().flatten() {
        let text = value.as_str().unwrap_or("");
        let bearer = text.strip_prefix("Bearer ").and_then(whole_variable);
        match (bearer, whole_variable(text)) {
            (Some(variable), _) if name == "Authorization" => {
                found.bearer = Some(variable.to_owned());
            }
            (_, Some(variable)) => drop(found.others.insert(name.clone(), json!(variable))),
            _ => {}
        }
    }
    found
}

// === impl HeaderVariables ===

impl HeaderVariables {
    fn names(&self, header: &str) -> bool {
        self.others.contains_key(header) || self.bearer.is_some() && header == "Authorization"
    }
}

// === impl Stdio ===

impl Stdio {
    fn in_shape_of(
        self,
        program: Foreign,
        name: &str,
        is_on: bool,
        more: (Option<u64>, Option<&Value>),
    ) -> Value {
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| drop(out.insert(key.to_owned(), value));
        match program {
            Foreign::Claude | Foreign::Vscode | Foreign::Cursor | Foreign::Copilot => {
                let kind = if program == Foreign::Copilot {
                    "local"
                } else {
                    "stdio"
                };
                put("type", json!(kind));
                put("command", json!(self.command));
                put("args", json!(self.args));
            }
            Foreign::Codex => {
                put("command", json!(self.command));
                put("args", json!(self.args));
                if !self.passed.is_empty() {
                    put("env_vars", json!(self.passed));
                }
            }
            Foreign::Goose => {
                put("type", json!("stdio"));
                put("name", json!(name));
                put("cmd", json!(self.command));
                put("args", json!(self.args));
                if !self.passed.is_empty() {
                    put("env_keys", json!(self.passed));
                }
            }
            Foreign::Opencode => {
                let words: Vec<&String> =
                    std::iter::once(&self.command).chain(&self.args).collect();
                put("type", json!("local"));
                put("command", json!(words));
            }
        }
        let env = match program {
            Foreign::Goose => "envs",
            Foreign::Opencode => "environment",
            _ => "env",
        };
        if !self.env.is_empty() {
            put(env, Value::Object(self.env));
        }
        if let Some(cwd) = self.cwd
            && program != Foreign::Goose
        {
            put("cwd", json!(cwd));
        }
        rest(program, &mut out, is_on, more);
        Value::Object(out)
    }
}
