//! What models cost, what they save, and how much of either there may be.
//!
//! Every answer leaves one plain row, whether it was finished or not; who keeps
//! the rows is the host's business ([`SpendBook`]). Limits are asked of the
//! rows before a request, so they hold across restarts; how often a provider is
//! asked is remembered here, because a minute is over soon.
//!
//! Days and months are those of UTC: bills of providers are.

mod day;

use std::collections::{HashMap, VecDeque};
use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use legation_core::observe::{self, ModelEnded, Span, SpanKind, Stopwatch};
use legation_core::{CancelReason, EntityLabels, SharedClock};
use legation_gate::model::{ModelOutcome, ModelRecord, Status};
use legation_policy::governance::{LlmProviders, Prices, Provider, ProviderKind};
use legation_policy::provider::Selected;

use crate::cost::cost_micro_usd;
use crate::delta::Usage;
use crate::error::ModelError;
use crate::router::Wanted;

pub use day::Day;

/// One answer, as the ledger of costs has it. It holds no word of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spend {
    /// The day on which it was over.
    pub day: Day,
    /// Who gave it.
    pub provider: String,
    /// With which model.
    pub model: String,
    /// Whose data was asked about; `None` where nobody knew.
    pub labels: Option<EntityLabels>,
    /// For which job.
    pub job: Option<String>,
    /// What the server counted.
    pub usage: Usage,
    /// What it cost, in millionths of a US dollar; `None` where there is no
    /// price, or nothing was counted.
    pub cost_micro_usd: Option<u64>,
    /// What the same tokens would have cost at `savings_against`, for answers of
    /// local models.
    pub saved_micro_usd: Option<u64>,
}

/// What rows add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Tokens read and written.
    pub tokens: u64,
    /// Millionths of a US dollar.
    pub cost_micro_usd: u64,
}

/// Who keeps the rows.
pub trait SpendBook: Send + Sync + fmt::Debug {
    /// Keeps a row.
    ///
    /// # Errors
    /// [`BookError`] when it is not kept.
    fn add(&self, row: Spend) -> Result<(), BookError>;

    /// What a provider's rows from a day on add up to. Asked before each request
    /// to a provider with a limit, so it must not wait for a disk or a network.
    ///
    /// # Errors
    /// [`BookError`] when that is not known.
    fn since(&self, provider: &str, from: Day) -> Result<Spent, BookError>;
}

/// Keeps no row, for commands that ask once and are over.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoBook;

/// Rows that cannot be kept or read.
#[derive(Debug, thiserror::Error)]
#[error("the book of what models cost cannot be used")]
pub struct BookError(#[source] pub Box<dyn Error + Send + Sync>);

/// A provider that has had enough.
#[derive(Debug, thiserror::Error)]
pub enum Limited {
    /// It was asked as often as it may be.
    #[error("it was asked {most} times within a minute; nothing was sent")]
    Rate {
        /// `requests_per_minute`.
        most: u32,
        /// When it may be asked again.
        again_in: Duration,
    },
    /// Its tokens are used up.
    #[error("its {most} tokens for this day are used up; nothing was sent")]
    Tokens {
        /// `tokens_per_day`.
        most: u64,
    },
    /// Its money is spent.
    #[error("its {most} US dollars for this month are spent; nothing was sent")]
    Money {
        /// `usd_per_month`.
        most: f64,
    },
    /// What it has had is not known.
    #[error("what it has had cannot be known; nothing was sent")]
    Book(#[source] BookError),
}

/// Keeps providers within their limits.
#[derive(Debug)]
pub struct Meter {
    book: Arc<dyn SpendBook>,
    clock: SharedClock,
    /// When each provider was asked; as many of each as it may be asked.
    asked: Mutex<HashMap<String, VecDeque<Instant>>>,
}

/// An answer that is being given: what it will be in the book and on record.
#[derive(Debug)]
pub(crate) struct Entry {
    row: Spend,
    status: Status,
    /// Somebody has begun to answer, so that it costs.
    has_begun: bool,
    record: Option<ModelRecord>,
    meter: Arc<Meter>,
    prices: Option<Prices>,
    against: Option<Prices>,
    watch: Option<Stopwatch>,
    span: Option<Span>,
}

const MINUTE: Duration = Duration::from_secs(60);

// === impl Limited ===

impl Limited {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Rate { .. } => "wait a moment, or raise `requests_per_minute`",
            Self::Tokens { .. } => "wait, or raise `tokens_per_day`",
            Self::Money { .. } => "wait, or raise `usd_per_month`",
            Self::Book(_) => "see the data directory: `legation doctor`",
        }
    }
}

