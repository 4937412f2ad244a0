//! The load itself: so many connections, each with one call in flight, for so long.

#[cfg(test)]
mod tests;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use memchr::memmem;
use tokio::task::JoinSet;

use crate::client::{Client, Dialect, Target, shorten};
use crate::stats::{Latencies, Report};
use crate::sys;

/// What to do.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How many connections.
    pub connections: usize,
    /// How long calls are not yet counted.
    pub warm_up: Duration,
    /// How long they are.
    pub measured: Duration,
    /// The tool's name as this server lists it.
    pub tool: String,
    /// What to say to it.
    pub text: String,
    /// Whether a connection that breaks ends its calls without an error; the server is to be killed.
    pub tolerant: bool,
}

/// What one connection came to.
#[derive(Debug, Default)]
struct Tally {
    latencies: Latencies,
    all_calls: usize,
    wrong: usize,
    first_wrong: Option<String>,
    counted_until: Option<Instant>,
}

static SEATS: AtomicU64 = AtomicU64::new(1);
static IDS: AtomicU64 = AtomicU64::new(1_000);

/// A name no other connection has, of letters and digits.
pub fn next_seat() -> String {
    format!(
        "{}x{}",
        std::process::id(),
        SEATS.fetch_add(1, Ordering::Relaxed)
    )
}

/// Loads a server over HTTP or the hub's socket, from one thread.
///
/// # Errors
/// A connection cannot be opened, or breaks.
pub fn run(target: &Target, dialect: &Dialect, plan: &Plan) -> Result<Report> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut clients = Vec::new();
        for _ in 0..plan.connections {
            clients.push(Client::open(target, dialect).await?);
        }
        let begin = sys::now() + plan.warm_up;
        let mut connections = JoinSet::new();
        for client in clients {
            connections.spawn(drive(client, dialect.clone(), plan.clone(), begin));
        }
        let mut sum = Tally::default();
        while let Some(tally) = connections.join_next().await {
            sum.add(tally.context("a connection's task was lost")??);
        }
        Ok(sum.report(begin))
    })
}

/// Calls until the time is over.
async fn drive(mut client: Client, dialect: Dialect, plan: Plan, begin: Instant) -> Result<Tally> {
    let mut tally = Tally::default();
    let end = begin + plan.measured;
    loop {
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        // The text is this call's own, so that another's answer would be seen.
        let text = format!("{}-{id}", plan.text);
        let body = dialect.call(id, &plan.tool, &text);
        let sent = sys::now();
        let answer = match client.request("tools/call", Some(&plan.tool), &body).await {
            Ok(answer) => answer,
            Err(_) if plan.tolerant => return Ok(tally),
            Err(error) => return Err(error),
        };
        let came = sys::now();
        tally.count(answer, id, &text, (sent, came), (begin, end));
        if came >= end {
            client.close().await;
            return Ok(tally);
        }
    }
}

/// Loads a child over its standard input and output, with as many calls in flight as the plan has
/// connections; the baseline of a stdio server without a hub.
///
/// # Errors
/// The child does not start, or ends.
pub fn run_child(command: &[String], dialect: &Dialect, plan: &Plan) -> Result<Report> {
    let (program, args) = command.split_first().context("no command is given")?;
    let mut child = sys::command(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    let mut input = child.stdin.take().context("the child has no input")?;
    let mut output = BufReader::new(child.stdout.take().context("the child has no output")?);
    let begin = sys::now() + plan.warm_up;
    let end = begin + plan.measured;
    let mut tally = Tally::default();
    let mut open: Vec<(u64, String, Instant)> = Vec::new();
    let mut line = Vec::new();
    loop {
        while open.len() < plan.connections {
            let id = IDS.fetch_add(1, Ordering::Relaxed);
            let text = format!("{}-{id}", plan.text);
            let mut body = dialect.call(id, &plan.tool, &text);
            body.push('\n');
            input.write_all(body.as_bytes())?;
            open.push((id, text, sys::now()));
        }
        line.clear();
        anyhow::ensure!(output.read_until(b'\n', &mut line)? > 0, "the child ended");
        let came = sys::now();
        // The echo answers in order.
        let (id, text, sent) = open.remove(0);
        tally.count(&line, id, &text, (sent, came), (begin, end));
        if came >= end {
            break;
        }
    }
    drop(input);
    child.wait()?;
    Ok(tally.report(begin))
}

// === impl Tally ===

impl Tally {
    /// One answer: its call's id and text must be in it, and no error.
    fn count(
        &mut self,
        answer: &[u8],
        id: u64,
        text: &str,
        (sent, came): (Instant, Instant),
        (begin, end): (Instant, Instant),
    ) {
        let id = format!(r#""id":{id}"#);
        let right = memmem::find(answer, id.as_bytes()).is_some()
            && memmem::find(answer, text.as_bytes()).is_some()
            && memmem::find(answer, br#""result""#).is_some()
            && memmem::find(answer, br#""isError":true"#).is_none();
        if !right {
            self.wrong += 1;
            self.first_wrong.get_or_insert_with(|| shorten(answer));
            return;
        }
        self.all_calls += 1;
        if sent >= begin && came <= end {
            self.latencies.push(came - sent);
            self.counted_until = Some(came);
        }
    }

    fn add(&mut self, other: Self) {
        self.latencies.append(other.latencies);
        self.all_calls += other.all_calls;
        self.wrong += other.wrong;
        self.first_wrong = self.first_wrong.take().or(other.first_wrong);
        self.counted_until = self.counted_until.max(other.counted_until);
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a run has far fewer than 2^52 calls"
    )]
    fn report(mut self, begin: Instant) -> Report {
        self.latencies.sort();
        let seconds = self
            .counted_until
            .map_or(0.0, |until| (until - begin).as_secs_f64());
        let calls = self.latencies.len();
        Report {
            calls,
            all_calls: self.all_calls,
            wrong: self.wrong,
            first_wrong: self.first_wrong,
            seconds,
            per_second: if seconds > 0.0 {
                calls as f64 / seconds
            } else {
                0.0
            },
            p50_us: self.latencies.percentile_us(50),
            p99_us: self.latencies.percentile_us(99),
            max_us: self.latencies.percentile_us(100),
        }
    }
}
