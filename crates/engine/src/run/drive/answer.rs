//! A model's answer, on its way to the machine.

use futures_util::future::BoxFuture;
use legation_core::error::chain;
use legation_models::{AskError, GatedStream, ModelClass};

use crate::run::machine::{Failure, Input};

/// A model's answer.
pub(super) enum Answer {
    None,
    /// Nobody has said a word yet.
    Asked(BoxFuture<'static, Result<GatedStream, AskError>>),
    Comes(Box<GatedStream>),
}

// === impl Answer ===

impl Answer {
    /// What comes next of it; never where there is none.
    pub(super) async fn next(&mut self) -> Input {
        match self {
            Self::None => std::future::pending().await,
            Self::Asked(asked) => match asked.await {
                Ok(stream) => {
                    let began = Input::Began {
                        resumption: stream.resumption(),
                        window: stream.context_tokens(),
                    };
                    *self = Self::Comes(Box::new(stream));
                    began
                }
                Err(error) => {
                    *self = Self::None;
                    Input::Failed(failure(&error))
                }
            },
            Self::Comes(stream) => match stream.next().await {
                Some(Ok(delta)) => Input::Delta(delta),
                Some(Err(error)) => {
                    *self = Self::None;
                    Input::Failed(failure(&error))
                }
                None => {
                    *self = Self::None;
                    Input::Ended
                }
            },
        }
    }
}

/// A model's failure, in the machine's words.
fn failure(error: &AskError) -> Failure {
    Failure {
        // What no provider's answer stands behind does not pass by itself.
        class: error.class().unwrap_or(ModelClass::NotFound),
        // Where nobody is on there is no rule against it.
        is_refused: error.is_refused() && !error.is_nobody_on(),
        lacks_calls: error.lacks_calls(),
        message: chain(error).to_string(),
        hint: error.hint(),
        retry_after: error.retry_after(),
    }
}
