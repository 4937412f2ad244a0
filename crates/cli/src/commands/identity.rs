//! `legation identity`: the agent's own sign-in, for people.
//!
//! The commands need no running hub. What they sign in is kept where a hub
//! looks for it, so that a running one uses it at its next call.

mod agents;
mod failure;
pub(crate) mod keep;
mod report;
mod sign_in;

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use legation_core::{Caller, Cancel, CancelReason, ClientId, OpContext, Principal, SeatId, Via};
use legation_entra::Account;
use tokio::signal::unix::{SignalKind, signal};

use crate::{CliError, Context, Exit};

use failure::told;
use report::{Ended, Who};

/// The commands of `legation identity`.
#[derive(Debug, Subcommand)]
pub enum IdentityCommand {
    /// Sign in; asks for a code to be entered where a person has to agree.
    Bootstrap(BootstrapArgs),
    /// Say as whom the agent acts.
    Whoami(AccountArgs),
    /// Renew the token before its time.
    Refresh(AccountArgs),
    /// Forget tokens and sign-ins; end the sessions of the agent's own user.
    Revoke(RevokeArgs),
    /// Keep an application's secret, or its private key, read from standard input.
    Keep(KeepArgs),
    /// Make what the agent needs to act as itself: blueprint, agent identity, user, grants.
    Provision(ProvisionArgs),
    /// Remove the agent's user and identity.
    Deprovision(DeprovisionArgs),
    /// Look for the agent's own name in the tenant's sign-in logs.
    Verify(AccountArgs),
}

/// Which account.
#[derive(Debug, Clone, Args)]
pub struct AccountArgs {
    /// The account; needed only where there are several.
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
}

/// Arguments of `legation identity bootstrap`.
#[derive(Debug, Args)]
pub struct BootstrapArgs {
    #[command(flatten)]
    of: AccountArgs,

    /// How long the code can be entered.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=900))]
    wait: u64,
}

/// Arguments of `legation identity revoke`.
#[derive(Debug, Args)]
pub struct RevokeArgs {
    #[command(flatten)]
    of: AccountArgs,

    /// Say what would be forgotten, and forget nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Arguments of `legation identity keep`.
#[derive(Debug, Args)]
pub struct KeepArgs {
    #[command(flatten)]
    of: AccountArgs,

    /// Whose: the application that acts on behalf of people, or the agents' blueprint.
    #[arg(long = "for", value_enum, value_name = "APPLICATION")]
    application: KeepFor,

    /// It is a private key, PEM; its certificate is `certificate` of the account.
    #[arg(long)]
    key: bool,
}

/// An application that proves itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeepFor {
    /// The application that acts on behalf of people.
    MiddleTier,
    /// The agents' blueprint.
    Blueprint,
}

/// Arguments of `legation identity provision`.
#[derive(Debug, Args)]
pub struct ProvisionArgs {
    #[command(flatten)]
    of: AccountArgs,

    #[command(flatten)]
    wanted: WantedArgs,

    /// Say what would be made, and make nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Arguments of `legation identity deprovision`.
#[derive(Debug, Args)]
pub struct DeprovisionArgs {
    #[command(flatten)]
    of: AccountArgs,

    #[command(flatten)]
    wanted: WantedArgs,

    /// Remove the blueprint too, and with it every agent that was made of it.
    #[arg(long)]
    blueprint: bool,

    /// Say what would be removed, and remove nothing.
    #[arg(long)]
    dry_run: bool,
}

/// How the agent is called.
#[derive(Debug, Args)]
pub(crate) struct WantedArgs {
    /// The name people see.
    #[arg(long, value_name = "NAME", default_value = "Legation agent")]
    name: String,

    /// The sign-in name of the agent's own user [default: `agent_user` of the account].
    #[arg(long, value_name = "NAME@DOMAIN")]
    user: Option<String>,

    /// The person who answers for the agent, by id [default: `human` of the account].
    #[arg(long, value_name = "ID")]
    sponsor: Option<String>,

