//! Agents of their own: made, removed, and looked for in the logs.

use std::fmt::Write as _;

use legation_entra::account::AGENT_SCOPES;
use legation_entra::agent::{Part, Planned, Provisioner, Verified, Wanted};
use legation_entra::calendar::{CALENDAR_SCOPES, ENTRY_SCOPES};
use legation_entra::mail::{FILING_SCOPES, MAIL_SCOPES};
use serde::Serialize;

use super::{DeprovisionArgs, ProvisionArgs, WantedArgs, Work, sign_in, told};
use crate::{CliError, Exit};

/// A part, and whether it is there.
#[derive(Serialize)]
struct PartLine {
    part: &'static str,
    what: String,
    there: Option<String>,
}

/// What there is after a run.
#[derive(Serialize)]
struct Made {
    account: String,
    blueprint_id: String,
    agent_id: String,
    agent_user: String,
    /// What this run made.
    made: Vec<&'static str>,
}

#[derive(Serialize)]
struct Gone {
    account: String,
    dry_run: bool,
    removed: Vec<&'static str>,
}

/// What the logs say.
#[derive(Serialize)]
struct Logs {
    account: String,
    /// Whether the agent is named as an agent in at least one sign-in.
    attributed: bool,
    as_agent: Vec<LogLine>,
    otherwise: usize,
}

#[derive(Serialize)]
struct LogLine {
    at: Option<String>,
    agent_type: String,
    subject_type: Option<String>,
    blueprint: Option<String>,
    resource: Option<String>,
    succeeded: bool,
}

/// `legation identity provision`.
pub(super) async fn provision(work: &Work, args: &ProvisionArgs) -> Result<(), CliError> {
    let provisioner = provisioner(work, &args.wanted).await?;
    let output = work.context.output;
    if args.dry_run {
        let plan = provisioner.plan(&work.ctx).await;
        let lines: Vec<PartLine> = plan
            .map_err(|error| told(&error))?
            .into_iter()
            .map(PartLine::of)
            .collect();
        return output.result(&lines, |lines| lines.iter().map(PartLine::text).collect());
    }
    let made = provisioner
        .provision(&work.ctx, |part| {
            output.say(&format!("made the {}", part.as_str()))
        })
        .await;
    let made = made.map_err(|error| told(&error))?;
    let made = Made {
        account: work.account.name().to_owned(),
        blueprint_id: made.blueprint_id,
        agent_id: made.agent_id,
        agent_user: made.agent_user,
        made: made.made.iter().map(|part| part.as_str()).collect(),
    };
    output.result(&made, Made::text)
}

/// `legation identity deprovision`.
pub(super) async fn deprovision(work: &Work, args: &DeprovisionArgs) -> Result<(), CliError> {
    let provisioner = provisioner(work, &args.wanted).await?;
    let removed = if args.dry_run {
        let plan = provisioner.plan(&work.ctx).await;
        let goes = |part: &Planned| match part.part {
            Part::AgentUser | Part::AgentIdentity => true,
            Part::Blueprint | Part::BlueprintPrincipal => args.blueprint,
            Part::Credential | Part::Scope | Part::Grant => false,
        };
        let plan = plan.map_err(|error| told(&error))?;
        let there = plan
            .iter()
            .filter(|part| part.there.is_some() && goes(part));
        there.map(|part| part.part).collect()
    } else {
        let removed = provisioner.deprovision(&work.ctx, args.blueprint).await;
        removed.map_err(|error| told(&error))?.parts
    };
    let gone = Gone {
        account: work.account.name().to_owned(),
        dry_run: args.dry_run,
        removed: removed.iter().map(|part| part.as_str()).collect(),
    };
    work.context.output.result(&gone, Gone::text)
}

/// `legation identity verify`.
pub(super) async fn verify(work: &Work) -> Result<(), CliError> {
    if work.account.settings().agent_id.is_none() {
        super::found(work).await?;
    }
    sign_in::administrator(work).await?;
    let verified = work.account.verify(&work.ctx).await;
    let logs = Logs::of(work, verified.map_err(|error| told(&error))?);
    work.context.output.result(&logs, Logs::text)?;
    if logs.attributed {
        return Ok(());
    }
    Err(CliError::new(Exit::Failed, "the agent is named in no sign-in")
        .with_hint("a sign-in takes some minutes until it is in the logs; `legation identity refresh` makes one"))
}

