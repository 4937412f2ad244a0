//! Packages: the command that runs each, with its version pinned.

use crate::input::{Input, joined};
use crate::registry::is_sha256;
use crate::server::{BundleAt, Offer, value};
use crate::text::{Text, Word};
use crate::way::{Kind, Target, Way};
use crate::wire;
use legation_oauth::WebUrl;

/// Longest name of a package, and longest version.
const NAME_MAX: usize = 214;

/// What the command of a package is made of.
struct Parts {
    env: Vec<(String, Text)>,
    inputs: Vec<Input>,
    notes: Vec<String>,
    runtime: Vec<Word>,
    package: Vec<Word>,
}

pub(crate) fn offer(package: wire::Package) -> Offer {
    let kind = package.registry_type.clone();
    match made(package) {
        Ok(offer) => offer,
        Err(why) => Offer::left(&kind, why),
    }
}

fn made(package: wire::Package) -> Result<Offer, String> {
    let transport = package.transport.as_ref();
    if transport.is_some_and(|transport| transport.kind != "stdio") {
        return Err(
            "it serves an address by itself, and the hub starts only programs that speak on a pipe"
                .to_owned(),
        );
    }
    match package.registry_type.as_str() {
        "npm" => npm(package),
        "pypi" => pypi(package),
        "oci" => oci(package),
        "mcpb" => mcpb(&package),
        _ => Err("packages of this kind are not run here".to_owned()),
    }
}

fn npm(package: wire::Package) -> Result<Offer, String> {
    let name = package.identifier.clone();
    let bare = name
        .strip_prefix('@')
        .map_or(Some(("", name.as_str())), |rest| rest.split_once('/'));
    let (scope, rest) = bare.ok_or("its name is none of npm's")?;
    if !(is_word(rest) && (scope.is_empty() || is_word(scope)) && name.len() <= NAME_MAX) {
        return Err("its name is none of npm's".to_owned());
    }
    let version = version(&package)?;
    runtime_is(&package, "npx")?;
    let pinned = format!("{name}@{version}");
    let mut parts = Parts::of(&package)?;
    // What it always gets, and what would name the package a second time.
    let own = ["-y", "--yes", name.as_str(), pinned.as_str()];
    parts.runtime.retain(|word| {
        !own.iter()
            .any(|own| *word == Word::literal(own) || is_flag(word, own))
    });
    let words = [Word::literal("-y")]
        .into_iter()
        .chain(parts.runtime)
        .chain([Word::literal(&pinned)])
        .chain(parts.package);
    Ok(way(
        Kind::Npm,
        pinned,
        "npx",
        words.collect(),
        parts.env,
        parts.inputs,
        parts.notes,
    ))
}

fn pypi(package: wire::Package) -> Result<Offer, String> {
    let name = package.identifier.clone();
    if !is_word(&name) || name.len() > NAME_MAX {
        return Err("its name is none of a package for Python".to_owned());
    }
    let version = version(&package)?;
    let hint = package.runtime_hint.as_deref().unwrap_or("uvx");
    let mut parts = Parts::of(&package)?;
    let (program, first, named) = match hint {
        "pipx" => {
            let spec = format!("{name}=={version}");
            let first = [
                Word::literal("run"),
                Word::literal("--spec"),
                Word::literal(&spec),
            ];
            ("pipx", first.to_vec(), name.clone())
        }
        "uvx" | "uv" => ("uvx", Vec::new(), format!("{name}@{version}")),
        _ => return Err("it wants to be run by another program than uvx or pipx".to_owned()),
    };
    let own = [name.as_str(), named.as_str(), "run"];
    parts
        .runtime
        .retain(|word| !own.iter().any(|own| *word == Word::literal(own)));
    let words = first
        .into_iter()
        .chain(parts.runtime)
        .chain([Word::literal(&named)])
        .chain(parts.package);
    let origin = format!("{name}=={version}");
    Ok(way(
        Kind::Pypi,
        origin,
        program,
        words.collect(),
        parts.env,
        parts.inputs,
        parts.notes,
    ))
}