    /// Let it work at the desk too: file and draft mail, read calendars and make entries.
    #[arg(long)]
    desk: bool,
}

/// What every command here works with.
struct Work {
    context: Context,
    ctx: OpContext,
    account: Account,
}

pub(crate) fn cmd_identity(context: &Context, command: IdentityCommand) -> Result<(), CliError> {
    let environment = match &command {
        // What it keeps comes on standard input, which handing over takes.
        IdentityCommand::Keep(_) => context.environment.clone(),
        _ => crate::private_environment(context)?,
    };
    let context = &Context {
        environment,
        ..context.clone()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::failed(&error))?;
    let ended = runtime.block_on(interruptible(
        context,
        async |work: &Work| match &command {
            IdentityCommand::Bootstrap(args) => {
                bootstrap(work, Duration::from_secs(args.wait)).await
            }
            IdentityCommand::Whoami(_) => whoami(work).await,
            IdentityCommand::Refresh(_) => refresh(work).await,
            IdentityCommand::Revoke(args) => revoke(work, args.dry_run).await,
            IdentityCommand::Keep(args) => keep::keep(work, args).await,
            IdentityCommand::Provision(args) => agents::provision(work, args).await,
            IdentityCommand::Deprovision(args) => agents::deprovision(work, args).await,
            IdentityCommand::Verify(_) => agents::verify(work).await,
        },
        command.account(),
    ));
    // A connection that nobody needs any more is not waited for.
    runtime.shutdown_background();
    ended
}

/// Runs the work of a command; the first interrupt calls it off, so that it
/// can say what was not done.
async fn interruptible<F>(context: &Context, run: F, account: Option<&str>) -> Result<(), CliError>
where
    F: AsyncFnOnce(&Work) -> Result<(), CliError>,
{
    let settings = super::config::settings_to_connect(context)?;
    let output = context.output;
    let announce = move |text: &str| output.say(text);
    let (home, environment, clock) = (&context.home, &context.environment, &context.clock);
    let all = crate::accounts::accounts(&settings, home, environment, clock, announce);
    let account = all.pick(account).await.map_err(|error| told(&error))?;
    let cancel = Cancel::new();
    let work = Work {
        context: context.clone(),
        ctx: OpContext::new(owner(), cancel.clone()),
        account,
    };
    let mut interrupt =
        signal(SignalKind::interrupt()).map_err(|error| CliError::failed(&error))?;
    let run = run(&work);
    tokio::pin!(run);
    tokio::select! {
        biased;
        ended = &mut run => return ended,
        _ = interrupt.recv() => cancel.cancel(CancelReason::ClientCancelled),
    }
    context.output.progress_done();
    tokio::select! {
        ended = &mut run => ended,
        _ = interrupt.recv() => Err(CliError::new(Exit::Failed, "interrupted twice; what was done is not known")),
    }
}

/// The owner at this machine.
pub(crate) fn owner() -> Caller {
    Caller {
        principal: Principal {
            client: ClientId::new("owner"),
            via: Via::Admin,
        },
        seat: SeatId::new("cli"),
        workspace: None,
    }
}

async fn bootstrap(work: &Work, wait: Duration) -> Result<(), CliError> {
    let account = &work.account;
    let found = match account.bootstrap(&work.ctx).await {
        Err(error) if error.needs_person() => {
            let claims = error
                .refusal()
                .and_then(|refusal| refusal.claims.as_deref());
            sign_in::person(work, wait, claims).await?;
            account.bootstrap(&work.ctx).await
        }
        other => other,
    };
    let found = found.map_err(|error| told(&error))?;
    if let Some(why) = &found.instead_because {
        work.context.output.say(&format!(
            "AgentIDNotAvailable: {why}; the application acts for its user instead\nhint: make an agent identity: `legation identity provision --account {}`",
            account.name()
        ));
    }
    let who = account.whoami(&work.ctx).await;
    let who = Who::of(who.map_err(|error| told(&error))?, found.instead_because);
    work.context.output.result(&who, Who::text)
}

/// The commands below find the agent first, as a hub does.
async fn found(work: &Work) -> Result<(), CliError> {
    let found = work.account.bootstrap(&work.ctx).await;
    found.map(drop).map_err(|error| told(&error))
}

async fn whoami(work: &Work) -> Result<(), CliError> {
    found(work).await?;
    let who = work.account.whoami(&work.ctx).await;
    let who = Who::of(who.map_err(|error| told(&error))?, None);
    work.context.output.result(&who, Who::text)
}

async fn refresh(work: &Work) -> Result<(), CliError> {
    found(work).await?;
    let who = work.account.refresh(&work.ctx).await;
    let who = Who::of(who.map_err(|error| told(&error))?, None);
    work.context.output.result(&who, Who::text)
}

async fn revoke(work: &Work, dry_run: bool) -> Result<(), CliError> {
    let account = &work.account;
    let ended = if dry_run {
        let kept = account.signed_in().await.map_err(|error| told(&error))?;
        Ended::planned(account, kept)
    } else {
        let revoked = account.revoke(&work.ctx, true).await;
        Ended::of(account, revoked.map_err(|error| told(&error))?)
    };
    work.context.output.result(&ended, Ended::text)
}

// === impl IdentityCommand ===

impl IdentityCommand {
    fn account(&self) -> Option<&str> {
        let of = match self {
            Self::Whoami(of) | Self::Refresh(of) | Self::Verify(of) => of,
            Self::Bootstrap(args) => &args.of,
            Self::Revoke(args) => &args.of,
            Self::Keep(args) => &args.of,
            Self::Provision(args) => &args.of,
            Self::Deprovision(args) => &args.of,
        };
        of.account.as_deref()
    }
}
