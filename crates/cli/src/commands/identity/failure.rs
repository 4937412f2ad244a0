//! What went wrong at a directory, as a command says it.

use std::error::Error;

use legation_core::error::chain;
use legation_entra::agent::{ProvisionError, VerifyError};
use legation_entra::{Class, NoAccount, SignInError};

use crate::{CliError, Exit};

/// A failure with a class and a hint.
pub(super) trait Classed: Error {
    /// What kind of failure it is.
    fn kind(&self) -> Class;
    /// What to do next.
    fn next(&self) -> String;
}

macro_rules! classed {
    ($($error:ty),+) => {$(
        impl Classed for $error {
            fn kind(&self) -> Class {
                self.class()
            }
            fn next(&self) -> String {
                self.hint()
            }
        }
    )+};
}

classed!(SignInError, NoAccount, ProvisionError, VerifyError);

/// In words, with the class before them.
pub(super) fn told<E: Classed>(error: &E) -> CliError {
    let class = error.kind();
    CliError {
        class: Some(class.as_str()),
        ..CliError::new(exit(class), chain(error)).with_hint(error.next())
    }
}

/// How a command ends.
fn exit(class: Class) -> Exit {
    match class {
        Class::Local => Exit::Usage,
        Class::ConsentDenied => Exit::Refused,
        Class::RateLimit | Class::Unreachable => Exit::NotReachable,
        Class::Auth
        | Class::DeviceCodeTimeout
        | Class::OboExchange
        | Class::AgentIdNotAvailable
        | Class::TokenExpired
        | Class::Teams
        | Class::TeamsNotLicensed
        | Class::ChatNotFound
        | Class::MessageTooLong
        | Class::Mailbox
        | Class::ItemNotFound
        | Class::Cancelled => Exit::Failed,
    }
}
