//! What rules say of things that are not there, and of each other.

use super::{Effect, Line, Rule, RuleError, ServerPattern};
use crate::glob::Glob;
use crate::governance::OperatorProfile;
use crate::known::KnownNames;
use crate::target::Verb;

/// A rule that does nothing, and the rule that makes it so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dead {
    /// Its place in the list that was checked.
    pub(crate) at: usize,
    /// What to tell the owner.
    pub(crate) message: String,
}

/// The first name of a rule that was never there.
pub(crate) fn never_seen(
    rule: &Rule,
    known: &KnownNames<'_>,
    profile: Option<&OperatorProfile>,
) -> Option<RuleError> {
    let missing = |kind, name: &str, nearest: Option<&str>| RuleError::NeverSeen {
        rule: rule.id.as_str().into(),
        kind,
        name: name.into(),
        nearest: nearest.map(Into::into),
    };
    let line = &rule.line;
    if let Some(server) = line.one_server() {
        if !known.has_server(server) {
            return Some(missing("server", server, known.nearest_server(server)));
        }
        if let Glob::Exact(tool) = &line.item
            && line.is_about_tools()
            && !known.has_tool(server, tool)
        {
            return Some(missing("tool", tool, known.nearest_tool(server, tool)));
        }
    }
    let profile = profile?;
    let of_conditions = line.conditions.iter().filter_map(|one| one.named_entity());
    let named = line.entity.iter().map(legation_core::EntityId::as_str);
    named
        .chain(of_conditions)
        .find(|name| !profile.entities.keys().any(|id| id.as_str() == *name))
        .map(|name| missing("entity", name, None))
}

/// Rules that another rule makes idle. A pair of equal rules makes the later
/// one idle.
pub(crate) fn dead(rules: &[Rule]) -> Vec<Dead> {
    let mut all = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        let over = rules.iter().enumerate().find(|(other_at, other)| {
            *other_at != at && other.shadows(rule) && !(rule.shadows(other) && at < *other_at)
        });
        if let Some((_, over)) = over {
            all.push(Dead {
                at,
                message: format!(
                    "rule `{}` does nothing: `{}` {} all it speaks of",
                    rule.id,
                    over.id,
                    match over.line.effect {
                        Effect::Deny => "denies",
                        Effect::Ask => "asks about",
                        Effect::Allow => "allows",
                        Effect::Reads => "covers",
                    }
                ),
            });
        }
    }
    all
}

// === impl Rule ===

impl Rule {
    /// Whether `other` changes no decision that this rule does not make
    /// already. Says no when it cannot tell.
    fn shadows(&self, other: &Self) -> bool {
        let stands_over = match (self.line.effect, other.line.effect) {
            (Effect::Deny, _) => self.line.rung.is_none(),
            (Effect::Ask, Effect::Ask) | (Effect::Allow, Effect::Allow) => {
                self.line.scope == other.line.scope && self.line.rung == other.line.rung
            }
            // An ask beats an allow only as long as nobody answers it.
            (Effect::Reads, Effect::Reads) => true,
            _ => false,
        };
        stands_over
            && (self.folder.is_none() || self.folder == other.folder)
            && (self.expires_ms.is_none() || self.expires_ms == other.expires_ms)
            && self.line.covers(&other.line)
    }
}

// === impl Line ===

impl Line {
    /// The server it speaks of, if it is about a single one.
    pub(crate) fn one_server(&self) -> Option<&str> {
        match &self.server {
            ServerPattern::Glob(Glob::Exact(server)) => Some(server),
            _ => None,
        }
    }

    /// Whether a name without wildcards is a tool's.
    fn is_about_tools(&self) -> bool {
        let tools = Verb::CallTool.bit() | Verb::TaskUpdate.bit() | Verb::TaskCancel.bit();
        match self.verbs {
            // Without verbs it may be the name of a prompt or a resource; only
            // what looks like a URI is surely none of a tool's.
            None => !self.item_text.contains(':'),
            Some(bits) => bits & !tools == 0,
        }
    }

    /// Whether this line matches whatever the other one matches.
    fn covers(&self, other: &Self) -> bool {
        let servers = match (&self.server, &other.server) {
            (ServerPattern::Glob(one), ServerPattern::Glob(other)) => one.covers(other),
            (ServerPattern::Glob(Glob::Any), _) => true,
            (one, other) => one == other,
        };
        let verbs = match (self.verbs, other.verbs) {
            (None, Some(other)) => self.effect.is_strict() || other & Verb::Sample.bit() == 0,
            (None, None) => true,
            (Some(one), Some(other)) => other & !one == 0,
            (Some(_), None) => false,
        };
        let clients = match (&self.client, &other.client) {
            (None, _) => true,
            (Some(one), Some(other)) => one.covers(other),
            (Some(_), None) => false,
        };
        servers
            && verbs
            && clients
            && self.item.covers(&other.item)
            && (self.hint.is_none() || self.hint == other.hint)
            && (self.entity.is_none() || self.entity == other.entity)
            && (self.conditions.is_empty() || self.conditions == other.conditions)
    }
}