// === impl NoBook ===

impl SpendBook for NoBook {
    fn add(&self, _row: Spend) -> Result<(), BookError> {
        Ok(())
    }

    fn since(&self, _provider: &str, _from: Day) -> Result<Spent, BookError> {
        Ok(Spent::default())
    }
}

// === impl Meter ===

impl Meter {
    /// A meter over the rows of `book`.
    #[must_use]
    pub fn new(book: Arc<dyn SpendBook>, clock: SharedClock) -> Self {
        Self {
            book,
            clock,
            asked: Mutex::default(),
        }
    }

    /// Counts a request, if there may be one. A request that has begun is not
    /// cut, so what runs at once can go over a budget by what it costs.
    ///
    /// # Errors
    /// See [`Limited`].
    pub fn admit(&self, name: &str, provider: &Provider) -> Result<(), Limited> {
        let Some(limits) = &provider.limits else {
            return Ok(());
        };
        let today = Day::of(self.clock.wall());
        let spent = |from: Day| self.book.since(name, from).map_err(Limited::Book);
        if let Some(most) = limits.tokens_per_day
            && spent(today)?.tokens >= most
        {
            return Err(Limited::Tokens { most });
        }
        if let Some(most) = limits.usd_per_month
            && micro(most) <= spent(today.month_start())?.cost_micro_usd
        {
            return Err(Limited::Money { most });
        }
        match limits.requests_per_minute {
            Some(most) => self.count(name, most),
            None => Ok(()),
        }
    }

    /// What a request to this provider will be in the book; `operation` is what it asks for, as
    /// OpenTelemetry names it (`gen_ai.operation.name`).
    pub(crate) fn entry(
        self: &Arc<Self>,
        providers: &LlmProviders,
        selected: &Selected,
        (operation, model): (&'static str, &str),
        wanted: &Wanted,
    ) -> Entry {
        let prices = |name: &str| providers.providers.get(name)?.prices;
        let is_local = selected.kind == ProviderKind::LocalModel;
        let against = providers.savings_against.as_deref().filter(|_| is_local);
        Entry {
            row: Spend {
                day: Day::of(self.clock.wall()),
                provider: selected.provider.clone(),
                model: model.to_owned(),
                labels: wanted.labels.clone(),
                job: wanted.job.clone(),
                usage: Usage::default(),
                cost_micro_usd: None,
                saved_micro_usd: None,
            },
            status: Status::Cancelled,
            has_begun: false,
            record: None,
            meter: Arc::clone(self),
            prices: prices(&selected.provider),
            against: against.and_then(prices),
            watch: Stopwatch::start(),
            span: span(selected, operation, model),
        }
    }

    fn count(&self, name: &str, most: u32) -> Result<(), Limited> {
        let now = self.clock.now();
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = asked.entry(name.to_owned()).or_default();
        while let Some(first) = asked.front()
            && now.saturating_duration_since(*first) >= MINUTE
        {
            asked.pop_front();
        }
        if asked.len() >= usize::try_from(most).unwrap_or(usize::MAX) {
            let first = asked.front().copied().unwrap_or(now);
            let again_in = MINUTE.saturating_sub(now.saturating_duration_since(first));
            return Err(Limited::Rate { most, again_in });
        }
        asked.push_back(now);
        Ok(())
    }
}

// === impl Entry ===

impl Entry {
    /// The record that is closed with it.
    pub(crate) fn record(&mut self, record: Option<ModelRecord>) {
        self.record = record;
    }

