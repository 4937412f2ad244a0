//! Requests of the hub to models: what of the gate's work they need.
//!
//! A request to a model is no call of a server, so it has no target and no
//! permission rule; who may have it is decided by [`legation_policy::provider`].
//! What it shares with calls is here because the vaults and the ledger are:
//! nothing leaves unredacted that must be redacted, and nothing leaves that is
//! not on record. The alternative, a server that stands for all models, was
//! rejected: an answer comes in pieces, and its rules are about providers.

use std::fmt;
use std::sync::Arc;

use legation_core::EntityLabels;
use legation_ledger::{Detail, Ledger, ModelUse, OutcomeRecord, Ticket};
use legation_policy::registry::{EventName, ReasonCode};
use legation_redact::Restorer;

use crate::redaction::Held;

/// The words in which whoever asks a model is told of its record.
pub use legation_ledger::{LedgerError, Status};

/// A request that is about to be sent.
#[derive(Clone, Copy)]
pub struct ModelRequest<'a> {
    /// To which provider.
    pub provider: &'a str,
    /// To which model of it.
    pub model: &'a str,
    /// For which job.
    pub job: &'a str,
    /// Whose preference chose the provider, as a word.
    pub source: &'static str,
    /// Of which conversation.
    pub conversation: &'a str,
    /// Whose data it holds.
    pub labels: &'a EntityLabels,
    /// The version of the rules that chose.
    pub policy: u64,
    /// What is sent; only a commitment is kept.
    pub body: &'a [u8],
    /// Whether it stays on the owner's machine: then the record need not be on
    /// disk before it is sent.
    pub stays: bool,
}

/// A request that nobody gets, or nobody answered.
#[derive(Clone, Copy, Debug)]
pub struct ModelRefused<'a> {
    /// Which event it is.
    pub event: EventName,
    /// Why, as a code.
    pub code: ReasonCode,
    /// Why, in words that name nobody's data.
    pub reason: &'a str,
    /// The provider that was chosen, if one was.
    pub provider: Option<&'a str>,
    /// For which job.
    pub job: &'a str,
    /// Of which conversation.
    pub conversation: &'a str,
    /// Whose data it holds.
    pub labels: &'a EntityLabels,
    /// The version of the rules that decided.
    pub policy: u64,
}

/// A request on record. Dropped without a word it was called off, which is what
/// whoever drops an answer does.
pub struct ModelRecord {
    ledger: Arc<Ledger>,
    ticket: Option<Ticket>,
    provider: String,
    outcome: ModelOutcome,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelOutcome {
    /// How it ended.
    pub status: Status,
    /// Tokens read, as the provider counted them.
    pub input_tokens: Option<u64>,
    /// Tokens written.
    pub output_tokens: Option<u64>,
    /// What it cost, in millionths of a US dollar.
    pub cost_micro_usd: Option<u64>,
}

/// The way back from tokens to values, for the answers of one conversation.
#[derive(Clone, Debug, Default)]
pub struct Restoring {
    vaults: Vec<Arc<Held>>,
}

/// Restores a text that comes in pieces.
#[derive(Debug)]
pub struct Pieces {
    /// One for each vault, in their order.
    restorers: Vec<Restorer>,
    restoring: Restoring,
}

// === impl ModelRecord ===

impl ModelRecord {
    pub(crate) fn new(ledger: &Arc<Ledger>, ticket: Ticket, provider: &str) -> Self {
        Self {
            ledger: Arc::clone(ledger),
            ticket: Some(ticket),
            provider: provider.to_owned(),
            outcome: ModelOutcome::bare(Status::Cancelled),
        }
    }

    /// Says what is known by now. The last word counts, also when the record is
    /// dropped.
    pub fn note(&mut self, outcome: ModelOutcome) {
        self.outcome = outcome;
    }
}

impl Drop for ModelRecord {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket.take() else {
            return;
        };
        let outcome = &self.outcome;
        let record = OutcomeRecord {
            detail: Detail {
                provider: Some(&self.provider),
                model: Some(ModelUse {
                    input_tokens: outcome.input_tokens,
                    output_tokens: outcome.output_tokens,
                    cost_micro_usd: outcome.cost_micro_usd,
                    ..ModelUse::default()
                }),
                ..Detail::default()
            },
            ..OutcomeRecord::bare(outcome.status)
        };
        self.ledger.outcome(ticket, &record);
    }
}

impl fmt::Debug for ModelRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelRecord")
            .field("provider", &self.provider)
            .field("outcome", &self.outcome)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ModelRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelRequest")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("job", &self.job)
            .finish_non_exhaustive()
    }
}

// === impl ModelOutcome ===

impl ModelOutcome {
    /// An outcome of which nothing but its status is known.
    #[must_use]
    pub fn bare(status: Status) -> Self {
        Self {
            status,
            input_tokens: None,
            output_tokens: None,
            cost_micro_usd: None,
        }
    }
}

// === impl Restoring ===

impl Restoring {
    pub(crate) fn new(vaults: Vec<Arc<Held>>) -> Self {
        Self { vaults }
    }

    /// Whether there is nothing to restore.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.vaults.is_empty()
    }

    /// A whole JSON document with values in the place of tokens; a text that is
    /// none is restored as it is.
    #[must_use]
    pub fn document(&self, document: String) -> String {
        let restore = |text: String, held: &Arc<Held>| held.restore(&text);
        self.vaults.iter().fold(document, restore)
    }

    /// For a text that comes in pieces.
    #[must_use]
    pub fn pieces(&self) -> Pieces {
        Pieces {
            restorers: self.vaults.iter().map(|_| Restorer::new()).collect(),
            restoring: self.clone(),
        }
    }
}

// === impl Pieces ===

impl Pieces {
    /// Takes the next piece; the restored text as far as it is certain.
    #[must_use]
    pub fn push(&mut self, piece: String) -> String {
        let vaults = self.restoring.vaults.iter();
        let mut text = piece;
        for (restorer, held) in self.restorers.iter_mut().zip(vaults) {
            text = held.restore_piece(restorer, &text);
        }
        text
    }

    /// The end of the text; what follows is another.
    #[must_use]
    pub fn finish(&mut self) -> String {
        let vaults = self.restoring.vaults.iter();
        let mut text = String::new();
        for (restorer, held) in self.restorers.iter_mut().zip(vaults) {
            text = held.restore_piece(restorer, &text);
            text.push_str(&restorer.finish());
        }
        text
    }
}
