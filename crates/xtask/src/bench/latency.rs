//! How long a message takes from where it is written to whoever waits for it.
//!
//! All times are of this process's monotonic clock. A line that somebody says is taken as heard
//! when the thread that reads their pipe has it, before it is parsed.
//!
//! *Kept to heard.* A message is posted over the hub's own socket, as `legation inbox post` does
//! without starting a program for each. The clock starts when the answer to that is read: by then
//! the message is durable. One that was heard before the answer was counts as zero, so these rows
//! say when somebody was late after the poster knew, and not how fast it is.
//!
//! *Asked to heard in memory* says that: the clock starts before the request is written, which is
//! earlier than anything can be durable, and the data directory is in memory, so that no disk's
//! sync is in it. It holds the request's way, reading and keeping it, and the way to the listener.
//!
//! In both, clients speak through `legation bridge`, so its hop counts, and each surface is
//! measured with nobody else listening. A `pull` is called when the posting is answered. What else
//! the machine does shows in a p99 first: the row of `cat`, which gives back a line that was written
//! to it, between the surfaces, says what no hub has a part in.
//!
//! *Sent to channel.* The human of a development tenant writes in the chat; the hub, which reads
//! chats every five seconds while people talk, says it to a channel. The clock starts before the
//! program that writes does, and so a little before the message is sent. A message that comes a
//! moment after a look waits for almost a whole interval, so the median of some at random is
//! mostly luck: instead they are sent at moments that are spread evenly over the interval, in
//! mixed order, each reckoned from when the one before was heard.

mod lines;
mod sent;
mod surface;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;

use self::lines::Lines;
use self::surface::{Listener, Surface};
use super::hub::{Home, stop};
use super::programs::Programs;
use super::table::{Row, Table, Target};
use crate::sys;

/// Milliseconds from durable to any surface, p99.
const HEARD_MS: f64 = 10.0;
/// A folder whose files are in memory.
const MEMORY: &str = "/dev/shm";
/// Messages to each surface.
const MESSAGES: usize = 200;
/// Lines to `cat` before each surface, and the pause before each of them.
const ECHOES: usize = 25;
const PAUSE: Duration = Duration::from_millis(10);
/// Somebody who starts to listen has heard nothing for so long before anything is measured.
const QUIET: Duration = Duration::from_millis(300);
/// How long a message that only shows that somebody listens may take.
const FIRST: Duration = Duration::from_millis(500);

/// What was measured of a surface, in milliseconds.
#[derive(Debug, Default)]
struct Times {
    since_kept: Vec<f64>,
    since_asked: Vec<f64>,
}

/// Posts messages, and knows when.
struct Poster {
    lines: Lines,
    posted: usize,
}

/// A message that is kept.
struct Posted {
    id: String,
    asked: Instant,
    kept: Instant,
}

/// Both measurements.
pub(super) fn measure(programs: &Programs, quick: bool, table: &mut Table) -> Result<()> {
    surfaces(programs, quick, table)?;
    sent::measure(programs, quick, table)
}

fn surfaces(programs: &Programs, quick: bool, table: &mut Table) -> Result<()> {
    let count = if quick { 20 } else { MESSAGES };
    let home = Home::new(programs, &json!({}))?;
    let on_disk = all(&home, "disk", count, table)?;
    for (surface, times) in Surface::ALL.iter().zip(&on_disk) {
        let row = format!("kept to heard, {}, p99", surface.name());
        let p99 = quantile(&times.since_kept, 0.99);
        table.push(Row::new(row, p99, "ms", Target::AtMost(HEARD_MS)));
    }
    let memory = Path::new(MEMORY);
    if !memory.is_dir() {
        table.skip(format!("asked to heard: there is no {MEMORY}"));
        return Ok(());
    }
    let home = Home::new_in(memory, programs, &json!({}))?;
    let in_memory = all(&home, "memory", count, table)?;
    for (surface, times) in Surface::ALL.iter().zip(&in_memory) {
        let row = format!("asked to heard in memory, {}, p99", surface.name());
        let p99 = quantile(&times.since_asked, 0.99);
        table.push(Row::new(row, p99, "ms", Target::AtMost(HEARD_MS)));
    }
    Ok(())
}