fn oci(package: wire::Package) -> Result<Offer, String> {
    let image = image(&package)?;
    runtime_is(&package, "docker")?;
    let mut parts = Parts::of(&package)?;
    let own = ["run", "-i", "--rm", "--interactive", "-it", image.as_str()];
    parts.runtime.retain(|word| {
        !own.iter()
            .any(|own| *word == Word::literal(own) || is_flag(word, own))
    });
    let (taken, runtime): (Vec<Word>, Vec<Word>) = parts.runtime.into_iter().partition(is_variable);
    for word in taken {
        parts.env.push(split_variable(word)?);
    }
    let opens = [
        "--privileged",
        "-v",
        "--volume",
        "--mount",
        "--network",
        "--device",
        "--pid",
        "--cap-add",
    ];
    for word in &runtime {
        let flag = word.flag.as_deref().unwrap_or_default();
        let flag = flag.split('=').next().unwrap_or_default();
        if opens.contains(&flag) {
            parts.notes.push(format!(
                "{flag} gives the container something of this machine"
            ));
        }
    }
    let variables = parts.env.iter().flat_map(|(name, text)| {
        let needs: Vec<String> = text.keys().map(str::to_owned).collect();
        // Its value goes by the environment: a command line is read by everybody.
        [Word {
            flag: Some("-e".to_owned()),
            text: Some(Text::literal(name.as_str())),
            needs,
        }]
    });
    let words: Vec<Word> = ["run", "-i", "--rm"]
        .into_iter()
        .map(Word::literal)
        .chain(variables)
        .chain(runtime)
        .chain([Word::literal(&image)])
        .chain(parts.package)
        .collect();
    Ok(way(
        Kind::Oci,
        image,
        "docker",
        words,
        parts.env,
        parts.inputs,
        parts.notes,
    ))
}

/// The image by its digest: a tag can be moved to another image at any time.
fn image(package: &wire::Package) -> Result<String, String> {
    let name = package.identifier.as_str();
    let (reference, digest) = name
        .split_once("@sha256:")
        .or_else(|| Some((name, package.version.as_deref()?.strip_prefix("sha256:")?)))
        .ok_or("it names a tag, which can be moved to another image; only an image by its digest (@sha256:…) is run")?;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:".contains(&byte);
    let is_reference = reference.bytes().all(fits)
        && reference.starts_with(|first: char| first.is_ascii_alphanumeric())
        && reference.len() <= 255;
    if !is_reference || !is_sha256(digest) {
        return Err("its image has no usable name".to_owned());
    }
    Ok(format!("{reference}@sha256:{digest}"))
}

fn mcpb(package: &wire::Package) -> Result<Offer, String> {
    let url = WebUrl::parse(&package.identifier).map_err(|error| format!("its address {error}"))?;
    let sha256 = package.file_sha256.clone();
    let sha256 = sha256.filter(|hash| is_sha256(hash));
    let sha256 =
        sha256.ok_or("it does not say the SHA-256 of its bundle, which could be any then")?;
    Ok(Offer::Bundle(BundleAt { url, sha256 }))
}

fn way(
    kind: Kind,
    origin: String,
    program: &str,
    words: Vec<Word>,
    env: Vec<(String, Text)>,
    inputs: Vec<Input>,
    notes: Vec<String>,
) -> Offer {
    Offer::Way(Box::new(Way {
        kind,
        origin,
        inputs: joined(inputs),
        notes,
        target: Target::Program {
            command: Text::literal(program),
            words,
            cwd: None,
            env,
        },
    }))
}

/// Options for a program that is not used would be given to one that reads them otherwise.
fn runtime_is(package: &wire::Package, program: &str) -> Result<(), String> {
    match package.runtime_hint.as_deref() {
        Some(hint) if hint != program && !package.runtime_arguments.is_empty() => Err(format!(
            "it wants to be run by another program than {program}"
        )),
        _ => Ok(()),
    }
}

