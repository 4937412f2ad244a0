//! What is counted. A label is a word of a closed list, or the name of a server or provider as the
//! owner's files have it; of names that are too many the rest is `other`, so that no page grows
//! without bound whatever is called.
//!
//! Each thread counts in a part of its own, because a number that two processors write costs each of them more than the counting;
//! the parts are added up when the page is written.

mod counted;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use legation_core::Parts;
use legation_core::observe::{CallEnded, ModelEnded};

use crate::page::{Kind, Page};
use counted::{Counted, Sum};

/// Most servers, and most providers, that are told apart.
const NAMES_MAX: usize = 200;
/// The name of all the others.
const OTHER: &str = "other";
/// The name of what led to no server.
const NONE: &str = "none";

/// Every number that calls and models make.
#[derive(Debug, Default)]
pub struct Metrics {
    parts: Parts<Mutex<Counted>>,
    servers: Names,
    providers: Names,
    pub(crate) spans_sent: AtomicU64,
    pub(crate) spans_lost: AtomicU64,
}

/// The names that are told apart, of all parts.
#[derive(Debug, Default)]
struct Names(Mutex<BTreeSet<Box<str>>>);

fn lock(part: &Mutex<Counted>) -> MutexGuard<'_, Counted> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl Metrics ===

impl Metrics {
    pub(crate) fn count_call(&self, call: &CallEnded<'_>) {
        let mut counted = lock(self.parts.mine());
        let rung = call.rung.unwrap_or(NONE);
        let name = call.server.unwrap_or(NONE);
        counted.servers.count(name, &self.servers, |server| {
            server.calls.count((call.method, rung, call.outcome));
            server.whole.count(call.elapsed);
            if let Some(elapsed) = call.at_server {
                server.at_server.count(elapsed);
            }
        });
        if let Some(reason) = call.reason {
            counted.refusals.count(reason);
        }
    }

    pub(crate) fn count_model(&self, model: &ModelEnded<'_>) {
        let mut counted = lock(self.parts.mine());
        let name = model.provider;
        counted.providers.count(name, &self.providers, |provider| {
            provider.answers.count(model.outcome);
            provider.elapsed.count(model.elapsed);
            let add = |counter: &mut u64, more: Option<u64>| {
                *counter = counter.wrapping_add(more.unwrap_or(0));
            };
            add(&mut provider.input, model.input_tokens);
            add(&mut provider.output, model.output_tokens);
            add(&mut provider.cost_micro_usd, model.cost_micro_usd);
            add(&mut provider.saved_micro_usd, model.saved_micro_usd);
        });
    }

    /// What all parts have counted by now.
    fn counted(&self) -> Counted {
        let mut sum = Counted::default();
        for part in self.parts.iter() {
            sum.add(&lock(part));
        }
        sum
    }

    /// Writes all of them.
    pub fn write(&self, page: &mut Page) {
        let counted = self.counted();
        counted.write_calls(page);
        counted.write_models(page);
        page.single(
            "legation_spans_sent_total",
            Kind::Counter,
            "Spans that a collector took.",
            self.spans_sent.load(Ordering::Relaxed),
        );
        page.single(
            "legation_spans_lost_total",
            Kind::Counter,
            "Spans that were thrown away because the collector is slow or away.",
            self.spans_lost.load(Ordering::Relaxed),
        );
    }
}

// === impl Names ===

impl Names {
    /// The name itself as long as there are not too many, else that of all the others.
    fn known<'a>(&self, name: &'a str) -> &'a str {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if names.contains(name) || names.len() < NAMES_MAX && names.insert(name.into()) {
            return name;
        }
        OTHER
    }
}
