//! The servers whose tools a policy names one by one.
//!
//! Rules, Cedar policies and governance files apply by pattern to tools that
//! were never seen. What they say of a single tool is checked against what is
//! known of it when they are read, and has to be read again when that changes.

use std::collections::BTreeSet;

use crate::cedar::Cedar;
use crate::governance::{Broken, Governance, ToolPattern};
use crate::permissions::Permissions;

/// Whose tools make a difference to a policy.
#[derive(Debug)]
pub(super) enum Named {
    /// A file could not be read, which another tool may mend, whosever it is.
    Any,
    /// Only those of these servers.
    These(BTreeSet<Box<str>>),
}

// === impl Named ===

impl Named {
    pub(super) fn of(
        governance: &Governance,
        cedar: &Result<Cedar, Broken>,
        permissions: &Result<Permissions, Broken>,
    ) -> Self {
        let (Ok(cedar), Ok(permissions)) = (cedar, permissions) else {
            return Self::Any;
        };
        let mut patterns: Vec<&ToolPattern> = Vec::new();
        if let Some(roles) = governance.roles.good() {
            patterns.extend(roles.roles.values().flat_map(|card| &card.operations));
        }
        if let Some(bans) = governance.bans.good() {
            let tools = bans.bans.iter().filter_map(|ban| ban.when.tools.as_ref());
            patterns.extend(tools.flatten());
        }
        if let Some(ladder) = governance.ladder.good() {
            let categories = ladder.action_categories.iter();
            patterns.extend(categories.flat_map(|category| &category.tools));
        }
        if let Some(contracts) = governance.contracts.good() {
            let contracts = contracts.contracts.iter();
            patterns.extend(contracts.flat_map(|contract| &contract.tools));
        }
        let literal = patterns.into_iter().filter(|pattern| pattern.is_literal());
        let of_governance = literal.map(ToolPattern::server);
        let of_rules = permissions
            .rules()
            .iter()
            .filter_map(|rule| rule.line.one_server());
        let all = of_governance.chain(of_rules).chain(cedar.named_servers());
        Self::These(all.map(Into::into).collect())
    }

    pub(super) fn has(&self, server: &str) -> bool {
        match self {
            Self::Any => true,
            Self::These(servers) => servers.contains(server),
        }
    }
}
