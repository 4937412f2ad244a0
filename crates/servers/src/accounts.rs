//! Accounts as the tools that act with them need them: by the argument
//! `account`, and with failures in words that a model can act on.

use std::sync::Arc;

use legation_core::error::chain;
use legation_core::{EntityId, OpContext};
use legation_entra::chat::ChatError;
use legation_entra::{Account, Class, GraphError, SignInError};
use legation_gate::{Outcome, Unresolved};
use legation_wire::json::{Object, Raw};
use serde::Serialize;

use crate::json_result;

pub use legation_entra::{Accounts, NoAccount};

/// A failure of an account's in words: what happened, what kind of failure it
/// is, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The class, as [`Class::as_str`] has it.
    pub error: &'static str,
    /// The class above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind_of: Option<&'static str>,
    /// What happened, and what was not done.
    pub message: String,
    /// What to do next.
    pub hint: String,
    /// When it may be tried again, in seconds, where that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_s: Option<u64>,
}

/// The account that arguments name; `Err` when they name none in a way that
/// can be read.
///
/// # Errors
/// `account` is not a text.
pub fn named(arguments: &Object) -> Result<Option<String>, Unresolved> {
    match arguments.get("account") {
        None => Ok(None),
        Some(raw) => match raw.to_str() {
            Some(name) => Ok(Some(name.into_owned())),
            None => Err(Unresolved::NoAccount {
                why: "`account` must be a text; nothing was done".to_owned(),
                hint: "leave it out, or name an account".to_owned(),
            }),
        },
    }
}

/// Whose data a call concerns that names an account: the answer to
/// [`crate::Native::entity`].
///
/// # Errors
/// The account is not there.
pub fn entity(accounts: &Accounts, arguments: &Object) -> Result<Option<EntityId>, Unresolved> {
    let name = named(arguments)?;
    match accounts.entity(name.as_deref()) {
        Ok(entity) => Ok(Some(entity.clone())),
        Err(error) => Err(Unresolved::NoAccount {
            why: chain(&error),
            hint: error.hint(),
        }),
    }
}

/// The account that arguments name.
///
/// # Errors
/// It is not there or cannot be used.
pub async fn pick(accounts: &Accounts, arguments: &Object) -> Result<Account, Failure> {
    let name = named(arguments).map_err(|error| Failure {
        error: Class::Local.as_str(),
        kind_of: None,
        message: error.to_string(),
        hint: "leave it out, or name an account".to_owned(),
        retry_after_s: None,
    })?;
    let picked = accounts.pick(name.as_deref()).await;
    picked.map_err(|error| Failure::from(&error))
}

/// Makes sure that the account has a token to act with, without asking any
/// person; the agent is found first where its id is not in the settings.
///
/// # Errors
/// Somebody has to sign in, or what the authority said.
pub async fn ready(ctx: &OpContext, account: &Account) -> Result<(), Failure> {
    let ready = match account.known() {
        Some(_) => account.ready(ctx).await.map(drop),
        None => account.bootstrap(ctx).await.map(drop).map_err(Arc::new),
    };
    ready.map_err(|error| Failure::from(&*error))
}

// === impl Failure ===

impl Failure {
    /// As the result of a tool.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let text = format!("{}: {}\n{}", self.error, self.message, self.hint);
        let block = Object::new()
            .with("type", Raw::str("text"))
            .with("text", Raw::str(&text))
            .to_raw();
        let result = Object::new()
            .with("content", Raw::array([&block]))
            .with("structuredContent", Raw::from_serialize(self))
            .with("isError", Raw::bool(true));
        Outcome::Complete(result.to_raw())
    }

    /// A failure of the hub's own.
    #[must_use]
    pub fn said(class: Class, message: String, hint: &str) -> Self {
        Self {
            error: class.as_str(),
            kind_of: class.parent().map(Class::as_str),
            message,
            hint: hint.to_owned(),
            retry_after_s: None,
        }
    }

    fn of(class: Class, error: &dyn std::error::Error, hint: String) -> Self {
        Self {
            error: class.as_str(),
            kind_of: class.parent().map(Class::as_str),
            message: chain(error),
            hint,
            retry_after_s: None,
        }
    }
}

impl From<&SignInError> for Failure {
    fn from(error: &SignInError) -> Self {
        Self {
            retry_after_s: error.retry_after().map(|wait| wait.as_secs().max(1)),
            ..Self::of(error.class(), error, error.hint())
        }
    }
}

impl From<&GraphError> for Failure {
    fn from(error: &GraphError) -> Self {
        Self {
            retry_after_s: error.retry_after().map(|wait| wait.as_secs().max(1)),
            ..Self::of(error.class(), error, error.hint())
        }
    }
}

impl From<&ChatError> for Failure {
    fn from(error: &ChatError) -> Self {
        Self {
            retry_after_s: error.retry_after().map(|wait| wait.as_secs().max(1)),
            ..Self::of(error.class(), error, error.hint())
        }
    }
}

impl From<&NoAccount> for Failure {
    fn from(error: &NoAccount) -> Self {
        Self::of(error.class(), error, error.hint())
    }
}

/// A result, or the failure in its place.
pub fn outcome<T: Serialize>(result: Result<T, Failure>) -> Outcome {
    match result {
        Ok(value) => json_result(&value),
        Err(failure) => failure.outcome(),
    }
}
