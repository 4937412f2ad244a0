//! The webhook of GitHub Copilot's agents: what it sees of the hub.

mod call;
mod guess;

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use legation_cli::CliError;
use legation_config::{Settings, WebhookSettings};
use legation_copilot::{
    Asker, Business, Called, Confirmation, CopilotSettings, Guess, Guessing, Hub, Listener,
    ListenerParts, NotRecorded, Requested, ToolCall, Work,
};
use legation_core::error::chain;
use legation_core::{
    ApprovalId, Caller, EntityId, OpContext, Principal, SeatId, SharedClock, TaskSet, Via,
};
use legation_gate::approval::{Answer, Channel, State};
use legation_gate::journal::ALLOWED;
use legation_gate::policy::registry::EventName;
use legation_gate::stage::authenticate;
use legation_ledger::{ChatUse, Detail, Note};
use legation_policy::Policy;
use legation_store::{KeptRow, Store};

use super::hub::Inner;

/// The kind of what is kept of signatures, and for how long: longer than tokens live.
const SIGNATURE: &str = "copilot.signature";
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// The kind of the desk's rows that are deals, and how many of them words are compared with.
const DEAL: &str = "deal";
const DEALS_MAX: usize = 2_000;

/// The hub behind the webhook.
#[derive(Debug)]
struct Window {
    /// Weak, because the hub's tasks hold the listener.
    hub: Weak<Inner>,
    store: Arc<Store>,
    clock: SharedClock,
}

/// Listens, where the owner wants it. A hub that nobody looks at does without what cannot be had.
pub(super) async fn open(
    (tasks, store): (&TaskSet, &Arc<Store>),
    inner: &Arc<Inner>,
    settings: &Settings,
    is_detached: bool,
) -> Result<(), CliError> {
    let Some(webhook) = &settings.copilot else {
        return Ok(());
    };
    let window = Window {
        hub: Arc::downgrade(inner),
        store: Arc::clone(store),
        clock: inner.clock.clone(),
    };
    match listen(webhook, window, tasks).await {
        Err(error) if is_detached => {
            tracing::error!(error = error.message, "the Copilot webhook does not listen");
            Ok(())
        }
        opened => opened,
    }
}

async fn listen(
    webhook: &WebhookSettings,
    window: Window,
    tasks: &TaskSet,
) -> Result<(), CliError> {
    let missing = |key: &str| {
        let message = format!("the Copilot webhook needs {key}; the hub did not start");
        CliError::new(legation_cli::Exit::Usage, message)
            .with_hint("set it in [copilot] of legation.toml, or empty copilot.listen")
    };
    let certificate = webhook.certificate_file.clone();
    let certificate = certificate.ok_or_else(|| missing("copilot.certificate_file"))?;
    let key = webhook.key_file.clone();
    let key = key.ok_or_else(|| missing("copilot.key_file"))?;
    let mut settings = CopilotSettings::new(webhook.listen, certificate, key);
    settings.github = webhook.github.to_string();
    if let Some(path) = &webhook.github_ca_file {
        settings.github_ca = Some(std::fs::read(path).map_err(|error| CliError::failed(&error))?);
    }
    let clock = window.clock.clone();
    let parts = ListenerParts {
        settings,
        hub: Arc::new(window),
        clock,
        tasks: tasks.clone(),
    };
    let listener = Listener::open(parts)
        .await
        .map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
    let address = listener.address().ok();
    tracing::info!(?address, "the Copilot webhook listens");
    tasks.spawn("copilot webhook", listener.run());
    Ok(())
}

/// The logins that may write to it, under these rules.
pub(super) fn logins(rules: &Policy) -> Vec<String> {
    let profile = rules.governance().profile.good();
    let logins = profile
        .into_iter()
        .flat_map(|profile| profile.github_logins.keys());
    logins.cloned().collect()
}

/// As whom a person is known to the gate.
fn context(asker: &Asker) -> OpContext {
    let client = authenticate::copilot(&asker.login);
    let thread = asker.thread.as_deref().unwrap_or("none");
    let caller = Caller {
        // A thread is a conversation: what one brought is nothing of another's.
        seat: SeatId::new(format!("{client}:{thread}")),
        principal: Principal {
            client,
            via: Via::Copilot,
        },
        workspace: None,
    };
    OpContext::new(caller, asker.cancel.clone())
}

// === impl Window ===

impl Window {
    async fn keep(store: Arc<Store>, row: KeptRow) -> Result<bool, NotRecorded> {
        let now = row.changed_ms;
        let kept = tokio::task::spawn_blocking(move || {
            let before = store.kept_add(&row)?;
            // One that is old enough to go is none any more, but nobody's second use either.
            store.kept_expire(now)?;
            Ok::<_, legation_store::StoreError>(before.is_none())
        });
        match kept.await {
            Ok(Ok(is_first)) => Ok(is_first),
            Ok(Err(error)) => {
                tracing::error!(error = %chain(&error), "a signature could not be kept");
                Err(NotRecorded)
            }
            Err(_) => Err(NotRecorded),
        }
    }
}

