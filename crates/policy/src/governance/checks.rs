//! What a file may not say, and what the files say of each other.
//!
//! A mistake that makes a file mean less than it seems to breaks the file; one
//! that only makes it mean more, or nothing, is reported.

mod bans;
mod contracts;
mod desk;
mod enterprise;
mod ladder;
mod profile;
mod providers;
mod roles;

use std::collections::BTreeSet;

use legation_core::EntityId;

use super::json;
use super::load::{Reader, ToolName};
use super::native::native_tools;
use super::pattern::ToolPattern;
use super::problem::{Place, Problem, Severity};
use super::profile::OperatorProfile;
use super::{Broken, Enterprise, FileText, Governance, Loaded, Sources, file};

/// What a check may look at beside its own file.
pub(super) struct Around<'a> {
    profile: Option<&'a OperatorProfile>,
    sources: &'a Sources,
    tools: Vec<ToolName<'a>>,
    servers: BTreeSet<&'a str>,
}

/// What one check found in one file.
pub(super) struct Findings<'t> {
    file: &'static str,
    text: &'t str,
    problems: Vec<Problem>,
    fatal: Option<String>,
}

/// Runs every check; a file that fails one becomes [`Loaded::Broken`].
pub(super) fn run(governance: &mut Governance, reader: &mut Reader<'_>, tools: &[ToolName<'_>]) {
    let sources = reader.sources;
    let mut tools: Vec<ToolName<'_>> = tools.to_vec();
    tools.extend(native_tools());
    let mut around = Around {
        profile: None,
        sources,
        servers: tools.iter().map(|tool| tool.server).collect(),
        tools,
    };
    let problems = &mut reader.problems;
    // First, because the others ask it which entities there are.
    let (name, text) = (file::OPERATOR_PROFILE, &sources.operator_profile);
    check(
        &mut governance.profile,
        name,
        text,
        problems,
        |profile, found| {
            profile::check(profile, &around, found);
        },
    );
    around.profile = governance.profile.good();
    let (name, text) = (file::ROLE_CARDS, &sources.role_cards);
    check(
        &mut governance.roles,
        name,
        text,
        problems,
        |roles, found| {
            roles::check(roles, &around, found);
        },
    );
    let (name, text) = (file::HARD_BANS, &sources.hard_bans);
    check(&mut governance.bans, name, text, problems, |bans, found| {
        bans::check(bans, &around, found);
    });
    let (name, text) = (file::AUTONOMY_LADDER, &sources.autonomy_ladder);
    check(
        &mut governance.ladder,
        name,
        text,
        problems,
        |ladder, found| {
            ladder::check(ladder, &around, found);
        },
    );
    let (name, text) = (file::LLM_PROVIDER, &sources.llm_provider);
    check(
        &mut governance.providers,
        name,
        text,
        problems,
        |providers, found| {
            providers::check(providers, &around, found);
        },
    );
    let (name, text) = (file::OUTPUT_CONTRACTS, &sources.output_contracts);
    check(
        &mut governance.contracts,
        name,
        text,
        problems,
        |contracts, found| {
            contracts::check(contracts, &around, found);
        },
    );
    let files = desk::Files {
        brief: &mut governance.brief,
        urgency: &mut governance.urgency,
        style: &mut governance.draft_style,
        para: &mut governance.para,
    };
    desk::run(files, sources, &around, problems);
    enterprise_policy(&mut governance.enterprise, problems);
}

fn enterprise_policy(loaded: &mut Loaded<Enterprise>, problems: &mut Vec<Problem>) {
    let (name, text) = (file::ENTERPRISE, &FileText::Absent);
    check(loaded, name, text, problems, |policy, found| {
        enterprise::check(policy, found);
    });
}