/// Every surface in turn, with a hub in this home.
fn all(home: &Home, place: &str, count: usize, table: &mut Table) -> Result<Vec<Times>> {
    let mut hub = home.serve()?;
    let mut poster = Poster {
        lines: Lines::admin(&home.socket())?,
        posted: 0,
    };
    let mut machine = Lines::start(sys::command("cat"))?;
    let (mut all, mut echoed) = (Vec::new(), Vec::new());
    for surface in Surface::ALL {
        for _ in 0..ECHOES {
            std::thread::sleep(PAUSE);
            let start = sys::now();
            machine.say(&json!({}))?;
            echoed.push((machine.next(|_| true)?.at - start).as_secs_f64() * 1e3);
        }
        let times = heard(home, surface, &mut poster, count)?;
        let [kept, asked] = [&times.since_kept, &times.since_asked]
            .map(|times| [0.5, 0.99, 1.0].map(|share| quantile(times, share)));
        sys::say(&format!(
            "{place}, {}: p50 {:.2}, p99 {:.2}, most {:.2} ms since kept; \
             p50 {:.2}, p99 {:.2}, most {:.2} ms since asked",
            surface.name(),
            kept[0],
            kept[1],
            kept[2],
            asked[0],
            asked[1],
            asked[2],
        ));
        all.push(times);
    }
    let row = format!("beside {place}: a line to `cat` and back, p99");
    let p99 = quantile(&echoed, 0.99);
    table.push(Row::new(row, p99, "ms", Target::None));
    drop(poster);
    stop(&mut hub)?;
    Ok(all)
}

/// Some messages to one surface.
fn heard(home: &Home, surface: Surface, poster: &mut Poster, count: usize) -> Result<Times> {
    let mut listener = Listener::start(home, surface)?;
    let mut times = Times::default();
    // Until one is heard nobody knows whether it listens already.
    let mut tries = 0;
    loop {
        listener.get_ready()?;
        let first = poster.post()?;
        if listener.heard(&first.id, FIRST)?.is_some() {
            break;
        }
        tries += 1;
        ensure!(tries < 60, "nothing is heard through {}", surface.name());
    }
    while !listener.is_quiet(QUIET)? {}
    for number in 0..count {
        listener.get_ready()?;
        // A call that waits has begun to by then, and messages do not come in step with anything.
        std::thread::sleep(Duration::from_millis(10 + (number as u64 * 7) % 17));
        let posted = poster.post()?;
        let heard = listener.heard(&posted.id, lines::PATIENCE)?;
        let Some(at) = heard else {
            anyhow::bail!("message {number} was not heard through {}", surface.name());
        };
        let since = |start: Instant| at.saturating_duration_since(start).as_secs_f64() * 1e3;
        times.since_kept.push(since(posted.kept));
        times.since_asked.push(since(posted.asked));
    }
    // One word for each, or a later one would have been taken for an earlier one's.
    ensure!(
        listener.is_quiet(QUIET)?,
        "{} says more than was posted",
        surface.name()
    );
    Ok(times)
}

/// So much of some numbers is not above it; zero of none.
fn quantile(numbers: &[f64], share: f64) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    let at = rank.saturating_sub(1);
    sorted.get(at).copied().unwrap_or_default()
}

// === impl Poster ===

impl Poster {
    /// Puts a message into the inbox.
    fn post(&mut self) -> Result<Posted> {
        self.posted += 1;
        let id = format!("bench-{}", self.posted);
        let params = json!({
            "channel": "local", "chat_id": "local", "id": id, "version": "1",
            "from": "Ada Example", "text": format!("message {} of the benchmark", self.posted),
        });
        let asked = sys::now();
        let answer = self.lines.ask("inbox.post", &params)?;
        ensure!(
            answer.message["result"]["duplicate"] == false,
            "not kept: {}",
            answer.message
        );
        Ok(Posted {
            id,
            asked,
            kept: answer.at,
        })
    }
}
