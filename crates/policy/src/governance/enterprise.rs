//! The enterprise policy, `/etc/legation/policy.toml`: what an organisation
//! forbids whatever the owner of a hub says. It can only take away.

use std::fmt;

use legation_core::ServerName;
use schemars::JsonSchema;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::pattern::{NamePattern, ToolPattern};

/// Every enterprise policy that was found; a thing is allowed when each of
/// them allows it. None at all forbids nothing.
#[derive(Clone, Debug, Default)]
pub struct Enterprise {
    pub(super) parts: Vec<EnterprisePolicy>,
}

/// One file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnterprisePolicy {
    /// The version of this format: 1.
    pub version: u32,
    /// Whether servers that are not part of the hub may be used at all.
    #[serde(default = "yes")]
    pub third_party_servers: bool,
    /// Whether `--allow-all` and other modes that ask less may be switched on.
    #[serde(default)]
    pub bypass_modes: bool,
    /// Servers that are off, by name.
    #[serde(default)]
    pub disabled_servers: Vec<NamePattern>,
    /// Tools that are off.
    #[serde(default)]
    pub disabled_tools: Vec<ToolPattern>,
    /// The only servers that may run; every server when this is not given, and
    /// none when it is given and empty.
    #[serde(default)]
    pub allow: Option<Vec<Allowed>>,
    /// What holds for models.
    #[serde(default)]
    pub models: ModelPolicy,
}

/// A server that may run. Exactly one of the three is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Allowed {
    /// Its command line: the program and its arguments, exactly.
    #[serde(default)]
    pub command: Option<Vec<String>>,
    /// Its URL, exactly.
    #[serde(default)]
    pub url: Option<String>,
    /// The fingerprint of either: `sha256:` and 64 hexadecimal digits.
    #[serde(default)]
    pub fingerprint: Option<String>,
}

/// What an organisation says of models.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelPolicy {
    /// The only providers that may be used, by name; any when not given.
    #[serde(default)]
    pub allowed: Option<Vec<NamePattern>>,
    /// Providers that are off, by name.
    #[serde(default)]
    pub disabled: Vec<NamePattern>,
}

/// SHA-256 of what a server is started with or reached at.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

/// What an enterprise policy forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EnterpriseBlock {
    /// Servers that are not part of the hub.
    ThirdParty,
    /// This server, by name.
    ServerDisabled,
    /// This tool.
    ToolDisabled,
    /// A server that is not on the allow-list.
    NotAllowed,
    /// This provider of models.
    Provider,
}

fn yes() -> bool {
    true
}

// === impl Enterprise ===

impl Enterprise {
    /// The files.
    pub fn parts(&self) -> &[EnterprisePolicy] {
        &self.parts
    }

    /// Whether a server may be used. `fingerprint` is of its command or URL;
    /// `None` for a server that is part of the hub, which no allow-list and no
    /// rule about third parties touches.
    ///
    /// # Errors
    /// What forbids it.
    pub fn server(
        &self,
        name: &ServerName,
        fingerprint: Option<Fingerprint>,
    ) -> Result<(), EnterpriseBlock> {
        for part in &self.parts {
            let mut off = part.disabled_servers.iter();
            if off.any(|pattern| pattern.matches(name.as_str())) {
                return Err(EnterpriseBlock::ServerDisabled);
            }
            let Some(fingerprint) = fingerprint else {
                continue;
            };
            if !part.third_party_servers {
                return Err(EnterpriseBlock::ThirdParty);
            }
            if let Some(allow) = &part.allow
                && !allow
                    .iter()
                    .any(|one| one.fingerprint() == Some(fingerprint))
            {
                return Err(EnterpriseBlock::NotAllowed);
            }
        }
        Ok(())
    }

    /// Whether a tool may be used, by its `server/tool` name.
    ///
    /// # Errors
    /// What forbids it.
    pub fn tool(&self, name: &str) -> Result<(), EnterpriseBlock> {
        let mut off = self.parts.iter().flat_map(|part| &part.disabled_tools);
        if off.any(|pattern| pattern.matches(name)) {
            return Err(EnterpriseBlock::ToolDisabled);
        }
        Ok(())
    }

    /// Whether a provider of models may be used, by its name.
    ///
    /// # Errors
    /// What forbids it.
    pub fn provider(&self, name: &str) -> Result<(), EnterpriseBlock> {
        let matches = |patterns: &[NamePattern]| patterns.iter().any(|one| one.matches(name));
        let may = self.parts.iter().all(|part| {
            !matches(&part.models.disabled) && part.models.allowed.as_deref().is_none_or(matches)
        });
        if may {
            Ok(())
        } else {
            Err(EnterpriseBlock::Provider)
        }
    }

    /// Whether a mode that asks less may be switched on. It never beats a
    /// deny, wherever it is on.
    pub fn allows_bypass(&self) -> bool {
        self.parts.iter().all(|part| part.bypass_modes)
    }
}

// === impl Allowed ===

impl Allowed {
    /// What it allows; `None` when it does not say exactly one thing.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        match (&self.command, &self.url, &self.fingerprint) {
            (Some(command), None, None) if !command.is_empty() => {
                Some(Fingerprint::of_command(command))
            }
            (None, Some(url), None) => Some(Fingerprint::of_url(url)),
            (None, None, Some(text)) => Fingerprint::parse(text),
            _ => None,
        }
    }
}

// === impl Fingerprint ===

impl Fingerprint {
    /// Of a program and its arguments.
    pub fn of_command<S: AsRef<str>>(words: &[S]) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"legation server command\0");
        for word in words {
            let word = word.as_ref();
            // The length keeps ["a b"] and ["a", "b"] apart.
            hash.update((word.len() as u64).to_be_bytes());
            hash.update(word.as_bytes());
        }
        Self(hash.finalize().into())
    }

    /// Of a URL, as it stands in the configuration.
    pub fn of_url(url: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"legation server url\0");
        hash.update(url.as_bytes());
        Self(hash.finalize().into())
    }

    /// Reads what [`Fingerprint`] displays.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("sha256:")?;
        if digits.len() != 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = [0; 32];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[index * 2..index * 2 + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

// === impl EnterpriseBlock ===

impl fmt::Display for EnterpriseBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ThirdParty => "the organisation's policy allows no servers of third parties",
            Self::ServerDisabled => "the organisation's policy switched this server off",
            Self::ToolDisabled => "the organisation's policy switched this tool off",
            Self::NotAllowed => "the server is not on the organisation's allow-list",
            Self::Provider => "the organisation's policy does not allow this provider",
        })
    }
}
