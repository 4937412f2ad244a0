//! Texts into a [`Policy`].

use std::collections::BTreeSet;
use std::path::Path;

use legation_core::EntityLabels;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::cache::Cache;
use super::named::Named;
use super::{Compiled, Policy};
use crate::bans::{Bans, Matter};
use crate::boundary::Boundary;
use crate::cedar::{Answer, Ask, Cedar};
use crate::condition::Owners;
use crate::decision::Rung;
use crate::governance::{
    BanExample, Broken, FileText, Governance, HardBans, Place, Problem, Severity, Sources,
    ToolName, file, native_tools,
};
use crate::known::{KnownNames, KnownTool};
use crate::permissions::{self, Permissions, Rule, RuleError};
use crate::target::{NativeTool, Origin, PinState, Question, Verb};

/// Everything while it is read.
struct Loader<'s> {
    sources: &'s Sources,
    tools: &'s [KnownTool],
    problems: Vec<Problem>,
}

pub(super) fn policy(sources: &Sources, tools: &[KnownTool]) -> Policy {
    let names: Vec<ToolName<'_>> = tools
        .iter()
        .filter(|tool| tool.verb == Verb::CallTool)
        .filter_map(|tool| {
            Some(ToolName {
                server: tool.server.as_str(),
                tool: tool.item.as_deref()?,
                native_change: tool.native.is_some_and(|native| native.changes),
            })
        })
        .collect();
    let (governance, problems) = Governance::load(sources, &names);
    let mut loader = Loader {
        sources,
        tools,
        problems,
    };
    let boundary = governance
        .profile
        .get()
        .map(|profile| Boundary::new(profile, tools))
        .map_err(Clone::clone);
    let bans = loader.bans(&governance, boundary.as_ref().ok(), false);
    let output_bans = loader.bans(&governance, boundary.as_ref().ok(), true);
    let cedar = loader.cedar(&governance);
    let (permissions, broken_folders) = loader.permissions(&governance);
    let named = Named::of(&governance, &cedar, &permissions);
    Policy {
        governance,
        boundary,
        bans,
        output_bans,
        cedar,
        permissions,
        broken_folders,
        digest: digest_of(sources),
        problems: loader.problems,
        named,
        unasked: false,
        cache: Cache::default(),
    }
}

// === impl Loader ===

