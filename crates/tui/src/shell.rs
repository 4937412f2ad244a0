//! The shell around the state: the terminal, the hub, time.

mod hub;
mod inline;
mod keyboard;
mod lines;
mod restore;
mod screen;
mod signals;

use std::sync::mpsc::SyncSender;

use legation_api::conversation::Open;

use crate::app::{App, Choices, Effect, Input};
use crate::{Options, Parts, TuiError};

pub(crate) use inline::Inline;
#[cfg(test)]
pub(crate) use inline::Leave;
pub(crate) use lines::run_lines;
pub(crate) use screen::run_screen;
pub(crate) use signals::Signal;

/// Things that may wait for the state. Whoever tells more waits: keys are no faster than that, and
/// the hub notices that a reader is slow.
const HAPPENED_MAX: usize = 1024;

/// What happens.
#[derive(Debug)]
pub(crate) enum Happened {
    Input(Input),
    Signal(Signal),
    /// There is no terminal any more.
    KeyboardGone,
}

/// What the hub is told first.
fn opening(options: &Options) -> Open {
    Open {
        workspace: options.workspace.clone(),
        session: options.session.clone(),
        new: false,
    }
}

fn choices(options: &Options, is_plain: bool) -> Choices {
    Choices {
        workspace: options.workspace.clone(),
        is_full: options.is_full && !is_plain,
        is_plain,
    }
}

/// The threads that talk with the hub.
fn begin(parts: &mut Parts<'_>, happened: &SyncSender<Happened>) -> Result<hub::Hub, TuiError> {
    let place = hub::Place {
        home: parts.home.clone(),
        version: parts.version,
    };
    let open = opening(&parts.options);
    hub::Hub::begin(&place, parts.starter.take(), open, happened)
}

/// Puts something into the state and hands requests to the hub; what is left is the caller's.
fn step(app: &mut App, hub: &hub::Hub, now_ms: u64, input: Input) -> Vec<Effect> {
    let mut left = Vec::new();
    let mut effects: std::collections::VecDeque<Effect> = app.update(now_ms, input).into();
    while let Some(effect) = effects.pop_front() {
        match effect {
            Effect::Ask(ask) => {
                if let Err(ask) = hub.ask(ask) {
                    let why = "the hub has not answered for long; nothing was asked".to_owned();
                    let refused = Err(hub::refusal(why, None));
                    let input = Input::Answered(ask, Box::new(refused));
                    effects.extend(app.update(now_ms, input));
                }
            }
            Effect::Follow(open) => hub.follow(open),
            other => left.push(other),
        }
    }
    left
}

#[cfg(test)]
mod tests;
