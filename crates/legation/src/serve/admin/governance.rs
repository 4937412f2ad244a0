//! `governance.…`: what the rules say, and what others would have said.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_api::Request;
use legation_api::governance::{Decide, Explain, ExplainAnswer, ExplainProvider, Files, Replay};
use legation_cli::{CliError, Context, Exit, Output, rules};
use legation_wire::json::Raw;

use super::{Answer, failed_with, later, now, of_cli, unknown};
use crate::serve::hub::Inner;

pub(super) fn dispatch(hub: &Arc<Inner>, method: &str, params: &Raw) -> BoxFuture<'static, Answer> {
    let inner = Arc::clone(hub);
    match method {
        Files::METHOD => now(params, |_: Files| Ok(rules::files(&hub.gate.rules()))),
        Explain::METHOD => now(params, |request: Explain| {
            explained(hub, &request).map_err(of_cli)
        }),
        ExplainProvider::METHOD => now(params, |request: ExplainProvider| {
            let rules_now = hub.gate.rules();
            rules::provider(rules_now.governance(), &request, hub.clock.wall()).map_err(of_cli)
        }),
        Decide::METHOD => work(inner, params, |context, request: Decide| {
            let folders: Vec<_> = std::env::current_dir().into_iter().collect();
            rules::decided(context, &request, &folders)
        }),
        Replay::METHOD => work(inner, params, |context, request: Replay| {
            rules::replayed(context, &request)
        }),
        _ => unknown(method),
    }
}

fn explained(hub: &Inner, request: &Explain) -> Result<ExplainAnswer, CliError> {
    let rules_now = hub.gate.rules();
    match (&request.tool, &request.client) {
        (Some(tool), None) => rules::tool(rules_now.governance(), tool),
        (None, Some(client)) => Ok(rules::client(rules_now.governance(), client)),
        _ => {
            let message = "either a tool or a client must be named; nothing was explained";
            Err(CliError::new(Exit::Usage, message))
        }
    }
}

/// Does what a command does that asks the hub itself about definitions and records, so
/// that both say the same.
fn work<R: Request + Send + 'static>(
    hub: Arc<Inner>,
    params: &Raw,
    answer: impl FnOnce(&Context, R) -> Result<R::Answer, CliError> + Send + 'static,
) -> BoxFuture<'static, Answer>
where
    R::Answer: Send + 'static,
{
    later(params, |request: R| async move {
        let context = Context {
            home: hub.home.clone(),
            environment: hub.environment.clone(),
            clock: Arc::clone(&hub.clock),
            version: crate::VERSION,
            output: Output::new(true),
        };
        let work = tokio::task::spawn_blocking(move || answer(&context, request));
        let done = work.await.map_err(|error| failed_with(&error))?;
        done.map_err(of_cli)
    })
}
