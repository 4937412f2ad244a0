//! An answer on its way back through the gate.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use legation_gate::Gate;
use legation_gate::model::{Pieces, Restoring};
use legation_policy::governance::ProviderKind;

use super::AskError;
use crate::delta::Delta;
use crate::resume::Resumption;
use crate::router::RoutedStream;

/// An answer while it comes, with values in the place of the tokens that its
/// request had. Dropping it closes its socket and closes its record.
pub struct GatedStream {
    gate: Arc<Gate>,
    routed: RoutedStream,
    restoring: Restoring,
    text: Pieces,
    reasoning: Pieces,
    /// Arguments are JSON, and a value in it can be put back only when all of it
    /// is there. As large as an answer may be.
    arguments: BTreeMap<usize, String>,
    /// What is restored and not taken; what one delta leads to.
    ready: VecDeque<Delta>,
    failed: Option<AskError>,
    is_over: bool,
}

// === impl GatedStream ===

impl GatedStream {
    pub(super) fn new(gate: Arc<Gate>, routed: RoutedStream, restoring: Restoring) -> Self {
        Self {
            gate,
            routed,
            text: restoring.pieces(),
            reasoning: restoring.pieces(),
            restoring,
            arguments: BTreeMap::new(),
            ready: VecDeque::new(),
            failed: None,
            is_over: false,
        }
    }

    /// The next step; `None` when the answer is over. The last step is either
    /// [`Delta::Done`] or an error, never both. May be dropped and called again.
    pub async fn next(&mut self) -> Option<Result<Delta, AskError>> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                return Some(Ok(delta));
            }
            if let Some(error) = self.failed.take() {
                return Some(Err(error));
            }
            if self.is_over {
                return None;
            }
            let rules = self.gate.rules();
            match self.routed.next(&rules).await {
                Ok(Some(delta)) if self.restoring.is_idle() => return Some(Ok(delta)),
                Ok(Some(delta)) => self.take(delta),
                Ok(None) => self.end(),
                Err(error) => {
                    self.end();
                    self.failed = Some(error.into());
                }
            }
        }
    }

    /// Who answers.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.routed.selected.provider
    }

    /// With which model.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.routed.model
    }

    /// Whether another provider was asked first and did not answer.
    #[must_use]
    pub fn has_fallen_back(&self) -> bool {
        !self.routed.tried.is_empty()
    }

    /// Whether the model is on the owner's machine.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.routed.selected.kind == ProviderKind::LocalModel
    }

    /// What it is worth to go on with this answer when it is broken off. What
    /// was redacted goes there as other text than it came, so nothing is exact.
    #[must_use]
    pub fn resumption(&self) -> Resumption {
        match &self.routed.known {
            None => Resumption::Restart,
            Some(known) if known.resumption == Resumption::Exact && !self.restoring.is_idle() => {
                Resumption::Prefill
            }
            Some(known) => known.resumption,
        }
    }

    /// How many tokens a conversation with this model may have, where that is
    /// known.
    #[must_use]
    pub fn context_tokens(&self) -> Option<u64> {
        self.routed.known.as_ref()?.model.context
    }

    fn take(&mut self, delta: Delta) {
        match delta {
            Delta::Text(text) => {
                self.flush_reasoning();
                let text = self.text.push(text);
                self.say(Delta::Text(text));
            }
            Delta::Reasoning(text) => {
                self.flush_text();
                let text = self.reasoning.push(text);
                self.say(Delta::Reasoning(text));
            }
            Delta::Arguments { index, text } => {
                self.arguments.entry(index).or_default().push_str(&text);
            }
            Delta::Usage(_) => self.ready.push_back(delta),
            Delta::ReasoningSeal(_) | Delta::Call { .. } => {
                self.flush_words();
                self.ready.push_back(delta);
            }
            Delta::Done(_) => {
                self.flush();
                self.ready.push_back(delta);
            }
        }
    }

    fn end(&mut self) {
        self.flush();
        self.is_over = true;
    }

    fn flush(&mut self) {
        self.flush_words();
        for (index, text) in std::mem::take(&mut self.arguments) {
            let text = self.restoring.document(text);
            self.say(Delta::Arguments { index, text });
        }
    }

    fn flush_words(&mut self) {
        self.flush_reasoning();
        self.flush_text();
    }

    fn flush_text(&mut self) {
        let text = self.text.finish();
        self.say(Delta::Text(text));
    }

    fn flush_reasoning(&mut self) {
        let text = self.reasoning.finish();
        self.say(Delta::Reasoning(text));
    }

    /// What is empty was held back, and says nothing.
    fn say(&mut self, delta: Delta) {
        let is_empty = match &delta {
            Delta::Text(text) | Delta::Reasoning(text) | Delta::Arguments { text, .. } => {
                text.is_empty()
            }
            _ => false,
        };
        if !is_empty {
            self.ready.push_back(delta);
        }
    }
}

impl fmt::Debug for GatedStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatedStream")
            .field("provider", &self.provider())
            .field("model", &self.model())
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}