fn version(package: &wire::Package) -> Result<&str, String> {
    let version = package.version.as_deref().unwrap_or_default();
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b".+-_!".contains(&byte);
    let is_one = version.bytes().all(fits)
        && version.starts_with(|first: char| first.is_ascii_digit() || first == 'v')
        && !version.ends_with(".x")
        && version.len() <= NAME_MAX;
    if is_one {
        Ok(version)
    } else {
        Err("it does not say one exact version".to_owned())
    }
}

fn is_word(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-~".contains(&byte);
    text.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '~')
        && text.bytes().all(fits)
}

fn is_flag(word: &Word, flag: &str) -> bool {
    word.flag.as_deref() == Some(flag) && word.text.is_none()
}

fn is_variable(word: &Word) -> bool {
    matches!(word.flag.as_deref(), Some("-e" | "--env")) && word.text.is_some()
}

/// `-e NAME=VALUE`, as the variable it sets.
fn split_variable(word: Word) -> Result<(String, Text), String> {
    let text = word.text.unwrap_or_default();
    let (name, rest) = text
        .split_at_equals()
        .ok_or("one of its variables has no usable name")?;
    if !is_variable_name(&name) {
        return Err("one of its variables has no usable name".to_owned());
    }
    Ok((name, rest))
}

fn is_variable_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=128).contains(&name.len())
        && name.bytes().all(fits)
        && !name.starts_with(|first: char| first.is_ascii_digit())
}

// === impl Parts ===

impl Parts {
    fn of(package: &wire::Package) -> Result<Self, String> {
        let mut inputs = Vec::new();
        let mut env = Vec::new();
        for variable in &package.environment_variables {
            if !is_variable_name(&variable.name) {
                return Err("one of its variables has no usable name".to_owned());
            }
            let text = value(&variable.name, &variable.field, &mut inputs);
            env.push((variable.name.clone(), text));
        }
        let mut words = |arguments: &[wire::Argument]| -> Result<Vec<Word>, String> {
            let words = arguments.iter().map(|argument| word(argument, &mut inputs));
            words.collect()
        };
        let runtime = words(&package.runtime_arguments)?;
        let package_words = words(&package.package_arguments)?;
        let base = package
            .registry_base_url
            .as_deref()
            .filter(|_| package.registry_type != "oci");
        let notes = base.map(|base| {
            format!("it is said to be at {base}; what runs it asks the registry that it is configured for")
        });
        Ok(Self {
            env,
            inputs,
            notes: notes.into_iter().collect(),
            runtime,
            package: package_words,
        })
    }
}

fn word(argument: &wire::Argument, inputs: &mut Vec<Input>) -> Result<Word, String> {
    let before = inputs.len();
    let field = &argument.field;
    let word = match argument.kind.as_str() {
        "positional" => {
            let key = argument.value_hint.as_deref();
            if key.is_none() && field.value.is_none() {
                return Err("one of its arguments has neither value nor name".to_owned());
            }
            Word {
                text: Some(value(key.unwrap_or_default(), field, inputs)),
                ..Word::default()
            }
        }
        "named" => {
            let flag = argument.name.clone().unwrap_or_default();
            if flag.is_empty() || flag.contains(char::is_whitespace) {
                return Err("one of its arguments has no usable name".to_owned());
            }
            // A name with nothing that could be asked for is a switch.
            let is_bare = field.value.is_none()
                && field.default.is_none()
                && field.choices.is_empty()
                && field.format.is_none()
                && argument.value_hint.is_none()
                && !field.is_required
                && !field.is_secret;
            let key = flag.trim_start_matches('-').to_owned();
            Word {
                text: (!is_bare).then(|| value(&key, field, inputs)),
                flag: Some(flag),
                needs: Vec::new(),
            }
        }
        _ => return Err("one of its arguments is of no known kind".to_owned()),
    };
    for input in &mut inputs[before..] {
        input.many = argument.is_repeated && field.value.is_none();
    }
    Ok(word)
}