impl Hub for Window {
    fn businesses(&self, login: &str) -> BoxFuture<'static, Option<Vec<Business>>> {
        let hub = self.hub.upgrade();
        let (login, store) = (login.to_owned(), Arc::clone(&self.store));
        Box::pin(async move {
            let mut businesses = businesses(&*hub?, &login)?;
            for (id, entity) in deals(store).await {
                let whose = businesses.iter_mut().find(|one| one.id == entity);
                if let Some(business) = whose {
                    business.deals.push((id.clone(), id));
                }
            }
            Some(businesses)
        })
    }

    fn first_time(&self, mark: [u8; 32]) -> BoxFuture<'static, Result<bool, NotRecorded>> {
        let now = self.clock.wall().0;
        let kept_ms = i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX);
        let row = KeptRow {
            kind: SIGNATURE.to_owned(),
            name: legation_core::id::hex(&mark),
            value: String::new(),
            changed_ms: now,
            expires_ms: now.saturating_add(kept_ms),
        };
        Box::pin(Self::keep(Arc::clone(&self.store), row))
    }

    fn guess(&self, asker: &Asker, guessing: Guessing) -> BoxFuture<'static, Option<Guess>> {
        let hub = self.hub.upgrade();
        let (context, token) = (context(asker), asker.token.clone());
        Box::pin(async move { guess::guess(&*hub?, &context, token, guessing).await })
    }

    fn call(&self, asker: &Asker, call: ToolCall) -> BoxFuture<'static, Called> {
        let hub = self.hub.upgrade();
        let context = context(asker);
        Box::pin(async move {
            match hub {
                Some(hub) => call::call(&hub, &context, call).await,
                None => Called::Failed {
                    message: "the hub is stopping; nothing was called".to_owned(),
                },
            }
        })
    }

    fn confirm(
        &self,
        asker: &Asker,
        approval: &str,
        is_yes: bool,
    ) -> BoxFuture<'static, Confirmation> {
        let hub = self.hub.upgrade();
        let client = authenticate::copilot(&asker.login);
        let id = ApprovalId::new(legation_gate::code::normalised(approval));
        let confirmed = move || {
            let hub = hub?;
            let approvals = &hub.gate.asking().approvals;
            let open = approvals.get(&id)?;
            // Whose question it was may answer it, and nobody else who may write here.
            if open.bound.client != client || open.state != State::Pending {
                return None;
            }
            let answer = if is_yes { Answer::Once } else { Answer::Deny };
            approvals.answer(&id, answer, Channel::Copilot).ok()
        };
        Box::pin(async move {
            // The answer is on disk before it counts.
            match tokio::task::spawn_blocking(confirmed).await {
                Ok(Some(_)) => Confirmation::Taken,
                Ok(None) | Err(_) => Confirmation::Gone,
            }
        })
    }

    fn record(&self, requested: Requested) -> BoxFuture<'static, Result<(), NotRecorded>> {
        let hub = self.hub.upgrade();
        Box::pin(async move {
            let hub = hub.ok_or(NotRecorded)?;
            record(&hub, &requested).await.map_err(|error| {
                tracing::error!(error = %chain(&error), "a request to the webhook could not be recorded");
                NotRecorded
            })
        })
    }
}

/// What words lead to, and what of it this login may ask about.
fn businesses(hub: &Inner, login: &str) -> Option<Vec<Business>> {
    let rules = hub.gate.rules();
    let governance = rules.governance();
    let profile = governance.profile.good()?;
    let allowed = profile.github_login(login)?;
    let needs_clearance = |id: &EntityId| {
        let providers = governance.providers.good();
        let found = providers.and_then(|providers| providers.entity_overrides.get(id));
        found.is_some_and(|found| found.required_hipaa_cleared)
    };
    let businesses = profile.entities.iter().map(|(id, entity)| {
        let own = hub.accounts.settings().iter();
        let mut accounts: Vec<String> = own
            .filter(|account| account.entity == *id)
            .map(|account| account.name.to_string())
            .collect();
        if accounts.is_empty() {
            accounts.clone_from(&entity.profile_ids);
        }
        Business {
            id: id.clone(),
            name: entity.name.clone(),
            words: entity.keywords.clone(),
            accounts,
            deals: Vec::new(),
            is_hipaa: entity.phi_auto_redact || needs_clearance(id),
            is_allowed: allowed.contains(id),
        }
    });
    Some(businesses.collect())
}

/// The ids of deals, and whose each is. Their names are sealed and not read for this.
async fn deals(store: Arc<Store>) -> Vec<(String, EntityId)> {
    let rows = tokio::task::spawn_blocking(move || store.desk_owners(DEAL, 0)).await;
    let rows = match rows {
        Ok(Ok(rows)) => rows,
        Ok(Err(error)) => {
            tracing::warn!(error = %chain(&error), "the webhook knows no deals for now");
            Vec::new()
        }
        Err(_) => Vec::new(),
    };
    let rows = rows.into_iter().take(DEALS_MAX);
    rows.map(|(id, entity, _)| (id, entity)).collect()
}

async fn record(hub: &Inner, requested: &Requested) -> Result<(), legation_ledger::LedgerError> {
    let entity = requested.entity.clone();
    let chain = entity.unwrap_or_else(EntityId::personal);
    let client = authenticate::copilot(&requested.login);
    let event = EventName::CopilotWebhookRequest.as_str();
    let text = match requested.work {
        Work::NotLetIn => "it was not let in",
        Work::AskedBack => "the person was asked back",
        Work::Called => "a tool was called, or its call refused",
        Work::Confirmed => "a person answered an approval",
    };
    let note = Note {
        client: Some(&client),
        detail: Detail {
            event: Some(event),
            labels: requested.entity.as_slice(),
            provider: Some(requested.provider.as_deref().unwrap_or("none")),
            reason_code: requested.refused.as_deref(),
            governance_result: Some(requested.refused.as_deref().unwrap_or(ALLOWED)),
            chat: Some(ChatUse {
                intent: requested.intent,
                login: &requested.login,
                thread: requested.thread.as_deref(),
            }),
            ..Detail::default()
        },
        ..Note::new(&chain, event, text)
    };
    hub.ledger.note(&note).await
}
