//! `legation governance`: the owner's rule files.

mod check;
mod diff;
pub(crate) mod explain;
mod hipaa;
mod init;

use clap::{Subcommand, ValueEnum};
use legation_config::governance;
use legation_policy::Policy;
use legation_policy::governance::{Governance, Problem, Sources, Template};

use crate::seen::Seen;
use crate::{CliError, Context};

/// The commands of `legation governance`.
#[derive(Debug, Subcommand)]
pub enum GovernanceCommand {
    /// Write a template's files.
    Init(init::InitArgs),
    /// Say what is wrong with the files.
    Check(check::CheckArgs),
    /// Say what the files mean for a model, a tool or a client.
    Explain(explain::ExplainArgs),
    /// Show how the files differ from a template.
    Diff(diff::DiffArgs),
    /// Show the checklist of the entities with health information.
    Hipaa(hipaa::HipaaArgs),
}

/// A template, as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TemplateName {
    /// One person and their own servers.
    Personal,
    /// Several companies, one of them under HIPAA; begins with denying.
    Business,
}

/// What governs now, as far as files say.
pub(crate) struct Found {
    pub(crate) sources: Sources,
    pub(crate) policy: Policy,
}

pub(crate) fn cmd_governance(
    context: &Context,
    command: &GovernanceCommand,
) -> Result<(), CliError> {
    match command {
        GovernanceCommand::Init(args) => init::cmd_init(context, args),
        GovernanceCommand::Check(args) => check::cmd_check(context, args),
        GovernanceCommand::Explain(args) => explain::cmd_explain(context, args),
        GovernanceCommand::Diff(args) => diff::cmd_diff(context, args),
        GovernanceCommand::Hipaa(args) => hipaa::cmd_hipaa(context, args),
    }
}

/// Reads the files, for the tools that a running hub lists, or that its store
/// remembers while none runs.
pub(crate) fn find(context: &Context) -> Found {
    let folders: Vec<_> = std::env::current_dir().into_iter().collect();
    let sources = crate::sources(&context.home, &context.environment, &folders);
    let policy = Policy::load(&sources, &Seen::read(context).known(context));
    Found { sources, policy }
}

/// The template to compare with: the one that was named, else the one the
/// folder began with.
fn template(context: &Context, named: Option<TemplateName>) -> Template {
    let began = || governance::template(&context.home).and_then(|name| Template::parse(&name));
    named
        .map(TemplateName::template)
        .or_else(began)
        .unwrap_or(Template::Personal)
}

// === impl Found ===

impl Found {
    pub(crate) fn governance(&self) -> &Governance {
        self.policy.governance()
    }

    /// What is wrong.
    pub(crate) fn problems(&self) -> &[Problem] {
        self.policy.problems()
    }
}

// === impl TemplateName ===

impl TemplateName {
    fn template(self) -> Template {
        match self {
            Self::Personal => Template::Personal,
            Self::Business => Template::Business,
        }
    }
}

#[cfg(test)]
mod tests;
