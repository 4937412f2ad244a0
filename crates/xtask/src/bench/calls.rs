//! Throughput at 32 clients and latency at one, direct and through the hub.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::Effort;
use super::changes;
use super::hub::Home;
use super::programs::{Load, Programs, Report, Running, median};
use super::table::{Row, Table, Target};
use crate::sys;

/// Concurrent clients of the throughput rounds.
pub(super) const CROWD: usize = 32;

/// How often those who are compared take turns in one round. What else the machine does comes and goes within seconds, and is to
/// meet all of them alike.
const TURNS: usize = 5;

/// Records that the verifier must do in a second, on its one thread.
const VERIFIED: f64 = 300_000.0;

/// What carries the calls to the server behind the hub.
pub(super) const UPSTREAMS: [&str; 2] = ["http", "stdio"];

/// What so many clients get in one round, those who are compared in turn.
#[derive(Debug)]
pub(super) struct Turns {
    pub(super) direct: Side,
    /// Through the hub, to either server.
    pub(super) governed: [Side; 2],
    /// How many calls went through the hub.
    pub(super) calls: u64,
}

/// What the clients of one way got in its turns of a round.
#[derive(Debug)]
pub(super) struct Side {
    /// Calls a second, of all turns together.
    pub(super) per_second: f64,
    /// The middle one of the turns.
    pub(super) p50_us: f64,
    /// The middle one of the turns.
    pub(super) p99_us: f64,
}

/// The results of one combination's rounds.
#[derive(Debug, Default)]
struct Rounds {
    share: Vec<f64>,
    per_second: Vec<f64>,
    added_p50_us: Vec<f64>,
    added_p99_us: Vec<f64>,
}

/// Measures both eras, both upstream transports, small and 1 KiB results.
pub(super) fn measure(programs: &Programs, effort: Effort, table: &mut Table) -> Result<()> {
    for era in ["legacy", "modern"] {
        let echo = programs.echo_http(era)?;
        let home = Home::new(programs, &servers(programs, &echo, era))?;
        let hub = home.serve()?;
        home.connected(UPSTREAMS.len())?;
        let mut calls = 0;
        let of = |tool| Combination {
            programs,
            effort,
            era,
            tool,
            echo: &echo,
            home: &home,
            hub: &hub,
        };
        for tool in ["echo", "kib"] {
            calls += of(tool).measure(table)?;
        }
        calls += changes::measure(&of("change"), table)?;
        socket(programs, effort, era, &home, &mut calls, table)?;
        let ledger = home.stop_and_verify(hub)?;
        sys::say(&format!("{era}: {calls} calls, {} records", ledger.records));
        ensure!(
            ledger.intents == calls && ledger.outcomes == calls,
            "{calls} calls were made, but the ledger holds {} intents and {} outcomes",
            ledger.intents,
            ledger.outcomes
        );
        let name = format!("ledger, {era}: records per call");
        let per_call = (ledger.intents + ledger.outcomes) as f64 / calls as f64;
        table.push(Row::new(name, per_call, "", Target::Exactly(2.0)));
        let name = format!("ledger, {era}: records verified a second");
        let rate = ledger.records as f64 / ledger.verified;
        table.push(Row::new(name, rate, "", Target::AtLeast(VERIFIED)));
    }
    Ok(())
}

/// The servers behind the hub: the same echo over HTTP and as a child.
fn servers(programs: &Programs, echo: &Running, era: &str) -> Value {
    json!({
        "http": { "type": "http", "url": echo.url("/mcp") },
        "stdio": {
            "type": "stdio",
            "command": programs.echo.display().to_string(),
            "args": ["--transport", "stdio", "--era", era],
        },
    })
}

/// What one series of rounds needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Combination<'a> {
    programs: &'a Programs,
    pub(super) effort: Effort,
    pub(super) era: &'a str,
    tool: &'a str,
    echo: &'a Running,
    pub(super) home: &'a Home,
    hub: &'a Running,
}

// === impl Combination ===

