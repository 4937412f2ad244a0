//! An agent's credential.

use std::path::PathBuf;

use legation_api::hub::Reload;
use legation_config::clients::{self, ClientsError, Credentials};
use legation_core::home::{create_private_dir, write_private};
use legation_core::{ClientId, Home, Secret};

use super::client::Client;
use crate::commands::hub;
use crate::{CliError, Context};

/// The credential the client has, if it still works.
pub(super) fn existing(context: &Context, client: Client) -> Option<Secret> {
    let text = std::fs::read_to_string(token_file(&context.home, client)).ok()?;
    let token = Secret::new(text.trim());
    let credentials = Credentials::load(&context.home).ok()?;
    let owner = credentials.verify(token.reveal())?;
    (*owner == id(client)).then_some(token)
}

/// A new credential. It is also laid down for the agent's bridge, which has no
/// other way to show it: neither its arguments nor the agent's file may hold it.
pub(super) fn mint(context: &Context, client: Client) -> Result<Secret, CliError> {
    context.home.create()?;
    let minted = clients::mint(
        &context.home,
        client.name(),
        client.title(),
        client.name(),
        context.clock.wall(),
    )
    .map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
    create_private_dir(&context.home.client_tokens())?;
    let file = token_file(&context.home, client);
    write_private(&file, minted.token.reveal().as_bytes())?;
    tell_hub(context)?;
    Ok(minted.token)
}

/// A running hub learns of it now rather than when it next looks at its files:
/// the agent may be started at once, and a revoked one must not get in again.
fn tell_hub(context: &Context) -> Result<(), CliError> {
    if let Some(mut client) = hub(context)? {
        client.call(&Reload {})?;
    }
    Ok(())
}

/// Ends the credential; one that nobody knows has ended already.
pub(super) fn revoke(context: &Context, client: Client) -> Result<(), CliError> {
    match clients::revoke(&context.home, &id(client), context.clock.wall()) {
        Ok(_) | Err(ClientsError::Unknown { .. }) => {}
        Err(error) => return Err(CliError::failed(&error).with_hint(error.hint())),
    }
    tell_hub(context)?;
    match std::fs::remove_file(token_file(&context.home, client)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(CliError::failed(&error)),
        _ => Ok(()),
    }
}

fn id(client: Client) -> ClientId {
    ClientId::new(client.name())
}

fn token_file(home: &Home, client: Client) -> PathBuf {
    home.client_tokens()
        .join(format!("{}.token", client.name()))
}