    pub(crate) fn begun(&mut self) {
        self.has_begun = true;
    }

    pub(crate) fn count(&mut self, usage: Usage) {
        self.row.usage.update(usage);
    }

    pub(crate) fn done(&mut self) {
        self.status = Status::Ok;
    }

    /// The answer is none.
    pub(crate) fn broken(&mut self) {
        self.status = Status::Error;
    }

    /// Its provider lost the right to it.
    pub(crate) fn stopped(&mut self) {
        self.status = Status::Refused;
    }

    /// Tells whoever counts what came of it.
    fn tell(&mut self, row: &Spend) {
        if let Some(span) = &mut self.span {
            let counts = [
                ("gen_ai.usage.input_tokens", row.usage.input),
                ("gen_ai.usage.output_tokens", row.usage.output),
            ];
            for (key, count) in counts {
                if let Some(count) = count {
                    span.set(key, count);
                }
            }
            if self.status != Status::Ok {
                span.fail(self.status.as_str());
            }
        }
        if let (Some(watch), Some(observer)) = (self.watch, observe::observer()) {
            observer.model_ended(&ModelEnded {
                provider: &row.provider,
                outcome: self.status.as_str(),
                input_tokens: row.usage.input,
                output_tokens: row.usage.output,
                cost_micro_usd: row.cost_micro_usd,
                saved_micro_usd: row.saved_micro_usd,
                elapsed: watch.elapsed(),
            });
        }
    }

    pub(crate) fn failed(&mut self, error: &ModelError) {
        self.status = match error {
            ModelError::Timeout { .. }
            | ModelError::Cancelled {
                reason: CancelReason::Deadline,
            } => Status::Timeout,
            ModelError::Cancelled { .. } => Status::Cancelled,
            _ => Status::Error,
        };
    }
}

/// What is told of a request to a model, by the conventions for such (OpenTelemetry, GenAI).
fn span(selected: &Selected, operation: &'static str, model: &str) -> Option<Span> {
    let mut span = Span::first(operation, SpanKind::Client, None)?;
    span.set("gen_ai.operation.name", operation);
    span.set("gen_ai.provider.name", selected.provider.clone());
    span.set("gen_ai.request.model", model.to_owned());
    span.name(format!("{operation} {model}"));
    Some(span)
}

/// Whatever ends an answer, it has cost what it has cost.
impl Drop for Entry {
    fn drop(&mut self) {
        let mut row = self.row.clone();
        row.day = Day::of(self.meter.clock.wall());
        let at = |prices: &_| cost_micro_usd(prices, &row.usage);
        let (cost, saved) = (
            self.prices.as_ref().and_then(at),
            self.against.as_ref().and_then(at),
        );
        row.cost_micro_usd = cost;
        row.saved_micro_usd = saved.map(|saved| saved.saturating_sub(cost.unwrap_or(0)));
        if let Some(record) = &mut self.record {
            record.note(ModelOutcome {
                status: self.status,
                input_tokens: row.usage.input,
                output_tokens: row.usage.output,
                cost_micro_usd: cost,
            });
        }
        if !self.has_begun {
            return;
        }
        self.tell(&row);
        let provider = row.provider.clone();
        if let Err(error) = self.meter.book.add(row) {
            let error = legation_core::error::chain(&error);
            tracing::error!(%provider, %error, "what an answer cost was not kept");
        }
    }
}

fn micro(usd: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a budget is not below zero, and what is too large becomes the largest"
    )]
    let micro = (usd * 1e6) as u64;
    micro
}

#[cfg(test)]
pub(crate) mod tests;
