//! Keeping what an application proves itself by. It comes on standard input:
//! arguments are seen by everybody on the machine.

use std::io::Read as _;

use legation_core::Secret;
use serde::Serialize;
use zeroize::Zeroizing;

use super::{KeepArgs, KeepFor, Work, told};
use crate::{CliError, Exit};

/// The longest key there is, with room.
const SECRET_MAX: usize = 64 << 10;

#[derive(Serialize)]
struct Kept {
    account: String,
    client_id: String,
    what: &'static str,
}

pub(super) async fn keep(work: &Work, args: &KeepArgs) -> Result<(), CliError> {
    let settings = work.account.settings();
    let (id, key) = match args.application {
        KeepFor::MiddleTier => (
            settings
                .api_client_id
                .as_deref()
                .or(settings.client_id.as_deref()),
            "api_client_id",
        ),
        KeepFor::Blueprint => (settings.blueprint_id.as_deref(), "blueprint_id"),
    };
    let client_id = id.ok_or_else(|| {
        let account = work.account.name();
        CliError::new(
            Exit::Usage,
            format!("the account `{account}` has no `{key}`; nothing was kept"),
        )
        .with_hint(format!(
            "write `{key}` in [accounts.{account}] of legation.toml"
        ))
    })?;
    let secret = read()?;
    let (kept, what) = match args.key {
        true => (work.account.keep_key(client_id, &secret).await, "key"),
        false => (work.account.keep_secret(client_id, &secret).await, "secret"),
    };
    kept.map_err(|error| told(&error))?;
    let kept = Kept {
        account: work.account.name().to_owned(),
        client_id: client_id.to_owned(),
        what,
    };
    work.context.output.result(&kept, |kept| {
        format!(
            "{}: kept the {} of {}\n",
            kept.account, kept.what, kept.client_id
        )
    })
}

/// The secret on standard input.
pub(crate) fn read() -> Result<Secret, CliError> {
    // With room for all of it: what grows leaves copies behind.
    let mut text = Zeroizing::new(String::with_capacity(SECRET_MAX + 1));
    let mut input = std::io::stdin().lock().take(SECRET_MAX as u64 + 1);
    let read = input.read_to_string(&mut text);
    read.map_err(|error| {
        let what = format!("standard input cannot be read: {error}; nothing was kept");
        CliError::new(Exit::Usage, what)
    })?;
    if text.len() > SECRET_MAX {
        let what =
            format!("there are more than {SECRET_MAX} bytes on standard input; nothing was kept");
        return Err(CliError::new(Exit::Usage, what)
            .with_hint("pipe the secret in alone, or with --key the private key"));
    }
    let secret = text.trim();
    if secret.is_empty() {
        return Err(CliError::new(
            Exit::Usage,
            "there is nothing on standard input; nothing was kept",
        )
        .with_hint("pipe the secret in, as from a password manager"));
    }
    Ok(Secret::new(secret))
}
