//! What the server `delegate` sees of the hub it lives in, and what it tells clients unasked.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_cli::CliError;
use legation_config::ExternalSettings;
use legation_core::home::HomeLock;
use legation_core::{Caller, EntityLabels, OpContext, ServerName, TaskSet};
use legation_engine::Engine;
use legation_front::Front;
use legation_gate::{Endpoint, HubEvent, ListKind, Note};
use legation_host::Host;
use legation_models::{ModelAsk, Prospect};
use legation_servers::TaskNews;
use legation_servers::delegate::{DelegateView, Model, Notes};

use super::natives::Windows;

/// The job of a task's requests.
const JOB: &str = "delegate.task";
/// Most names of tools that are told.
const TOOLS_MAX: usize = 200;

/// What the server sees.
#[derive(Debug)]
pub(super) struct DelegateWindow {
    pub(super) windows: Windows,
}

#[derive(Debug)]
struct HostNotes {
    host: Arc<Host>,
}

/// Tells clients of their tasks for as long as the hub runs.
pub(super) fn run(tasks: &TaskSet, engine: &Engine, host: &Arc<Host>, news: Arc<dyn TaskNews>) {
    let notes = Arc::new(HostNotes {
        host: Arc::clone(host),
    });
    let engine = engine.clone();
    tasks.spawn("news of tasks", async move {
        legation_servers::delegate::tell(engine, notes, news).await;
    });
}

/// A second socket whose clients see the server `delegate` and nothing else, where one is
/// wanted.
pub(super) fn serve_socket(
    tasks: &TaskSet,
    front: &Arc<Front>,
    external: &ExternalSettings,
    lock: &HomeLock,
) -> Result<(), CliError> {
    let path = external.socket_path.as_deref();
    let (Some(path), true) = (path, external.enabled) else {
        return Ok(());
    };
    let server = ServerName::parse("delegate").map_err(|error| CliError::failed(&error))?;
    let listener = legation_front::bind(path, lock)
        .map_err(|error| CliError::usage(&error).with_hint(error.hint()))?;
    let front = Arc::clone(front);
    tasks.spawn("socket of delegation", async move {
        front.serve_socket_of(listener, server).await;
    });
    Ok(())
}

// === impl HostNotes ===

impl Notes for HostNotes {
    fn note(&self, note: Note) {
        self.host.announce(HubEvent::Noted(Box::new(note)));
    }
}

// === impl DelegateWindow ===

impl DelegateView for DelegateWindow {
    fn engine(&self) -> Option<Engine> {
        self.windows.engine()
    }

    fn held(&self, caller: &Caller) -> Option<EntityLabels> {
        self.windows.gate()?.held(caller)
    }

    fn models(&self, context: &OpContext) -> BoxFuture<'static, Vec<Model>> {
        let found = likeliest(&self.windows, context);
        let (windows, context) = (self.windows.clone(), context.clone());
        Box::pin(async move {
            let likeliest = found.await;
            let all = match windows.models() {
                Some(models) => models.prospects(&context).await,
                None => Vec::new(),
            };
            let others = all.into_iter().filter(|other| {
                let first = likeliest.as_ref();
                first.is_none_or(|first| {
                    (&first.provider, &first.model) != (&other.provider, &other.model)
                })
            });
            let hints = windows
                .engine()
                .map(|engine| engine.settings().hints.clone());
            let hints = hints.unwrap_or_default();
            let model = |prospect: Prospect| {
                let name = prospect.model.unwrap_or_default();
                let strengths = hints.iter().filter(|(_, hint)| {
                    hint.model.as_ref() == Some(&name)
                        || hint.model.is_none()
                            && hint.provider.as_ref() == Some(&prospect.provider)
                });
                Model {
                    strengths: strengths.map(|(hint, _)| hint.clone()).collect(),
                    name,
                    provider: prospect.provider,
                    local: prospect.is_local,
                    context_length: prospect.context_tokens,
                }
            };
            likeliest
                .clone()
                .into_iter()
                .chain(others)
                .map(model)
                .collect()
        })
    }

    fn answers(&self, context: &OpContext) -> BoxFuture<'static, Option<bool>> {
        let found = likeliest(&self.windows, context);
        Box::pin(async move { found.await?.answers })
    }

    fn tools(&self, context: &OpContext) -> Vec<String> {
        let Some(gate) = self.windows.gate() else {
            return Vec::new();
        };
        let listing = gate.listing(context, &Endpoint::All, ListKind::Tools);
        let Ok(listing) = listing else {
            return Vec::new();
        };
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for entry in &listing.entries {
            match entry.server.as_str() {
                // A task hands in no tasks.
                "delegate" => {}
                "workspace" => own.push(entry.item.to_string()),
                server => others.push(format!("{server}/{}", entry.item)),
            }
        }
        own.extend(others);
        own.truncate(TOOLS_MAX);
        own
    }
}

/// Who would have a task that holds what the caller's conversation holds.
pub(super) fn likeliest(
    windows: &Windows,
    context: &OpContext,
) -> BoxFuture<'static, Option<Prospect>> {
    let (windows, context) = (windows.clone(), context.clone());
    Box::pin(async move {
        let labels = windows.gate()?.held(&context.caller)?;
        let settings = windows.engine()?.settings();
        let mut ask = ModelAsk::new(JOB, "", legation_models::ChatRequest::default());
        ask.labels = labels;
        ask.provider.clone_from(&settings.provider);
        ask.model.clone_from(&settings.model);
        windows.models()?.prospect(&context, &ask).await.ok()
    })
}