async fn provisioner(work: &Work, args: &WantedArgs) -> Result<Provisioner, CliError> {
    let settings = work.account.settings();
    let needed = |given: &Option<String>, configured: Option<&str>, flag: &str, key: &str| {
        let text = given.as_deref().or(configured).map(str::to_owned);
        text.ok_or_else(|| {
            let account = work.account.name();
            CliError::new(Exit::Usage, format!("{flag} is missing; nothing was done")).with_hint(
                format!("give {flag}, or write `{key}` in [accounts.{account}] of legation.toml"),
            )
        })
    };
    let wanted = Wanted {
        display_name: args.name.clone(),
        user_name: needed(
            &args.user,
            settings.agent_user.as_deref(),
            "--user",
            "agent_user",
        )?,
        sponsor: needed(
            &args.sponsor,
            settings.human.as_deref(),
            "--sponsor",
            "human",
        )?,
        scopes: {
            let mut scopes: Vec<&str> = AGENT_SCOPES.iter().chain(&MAIL_SCOPES).copied().collect();
            if args.desk {
                scopes.extend(FILING_SCOPES);
                scopes.extend(CALENDAR_SCOPES);
                scopes.extend(ENTRY_SCOPES);
            }
            scopes.into_iter().map(str::to_owned).collect()
        },
    };
    sign_in::administrator(work).await?;
    Ok(Provisioner::new(&work.account, wanted))
}

// === impl PartLine ===

impl PartLine {
    fn of(planned: Planned) -> Self {
        Self {
            part: planned.part.as_str(),
            what: planned.what,
            there: planned.there,
        }
    }

    fn text(&self) -> String {
        let what = crate::table::printable(&self.what);
        match &self.there {
            Some(_) => format!("there       {what}\n"),
            None => format!("would make  {what}\n"),
        }
    }
}

// === impl Made ===

impl Made {
    fn text(&self) -> String {
        let made = match &self.made[..] {
            [] => "everything was there already".to_owned(),
            some => format!("made: {}", some.join(", ")),
        };
        format!(
            "{made}\n\nIn legation.toml:\n[accounts.{}]\nblueprint_id = \"{}\"\nagent_id = \"{}\"\nagent_user = \"{}\"\n",
            self.account, self.blueprint_id, self.agent_id, self.agent_user
        )
    }
}

// === impl Gone ===

impl Gone {
    fn text(&self) -> String {
        let removed = match self.dry_run {
            true => "would remove",
            false => "removed",
        };
        match &self.removed[..] {
            [] => format!("{}: nothing was there\n", self.account),
            some => format!("{}: {removed} {}\n", self.account, some.join(", ")),
        }
    }
}

// === impl Logs ===

impl Logs {
    fn of(work: &Work, verified: Verified) -> Self {
        let as_agent = verified.as_agent.into_iter().map(|line| LogLine {
            at: line.at.map(|at| at.to_string()),
            agent_type: line.agent_type,
            subject_type: line.subject_type,
            blueprint: line.blueprint,
            resource: line.resource,
            succeeded: line.succeeded,
        });
        let as_agent: Vec<LogLine> = as_agent.collect();
        Self {
            account: work.account.name().to_owned(),
            attributed: !as_agent.is_empty(),
            as_agent,
            otherwise: verified.otherwise,
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.as_agent {
            let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
            let end = match line.succeeded {
                true => "succeeded",
                false => "failed",
            };
            let line = format!(
                "{}  {}  {}  {}  {end}",
                or_dash(&line.at),
                line.agent_type,
                or_dash(&line.subject_type),
                or_dash(&line.resource),
            );
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{}", crate::table::printable(&line));
        }
        let _ = writeln!(
            text,
            "{} sign-ins name the agent, {} do not",
            self.as_agent.len(),
            self.otherwise
        );
        text
    }
}
