//! From the text of `permissions.toml` to rules.

use std::collections::HashSet;

use serde::Deserialize;

use super::{Rule, RulesError};
use crate::explain::Effect;
use crate::glob::{self, Glob};
use crate::rule_id::RuleId;
use crate::target::{Origin, Verb};

const VERSION: i64 = 1;
const MAX_ID_LEN: usize = 64;
/// Prefixes of the ids that refusals use when no rule of the file decided.
const RESERVED: [&str; 2] = ["default.", "governance."];

/// The file as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireFile {
    version: i64,
    #[serde(default)]
    rule: Vec<WireRule>,
}

/// One `[[rule]]` as written. `servers` and `items` have no default: a rule
/// that forgot to say what it is about must not be about everything.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireRule {
    id: String,
    effect: String,
    servers: Vec<String>,
    items: Vec<String>,
    verbs: Option<Vec<String>>,
    clients: Option<Vec<String>>,
    origins: Option<Vec<String>>,
    trusted: Option<bool>,
    read_only_hint: Option<bool>,
    because: Option<String>,
    #[serde(default, rename = "match")]
    matches: Vec<String>,
    #[serde(default)]
    no_match: Vec<String>,
}

pub(super) fn read(text: &str, source_name: &str) -> Result<Box<[Rule]>, RulesError> {
    let file: WireFile =
        toml::from_str(text).map_err(|error| syntax_error(&error, text, source_name))?;
    if file.version != VERSION {
        return Err(RulesError::Version {
            source_name: source_name.into(),
            found: file.version,
        });
    }
    let mut seen = HashSet::new();
    file.rule
        .into_iter()
        .map(|wire| {
            check_id(&wire.id, source_name)?;
            if !seen.insert(wire.id.clone()) {
                return Err(RulesError::DuplicateId {
                    source_name: source_name.into(),
                    id: wire.id.into(),
                });
            }
            Reader {
                source_name,
                rule: &wire.id,
            }
            .rule(&wire)
        })
        .collect()
}

fn syntax_error(error: &toml::de::Error, text: &str, source_name: &str) -> RulesError {
    let at = error.span().map_or(0, |span| span.start);
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    RulesError::Syntax {
        source_name: source_name.into(),
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        message: error.message().into(),
    }
}

fn check_id(id: &str, source_name: &str) -> Result<(), RulesError> {
    let well_formed = !id.is_empty()
        && id.len() <= MAX_ID_LEN
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        && !RESERVED.iter().any(|prefix| id.starts_with(prefix));
    if well_formed {
        Ok(())
    } else {
        Err(RulesError::BadId {
            source_name: source_name.into(),
            id: id
                .escape_debug()
                .take(MAX_ID_LEN)
                .collect::<String>()
                .into(),
        })
    }
}

/// Reads one rule; holds what its errors have to name.
struct Reader<'a> {
    source_name: &'a str,
    rule: &'a str,
}

// === impl Reader ===

impl Reader<'_> {
    fn rule(&self, wire: &WireRule) -> Result<Rule, RulesError> {
        let effect = Effect::parse(&wire.effect).ok_or_else(|| {
            self.unknown_word("effect", &wire.effect, "allow, deny, reads".to_owned())
        })?;
        let rule = Rule {
            id: RuleId::new(&wire.id),
            effect,
            verbs: self.set("verbs", wire.verbs.as_deref(), |word| {
                Verb::parse(word).map(Verb::bit)
            })?,
            origins: self.set("origins", wire.origins.as_deref(), Origin::bit_of)?,
            trusted: wire.trusted,
            read_only_hint: wire.read_only_hint,
            servers: self.globs("servers", &wire.servers)?,
            items: self.globs("items", &wire.items)?,
            clients: wire
                .clients
                .as_deref()
                .map(|clients| self.globs("clients", clients))
                .transpose()?,
            because: wire.because.as_deref().map(Into::into),
        };
        for (examples, should_match) in [(&wire.matches, true), (&wire.no_match, false)] {
            for example in examples {
                self.check_example(&rule, example, should_match)?;
            }
        }
        Ok(rule)
    }

    fn globs(&self, key: &'static str, patterns: &[String]) -> Result<Box<[Glob]>, RulesError> {
        if patterns.is_empty() {
            return Err(self.empty_list(key));
        }
        if patterns
            .iter()
            .any(|pattern| pattern.is_empty() || pattern.len() > glob::MAX_LEN)
        {
            return Err(RulesError::BadPattern {
                source_name: self.source_name.into(),
                rule: self.rule.into(),
                key,
            });
        }
        Ok(patterns.iter().map(|text| Glob::compile(text)).collect())
    }

    /// The union of the words' bits; all bits where the key is absent.
    fn set(
        &self,
        key: &'static str,
        words: Option<&[String]>,
        bit: impl Fn(&str) -> Option<u8>,
    ) -> Result<u8, RulesError> {
        let Some(words) = words else {
            return Ok(u8::MAX);
        };
        if words.is_empty() {
            return Err(self.empty_list(key));
        }
        words.iter().try_fold(0, |bits, word| {
            bit(word)
                .map(|one| bits | one)
                .ok_or_else(|| self.unknown_word(key, word, known_words(key)))
        })
    }

    /// A server's name may itself hold a slash and so may a tool's, so an
    /// example stands for every way to split it: one must match, or none.
    fn check_example(
        &self,
        rule: &Rule,
        example: &str,
        should_match: bool,
    ) -> Result<(), RulesError> {
        let mut splits = example
            .match_indices('/')
            .map(|(at, _)| (&example[..at], &example[at + 1..]))
            .filter(|(server, item)| !server.is_empty() && !item.is_empty())
            .peekable();
        if splits.peek().is_none() {
            return Err(RulesError::BadExample {
                source_name: self.source_name.into(),
                rule: self.rule.into(),
                example: example.into(),
            });
        }
        if splits.any(|(server, item)| rule.names(server, item)) == should_match {
            Ok(())
        } else {
            Err(RulesError::ExampleFailed {
                source_name: self.source_name.into(),
                rule: self.rule.into(),
                example: example.into(),
                should_match,
            })
        }
    }

    fn unknown_word(&self, key: &'static str, found: &str, known: String) -> RulesError {
        RulesError::UnknownWord {
            source_name: self.source_name.into(),
            rule: self.rule.into(),
            key,
            found: found.into(),
            known: known.into(),
        }
    }

    fn empty_list(&self, key: &'static str) -> RulesError {
        RulesError::EmptyList {
            source_name: self.source_name.into(),
            rule: self.rule.into(),
            key,
        }
    }
}

fn known_words(key: &str) -> String {
    if key == "verbs" {
        Verb::ALL.map(Verb::as_str).join(", ")
    } else {
        Origin::WORDS.join(", ")
    }
}
