//! What the hub tells of itself: its numbers, and where spans go.

use std::sync::Arc;

use legation_cli::CliError;
use legation_config::{Environment, Settings};
use legation_core::TaskSet;
use legation_host::State;
use legation_telemetry::{Exporter, ExporterSettings, Farewell, Kind, Metrics, Page, Telemetry};

use super::hub::Inner;

/// What sends spans, where the owner wants them sent.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    farewell: Option<Farewell>,
    /// Of its own, because it outlives every other task: each of them may end a span.
    tasks: TaskSet,
}

/// Begins to count, and to send spans where the owner wants them sent.
pub(super) fn begin(
    settings: &Settings,
    environment: &Environment,
) -> Result<(Arc<Metrics>, Traces), CliError> {
    let Some(traces) = &settings.traces else {
        return Ok((Telemetry::begin(None), Traces::default()));
    };
    let mut exporter = ExporterSettings::new(&traces.endpoint, crate::VERSION)
        .map_err(|error| CliError::usage(&error).with_hint("see traces.endpoint"))?;
    for header in &traces.headers {
        let value = header
            .value(environment)
            .map_err(|error| CliError::usage(&error).with_hint(error.hint()))?;
        exporter = exporter
            .with_header(&header.name, &value)
            .map_err(|error| CliError::usage(&error).with_hint(error.hint()))?;
    }
    let (exporter, exporting) = Exporter::new(exporter);
    let share = f64::from(traces.percent) / 100.0;
    let metrics = Telemetry::begin(Some((exporter, share)));
    let sending = Traces {
        farewell: Some(exporting.farewell()),
        tasks: TaskSet::new(),
    };
    let counted = Arc::clone(&metrics);
    sending
        .tasks
        .spawn("traces", async move { exporting.run(counted).await });
    Ok((metrics, sending))
}

/// Everything there is to count but what the front counts. Waits for nobody.
pub(super) fn page(hub: &Inner) -> String {
    let mut page = Page::default();
    hub.metrics.write(&mut page);
    servers(hub, &mut page);
    let ledger = &hub.ledger;
    let problems = ledger.problems().len() as u64;
    page.single(
        "legation_ledger_position",
        Kind::Counter,
        "Records of the ledger that are written.",
        u64::try_from(ledger.position()).unwrap_or(0),
    )
    .single(
        "legation_ledger_waiting",
        Kind::Gauge,
        "Callers that wait for their record.",
        ledger.waiting() as u64,
    )
    .single(
        "legation_ledger_problems",
        Kind::Gauge,
        "What is wrong with the ledger.",
        problems,
    );
    page.single(
        "legation_inbox_messages_total",
        Kind::Counter,
        "Messages that the inbox announced.",
        *hub.inbox.announced().borrow(),
    )
    .single(
        "legation_inbox_unread",
        Kind::Gauge,
        "Messages that nobody has read.",
        hub.inbox.unread_by_all(),
    )
    .single(
        "legation_approvals_waiting",
        Kind::Gauge,
        "Calls that wait for a person.",
        hub.gate.asking().approvals.list().len() as u64,
    );
    if let Some(engine) = hub.engine.get() {
        let (active, queued) = engine.load();
        page.single(
            "legation_tasks_active",
            Kind::Gauge,
            "Delegated tasks that are worked on.",
            active as u64,
        )
        .single(
            "legation_tasks_queued",
            Kind::Gauge,
            "Delegated tasks that wait.",
            queued as u64,
        );
    }
    let uptime = hub.clock.now().duration_since(hub.started);
    page.single(
        "legation_uptime_seconds",
        Kind::Gauge,
        "For how long the hub has run.",
        uptime.as_secs(),
    );
    page.into_text()
}

/// How the upstream servers are: by name for as many as there is room on a page.
fn servers(hub: &Inner, page: &mut Page) {
    const NAMED_MAX: usize = 200;
    let mut status = hub.host.status();
    status.sort_by(|one, other| one.name.cmp(&other.name));
    status.dedup_by(|one, other| one.name == other.name);
    page.family(
        "legation_upstream_up",
        Kind::Gauge,
        "Whether a server can be called: 1, or 0.",
    );
    for one in status.iter().take(NAMED_MAX) {
        let up = u64::from(matches!(one.state, State::Connected));
        page.sample(&[("server", one.name.as_str())], up);
    }
    let summary = hub.host.summary();
    page.family(
        "legation_upstream_servers",
        Kind::Gauge,
        "Enabled servers by their state.",
    );
    let states = [
        ("connected", summary.connected),
        ("starting", summary.starting),
        ("failed", summary.failed),
    ];
    for (state, count) in states {
        page.sample(&[("state", state)], count as u64);
    }
}

// === impl Traces ===

impl Traces {
    /// Has what waits sent, a few seconds at most.
    pub(super) async fn close(&self) {
        if let Some(farewell) = &self.farewell {
            farewell.say();
        }
        self.tasks.join().await;
    }
}
