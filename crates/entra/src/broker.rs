//! Who proves that we are the application: a secret or key kept here, a
//! command, or a service. With the last two the secret is on another machine.

mod command;
mod error;
mod https;
mod local;
mod platform;

use std::fmt;

use futures_util::future::BoxFuture;
use legation_core::{OpContext, Secret, Wall};

pub use command::CommandBroker;
pub use error::{BrokerError, KeyError};
pub use https::HttpsBroker;
pub use https::token_name;
pub use local::{LocalBroker, key_name, secret_name};
pub use platform::{BrowserSignIn, PlatformSignIn, WamSignIn};

/// Which application is to be proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Application {
    /// The middle tier.
    MiddleTier,
    /// The agents' blueprint.
    Blueprint,
}

/// What is to be proved, and to whom. Nothing in it is secret.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The account.
    pub account: Box<str>,
    /// Which application.
    pub application: Application,
    /// Its id.
    pub client_id: Box<str>,
    /// The token endpoint, which an assertion names as its audience.
    pub audience: Box<str>,
    /// The authority's time.
    pub now: Wall,
}

/// The proof.
#[derive(Clone, Debug)]
pub enum Proof {
    /// The application's secret.
    Secret(Secret),
    /// A signed assertion.
    Assertion(Secret),
}

/// Who proves that we are the application.
pub trait Broker: fmt::Debug + Send + Sync {
    /// What people call it.
    fn name(&self) -> &'static str;

    /// The proof, made or fetched.
    fn prove<'a>(
        &'a self,
        ctx: &'a OpContext,
        ask: &'a Ask,
    ) -> BoxFuture<'a, Result<Proof, BrokerError>>;
}

// === impl Application ===

impl Application {
    /// The word for commands and services.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MiddleTier => "middle-tier",
            Self::Blueprint => "blueprint",
        }
    }
}

#[cfg(test)]
mod tests;
