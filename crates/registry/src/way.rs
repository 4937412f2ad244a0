//! One way to run or reach a server, and what becomes of it once the owner has answered.

use crate::error::RegistryError;
use crate::input::{Answers, Input};
use crate::text::{Text, Word, escaped};

/// Where a server comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A package of npm's.
    Npm,
    /// A package for Python.
    Pypi,
    /// An image of a container.
    Oci,
    /// An MCP bundle.
    Mcpb,
    /// It runs elsewhere.
    Remote,
}

/// One way to run or reach a server.
#[derive(Clone, Debug)]
pub struct Way {
    /// Where it comes from.
    pub kind: Kind,
    /// The package with its version, or the address, as its publisher wrote it.
    pub origin: String,
    /// What the owner is asked for.
    pub inputs: Vec<Input>,
    /// What the owner should know.
    pub notes: Vec<String>,
    pub(crate) target: Target,
}

#[derive(Clone, Debug)]
pub(crate) enum Target {
    Program {
        command: Text,
        words: Vec<Word>,
        cwd: Option<String>,
        env: Vec<(String, Text)>,
    },
    Address {
        url: Text,
        headers: Vec<(String, Text)>,
        is_sse: bool,
    },
}

/// How it is run or reached. Every text is a template of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recipe {
    /// A program of this machine.
    Program {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its folder, as a path.
        cwd: Option<String>,
        /// Its variables.
        env: Vec<(String, String)>,
    },
    /// An address.
    Address {
        /// The endpoint.
        url: String,
        /// Headers of every request.
        headers: Vec<(String, String)>,
        /// Whether it speaks the older transport.
        is_sse: bool,
    },
}

// === impl Kind ===

impl Kind {
    /// Its word, as registries write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pypi => "pypi",
            Self::Oci => "oci",
            Self::Mcpb => "mcpb",
            Self::Remote => "remote",
        }
    }
}

// === impl Way ===

impl Way {
    /// The program that runs it, as named; `None` where none is needed.
    #[must_use]
    pub fn program(&self) -> Option<String> {
        match &self.target {
            Target::Program { command, .. } => command.filled(&Answers::default()),
            Target::Address { .. } => None,
        }
    }

    /// Whether the answer of this key would stand where everybody may read it: command lines and
    /// addresses are shown by the system and by lists.
    #[must_use]
    pub fn is_exposed(&self, key: &str) -> bool {
        match &self.target {
            Target::Program { command, words, .. } => {
                let mut words = words.iter().flat_map(Word::keys);
                command.keys().any(|one| one == key) || words.any(|one| one == key)
            }
            Target::Address { url, .. } => url.keys().any(|one| one == key),
        }
    }

    /// What stands in the configuration with these answers. What has no answer is left out.
    ///
    /// # Errors
    /// [`RegistryError::Unanswered`] where the server cannot do without an answer.
    pub fn recipe(&self, answers: &Answers) -> Result<Recipe, RegistryError> {
        let missing = |input: &&Input| input.required && answers.of(&input.key).is_none();
        if let Some(input) = self.inputs.iter().find(missing) {
            let key = input.key.clone();
            return Err(RegistryError::Unanswered { key });
        }
        let pairs = |all: &[(String, Text)]| -> Vec<(String, String)> {
            let filled = all
                .iter()
                .map(|(name, text)| Some((name.clone(), text.filled(answers)?)));
            filled.flatten().collect()
        };
        let needed = |text: &Text| {
            text.filled(answers).ok_or_else(|| {
                let key = text.keys().find(|key| answers.of(key).is_none());
                let key = key.unwrap_or_default().to_owned();
                RegistryError::Unanswered { key }
            })
        };
        Ok(match &self.target {
            Target::Program {
                command,
                words,
                cwd,
                env,
            } => Recipe::Program {
                command: needed(command)?,
                args: words.iter().flat_map(|word| word.filled(answers)).collect(),
                cwd: cwd.as_deref().map(escaped),
                env: pairs(env),
            },
            Target::Address {
                url,
                headers,
                is_sse,
            } => Recipe::Address {
                url: needed(url)?,
                headers: pairs(headers),
                is_sse: *is_sse,
            },
        })
    }
}
