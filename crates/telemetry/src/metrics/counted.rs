//! What is counted, and how it is added up and written.

use std::hash::Hash;
use std::time::Duration;

use legation_core::QuickMap;

use super::Names;
use crate::page::{Kind, Page};

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

#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) servers: Named<Server>,
    pub(super) refusals: Counts<&'static str>,
    pub(super) providers: Named<Provider>,
}

#[derive(Debug, Default)]
pub(super) struct Server {
    /// By method, rung and outcome.
    pub(super) calls: Counts<(&'static str, &'static str, &'static str)>,
    pub(super) whole: Histogram,
    pub(super) at_server: Histogram,
}

#[derive(Debug, Default)]
pub(super) struct Provider {
    pub(super) answers: Counts<&'static str>,
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cost_micro_usd: u64,
    pub(super) saved_micro_usd: u64,
    pub(super) elapsed: Histogram,
}

/// What is added up.
pub(super) trait Sum: Default {
    fn add(&mut self, other: &Self);
}

/// What is counted for each name.
#[derive(Debug)]
pub(super) struct Named<T>(QuickMap<Box<str>, T>);

/// How often there was each of a closed list of words.
#[derive(Debug)]
pub(super) struct Counts<K>(QuickMap<K, u64>);

#[derive(Debug, Default)]
pub(super) struct Histogram {
    /// How many reached each step and no further; the last for what is beyond.
    steps: [u64; STEPS.len()],
    beyond: u64,
    micros: u64,
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

// === impl Counted ===

impl Counted {
    pub(super) fn write_calls(&self, page: &mut Page) {
        let servers = self.servers.all();
        page.family(
            "legation_server_calls_total",
            Kind::Counter,
            "Calls by server, method, rung of the ladder and outcome.",
        );
        for (name, server) in &servers {
            for ((method, rung, outcome), count) in server.calls.all() {
                let labels = [
                    ("server", *name),
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

    pub(super) fn write_models(&self, page: &mut Page) {
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
            let sides = [("input", provider.input), ("output", provider.output)];
            for (side, count) in sides {
                page.sample(&[("provider", *name), ("direction", side)], count);
            }
        }
        type Money = fn(&Provider) -> u64;
        let money: [(&'static str, &str, Money); 2] = [
            (
                "legation_model_cost_usd_total",
                "What models cost, in US dollars, by provider.",
                |provider| provider.cost_micro_usd,
            ),
            (
                "legation_model_saved_usd_total",
                "What local models saved, in US dollars, by provider.",
                |provider| provider.saved_micro_usd,
            ),
        ];
        for (family, help, which) in money {
            page.family(family, Kind::Counter, help);
            for (name, provider) in &providers {
                let usd = seconds(which(provider));
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

// === impl Sum ===

impl Sum for Counted {
    fn add(&mut self, other: &Self) {
        self.servers.add(&other.servers);
        self.refusals.add(&other.refusals);
        self.providers.add(&other.providers);
    }
}

impl Sum for Server {
    fn add(&mut self, other: &Self) {
        self.calls.add(&other.calls);
        self.whole.add(&other.whole);
        self.at_server.add(&other.at_server);
    }
}

impl Sum for Provider {
    fn add(&mut self, other: &Self) {
        self.answers.add(&other.answers);
        self.elapsed.add(&other.elapsed);
        self.input = self.input.wrapping_add(other.input);
        self.output = self.output.wrapping_add(other.output);
        self.cost_micro_usd = self.cost_micro_usd.wrapping_add(other.cost_micro_usd);
        self.saved_micro_usd = self.saved_micro_usd.wrapping_add(other.saved_micro_usd);
    }
}

impl<T: Sum> Sum for Named<T> {
    fn add(&mut self, other: &Self) {
        for (name, one) in &other.0 {
            self.0.entry(name.clone()).or_default().add(one);
        }
    }
}

impl<K: Copy + Eq + Hash> Sum for Counts<K> {
    fn add(&mut self, other: &Self) {
        for (key, count) in &other.0 {
            *self.0.entry(*key).or_default() += count;
        }
    }
}

impl Sum for Histogram {
    fn add(&mut self, other: &Self) {
        for (count, more) in self.steps.iter_mut().zip(&other.steps) {
            *count += more;
        }
        self.beyond += other.beyond;
        self.micros = self.micros.wrapping_add(other.micros);
    }
}

// === impl Named ===

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(QuickMap::default())
    }
}

impl<T: Default> Named<T> {
    pub(super) fn count(&mut self, name: &str, names: &Names, count: impl FnOnce(&mut T)) {
        match self.0.get_mut(name) {
            Some(one) => count(one),
            None => count(self.0.entry(names.known(name).into()).or_default()),
        }
    }

    /// All of them in the order of their names.
    fn all(&self) -> Vec<(&str, &T)> {
        let mut all: Vec<_> = self.0.iter().map(|(name, one)| (&**name, one)).collect();
        all.sort_by_key(|(name, _)| *name);
        all
    }
}

// === impl Counts ===

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self(QuickMap::default())
    }
}

impl<K: Copy + Eq + Hash + Ord> Counts<K> {
    pub(super) fn count(&mut self, key: K) {
        *self.0.entry(key).or_default() += 1;
    }

    fn all(&self) -> Vec<(K, u64)> {
        let mut all: Vec<_> = self.0.iter().map(|(key, count)| (*key, *count)).collect();
        all.sort_by_key(|(key, _)| *key);
        all
    }
}

// === impl Histogram ===

impl Histogram {
    pub(super) fn count(&mut self, elapsed: Duration) {
        let micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        let step = STEPS.iter().position(|(most, _)| micros <= *most);
        let counter = step.map_or(&mut self.beyond, |step| &mut self.steps[step]);
        *counter += 1;
        self.micros = self.micros.wrapping_add(micros);
    }

    fn write(&self, page: &mut Page, (label, name): (&str, &str)) {
        let mut count = 0;
        for (counter, (_, seconds)) in self.steps.iter().zip(STEPS) {
            count += counter;
            let labels = [(label, name), ("le", seconds)];
            page.line("_bucket", &labels, format_args!("{count}"));
        }
        count += self.beyond;
        let labels = [(label, name), ("le", "+Inf")];
        page.line("_bucket", &labels, format_args!("{count}"));
        let sum = seconds(self.micros);
        page.line("_sum", &[(label, name)], format_args!("{sum}"));
        page.line("_count", &[(label, name)], format_args!("{count}"));
    }
}
