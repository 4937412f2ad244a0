//! `manifest.json` of a bundle (MCPB 0.2 to 0.4, and DXT 0.1).

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::BadBundle;
use super::entries::Entry;
use crate::input::{Answers, Format, Input};
use crate::server::shortened;
use crate::text::{Text, Word, escaped};
use crate::way::{Kind, Target, Way};

const VERSIONS: [&str; 4] = ["0.1", "0.2", "0.3", "0.4"];

/// What a bundle says of itself, for this machine's system.
#[derive(Debug, Clone)]
pub(super) struct Manifest {
    name: String,
    version: String,
    description: String,
    /// The program, where it is a file of the bundle.
    program: Option<String>,
    run: Run,
    inputs: Vec<Input>,
}

#[derive(Debug, Clone)]
struct Run {
    command: String,
    args: Vec<String>,
    env: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
struct Document {
    #[serde(default)]
    manifest_version: Option<String>,
    #[serde(default)]
    dxt_version: Option<String>,
    name: String,
    version: String,
    #[serde(default)]
    description: String,
    server: ServerPart,
    #[serde(default)]
    user_config: BTreeMap<String, Field>,
    #[serde(default)]
    compatibility: Compatibility,
}

#[derive(Debug, Deserialize)]
struct ServerPart {
    #[serde(rename = "type")]
    kind: String,
    entry_point: String,
    #[serde(default)]
    mcp_config: Option<Config>,
}

#[derive(Debug, Default, Deserialize)]
struct Config {
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    args: Option<Vec<String>>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    platform_overrides: BTreeMap<String, Self>,
}

#[derive(Debug, Default, Deserialize)]
struct Compatibility {
    #[serde(default)]
    platforms: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct Field {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    default: Option<Value>,
    #[serde(default)]
    multiple: bool,
    #[serde(default)]
    sensitive: bool,
    #[serde(default)]
    min: Option<f64>,
    #[serde(default)]
    max: Option<f64>,
}

fn bad(why: impl Into<String>) -> BadBundle {
    BadBundle::Manifest { why: why.into() }
}

/// Names that a bundle may use in its command line, and what they stand for.
fn place(name: &str, folder: Option<&Path>) -> Option<Text> {
    let below_home = |folder: &str| Some(Text::owners(&format!("${{HOME}}{folder}")));
    match name {
        "__dirname" => Some(Text::literal(folder?.display().to_string())),
        "HOME" => below_home(""),
        "DESKTOP" => below_home("/Desktop"),
        "DOCUMENTS" => below_home("/Documents"),
        "DOWNLOADS" => below_home("/Downloads"),
        "pathSeparator" | "/" => Some(Text::literal("/")),
        _ => None,
    }
}

// === impl Manifest ===

impl Manifest {
    pub(super) fn read(text: &str, platform: &str, entries: &[Entry]) -> Result<Self, BadBundle> {
        let document: Document =
            serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
        let version = document.manifest_version.or(document.dxt_version);
        let version = version.unwrap_or_default();
        if !VERSIONS.contains(&version.as_str()) {
            return Err(bad(format!(
                "it is of version {:?}, and versions {} are known",
                shortened(&version),
                VERSIONS.join(", ")
            )));
        }
        if let Some(platforms) = &document.compatibility.platforms
            && !platforms.iter().any(|one| one == platform)
        {
            return Err(bad(format!(
                "it is for {}, and this is {platform}",
                shortened(&platforms.join(", "))
            )));
        }
        let is_file = |name: &str| {
            entries
                .iter()
                .any(|entry| entry.name == name && !entry.is_folder)
        };
        let server = document.server;
        let start = server.entry_point.trim_start_matches("./").to_owned();
        if !is_file(&start) {
            return Err(bad("its entry_point is no file of the bundle"));
        }
        let mut run = run(&server.kind, &start, server.mcp_config, platform)?;
        let own = run
            .command
            .trim_start_matches("${__dirname}/")
            .trim_start_matches("./");
        let program = is_file(own).then(|| own.to_owned());
        if let Some(program) = &program {
            run.command = format!("${{__dirname}}/{program}");
        }
        let inputs = document.user_config.into_iter();
        let inputs: Result<Vec<Input>, BadBundle> =
            inputs.map(|(key, field)| field.input(key)).collect();
        let manifest = Self {
            name: shortened(&document.name),
            version: shortened(&document.version),
            description: shortened(&document.description),
            program,
            run,
            inputs: inputs?,
        };
        // What it refers to is known before anybody is asked for anything.
        manifest.way(Path::new("/"))?;
        Ok(manifest)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn version(&self) -> &str {
        &self.version
    }

    pub(super) fn description(&self) -> &str {
        &self.description
    }

    pub(super) fn program(&self) -> Option<&str> {
        self.program.as_deref()
    }

    pub(super) fn way(&self, folder: &Path) -> Result<Way, BadBundle> {
        let texts = std::iter::once(&self.run.command)
            .chain(&self.run.args)
            .chain(self.run.env.values());
        for text in texts {
            self.check_keys(text)?;
        }
        let text = |text: &str| {
            Text::dollared(text, |name| match name.strip_prefix("user_config.") {
                Some(key) => Some(Text::input(key)),
                None => place(name, Some(folder)),
            })
        };
        let words = self.run.args.iter().map(|arg| Word {
            text: Some(text(arg)),
            ..Word::default()
        });
        let env = self.run.env.iter();
        Ok(Way {
            kind: Kind::Mcpb,
            origin: format!("{} {}", self.name, self.version),
            inputs: self.inputs.clone(),
            notes: Vec::new(),
            target: Target::Program {
                command: text(&self.run.command),
                words: words.collect(),
                cwd: Some(folder.display().to_string()),
                env: env
                    .map(|(name, value)| (name.clone(), text(value)))
                    .collect(),
            },
        })
    }

    fn check_keys(&self, text: &str) -> Result<(), BadBundle> {
        let used = text.match_indices("${user_config.").map(|(at, open)| {
            let rest = &text[at + open.len()..];
            rest.split('}').next().unwrap_or_default()
        });
        for key in used {
            if !self.inputs.iter().any(|input| input.key == key) {
                let key = shortened(key);
                return Err(bad(format!(
                    "it refers to {key:?}, which its user_config does not have"
                )));
            }
        }
        Ok(())
    }
}

fn run(kind: &str, start: &str, config: Option<Config>, platform: &str) -> Result<Run, BadBundle> {
    let mut config = config.unwrap_or_default();
    let own = config
        .platform_overrides
        .remove(platform)
        .unwrap_or_default();
    config.env.extend(own.env);
    let bad_name = |name: &&String| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        name.is_empty() || !name.bytes().all(fits)
    };
    if config.env.keys().any(|name| bad_name(&name)) {
        return Err(bad("one of its variables has no usable name"));
    }
    let start = format!("${{__dirname}}/{start}");
    let (command, args) = match kind {
        "node" => ("node", vec![start]),
        "python" => ("python3", vec![start]),
        "binary" => (start.as_str(), Vec::new()),
        "uv" => {
            let words = ["run", "--directory", "${__dirname}", start.as_str()];
            ("uv", words.map(str::to_owned).to_vec())
        }
        other => {
            let other = shortened(other);
            return Err(bad(format!("servers of the type {other:?} are not known")));
        }
    };
    let command = command.to_owned();
    let given = own.command.or(config.command);
    // Where only the program is given, its arguments are its own too.
    let args = match (own.args.or(config.args), &given) {
        (Some(args), _) => args,
        (None, Some(_)) => Vec::new(),
        (None, None) => args,
    };
    Ok(Run {
        command: given.unwrap_or(command),
        args,
        env: config.env,
    })
}

// === impl Field ===

impl Field {
    fn input(self, key: String) -> Result<Input, BadBundle> {
        let format = match self.kind.as_str() {
            "string" => Format::Text,
            "number" => Format::Number,
            "boolean" => Format::Switch,
            "directory" | "file" => Format::Path,
            _ => {
                return Err(bad(format!(
                    "its user_config.{} is of no known type",
                    shortened(&key)
                )));
            }
        };
        let values = match self.default {
            None | Some(Value::Null) => None,
            Some(Value::Array(values)) => Some(values),
            Some(value) => Some(vec![value]),
        };
        let default = values.map(|values| values.iter().filter_map(template).collect::<Vec<_>>());
        Ok(Input {
            about: shortened(if self.description.is_empty() {
                &self.title
            } else {
                &self.description
            }),
            required: self.required,
            secret: self.sensitive,
            many: self.multiple,
            default: default.filter(|values| !values.is_empty()),
            choices: Vec::new(),
            format,
            bounds: (self.min, self.max),
            key,
        })
    }
}

/// A default value as a template of the configuration.
fn template(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => {
            Text::dollared(text, |name| place(name, None)).filled(&Answers::default())
        }
        Value::Number(number) => Some(escaped(&number.to_string())),
        Value::Bool(on) => Some(on.to_string()),
        _ => None,
    }
}
