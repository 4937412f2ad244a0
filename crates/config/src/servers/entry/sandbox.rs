//! `sandbox`.

use serde_json::Value;

use super::Fields;
use super::check::{Wrong, not_a, template, wrong};
use crate::environment::Template;
use crate::servers::sandbox::{SandboxChoice, SandboxEntry, SandboxNetwork};

/// Less than this no program starts with.
const MEMORY_MIN: u64 = 16 << 20;

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
        let network = self.choice(
            "network",
            &[SandboxNetwork::None, SandboxNetwork::All],
            SandboxNetwork::as_str,
        )?;
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
            network: network.unwrap_or_default(),
            read: self.paths("read")?,
            write: self.paths("write")?,
            memory: self.number("memory", MEMORY_MIN)?,
            processes: processes.transpose()?,
            required,
        })
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
