//! What the server `desk` sees of the hub it lives in, and what it does beside being called.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use legation_cli::CliError;
use legation_config::Settings;
use legation_core::error::chain;
use legation_core::{Cancel, EntityId, OpContext, SharedClock, TaskSet};
use legation_entra::Accounts;
use legation_keystore::Keystore;
use legation_ledger::{Bounds, Ledger, LedgerError};
use legation_models::{AnswerSchema, ChatRequest, Delta, Message, ModelAsk};
use legation_policy::Policy;
use legation_servers::desk::{Asked, Desk, DeskView, Done, Keeping, NoModel};
use legation_store::Store;
use serde::{Deserialize, Serialize};

use super::hub::Inner;
use super::natives::Windows;

/// The longest answer of a model, in characters and tokens.
const ANSWER_MAX: usize = 64 * 1024;
const TOKENS_MAX: u32 = 4096;
/// How long one is waited for: somebody waits for a brief.
const LIMIT: Duration = Duration::from_secs(60);
/// How many records are looked at for what was done in a day, and how many calls of each entity
/// are told.
const SCAN_MAX: usize = 100_000;
const DONE_MAX: usize = 400;

/// What the server sees.
#[derive(Debug)]
struct DeskWindow {
    windows: Windows,
    ledger: Arc<Ledger>,
}

/// `desk.changed`: nothing of what changed.
#[derive(Debug, Serialize)]
struct Changed {}

/// The server.
pub(super) fn open(
    windows: &Windows,
    ledger: &Arc<Ledger>,
    accounts: &Arc<Accounts>,
    (store, keystore): (&Arc<Store>, &Arc<Keystore>),
    clock: &SharedClock,
) -> Desk {
    let view = DeskWindow {
        windows: windows.clone(),
        ledger: Arc::clone(ledger),
    };
    Desk::new(
        Arc::clone(accounts),
        (Arc::clone(store), Arc::clone(keystore)),
        Arc::clone(clock),
        Arc::new(view),
    )
}

/// Learns whose rows are, before anybody can call a tool.
pub(super) async fn learn(inner: &Inner) -> Result<(), CliError> {
    let learned = inner.desk.learn().await;
    learned.map_err(|error| CliError::failed(&error))
}

/// Reads calendars and mailboxes, and takes up what came in, for as long as the hub runs.
pub(super) fn run(tasks: &TaskSet, inner: &Arc<Inner>, settings: &Settings) {
    let read: Vec<Box<str>> = settings
        .accounts
        .values()
        .filter(|account| account.is_on_desk)
        .map(|account| account.name.clone())
        .collect();
    if !read.is_empty() {
        let (desk, reports) = (inner.desk.clone(), Arc::clone(&inner.reports));
        tasks.spawn("calendars and mailboxes of the desk", async move {
            desk.sync(&read, &reports, &Cancel::new()).await;
        });
    }
    let (desk, inbox) = (inner.desk.clone(), Arc::clone(&inner.inbox));
    let days = |days: u32| Duration::from_secs(u64::from(days) * 24 * 3600);
    let keeping = Keeping {
        done: settings.desk.keep_days.map(days),
        open: settings.desk.keep_open_days.map(days),
    };
    tasks.spawn("triage", async move {
        desk.attend(Some(&inbox), keeping, &Cancel::new()).await;
    });
}

impl DeskView for DeskWindow {
    fn rules(&self) -> Option<Arc<Policy>> {
        Some(self.windows.gate()?.rules())
    }

