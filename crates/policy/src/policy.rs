//! Every governance file and every pinned definition, understood: the snapshot
//! that decides.
//!
//! Loading never fails. A part that is broken or missing denies what it
//! governs and names itself as the rule, because the alternative, to keep the
//! last good state, would let a hub run on rules that its owner can no longer
//! read.

mod cache;
mod judge;
mod layers;
mod load;
mod named;
mod result;

use legation_core::context::Principal;
use legation_core::{ClientId, EntityId, EntityLabels};

pub(crate) use judge::Refusal;
pub use result::ResultFacts;

use crate::bans::Bans;
use crate::boundary::Boundary;
use crate::cedar::Cedar;
use crate::decision::{Decision, Inquiry};
use crate::denied::Denied;
use crate::explanation::Explanation;
use crate::governance::{Broken, Governance, Problem, Sources, file};
use crate::known::KnownTool;
use crate::permissions::Permissions;
use crate::permitted::{Permitted, Receipt};
use crate::registry::ReasonCode;
use crate::rule_id::RuleId;
use crate::target::{Question, Target};
use cache::Cache;
use named::Named;

/// An immutable snapshot; share it in an `Arc`. A changed file makes a new one.
#[derive(Debug)]
pub struct Policy {
    governance: Governance,
    boundary: Result<Boundary, Broken>,
    bans: Result<Compiled, Broken>,
    output_bans: Result<Compiled, Broken>,
    cedar: Result<Cedar, Broken>,
    permissions: Result<Permissions, Broken>,
    /// Folders whose rule files are broken, and why: all is denied there.
    broken_folders: Vec<(std::path::PathBuf, Broken)>,
    problems: Vec<Problem>,
    named: Named,
    /// The SHA-256 of all texts.
    digest: [u8; 32],
    /// Whether what rules want asked is done without asking.
    unasked: bool,
    cache: Cache,
}

/// Bans with their policies.
#[derive(Debug)]
struct Compiled {
    bans: Bans,
    cedar: Cedar,
}

/// Whether a client may see data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clearance {
    /// As it is.
    Cleared,
    /// With what identifies a person replaced in the data of these entities.
    Redact(Vec<EntityId>),
    /// Not at all.
    Refused,
}

// === impl Policy ===

impl Policy {
    /// Reads everything. `tools` are the pinned definitions, and the servers
    /// that are configured though nothing of theirs was ever seen.
    pub fn load(sources: &Sources, tools: &[KnownTool]) -> Self {
        load::policy(sources, tools)
    }

    /// What a template decides as it comes, for whatever tools there are.
    pub fn of_template(template: crate::governance::Template) -> Self {
        Self::load(&template.sources(), &[])
    }

    /// Denies everything, for when there is nothing to read.
    pub fn unavailable() -> Self {
        Self::load(&Sources::nothing(), &[])
    }

    /// The first eight bytes of the SHA-256 of all texts: equal for equal
    /// files, across restarts and machines.
    pub fn version(&self) -> u64 {
        let first = self.digest.iter().take(8);
        first.fold(0, |version, byte| version << 8 | u64::from(*byte))
    }

    /// Whether it was read from the same texts: for the same definitions, reading `sources` again
    /// makes no difference.
    pub fn is_of(&self, sources: &Sources) -> bool {
        self.digest == load::digest_of(sources)
    }

    /// Whether it makes a difference which tools `server` offers, and with which arguments: some file
    /// names one of them or the server itself, or could not be read.
    pub fn names_tools_of(&self, server: &str) -> bool {
        self.named.has(server)
    }

    /// Why the organisation lets no call of a server pass, whatever is called, so that it need not
    /// be started; `None` where calls are decided one by one. A policy that cannot be read forbids
    /// every server that is not part of the hub.
    pub fn forbids_server(
        &self,
        server: &legation_core::ServerName,
        fingerprint: crate::governance::Fingerprint,
    ) -> Option<Box<str>> {
        match self.governance.enterprise.get() {
            Ok(enterprise) => {
                let blocked = enterprise.server(server, Some(fingerprint)).err()?;
                Some(blocked.to_string().into())
            }
            Err(broken) => Some(unavailable(broken).reason),
        }
    }

    /// Whether some rule lets servers ask for a model, and some provider is on. It says nothing of
    /// any one of them.
    pub fn lends_models(&self) -> bool {
        let providers = self.governance.providers.good();
        if !providers.is_some_and(|all| all.providers.values().any(|one| one.enabled)) {
            return false;
        }
        let permissions = self.permissions.as_ref().ok();
        permissions.is_some_and(|all| all.rules().iter().any(|rule| rule.line.allows_sampling()))
    }

    /// What is wrong with the files.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The files.
    pub fn governance(&self) -> &Governance {
        &self.governance
    }

    /// Decides one call. Of a delegated call both who act are judged, and the
    /// lesser answer is the answer.
    pub fn decide(&self, inquiry: &Inquiry<'_>, target: Target) -> Decision {
        let own = self.judge_cached(inquiry.principal, inquiry, &target);
        let judged = match inquiry.on_behalf_of {
            None => own,
            Some(delegator) => own.lesser(self.judge_cached(delegator, inquiry, &target)),
        };
        judged.decision(inquiry.principal, target, self.version(), inquiry)
    }

    /// Whether any arguments, people's answers and conversations could lead to
    /// a yes. A list leaves out what could not: an agent should not plan with
    /// tools it cannot use.
    pub fn may_ever(&self, principal: &Principal, question: &Question<'_>) -> bool {
        self.judge_ever(principal, question)
    }

