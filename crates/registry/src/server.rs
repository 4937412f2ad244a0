//! What a registry says of one version of a server, from the wire.

use std::net::IpAddr;

use legation_oauth::WebUrl;
use legation_oauth::fetch::Reach;
use serde_json::Value;

use crate::error::RegistryError;
use crate::input::{Format, Input, joined};
use crate::packages;
use crate::registry::is_sha256;
use crate::text::{Text, escaped};
use crate::way::{Kind, Target, Way};
use crate::wire;

/// Longest text of a publisher's that is kept, in characters.
const WORDS_MAX: usize = 300;

/// One version of a server.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its name, as `io.github.owner/server`.
    pub name: String,
    /// The version.
    pub version: String,
    /// What people read.
    pub title: Option<String>,
    /// What it is for, in its publisher's words.
    pub description: String,
    /// Whether its publisher advises against it.
    pub is_deprecated: bool,
    /// The ways to run or reach it, in the order of the document.
    pub offers: Vec<Offer>,
}

/// One way that is offered.
#[derive(Clone, Debug)]
pub enum Offer {
    /// It can be used.
    Way(Box<Way>),
    /// It is a bundle, which has to be looked at first.
    Bundle(BundleAt),
    /// It cannot be used.
    Left {
        /// Its word.
        kind: String,
        /// Why not.
        why: String,
    },
}

/// Where a bundle is, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleAt {
    /// The address.
    pub url: WebUrl,
    /// Its SHA-256 in small hexadecimal digits.
    pub sha256: String,
}

// === impl Server ===

impl Server {
    pub(crate) fn from_wire(
        answer: wire::ServerResponse,
        reach: &Reach,
    ) -> Result<Self, RegistryError> {
        let status = status(answer.meta.as_ref());
        let server = answer.server;
        if status.as_deref() == Some("deleted") {
            return Err(RegistryError::Unknown { name: server.name });
        }
        let packages = server.packages.into_iter().map(packages::offer);
        let remotes = server
            .remotes
            .into_iter()
            .map(|remote| remote_offer(remote, reach));
        Ok(Self {
            offers: packages.chain(remotes).collect(),
            name: server.name,
            version: server.version,
            title: server.title.map(|text| shortened(&text)),
            description: shortened(&server.description),
            is_deprecated: status.as_deref() == Some("deprecated"),
        })
    }
}

// === impl BundleAt ===

impl BundleAt {
    /// A bundle that the owner named.
    ///
    /// # Errors
    /// [`RegistryError::Address`], and [`RegistryError::NoHash`] where `sha256` is none.
    pub fn new(url: &str, sha256: &str) -> Result<Self, RegistryError> {
        let url = WebUrl::parse_safe(url).map_err(|why| RegistryError::Address {
            what: "the bundle's address".to_owned(),
            why,
        })?;
        let sha256 = sha256.to_ascii_lowercase();
        if !is_sha256(&sha256) {
            return Err(RegistryError::NoHash);
        }
        Ok(Self { url, sha256 })
    }
}

// === impl Offer ===

impl Offer {
    /// The word of its kind.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::Way(way) => way.kind.as_str(),
            Self::Bundle(_) => Kind::Mcpb.as_str(),
            Self::Left { kind, .. } => kind,
        }
    }

    pub(crate) fn left(kind: &str, why: impl Into<String>) -> Self {
        Self::Left {
            kind: shortened(kind),
            why: why.into(),
        }
    }
}

/// How the registry itself says the version stands.
pub(crate) fn status(meta: Option<&Value>) -> Option<String> {
    let official = meta?.get("io.modelcontextprotocol.registry/official")?;
    Some(official.get("status")?.as_str()?.to_owned())
}

pub(crate) fn shortened(text: &str) -> String {
    let mut letters = text.chars();
    let mut short: String = letters.by_ref().take(WORDS_MAX).collect();
    if letters.next().is_some() {
        short.push('…');
    }
    short
}

fn remote_offer(remote: wire::Transport, reach: &Reach) -> Offer {
    let is_sse = match remote.kind.as_str() {
        "streamable-http" | "http" => false,
        "sse" => true,
        other => return Offer::left(other, "servers are reached by streamable-http or sse"),
    };
    let Some(url) = remote.url else {
        return Offer::left("remote", "it has no address");
    };
    if let Err(why) = check_address(&url, reach) {
        return Offer::left("remote", why);
    }
    let mut inputs = Vec::new();
    let text = Text::braced(&url, |name| {
        let field = remote.variables.get(name)?;
        Some(variable(name, field, &mut inputs))
    });
    let mut headers = Vec::new();
    for header in remote.headers {
        if !is_header(&header.name) {
            return Offer::left("remote", "one of its headers has no usable name");
        }
        let text = value(&header.name, &header.field, &mut inputs);
        headers.push((header.name, text));
    }
    Offer::Way(Box::new(Way {
        kind: Kind::Remote,
        origin: url,
        inputs: joined(inputs),
        notes: Vec::new(),
        target: Target::Address {
            url: text,
            headers,
            is_sse,
        },
    }))
}

/// Whoever runs a registry does not run this network: an address of it that is one of this machine
/// or its network would have the hub talk to it in the owner's name.
fn check_address(template: &str, reach: &Reach) -> Result<(), String> {
    let plain = template.replace(['{', '}'], "");
    let url = WebUrl::parse(&plain).map_err(|error| format!("its address {error}"))?;
    let host_end = template.find("://").map_or(0, |at| at + 3);
    let host = template[host_end..]
        .split(['/', '?'])
        .next()
        .unwrap_or_default();
    if host.contains('{') {
        return Err("which host its address leads to is not said".to_owned());
    }
    reach.check(&url).map_err(|error| error.to_string())?;
    let is_name = url.host().parse::<IpAddr>().is_err();
    if is_name && url.is_loopback() && !reach.is_here() {
        return Err(format!("{} is this machine", url.host()));
    }
    Ok(())
}

fn is_header(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (1..=128).contains(&name.len()) && name.bytes().all(fits)
}

/// The value of a variable, header or argument, and what has to be asked for it.
pub(crate) fn value(key: &str, field: &wire::Field, inputs: &mut Vec<Input>) -> Text {
    match &field.value {
        Some(fixed) => Text::braced(fixed, |name| {
            let inner = field.variables.get(name)?;
            Some(variable(name, inner, inputs))
        }),
        None => variable(key, field, inputs),
    }
}

fn variable(key: &str, field: &wire::Field, inputs: &mut Vec<Input>) -> Text {
    if let Some(fixed) = &field.value {
        return Text::literal(fixed);
    }
    inputs.push(Input {
        key: key.to_owned(),
        about: shortened(field.description.as_deref().unwrap_or_default()),
        required: field.is_required,
        secret: field.is_secret,
        many: false,
        default: field
            .default
            .as_deref()
            .filter(|text| !text.is_empty())
            .map(|text| vec![escaped(text)]),
        choices: field.choices.clone(),
        format: match field.format.as_deref() {
            Some("number") => Format::Number,
            Some("boolean") => Format::Switch,
            Some("filepath") => Format::Path,
            _ => Format::Text,
        },
        bounds: (None, None),
    });
    Text::input(key)
}
