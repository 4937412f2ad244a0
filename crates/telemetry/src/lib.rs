//! What a hub tells of itself: numbers, traces and a log.
//!
//! Whoever does something says so through `legation_core::observe` and knows nothing of this crate.
//! Numbers are counted here in atomics ([`Metrics`]) and written out in the text format of Prometheus
//! ([`Page`]); spans go to a collector over OTLP ([`Exporter`]); the log is a file that is changed
//! before it is too large ([`LogFile`]).
//!
//! OpenTelemetry's own libraries were looked at and left: for spans that begin and end in four places
//! they bring a second HTTP client, protobuf and gRPC types, thirty crates and a runtime of their own,
//! where what is sent is one JSON document of a fixed shape.

mod exporter;
mod log;
mod metrics;
mod otlp;
mod page;

use std::sync::Arc;

use legation_core::observe::{self, CallEnded, Ended, ModelEnded, Observer};

pub use exporter::{EndpointError, Exporter, ExporterSettings, Exporting, Farewell, HeaderError};
pub use log::{LogFile, LogFormat, LogSettings};
pub use metrics::Metrics;
pub use page::{Kind, Page};

/// Counts, and hands spans to an exporter where there is one.
#[derive(Debug)]
pub struct Telemetry {
    metrics: Arc<Metrics>,
    exporter: Option<Exporter>,
}

// === impl Telemetry ===

impl Telemetry {
    /// Begins to count, and to follow the share of traces that the exporter is for. In a process that
    /// has begun before, what that one counts comes back: there is one program to tell of.
    #[must_use]
    pub fn begin(exporter: Option<(Exporter, f64)>) -> Arc<Metrics> {
        static COUNTED: std::sync::OnceLock<Arc<Metrics>> = std::sync::OnceLock::new();
        let (exporter, share) = match exporter {
            Some((exporter, share)) => (Some(exporter), share),
            None => (None, 0.0),
        };
        let metrics = COUNTED.get_or_init(|| {
            let metrics = Arc::new(Metrics::default());
            let telemetry = Self {
                metrics: Arc::clone(&metrics),
                exporter,
            };
            if observe::tell(Arc::new(telemetry)) {
                observe::follow(share);
            }
            metrics
        });
        Arc::clone(metrics)
    }
}

impl Observer for Telemetry {
    fn call_ended(&self, call: &CallEnded<'_>) {
        self.metrics.count_call(call);
    }

    fn model_ended(&self, model: &ModelEnded<'_>) {
        self.metrics.count_model(model);
    }

    fn span_ended(&self, span: Ended) {
        if let Some(exporter) = &self.exporter {
            exporter.add(span, &self.metrics);
        }
    }
}

#[cfg(test)]
mod tests;