    /// What every layer says.
    pub fn explain(&self, inquiry: &Inquiry<'_>, target: &Target) -> Explanation {
        self.explain_call(inquiry, target)
    }

    /// Judges what came back: bans on results, and contracts with those who
    /// read them.
    ///
    /// # Errors
    /// Why the result must not be handed on.
    pub fn judge_result(
        &self,
        permitted: &Permitted,
        result: &ResultFacts<'_>,
    ) -> Result<(), Box<Denied>> {
        result::judge(self, permitted, result)
    }

    /// As [`Policy::judge_result`], by what stayed behind.
    ///
    /// # Errors
    /// Why the result must not be handed on.
    pub fn judge_receipt(
        &self,
        receipt: &Receipt,
        result: &ResultFacts<'_>,
    ) -> Result<(), Box<Denied>> {
        self.judge_result(receipt.permitted(), result)
    }

    /// Whether any rule reads results.
    pub fn judges_results(&self) -> bool {
        let bans = self.output_bans.as_ref();
        let contracts = self.governance.contracts.get();
        bans.map_or(true, |compiled| !compiled.bans.is_empty())
            || contracts.map_or(true, |contracts| !contracts.contracts.is_empty())
    }

    /// The one entity that a call stays within: its server's own, or for a
    /// server of the hub's the one that the arguments name. A server that says
    /// nothing of itself does not become an entity's because a model names one.
    pub fn home_of(
        &self,
        target: &Target,
        arguments: Option<&crate::Arguments<'_>>,
    ) -> Option<EntityId> {
        if target.entity.is_none() && target.origin != crate::target::Origin::Builtin {
            return None;
        }
        let boundary = self.boundary.as_ref().ok()?;
        let name = format!("{}/{}", target.server, target.item);
        let subject = boundary.subject(&target.question(), &name, arguments);
        match subject.ok()?.entities.as_slice() {
            [one] => Some(one.clone()),
            _ => None,
        }
    }

    /// Whose data a server of this entity holds; `None` where nobody can tell.
    pub fn labels_of(&self, entity: Option<&EntityId>) -> Option<EntityLabels> {
        let profile = self.governance.profile.get().ok()?;
        match entity {
            Some(entity) if entity.as_str() == "all" => Some(profile.everyone()),
            Some(entity) => profile
                .entities
                .contains_key(entity)
                .then(|| EntityLabels::of(entity.clone())),
            None => Some(EntityLabels::none()),
        }
    }

    /// Whether data of an entity is health information, so that it must not lie
    /// on a disk as it is; what cannot be known is.
    pub fn holds_health(&self, entity: &EntityId) -> bool {
        let Ok(profile) = self.governance.profile.get() else {
            return true;
        };
        let known = profile.entities.get(entity);
        known.is_none_or(|known| known.phi_auto_redact)
    }

    /// Whether a client may see data of these entities. A client is a model:
    /// what it reads, its provider reads.
    pub fn clearance(&self, client: &ClientId, labels: &EntityLabels) -> Clearance {
        let Ok(profile) = self.governance.profile.get() else {
            return Clearance::Refused;
        };
        let cleared = profile.clearance_of(client);
        let mut redacted = Vec::new();
        for entity in labels {
            let Some(known) = profile.entities.get(entity) else {
                return Clearance::Refused;
            };
            if !cleared.entities.contains(entity) {
                return Clearance::Refused;
            }
            if known.phi_auto_redact && !cleared.phi {
                redacted.push(entity.clone());
            }
        }
        if redacted.is_empty() {
            Clearance::Cleared
        } else {
            Clearance::Redact(redacted)
        }
    }

    /// Every permission rule: its id, its line as written, and the folder it
    /// is bound to.
    ///
    /// # Errors
    /// Why there are none: everything is denied then.
    pub fn permission_rules(
        &self,
    ) -> Result<impl Iterator<Item = (&RuleId, &str, Option<&std::path::Path>)>, &Broken> {
        let rules = self.permissions.as_ref()?.rules().iter();
        Ok(rules.map(|rule| (&rule.id, &*rule.text, rule.folder.as_deref())))
    }

    /// How many Cedar policies the owner wrote; zero where they cannot be read.
    pub fn policies(&self) -> usize {
        self.cedar.as_ref().map_or(0, Cedar::len)
    }

    /// The owner's own policies, if they can be read.
    pub(crate) fn cedar(&self) -> Option<&Cedar> {
        self.cedar.as_ref().ok()
    }

    /// The same rules, but what permission rules want asked is done without
    /// asking, unless the organisation forbids such modes
    /// ([`Policy::allows_bypass`]). Denies, bans, the ladder, sampling,
    /// definitions that nobody looked at and certificates stay as they are.
    #[must_use]
    pub fn without_asking(mut self) -> Self {
        self.unasked = self.allows_bypass();
        self
    }

    /// Whether a mode that asks less may be switched on. It never beats a
    /// deny, wherever it is on.
    pub fn allows_bypass(&self) -> bool {
        let enterprise = self.governance.enterprise.get();
        enterprise.is_ok_and(crate::governance::Enterprise::allows_bypass)
    }
}

/// A refusal by a file that cannot be read.
fn unavailable(broken: &Broken) -> judge::Refusal {
    let path = match broken.file {
        file::ENTERPRISE => "the organisation's policy.toml".to_owned(),
        name => format!("governance/{name}"),
    };
    judge::Refusal {
        rule: RuleId::unavailable(),
        code: ReasonCode::GovernanceUnavailable,
        reason: broken.to_string().into(),
        next: format!("The owner must repair or restore {path}; see `legation governance check`.")
            .into(),
    }
}
