//! `mcp.auth`, `mcp.auth_wait`, `mcp.auth_bring`, `mcp.auth_revoke`.

use std::sync::Arc;
use std::time::Duration;

use legation_api::Done;
use legation_api::mcp::{
    Auth, AuthAnswer, AuthBring, AuthRevoke, AuthRevokeAnswer, AuthWait, AuthWaitAnswer,
};
use legation_core::error::chain;
use legation_host::SignInError;
use legation_oauth::{Begun, SignIn};
use legation_wire::message::ErrorObject;

use super::failed;
use super::servers::folder;
use crate::serve::hub::Inner;

/// How long one request waits; whoever wants to wait longer asks again.
const WAIT: Duration = Duration::from_secs(20);

/// Begins a sign-in. The address goes to whoever asked and nowhere else.
pub(crate) async fn begin(hub: &Inner, request: &Auth) -> Result<AuthAnswer, ErrorObject> {
    let folder = folder(request.workspace.as_deref());
    let begun = hub.host.sign_in(&request.name, folder, request.force).await;
    Ok(match begun.map_err(|error| refused(&error))? {
        Begun::Ready => AuthAnswer {
            ready: true,
            url: None,
        },
        Begun::Open(sign_in) => AuthAnswer {
            ready: false,
            url: Some(sign_in.url().to_owned()),
        },
    })
}

pub(crate) async fn wait(hub: &Inner, request: &AuthWait) -> Result<AuthWaitAnswer, ErrorObject> {
    let sign_in = under_way(hub, &request.name, request.workspace.as_deref())?;
    let ended = tokio::time::timeout(WAIT, sign_in.done()).await;
    let error = match &ended {
        Ok(Err(error)) => Some(error),
        Ok(Ok(())) | Err(_) => None,
    };
    Ok(AuthWaitAnswer {
        over: ended.is_ok(),
        failure: error.map(|error| chain(error)),
        hint: error.map(|error| error.hint().to_owned()),
    })
}

/// Takes an address that was brought by hand; the hub says how it ends to whoever waits.
pub(crate) fn bring(hub: &Inner, request: &AuthBring) -> Result<Done, ErrorObject> {
    let sign_in = under_way(hub, &request.name, request.workspace.as_deref())?;
    let brought = sign_in.bring(&request.address);
    brought.map_err(|error| {
        let hint = "paste the whole address that the browser ended at, or begin again";
        failed(&chain(&error), Some(hint.to_owned()))
    })?;
    Ok(Done {})
}

fn under_way(hub: &Inner, name: &str, workspace: Option<&str>) -> Result<Arc<SignIn>, ErrorObject> {
    let sign_in = hub.host.sign_in_under_way(name, folder(workspace));
    sign_in.map_err(|error| refused(&error))?.ok_or_else(|| {
        failed(
            "nobody is signing in there",
            Some("begin with `legation mcp auth NAME`".to_owned()),
        )
    })
}

pub(crate) async fn revoke(
    hub: &Inner,
    request: &AuthRevoke,
) -> Result<AuthRevokeAnswer, ErrorObject> {
    let folder = folder(request.workspace.as_deref());
    let revoked = hub.host.sign_out(&request.name, folder).await;
    let was_there = revoked.map_err(|error| refused(&error))?;
    Ok(AuthRevokeAnswer { was_there })
}

fn refused(error: &SignInError) -> ErrorObject {
    failed(&chain(error), Some(error.hint().to_owned()))
}