    fn model(
        &self,
        context: &OpContext,
        asked: Asked,
    ) -> BoxFuture<'static, Result<String, NoModel>> {
        let (models, context) = (self.windows.models(), context.clone());
        Box::pin(async move {
            let Some(models) = models else {
                return Err(no_model("the hub is starting or stopping"));
            };
            let (name, schema) = asked.answer;
            let conversation = format!("{}/{}", asked.job, context.caller.seat);
            let ask = ModelAsk {
                labels: asked.labels,
                request: ChatRequest {
                    messages: vec![Message::System(asked.system), Message::User(asked.data)],
                    answer: Some(AnswerSchema {
                        name: name.to_owned(),
                        schema,
                    }),
                    tokens_max: Some(TOKENS_MAX),
                    temperature: Some(0.0),
                    ..ChatRequest::default()
                },
                ..ModelAsk::new(asked.job, conversation, ChatRequest::default())
            };
            let answered = async {
                let stream = models.ask(&context, ask).await;
                let mut stream = stream.map_err(|error| NoModel {
                    hint: error.hint(),
                    why: chain(&error).to_string(),
                })?;
                let mut text = String::new();
                while let Some(delta) = stream.next().await {
                    match delta {
                        Ok(Delta::Text(more)) if text.len() < ANSWER_MAX => text.push_str(&more),
                        Ok(Delta::Done(_)) => break,
                        Ok(_) => {}
                        Err(error) => return Err(no_model(&chain(&error))),
                    }
                }
                Ok(text)
            };
            let answered = tokio::time::timeout(LIMIT, answered).await;
            answered.unwrap_or_else(|_| Err(no_model("the model took too long")))
        })
    }

    fn changed(&self) {
        if let Some(happened) = self.windows.happened() {
            happened.note("desk.changed", &Changed {});
        }
    }

    fn done(
        &self,
        entities: &[EntityId],
        from_ms: i64,
        to_ms: i64,
    ) -> BoxFuture<'static, Result<Vec<Vec<Done>>, String>> {
        let (ledger, entities) = (Arc::clone(&self.ledger), entities.to_vec());
        Box::pin(async move {
            let bounds = Bounds {
                limit: DONE_MAX * 2,
                scan: SCAN_MAX,
            };
            let read = tokio::task::spawn_blocking(move || {
                let latest = ledger.latest(&entities, &(from_ms..to_ms), bounds)?;
                let told = latest.chains.iter().map(|chain| {
                    let oldest_first = chain.iter().rev();
                    told(oldest_first.map(|entry| (entry.at_ms, entry.text.as_str())))
                });
                Ok(told.collect())
            });
            let read: Result<_, LedgerError> =
                read.await.map_err(|_| "the hub is stopping".to_owned())?;
            read.map_err(|error| chain(&error).to_string())
        })
    }
}

/// What is read of a record: most of its bytes are of no concern here, and there may be thousands.
#[derive(Deserialize)]
struct Read<'r> {
    #[serde(borrow)]
    kind: Cow<'r, str>,
    #[serde(borrow)]
    call: Option<Cow<'r, str>>,
    #[serde(borrow)]
    client: Option<Cow<'r, str>>,
    #[serde(borrow)]
    server: Option<Cow<'r, str>>,
    #[serde(borrow)]
    item: Option<Cow<'r, str>>,
    #[serde(borrow)]
    status: Option<Cow<'r, str>>,
}

/// Calls with how they ended, oldest first.
fn told<'r>(records: impl Iterator<Item = (i64, &'r str)>) -> Vec<Done> {
    let mut calls: Vec<Done> = Vec::new();
    let mut at: HashMap<Cow<'r, str>, usize> = HashMap::new();
    for (at_ms, text) in records {
        let Ok(record) = serde_json::from_str::<Read<'_>>(text) else {
            continue;
        };
        let Some(call) = record.call else {
            continue;
        };
        match &*record.kind {
            kind @ ("intent" | "refused") => {
                let status = if kind == "refused" { kind } else { "running" };
                calls.push(Done {
                    id: call.clone().into_owned(),
                    at_ms,
                    client: record.client.unwrap_or_default().into_owned(),
                    server: record.server.map(Cow::into_owned),
                    item: record.item.unwrap_or_default().into_owned(),
                    status: status.to_owned(),
                });
                at.insert(call, calls.len() - 1);
            }
            "outcome" => {
                if let (Some(index), Some(status)) = (at.get(&call), record.status) {
                    calls[*index].status = status.into_owned();
                }
            }
            _ => {}
        }
    }
    calls
}

fn no_model(why: &str) -> NoModel {
    NoModel {
        why: why.to_owned(),
        hint: "try again, or see `legation models`".to_owned(),
    }
}