impl Loader<'_> {
    fn broken(&mut self, file: &'static str, place: Place, message: &str, hint: &str) -> Broken {
        let reason = if place == Place::default() {
            message.to_owned()
        } else {
            format!("({place}): {message}")
        };
        self.problems.push(Problem {
            file: file.into(),
            place,
            message: message.to_owned(),
            hint: hint.to_owned(),
            severity: Severity::Error,
        });
        Broken { file, reason }
    }

    fn text(&mut self, file: &'static str, text: &FileText) -> Result<String, Broken> {
        let hint = "Restore the file; until then it denies what it governs.";
        match text {
            FileText::Text(text) => Ok(text.clone()),
            FileText::Absent => Err(self.broken(file, Place::default(), "is missing", hint)),
            FileText::Unusable(why) => Err(self.broken(file, Place::default(), why, hint)),
        }
    }

    fn bans(
        &mut self,
        governance: &Governance,
        boundary: Option<&Boundary>,
        output: bool,
    ) -> Result<Compiled, Broken> {
        let file = governance.bans.get().map_err(Clone::clone)?;
        let hint = "Correct the ban or its example; until then everything is denied.";
        let compiled = Bans::compile(&file.bans, output)
            .map_err(|(id, message)| format!("ban `{id}`: {message}"))
            .and_then(|bans| {
                let cedar = Cedar::load(&bans.policies(), "ban.", &[], &BTreeSet::new());
                let cedar = cedar.map_err(|refused| refused.message)?;
                Ok(Compiled { bans, cedar })
            });
        let failed = match (&compiled, boundary) {
            (Ok(compiled), Some(boundary)) => failed_example(file, compiled, boundary, output),
            _ => None,
        };
        match (compiled, failed) {
            (Ok(compiled), None) => Ok(compiled),
            (Err(message), _) | (Ok(_), Some(message)) => {
                Err(self.broken(file::HARD_BANS, Place::default(), &message, hint))
            }
        }
    }

    fn cedar(&mut self, governance: &Governance) -> Result<Cedar, Broken> {
        let text = self.text(file::CEDAR, &self.sources.cedar)?;
        let roles = governance.roles.good();
        let roles = roles
            .iter()
            .flat_map(|roles| roles.roles.keys().map(String::as_str))
            .collect();
        Cedar::load(&text, "cedar.", self.tools, &roles).map_err(|refused| {
            let hint = "Correct the policy; until then everything is denied.";
            self.broken(file::CEDAR, Place::default(), &refused.message, hint)
        })
    }

    fn permissions(
        &mut self,
        governance: &Governance,
    ) -> (
        Result<Permissions, Broken>,
        Vec<(std::path::PathBuf, Broken)>,
    ) {
        let none = EntityLabels::none();
        let profile = governance.profile.good();
        let owners = Owners {
            profile,
            call: &none,
        };
        let mut broken_folders = Vec::new();
        let mut rules = match self.text(file::PERMISSIONS, &self.sources.permissions) {
            Ok(text) => match permissions::read(&text, None, owners) {
                Ok(rules) => rules,
                Err((line, error)) => return (Err(self.rule_error(line, &error)), broken_folders),
            },
            Err(broken) => return (Err(broken), broken_folders),
        };
        if let Some(broken) = self.check_names(&rules, profile) {
            return (Err(broken), broken_folders);
        }
        for (folder, text) in &self.sources.workspaces {
            if *text == FileText::Absent {
                continue;
            }
            let read = match self.text(file::PERMISSIONS, text) {
                Ok(text) => permissions::read(&text, Some(folder), owners)
                    .map_err(|(line, error)| self.rule_error(line, &error)),
                Err(broken) => Err(broken),
            };
            match read {
                Ok(more) => rules.extend(more),
                Err(broken) => broken_folders.push((Path::new(&**folder).into(), broken)),
            }
        }
        self.warn_of_dead(&rules);
        (Ok(Permissions::new(rules)), broken_folders)
    }

    fn rule_error(&mut self, line: Option<usize>, error: &RuleError) -> Broken {
        let place = Place {
            pointer: None,
            line,
        };
        self.broken(file::PERMISSIONS, place, &error.to_string(), &error.hint())
    }

    /// The owner's own file fails over a name that never was: a deny with a
    /// slip in it protects nothing. A folder's file travels between machines
    /// and may name what this one does not have.
    fn check_names(
        &mut self,
        rules: &[Rule],
        profile: Option<&crate::governance::OperatorProfile>,
    ) -> Option<Broken> {
        let mut known = KnownNames::of(self.tools);
        for tool in native_tools() {
            known.add(tool.server, tool.tool);
        }
        let failed = rules
            .iter()
            .find_map(|rule| Some((rule, permissions::never_seen(rule, &known, profile)?)));
        let (rule, error) = failed?;
        Some(self.rule_error(rule.at_line, &error))
    }

    fn warn_of_dead(&mut self, rules: &[Rule]) {
        for dead in permissions::dead(rules) {
            self.problems.push(Problem {
                file: file::PERMISSIONS.into(),
                place: Place {
                    pointer: None,
                    line: rules[dead.at].at_line,
                },
                message: dead.message,
                hint: "Remove it, or change the other rule.".to_owned(),
                severity: Severity::Warning,
            });
        }
    }
}

