//! What single values may be, and the words for what they are not.

use serde_json::Value;

use crate::environment::{Template, TemplateError, first_problem};
use crate::servers::ProblemKind;

/// What a wrong field leads to.
pub(super) struct Wrong {
    pub(super) kind: ProblemKind,
    pub(super) message: String,
    pub(super) hint: String,
}

pub(super) fn wrong(message: impl Into<String>, hint: impl Into<String>) -> Wrong {
    Wrong {
        kind: ProblemKind::Entry,
        message: message.into(),
        hint: hint.into(),
    }
}

pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

pub(super) fn template(key: &str, text: &str) -> Result<Template, Wrong> {
    check_references(key, text)?;
    Ok(Template::new(text))
}

pub(super) fn check_references(key: &str, text: &str) -> Result<(), Wrong> {
    let Some(error) = first_problem(text) else {
        return Ok(());
    };
    let hint = match error {
        TemplateError::BadName => {
            "Write ${NAME} or ${NAME:-default}, which read the environment, or ${keyring:NAME}, which \
             reads the keystore. Write $$ where a dollar sign itself is meant."
        }
        TemplateError::Unclosed
        | TemplateError::Undefined { .. }
        | TemplateError::NoSecret { .. } => {
            "Write } behind the name, or $$ where a dollar sign itself is meant."
        }
    };
    Err(wrong(format!("{key}: {error}"), hint))
}

/// No argument, variable or path of an operating system can hold a NUL.
pub(super) fn no_nul(key: &str, text: &str) -> Result<(), Wrong> {
    if text.contains('\0') {
        return Err(wrong(
            format!("{key} has a NUL character"),
            "Remove the \\u0000.",
        ));
    }
    Ok(())
}

/// The value itself is left out: it may be a token in the wrong place.
pub(super) fn not_a(key: &str, wanted: &str, found: &Value) -> Wrong {
    let hint = match found {
        Value::Number(_) | Value::Bool(_) if wanted == "a text" => "Put it in quotes.".to_owned(),
        _ => format!("Write {wanted}."),
    };
    wrong(format!("{key} is {}, not {wanted}", kind_of(found)), hint)
}

/// `token` of RFC 9110, section 5.6.2.
pub(super) fn is_header_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}
