//! What a caller wants of the desk, read from the arguments of a call.

use legation_entra::Class;
use legation_wire::json::Object;
use serde::de::DeserializeOwned;

use crate::accounts::Failure;

/// The arguments as a type that says what they are.
///
/// # Errors
/// They are not that.
pub(super) fn read<T: DeserializeOwned>(arguments: &Object) -> Result<T, Failure> {
    let raw = arguments.to_raw();
    serde_json::from_str(raw.as_text()).map_err(|error| bad(&error.to_string()))
}

/// The call asks for something that there is not.
pub(super) fn bad(what: &str) -> Failure {
    Failure::said(
        Class::Local,
        format!("{what}; nothing was done"),
        "correct the arguments and call again",
    )
}
