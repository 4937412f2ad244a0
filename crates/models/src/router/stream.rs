//! An answer of a provider that was chosen.

use std::collections::VecDeque;
use std::sync::Arc;

use legation_policy::Policy;
use legation_policy::provider::{Selected, may_still};

use super::{RouteError, Tried, Wanted};
use crate::client::ModelStream;
use crate::delta::Delta;
use crate::error::ModelError;
use crate::local::Known;
use crate::spend::Entry;

/// An answer of a provider that was chosen. Dropping it closes its socket.
#[derive(Debug)]
pub struct RoutedStream {
    /// Whose answer it is.
    pub selected: Selected,
    /// The model that gives it.
    pub model: String,
    /// Who was asked before and did not answer.
    pub tried: Vec<Tried>,
    /// What is known of the server, where it is local.
    pub known: Option<Known>,
    begun: VecDeque<Delta>,
    stream: Option<ModelStream>,
    /// The rules it was begun under, or that allowed it last.
    policy: Arc<Policy>,
    wanted: Wanted,
    entry: Entry,
}

/// An answer of which nothing has been shown.
#[derive(Debug)]
pub(super) struct Begun {
    stream: ModelStream,
    model: String,
    known: Option<Known>,
    entry: Entry,
    /// What came up to the first word; a handful.
    begun: VecDeque<Delta>,
}

// === impl Begun ===

impl Begun {
    pub(super) fn new(
        stream: ModelStream,
        model: String,
        known: Option<Known>,
        entry: Entry,
    ) -> Self {
        Self {
            stream,
            model,
            known,
            entry,
            begun: VecDeque::new(),
        }
    }

    /// Waits for the first word.
    pub(super) async fn first(&mut self) -> Result<(), ModelError> {
        while let Some(delta) = self.stream.next().await {
            let delta = delta.inspect_err(|error| self.entry.failed(error))?;
            if let Delta::Usage(usage) = delta {
                self.entry.count(usage);
            }
            let is_enough = delta.is_content() || matches!(delta, Delta::Done(_));
            // A later count replaces an earlier one.
            self.begun.retain(|one| !matches!(one, Delta::Usage(_)));
            self.begun.push_back(delta);
            if is_enough {
                return Ok(());
            }
        }
        let cut_off = ModelError::CutOff;
        self.entry.failed(&cut_off);
        Err(cut_off)
    }

    pub(super) fn routed(
        self,
        selected: Selected,
        tried: Vec<Tried>,
        policy: Arc<Policy>,
        wanted: Wanted,
    ) -> RoutedStream {
        RoutedStream {
            selected,
            model: self.model,
            tried,
            known: self.known,
            begun: self.begun,
            stream: Some(self.stream),
            policy,
            wanted,
            entry: self.entry,
        }
    }
}

// === impl RoutedStream ===

impl RoutedStream {
    /// The next step; `None` when the answer is over. `policy` is what governs
    /// now: an answer whose provider may no longer have the request is stopped.
    /// May be dropped and called again.
    ///
    /// # Errors
    /// [`RouteError::BrokeOff`] and [`RouteError::Stopped`]; nothing follows.
    pub async fn next(&mut self, policy: &Arc<Policy>) -> Result<Option<Delta>, RouteError> {
        let provider = || self.selected.provider.clone();
        let Some(stream) = &mut self.stream else {
            return Ok(None);
        };
        if !Arc::ptr_eq(&self.policy, policy) {
            let inquiry = self.wanted.inquiry(stream.wall().0);
            let still = may_still(policy.governance(), &self.selected.provider, &inquiry);
            if let Err(source) = still {
                let provider = provider();
                self.stream = None;
                self.entry.stopped();
                return Err(RouteError::Stopped { provider, source });
            }
            self.policy = Arc::clone(policy);
        }
        if let Some(delta) = self.begun.pop_front() {
            if matches!(delta, Delta::Done(_)) {
                self.entry.done();
            }
            return Ok(Some(delta));
        }
        match stream.next().await {
            Some(Ok(delta)) => {
                match &delta {
                    Delta::Usage(usage) => self.entry.count(*usage),
                    Delta::Done(_) => self.entry.done(),
                    _ => {}
                }
                Ok(Some(delta))
            }
            Some(Err(source)) => {
                let provider = provider();
                self.stream = None;
                self.entry.failed(&source);
                Err(RouteError::BrokeOff { provider, source })
            }
            None => {
                self.stream = None;
                Ok(None)
            }
        }
    }
}
