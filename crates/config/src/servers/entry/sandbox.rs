//! `sandbox`.

use legation_core::net::Destination;
use serde_json::Value;

use super::Fields;
use super::check::{Wrong, not_a, template, wrong};
use crate::environment::Template;
use crate::servers::sandbox::{NamedBy, SandboxChoice, SandboxEntry, SandboxNetwork};

/// Less than this no program starts with.
const MEMORY_MIN: u64 = 16 << 20;
/// Most hosts that an entry names.
const HOSTS_MAX: usize = 64;

/// What `network` is where it is no list.
#[derive(Clone, Copy)]
enum Word {
    None,
    All,
}

// === impl Word ===

impl Word {
    fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::All => "all",
        }
    }
}

// === impl Fields ===

impl Fields<'_> {
    /// The walls, as far as they are said.
    pub(super) fn sandbox(&mut self) -> Result<SandboxChoice, Wrong> {
        match self.take("sandbox") {
            None => Ok(SandboxChoice::Unsaid),
            Some(Value::Bool(false)) => Ok(SandboxChoice::Off),
            Some(Value::Bool(true)) => Ok(SandboxChoice::On(SandboxEntry::default())),
            Some(Value::Object(members)) => {
                let mut inner = Fields {
                    rest: members,
                    warnings: Vec::new(),
                    source: self.source,
                };
                let entry = inner.walls().map_err(|inner| Wrong {
                    message: format!("sandbox.{}", inner.message),
                    ..inner
                })?;
                // A wall that is misspelt is one that is not there.
                match inner.rest.keys().next() {
                    Some(name) => Err(wrong(
                        format!("sandbox.{} is not known", name.escape_debug()),
                        "Use network, read, write, memory, processes and required.",
                    )),
                    None => Ok(SandboxChoice::On(entry)),
                }
            }
            Some(other) => Err(not_a("sandbox", "true, false or an object", &other)),
        }
    }

    fn walls(&mut self) -> Result<SandboxEntry, Wrong> {
        let network = self.network()?;
        let required = match self.take("required") {
            None => true,
            Some(Value::Bool(required)) => required,
            Some(other) => return Err(not_a("required", "true or false", &other)),
        };
        let processes = self.number("processes", 1)?;
        let processes = processes.map(|number| {
            u32::try_from(number).map_err(|_| wrong("processes is too large", "Write less."))
        });
        Ok(SandboxEntry {
            network,
            read: self.paths("read")?,
            write: self.paths("write")?,
            memory: self.number("memory", MEMORY_MIN)?,
            processes: processes.transpose()?,
            required,
        })
    }

    /// A word, or the hosts that are named.
    fn network(&mut self) -> Result<SandboxNetwork, Wrong> {
        if !self.rest.get("network").is_some_and(Value::is_array) {
            let words = [Word::None, Word::All];
            let word = self.choice("network", &words, Word::as_str)?;
            return Ok(match word {
                None | Some(Word::None) => SandboxNetwork::None,
                Some(Word::All) => SandboxNetwork::All,
            });
        }
        let texts = self.texts("network")?.unwrap_or_default();
        if texts.len() > HOSTS_MAX {
            let message = format!("network names more than {HOSTS_MAX} hosts");
            return Err(wrong(message, "Name a network, or hosts below a name."));
        }
        let hosts = texts.iter().enumerate().map(|(index, text)| {
            text.parse::<Destination>().map_err(|bad| {
                wrong(
                    format!("network[{index}] is {text:?}, which {bad}"),
                    "Write a host and its port, such as \"api.example.com:443\", \"*.example.org:443\" or \"127.0.0.1:5432\".",
                )
            })
        });
        let hosts = hosts.collect::<Result<_, _>>()?;
        Ok(SandboxNetwork::named(hosts, NamedBy::Entry))
    }

    fn paths(&mut self, key: &str) -> Result<Vec<Template>, Wrong> {
        let texts = self.texts(key)?.unwrap_or_default();
        texts
            .iter()
            .enumerate()
            .map(|(index, text)| template(&format!("{key}[{index}]"), text))
            .collect()
    }

    fn number(&mut self, key: &str, least: u64) -> Result<Option<u64>, Wrong> {
        match self.take(key) {
            None => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) if number >= least => Ok(Some(number)),
                _ => Err(wrong(
                    format!("{key} is {value}, not a whole number of at least {least}"),
                    "Write a number without quotes.",
                )),
            },
        }
    }
}
