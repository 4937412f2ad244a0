//! The accounts: whether they can be used, and who is signed in.

use super::{Check, State};
use crate::Context;
use crate::accounts::state::states;

pub(super) fn check_accounts(context: &Context) -> Vec<Check> {
    // Settings that cannot be read have a line of their own.
    let Ok(settings) = crate::commands::config::settings(context) else {
        return Vec::new();
    };
    let states = match states(context, &settings) {
        Ok(states) => states,
        Err(error) => {
            return vec![Check {
                what: "accounts",
                state: State::Bad,
                detail: error.message,
                hint: error.hint,
            }];
        }
    };
    let checks = states.into_iter().map(|account| Check {
        what: "accounts",
        state: match (&account.problem, &account.hint) {
            (Some(_), _) => State::Bad,
            (None, Some(_)) => State::Warning,
            (None, None) => State::Good,
        },
        detail: account.line(),
        hint: account.hint,
    });
    checks.collect()
}