impl Combination<'_> {
    /// All rounds; returns how many calls went through the hub.
    fn measure(&self, table: &mut Table) -> Result<u64> {
        let mut rounds: [Rounds; 2] = Default::default();
        let (mut direct_crowd, mut direct_one, mut calls) = (Vec::new(), Vec::new(), 0);
        for round in 1..=self.effort.rounds {
            let crowd = self.turns(CROWD)?;
            let one = self.turns(1)?;
            calls += crowd.calls + one.calls;
            let direct = &one.direct;
            let each = UPSTREAMS.iter().zip(&crowd.governed).zip(&one.governed);
            for (((upstream, governed), alone), rounds) in each.zip(&mut rounds) {
                let governed = governed.per_second;
                rounds
                    .share
                    .push(100.0 * governed / crowd.direct.per_second);
                rounds.per_second.push(governed / 1000.0);
                rounds.added_p50_us.push(alone.p50_us - direct.p50_us);
                rounds.added_p99_us.push(alone.p99_us - direct.p99_us);
                sys::say(&format!(
                    "{} {} {upstream} {round}/{}: direct {:.1} k/s, hub {:.1} k/s; \
                     p50 {:.0} → {:.0} µs, p99 {:.0} → {:.0} µs",
                    self.era,
                    self.tool,
                    self.effort.rounds,
                    crowd.direct.per_second / 1000.0,
                    governed / 1000.0,
                    direct.p50_us,
                    alone.p50_us,
                    direct.p99_us,
                    alone.p99_us,
                ));
            }
            direct_crowd.push(crowd.direct.per_second / 1000.0);
            direct_one.push(direct.p50_us);
        }
        self.report(&direct_crowd, &direct_one, &rounds, table);
        Ok(calls)
    }

    fn report(&self, crowd: &[f64], one: &[f64], rounds: &[Rounds; 2], table: &mut Table) {
        let result = if self.tool == "kib" { "1 KiB" } else { "small" };
        let name = |what: &str| format!("{}, {result}: {what}", self.era);
        table.push(Row::new(
            name("direct, 32 clients"),
            median(crowd),
            "k/s",
            Target::None,
        ));
        table.push(Row::new(
            name("direct, 1 client, p50"),
            median(one),
            "µs",
            Target::None,
        ));
        for (upstream, rounds) in UPSTREAMS.iter().zip(rounds) {
            let name = |what: &str| name(&format!("{upstream} upstream, {what}"));
            let mut push = |what: &str, numbers: &[f64], unit, target| {
                table.push(Row::new(name(what), median(numbers), unit, target));
            };
            push("32 clients", &rounds.per_second, "k/s", Target::None);
            push("share of direct", &rounds.share, "%", Target::AtLeast(40.0));
            push(
                "added p50",
                &rounds.added_p50_us,
                "µs",
                Target::AtMost(60.0),
            );
            push(
                "added p99",
                &rounds.added_p99_us,
                "µs",
                Target::AtMost(300.0),
            );
        }
    }

    /// One round of so many clients, those who are compared in turn.
    pub(super) fn turns(&self, connections: usize) -> Result<Turns> {
        let effort = Effort {
            seconds: self.effort.seconds / 2.0,
            ..self.effort
        };
        let mut direct = Vec::new();
        let mut governed: [Vec<Report>; 2] = Default::default();
        for _ in 0..TURNS {
            direct.push(self.direct(connections, effort)?);
            for (upstream, reports) in UPSTREAMS.iter().zip(&mut governed) {
                reports.push(self.governed(upstream, connections, effort)?);
            }
        }
        Ok(Turns {
            calls: governed
                .iter()
                .flatten()
                .map(|report| report.all_calls)
                .sum(),
            direct: Side::of(&direct),
            governed: governed.map(|reports| Side::of(&reports)),
        })
    }

    fn direct(&self, connections: usize, effort: Effort) -> Result<Report> {
        let load = Load {
            url: Some(self.echo.url("/mcp")),
            era: self.era,
            tool: self.tool.to_owned(),
            connections,
            token: None,
            more: Vec::new(),
        };
        self.programs.load(&load, effort)
    }

    fn governed(&self, upstream: &str, connections: usize, effort: Effort) -> Result<Report> {
        let token = self.home.token();
        let load = Load {
            url: Some(self.hub.url("/mcp")),
            era: self.era,
            tool: format!("{upstream}-{}", self.tool),
            connections,
            token: Some(&token),
            more: Vec::new(),
        };
        self.programs.load(&load, effort)
    }
}

// === impl Side ===

impl Side {
    fn of(turns: &[Report]) -> Self {
        let middle = |what: fn(&Report) -> f64| {
            let all: Vec<f64> = turns.iter().map(what).collect();
            median(&all)
        };
        let rates = turns.iter().map(|turn| turn.per_second);
        Self {
            per_second: rates.sum::<f64>() / turns.len() as f64,
            p50_us: middle(|turn| turn.p50_us),
            p99_us: middle(|turn| turn.p99_us),
        }
    }
}

/// The hub's socket in front of the stdio server, and that server without a hub, for comparison.
fn socket(
    programs: &Programs,
    effort: Effort,
    era: &str,
    home: &Home,
    calls: &mut u64,
    table: &mut Table,
) -> Result<()> {
    let echo = programs.echo.display().to_string();
    for connections in [CROWD, 1] {
        let (mut governed, mut direct) = (Vec::new(), Vec::new());
        for _ in 0..effort.rounds {
            let through = Load::over_socket(&home.socket(), era, connections);
            let report = programs.load(&through, effort)?;
            *calls += report.all_calls;
            governed.push(if connections == 1 {
                report.p50_us
            } else {
                report.per_second / 1000.0
            });
            let more = ["--", &echo, "--transport", "stdio"]
                .map(str::to_owned)
                .to_vec();
            let bare = Load {
                tool: "echo".to_owned(),
                more,
                ..through
            };
            let report = programs.load(&bare, effort)?;
            direct.push(if connections == 1 {
                report.p50_us
            } else {
                report.per_second / 1000.0
            });
        }
        let (what, unit) = match connections {
            1 => ("1 client, p50", "µs"),
            _ => ("32 clients", "k/s"),
        };
        let name = format!("{era}, small: socket to stdio upstream, {what}");
        table.push(Row::new(name, median(&governed), unit, Target::None));
        let name = format!("{era}, small: direct stdio pipe, {what}");
        table.push(Row::new(name, median(&direct), unit, Target::None));
    }
    Ok(())
}
