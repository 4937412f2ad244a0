//! `legation models`: the models that may be asked.
//!
//! Which provider may have what is said in `llm_provider.json` and decided by
//! the policy; the commands show it, try it, and change the preferences in it.

mod file;
mod list;
mod preferences;
mod savings;
mod set;
mod test;

use std::sync::{Arc, Mutex, PoisonError};

use clap::Subcommand;
use legation_config::{Environment, Settings};
use legation_core::{Cancel, CancelReason, Home, OpContext, Secret};
use legation_models::{Keys, Limits, Meter, ModelClient, NoBook, Router};
use legation_policy::governance::{Governance, LlmProviders};
use tokio::signal::unix::{SignalKind, signal};

use crate::commands::governance::explain::provider::{self, ProviderArgs};
use crate::{CliError, Context, Exit};

pub use preferences::{preferences, set_preferences};
pub use savings::{answer as savings_answer, bounds as savings_bounds};

/// The commands of `legation models`.
#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// List the providers, and the model servers that run on this machine.
    List(list::ListArgs),
    /// Say which provider may have a request, and why.
    Explain(ProviderArgs),
    /// Ask providers for one word, to see that they answer.
    Test(test::TestArgs),
    /// Say what models cost, and what local ones saved.
    Savings(savings::SavingsArgs),
    /// Change what is preferred, switch a provider on or off, keep its key.
    #[command(subcommand)]
    Set(set::SetCommand),
}

pub(crate) fn cmd_models(context: &Context, command: &ModelsCommand) -> Result<(), CliError> {
    match command {
        ModelsCommand::List(args) => list::cmd_list(context, args),
        ModelsCommand::Explain(args) => {
            provider::explain(context, &super::governance::find(context), args)
        }
        ModelsCommand::Test(args) => test::cmd_test(context, args),
        ModelsCommand::Savings(args) => savings::cmd_savings(context, args),
        ModelsCommand::Set(command) => set::cmd_set(context, command),
    }
}

/// The providers, or why there are none.
fn providers(governance: &Governance) -> Result<&LlmProviders, CliError> {
    governance.providers.get().map_err(|broken| {
        CliError::new(Exit::Usage, format!("{} {}", broken.file, broken.reason))
            .with_hint("`legation governance check` says what is wrong")
    })
}

/// Keys as a hub would take them.
pub(super) fn keys(context: &Context) -> Result<Keys, CliError> {
    let settings = super::config::settings_to_connect(context)?;
    Ok(keys_of(&context.home, &context.environment, &settings))
}

/// The keys of providers: of the environment, or of the keystore of the
/// settings, which is opened when it is first needed.
#[must_use]
pub fn keys_of(home: &Home, environment: &Environment, settings: &Settings) -> Keys {
    let (environment, home) = (environment.clone(), home.clone());
    let keep = crate::accounts::keep_in(settings);
    // Opening it can ask the person at the machine, so it is done once.
    let opened = Mutex::new(None);
    Keys::new(
        move |name| environment.get(name).map(Secret::new),
        move || {
            let mut opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(store) = &*opened {
                return Ok(Arc::clone(store));
            }
            let store = Arc::new(crate::accounts::secrets(&home, keep)?);
            *opened = Some(Arc::clone(&store));
            Ok(store)
        },
    )
}

pub(super) fn router(context: &Context) -> Result<Router, CliError> {
    let client = ModelClient::new(Arc::clone(&context.clock), Limits::default());
    // What is tried here holds nobody's data and is in nobody's book.
    let meter = Meter::new(Arc::new(NoBook), Arc::clone(&context.clock));
    Ok(Router::new(client, keys(context)?, Arc::new(meter)))
}

/// Runs work that an interrupt calls off.
pub(super) fn run<T>(
    work: impl AsyncFnOnce(&OpContext) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::failed(&error))?;
    let done = runtime.block_on(async {
        let cancel = Cancel::new();
        let ctx = OpContext::new(super::identity::owner(), cancel.clone());
        let mut interrupt =
            signal(SignalKind::interrupt()).map_err(|error| CliError::failed(&error))?;
        let work = work(&ctx);
        tokio::pin!(work);
        tokio::select! {
            biased;
            done = &mut work => return done,
            _ = interrupt.recv() => cancel.cancel(CancelReason::ClientCancelled),
        }
        work.await
    });
    // A name that is being looked up is not waited for.
    runtime.shutdown_background();
    done
}

#[cfg(test)]
mod tests;
