//! How each account stands, without asking its tenant anything.

use legation_config::Settings;
use legation_config::settings::AccountSettings;
use legation_core::error::chain;
use legation_entra::Acting;
use serde::Serialize;

use crate::{CliError, Context};

/// How an account stands.
#[derive(Debug, Serialize)]
pub(crate) struct AccountState {
    pub(crate) account: String,
    pub(crate) entity: String,
    /// Who acts, where the tenant has what the settings name.
    pub(crate) acts_as: &'static str,
    /// What of it comes into the inbox.
    pub(crate) inbox: Vec<&'static str>,
    /// Whose sign-ins are kept.
    pub(crate) signed_in: Vec<&'static str>,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
}

/// Every account of the settings.
pub(crate) fn states(
    context: &Context,
    settings: &Settings,
) -> Result<Vec<AccountState>, CliError> {
    if settings.accounts.is_empty() {
        return Ok(Vec::new());
    }
    let (home, environment, clock) = (&context.home, &context.environment, &context.clock);
    let all = super::accounts(settings, home, environment, clock, |_| {});
    // Looking must not make what it looks for.
    let is_kept = matches!(home.secrets().try_exists(), Ok(true));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .map_err(|error| CliError::failed(&error))?;
    let states = all.settings().iter().map(|one| {
        let acting = one.acting();
        let mut state = AccountState {
            account: one.name.to_string(),
            entity: one.entity.to_string(),
            acts_as: acting.as_str(),
            inbox: settings
                .accounts
                .get(&one.name)
                .map(sources)
                .unwrap_or_default(),
            signed_in: Vec::new(),
            problem: None,
            hint: None,
        };
        if let Err(error) = one.check() {
            state.problem = Some(chain(&error));
            state.hint = Some(error.hint());
            return state;
        }
        if is_kept {
            let kept = runtime.block_on(async {
                let account = all.pick(Some(&one.name)).await;
                let account = account.map_err(|error| (chain(&error), error.hint()))?;
                let kept = account.signed_in().await;
                kept.map_err(|error| (chain(&error), error.hint()))
            });
            match kept {
                Ok(kept) => state.signed_in = kept,
                Err((problem, hint)) => {
                    state.problem = Some(problem);
                    state.hint = Some(hint);
                    return state;
                }
            }
        }
        if state.signed_in.is_empty() && acting != Acting::AgentUser {
            state.hint = Some(format!(
                "sign in: `legation identity bootstrap --account {}`",
                one.name
            ));
        }
        state
    });
    Ok(states.collect())
}

/// The sources of the inbox that an account has.
fn sources(account: &AccountSettings) -> Vec<&'static str> {
    let all = [(account.inbox.chats, "chats"), (account.inbox.mail, "mail")];
    let wanted = all.into_iter().filter(|(is_wanted, _)| *is_wanted);
    wanted.map(|(_, word)| word).collect()
}

// === impl AccountState ===

impl AccountState {
    /// In one line.
    pub(crate) fn line(&self) -> String {
        let Self {
            account,
            entity,
            acts_as,
            ..
        } = self;
        let whose = match &self.problem {
            Some(problem) => return format!("{account} of {entity}: {problem}"),
            None => match &self.signed_in[..] {
                [] if self.hint.is_some() => "nobody is signed in".to_owned(),
                [] => "nobody has to sign in".to_owned(),
                some => format!("signed in: {}", some.join(", ")),
            },
        };
        let inbox = match &self.inbox[..] {
            [] => "nothing".to_owned(),
            some => some.join(" and "),
        };
        format!("{account} of {entity}, acts as {acts_as}; {whose}; into the inbox: {inbox}")
    }
}
