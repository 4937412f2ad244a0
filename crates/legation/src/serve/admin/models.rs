//! `models.…` of the administration.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_api::Request as _;
use legation_api::models::{
    Capabilities, CapabilitiesAnswer, CapabilityView, Preferences, PreferencesAnswer, Savings,
    SavingsAnswer, SetPreferences, SetPreferencesAnswer,
};
use legation_cli::{CliError, Exit, models};
use legation_core::{Cancel, OpContext};
use legation_models::Prospect;
use legation_wire::json::Raw;
use legation_wire::message::ErrorObject;

use super::{Answer, failed, later, now, of_cli, unknown};
use crate::serve::hub::Inner;

pub(super) fn dispatch(hub: &Arc<Inner>, method: &str, params: &Raw) -> BoxFuture<'static, Answer> {
    let hub = Arc::clone(hub);
    match method {
        Savings::METHOD => later(params, |request: Savings| savings(hub, request)),
        Capabilities::METHOD => later(params, |_: Capabilities| capabilities(hub)),
        Preferences::METHOD => now(params, |_: Preferences| preferences(&hub).map_err(of_cli)),
        SetPreferences::METHOD => later(params, |request: SetPreferences| async move {
            // Whoever else changes the owner's files is waited for, and may wait for the hub.
            let done = tokio::task::spawn_blocking(move || set(&hub, &request)).await;
            let done = done.map_err(|_| {
                failed(
                    "the hub is stopping; whether it was changed is not known",
                    None,
                )
            })?;
            done.map_err(of_cli)
        }),
        _ => unknown(method),
    }
}

fn preferences(hub: &Inner) -> Result<PreferencesAnswer, CliError> {
    let rules = hub.gate.rules();
    let providers = rules.governance().providers.get().map_err(|broken| {
        CliError::new(Exit::Failed, format!("{} {}", broken.file, broken.reason))
            .with_hint("`legation governance check` says what is wrong")
    })?;
    Ok(models::preferences(providers))
}

fn set(hub: &Inner, wanted: &SetPreferences) -> Result<SetPreferencesAnswer, CliError> {
    let folders: Vec<PathBuf> = {
        let folders = hub.host.folders();
        let folders = folders.borrow();
        folders.iter().map(|one| one.to_path_buf()).collect()
    };
    let answer = models::set_preferences(&hub.home, &hub.environment, &folders, wanted)?;
    if answer.updated {
        hub.reload();
    }
    Ok(answer)
}

async fn capabilities(hub: Arc<Inner>) -> Result<CapabilitiesAnswer, ErrorObject> {
    let ctx = OpContext::new(super::tools::caller(None), Cancel::new());
    let prospects = hub.models.prospects(&ctx).await;
    let view = |one: Prospect| CapabilityView {
        provider: one.provider,
        kind: one.kind.as_str().to_owned(),
        model: one.model,
        is_local: one.is_local,
        server: one.server.map(str::to_owned),
        context_tokens: one.context_tokens,
        tools: one.tools,
        resumption: one.resumption.as_str().to_owned(),
        hipaa_cleared: one.hipaa_cleared,
        answers: one.answers,
        problem: one.problem,
    };
    Ok(CapabilitiesAnswer {
        providers: prospects.into_iter().map(view).collect(),
    })
}

async fn savings(hub: Arc<Inner>, request: Savings) -> Result<SavingsAnswer, ErrorObject> {
    let bounds = models::savings_bounds(request.days, hub.clock.wall());
    let book = Arc::clone(&hub.book);
    let rows = tokio::task::spawn_blocking(move || book.list(bounds.0)).await;
    let rows = rows.map_err(|_| failed("the hub is stopping; nothing was read", None))?;
    let rows = rows.map_err(|error| super::failed_with(&error))?;
    let rules = hub.gate.rules();
    let providers = rules.governance().providers.good();
    Ok(models::savings_answer(rows, bounds, providers))
}