fn check<T>(
    loaded: &mut Loaded<T>,
    file: &'static str,
    text: &FileText,
    problems: &mut Vec<Problem>,
    look: impl FnOnce(&T, &mut Findings<'_>),
) {
    let Loaded::Good(value) = loaded else {
        return;
    };
    let mut found = Findings {
        file,
        text: match text {
            FileText::Text(text) => text,
            FileText::Absent | FileText::Unusable(_) => "",
        },
        problems: Vec::new(),
        fatal: None,
    };
    look(value, &mut found);
    problems.append(&mut found.problems);
    if let Some(reason) = found.fatal {
        *loaded = Loaded::Broken(Broken { file, reason });
    }
}

/// A JSON pointer of these steps.
pub(super) fn pointer(steps: &[&str]) -> String {
    let mut pointer = String::new();
    for step in steps {
        json::push_step(&mut pointer, step);
    }
    pointer
}

/// Whether `text` can name a rule: it goes into refusals and records.
pub(super) fn is_rule_id(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    !text.is_empty() && text.len() <= 128 && text.bytes().all(plain)
}

// === impl Around ===

impl Around<'_> {
    /// Says which of these entities there are none of.
    fn entities<'e>(
        &self,
        named: impl IntoIterator<Item = &'e EntityId>,
        place: &[&str],
        found: &mut Findings<'_>,
    ) {
        let Some(profile) = self.profile else {
            return;
        };
        for entity in named {
            if !profile.entities.contains_key(entity) {
                found.refuse(
                    place,
                    format!("there is no entity `{entity}`"),
                    "Correct the name, or add the entity to operator_profile.json.",
                );
            }
        }
    }

    /// Says which of these names no tool of a known server has. A pattern may
    /// be ahead of the servers it is for.
    fn literal_tools(&self, patterns: &[ToolPattern], place: &[&str], found: &mut Findings<'_>) {
        let literal: Vec<ToolPattern> = patterns
            .iter()
            .filter(|pattern| pattern.is_literal())
            .cloned()
            .collect();
        self.tools(&literal, place, found);
    }

    /// Says which of these patterns match no tool that exists or existed.
    fn tools(&self, patterns: &[ToolPattern], place: &[&str], found: &mut Findings<'_>) {
        for (index, pattern) in patterns.iter().enumerate() {
            let mut tools = self.tools.iter();
            let is_live =
                tools.any(|tool| pattern.matches(&format!("{}/{}", tool.server, tool.tool)));
            let index = index.to_string();
            let mut steps = place.to_vec();
            steps.push(&index);
            if is_live {
                continue;
            }
            let server = pattern.server();
            if self.servers.contains(server) && pattern.is_literal() {
                found.error(
                    &steps,
                    format!("`{server}` has no tool like `{pattern}`"),
                    "Correct the name; `legation mcp tools` lists them.",
                );
            } else {
                found.warn(
                    &steps,
                    format!("no tool that was ever seen is called `{pattern}`"),
                    "Correct the name, or leave it until that server is there.",
                );
            }
        }
    }
}

// === impl Findings ===

impl Findings<'_> {
    /// The file cannot be relied on.
    fn refuse(&mut self, place: &[&str], message: impl Into<String>, hint: &str) {
        let message = message.into();
        let place = self.report(place, message.clone(), hint, Severity::Error);
        let reason = if place == Place::default() {
            message
        } else {
            format!("({place}): {message}")
        };
        self.fatal.get_or_insert(reason);
    }

    /// Something the file should govern is denied, or does not work.
    fn error(&mut self, place: &[&str], message: impl Into<String>, hint: &str) {
        self.report(place, message.into(), hint, Severity::Error);
    }

    /// Something is odd.
    fn warn(&mut self, place: &[&str], message: impl Into<String>, hint: &str) {
        self.report(place, message.into(), hint, Severity::Warning);
    }

    fn report(&mut self, steps: &[&str], message: String, hint: &str, severity: Severity) -> Place {
        let place = if self.text.is_empty() {
            Place::default()
        } else {
            json::place(self.text, &pointer(steps))
        };
        self.problems.push(Problem {
            file: self.file.into(),
            place: place.clone(),
            message,
            hint: hint.to_owned(),
            severity,
        });
        place
    }
}
