//! What is counted. A label is a word of a closed list, or the name of a server or provider as the
//! owner's files have it; of names that are too many the rest is `other`, so that no page grows
//! without bound whatever is called.

use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use legation_core::QuickMap;
use legation_core::observe::{CallEnded, ModelEnded};

use crate::page::{Kind, Page};

/// Most servers, and most providers, that are told apart.
const NAMES_MAX: usize = 200;
/// The name of all the others.
const OTHER: &str = "other";
/// The name of what led to no server.
const NONE: &str = "none";
/// Up to how many microseconds each step of a histogram reaches, and how that is written in seconds.
const STEPS: [(u64, &str); 16] = [
    (500, "0.0005"),
    (1_000, "0.001"),
    (2_500, "0.0025"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (500_000, "0.5"),
    (1_000_000, "1"),
    (2_500_000, "2.5"),
    (5_000_000, "5"),
    (10_000_000, "10"),
    (30_000_000, "30"),
    (120_000_000, "120"),
];

/// Every number that calls and models make.
#[derive(Debug, Default)]
pub struct Metrics {
    servers: Named<Server>,
    refusals: Counts<&'static str>,
    providers: Named<Provider>,
    pub(crate) spans_sent: AtomicU64,
    pub(crate) spans_lost: AtomicU64,
}

#[derive(Debug, Default)]
struct Server {
    /// By method, rung and outcome.
    calls: Counts<(&'static str, &'static str, &'static str)>,
    whole: Histogram,
    at_server: Histogram,
}

#[derive(Debug, Default)]
struct Provider {
    answers: Counts<&'static str>,
    input: AtomicU64,
    output: AtomicU64,
    cost_micro_usd: AtomicU64,
    saved_micro_usd: AtomicU64,
    elapsed: Histogram,
}

/// What is counted for each name.
#[derive(Debug)]
struct Named<T>(RwLock<QuickMap<Box<str>, Arc<T>>>);

/// How often there was each of a closed list of words.
#[derive(Debug)]
struct Counts<K>(RwLock<QuickMap<K, AtomicU64>>);

#[derive(Debug, Default)]
struct Histogram {
    /// How many reached each step and no further; the last for what is beyond.
    steps: [AtomicU64; STEPS.len()],
    beyond: AtomicU64,
    micros: AtomicU64,
}

// === impl Metrics ===

impl Metrics {
    pub(crate) fn count_call(&self, call: &CallEnded<'_>) {
        let server = self.servers.get(call.server.unwrap_or(NONE));
        let rung = call.rung.unwrap_or(NONE);
        server.calls.count((call.method, rung, call.outcome));
        server.whole.count(call.elapsed);
        if let Some(elapsed) = call.at_server {
            server.at_server.count(elapsed);
        }
        if let Some(reason) = call.reason {
            self.refusals.count(reason);
        }
    }

    pub(crate) fn count_model(&self, model: &ModelEnded<'_>) {
        let provider = self.providers.get(model.provider);
        provider.answers.count(model.outcome);
        provider.elapsed.count(model.elapsed);
        let add = |counter: &AtomicU64, more: Option<u64>| {
            counter.fetch_add(more.unwrap_or(0), Ordering::Relaxed);
        };
        add(&provider.input, model.input_tokens);
        add(&provider.output, model.output_tokens);
        add(&provider.cost_micro_usd, model.cost_micro_usd);
        add(&provider.saved_micro_usd, model.saved_micro_usd);
    }

    /// Writes all of them.
    pub fn write(&self, page: &mut Page) {
        self.write_calls(page);
        self.write_models(page);
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

    fn write_calls(&self, page: &mut Page) {
        let servers = self.servers.all();
        page.family(
            "legation_server_calls_total",
            Kind::Counter,
            "Calls by server, method, rung of the ladder and outcome.",
        );
        for (name, server) in &servers {
            for ((method, rung, outcome), count) in server.calls.all() {
                let labels = [
                    ("server", &**name),
                    ("method", method),
                    ("rung", rung),
                    ("outcome", outcome),
                ];
                page.sample(&labels, count);
            }
        }
        page.family(
            "legation_refusals_by_reason_total",
            Kind::Counter,
            "Calls that were refused, by the kind of rule.",
        );
        for (reason, count) in self.refusals.all() {
            page.sample(&[("reason", reason)], count);
        }
        page.family(
            "legation_call_duration_seconds",
            Kind::Histogram,
            "Calls from the first stage of the gate to the last, people's answers included.",
        );
        for (name, server) in &servers {
            server.whole.write(page, ("server", name));
        }
        page.family(
            "legation_server_duration_seconds",
            Kind::Histogram,
            "Calls as long as their server had them.",
        );
        for (name, server) in &servers {
            server.at_server.write(page, ("server", name));
        }
    }

    fn write_models(&self, page: &mut Page) {
        let providers = self.providers.all();
        page.family(
            "legation_model_answers_total",
            Kind::Counter,
            "Answers of models by provider and outcome.",
        );
        for (name, provider) in &providers {
            for (outcome, count) in provider.answers.all() {
                page.sample(&[("provider", name), ("outcome", outcome)], count);
            }
        }
        page.family(
            "legation_model_tokens_total",
            Kind::Counter,
            "Tokens that models read and wrote, by provider.",
        );
        for (name, provider) in &providers {
            let sides = [("input", &provider.input), ("output", &provider.output)];
            for (side, count) in sides {
                let labels = [("provider", &**name), ("direction", side)];
                page.sample(&labels, count.load(Ordering::Relaxed));
            }
        }
        type Money = fn(&Provider) -> &AtomicU64;
        let money: [(&'static str, &str, Money); 2] = [
            (
                "legation_model_cost_usd_total",
                "What models cost, in US dollars, by provider.",
                |provider| &provider.cost_micro_usd,
            ),
            (
                "legation_model_saved_usd_total",
                "What local models saved, in US dollars, by provider.",
                |provider| &provider.saved_micro_usd,
            ),
        ];
        for (family, help, which) in money {
            page.family(family, Kind::Counter, help);
            for (name, provider) in &providers {
                let usd = seconds(which(provider).load(Ordering::Relaxed));
                page.fraction(&[("provider", name)], usd);
            }
        }
        page.family(
            "legation_model_duration_seconds",
            Kind::Histogram,
            "Answers of models from the request to their end.",
        );
        for (name, provider) in &providers {
            provider.elapsed.write(page, ("provider", name));
        }
    }
}

/// Millionths as whole ones.
fn seconds(millionths: u64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "the last digit of a sum that large does not matter"
    )]
    let whole = millionths as f64 / 1e6;
    whole
}

// === impl Named ===

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

impl<T: Default> Named<T> {
    fn get(&self, name: &str) -> Arc<T> {
        {
            let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(one) = known.get(name) {
                return Arc::clone(one);
            }
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let name = match known.len() < NAMES_MAX {
            true => name,
            false => OTHER,
        };
        Arc::clone(known.entry(name.into()).or_default())
    }

    /// All of them in the order of their names.
    fn all(&self) -> Vec<(Box<str>, Arc<T>)> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let all = known.iter();
        let mut all: Vec<_> = all
            .map(|(name, one)| (name.clone(), Arc::clone(one)))
            .collect();
        all.sort_by(|one, other| one.0.cmp(&other.0));
        all
    }
}

// === impl Counts ===

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

impl<K: Copy + Eq + Hash + Ord> Counts<K> {
    fn count(&self, key: K) {
        {
            let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(count) = known.get(&key) {
                count.fetch_add(1, Ordering::Relaxed);
                return;
            }
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known
            .entry(key)
            .or_default()
            .fetch_add(1, Ordering::Relaxed);
    }

    fn all(&self) -> Vec<(K, u64)> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let all = known.iter();
        let mut all: Vec<_> = all
            .map(|(key, count)| (*key, count.load(Ordering::Relaxed)))
            .collect();
        all.sort_by_key(|(key, _)| *key);
        all
    }
}

// === impl Histogram ===

impl Histogram {
    fn count(&self, elapsed: Duration) {
        let micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        let step = STEPS.iter().position(|(most, _)| micros <= *most);
        let counter = step.map_or(&self.beyond, |step| &self.steps[step]);
        counter.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    fn write(&self, page: &mut Page, (label, name): (&str, &str)) {
        let mut count = 0;
        for (counter, (_, seconds)) in self.steps.iter().zip(STEPS) {
            count += counter.load(Ordering::Relaxed);
            let labels = [(label, name), ("le", seconds)];
            page.line("_bucket", &labels, format_args!("{count}"));
        }
        count += self.beyond.load(Ordering::Relaxed);
        let labels = [(label, name), ("le", "+Inf")];
        page.line("_bucket", &labels, format_args!("{count}"));
        let sum = seconds(self.micros.load(Ordering::Relaxed));
        page.line("_sum", &[(label, name)], format_args!("{sum}"));
        page.line("_count", &[(label, name)], format_args!("{count}"));
    }
}