/// The first example that does not hold, as a sentence.
fn failed_example(
    file: &HardBans,
    compiled: &Compiled,
    boundary: &Boundary,
    output: bool,
) -> Option<String> {
    let of_kind = file.bans.iter().filter(|ban| ban.when.output == output);
    for ban in of_kind {
        for (examples, should_strike) in [(&ban.matches, true), (&ban.no_match, false)] {
            for (index, example) in examples.iter().enumerate() {
                if strikes(&ban.id, example, compiled, boundary) != Some(should_strike) {
                    let kind = if should_strike { "match" } else { "no_match" };
                    return Some(format!(
                        "ban `{}`: example {} of {kind} does not hold",
                        ban.id,
                        index + 1
                    ));
                }
            }
        }
    }
    None
}

/// Whether one ban strikes an example; `None` when it cannot be told.
fn strikes(
    id: &str,
    example: &BanExample,
    compiled: &Compiled,
    boundary: &Boundary,
) -> Option<bool> {
    let (server, item) = example.tool.split_once('/')?;
    let server = legation_core::ServerName::parse(server).ok()?;
    let question = Question {
        server: &server,
        verb: Verb::CallTool,
        item,
        read_only_hint: false,
        trusted: true,
        origin: &Origin::Builtin,
        entity: None,
        pin: PinState::Approved,
        native: Some(NativeTool::default()),
        fingerprint: None,
    };
    let arguments = Value::Object(example.arguments.clone());
    let text = arguments.to_string();
    let given = crate::arguments::Arguments::new(&text);
    let subject = boundary.subject(&question, "", Some(&given)).ok()?;
    let holds: EntityLabels = example
        .holds
        .iter()
        .map(|held| legation_core::EntityId::new(held.as_str()))
        .collect();
    let labels = subject.labels.join(&holds);
    let matter = Matter {
        name: &example.tool,
        value: Some(&arguments),
        text: example.output.as_deref(),
        entities: &subject.entities,
        labels: &labels,
        sent_to: None,
        unredacted_phi: example.unredacted_phi.then_some(true),
    };
    let facts = compiled.bans.facts(&matter, boundary);
    let client = legation_core::ClientId::new("example");
    let ask = Ask {
        client: &client,
        via: "admin",
        role: None,
        delegated: false,
        question: &question,
        name: &example.tool,
        entities: &subject.entities,
        labels: &labels,
        facts: &facts,
        arguments: None,
        approved: false,
    };
    match compiled.cedar.ask(&ask, Rung::Execute) {
        Answer::Permit(_) => Some(false),
        Answer::Forbid(ids) => Some(ids.iter().any(|one| one.strip_prefix("ban.") == Some(id))),
        Answer::Silent | Answer::Error(_) => None,
    }
}

/// The SHA-256 of the texts alone: a tool that is seen for the first time
/// must not void what people agreed to about others.
pub(super) fn digest_of(sources: &Sources) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut add = |name: &str, text: &FileText| {
        let (kind, text) = match text {
            FileText::Text(text) => (b't', text.as_str()),
            FileText::Absent => (b'a', ""),
            FileText::Unusable(why) => (b'u', why.as_str()),
        };
        hash.update((name.len() as u64).to_be_bytes());
        hash.update(name.as_bytes());
        hash.update([kind]);
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    };
    add(file::OPERATOR_PROFILE, &sources.operator_profile);
    add(file::ROLE_CARDS, &sources.role_cards);
    add(file::HARD_BANS, &sources.hard_bans);
    add(file::AUTONOMY_LADDER, &sources.autonomy_ladder);
    add(file::LLM_PROVIDER, &sources.llm_provider);
    add(file::OUTPUT_CONTRACTS, &sources.output_contracts);
    add(file::BRIEF, &sources.brief);
    add(file::URGENCY, &sources.urgency);
    add(file::DRAFT_STYLE, &sources.draft_style);
    add(file::PARA, &sources.para);
    add(file::CEDAR, &sources.cedar);
    add(file::PERMISSIONS, &sources.permissions);
    for (folder, text) in &sources.workspaces {
        add(folder, text);
    }
    for text in &sources.enterprise {
        add(file::ENTERPRISE, text);
    }
    for (name, text) in &sources.rosters {
        add(name, text);
    }
    hash.finalize().into()
}
