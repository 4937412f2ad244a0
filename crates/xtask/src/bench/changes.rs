//! Calls that change something: their intent is on the disk before the server hears of them.
//!
//! What that costs is measured against what one `fdatasync` of the same disk costs in the same
//! minute, because disks differ by a factor of a hundred.

use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};

use super::calls::{CROWD, Combination, UPSTREAMS};
use super::programs::median;
use super::table::{Row, Table, Target};
use crate::sys;

/// Microseconds that may be added beside the disk's.
const ADDED_US: f64 = 100.0;
/// How many times an `fdatasync` may be added.
const SYNCS: f64 = 1.5;
/// Percent of direct that 32 clients get.
const SHARE: f64 = 28.0;
/// Times what one client alone gets: how many share a commit.
const TIMES: f64 = 5.0;
/// Bytes written before each `fdatasync`: a page of the store.
const PAGE: usize = 4096;
/// `fdatasync`s of each round.
const TRIES: usize = 100;

/// The results of one upstream's rounds.
#[derive(Debug, Default)]
struct Rounds {
    share: Vec<f64>,
    per_second: Vec<f64>,
    times: Vec<f64>,
    added_p50_us: Vec<f64>,
}

/// All rounds of one era; returns how many calls went through the hub.
pub(super) fn measure(one: &Combination<'_>, table: &mut Table) -> Result<u64> {
    let mut rounds: [Rounds; 2] = Default::default();
    let (mut syncs, mut calls) = (Vec::new(), 0);
    for round in 1..=one.effort.rounds {
        let sync = fdatasync_us(&one.home.path())?;
        let crowd = one.turns(CROWD)?;
        let alone = one.turns(1)?;
        calls += crowd.calls + alone.calls;
        let direct = &alone.direct;
        let each = UPSTREAMS.iter().zip(&crowd.governed).zip(&alone.governed);
        for (((upstream, governed), single), rounds) in each.zip(&mut rounds) {
            let governed = governed.per_second;
            rounds
                .share
                .push(100.0 * governed / crowd.direct.per_second);
            rounds.per_second.push(governed / 1000.0);
            rounds.times.push(governed / single.per_second);
            rounds.added_p50_us.push(single.p50_us - direct.p50_us);
            sys::say(&format!(
                "{} changes {upstream} {round}/{}: direct {:.1} k/s, hub {:.1} k/s, alone {:.1} \
                 k/s; p50 {:.0} → {:.0} µs; fdatasync {sync:.0} µs",
                one.era,
                one.effort.rounds,
                crowd.direct.per_second / 1000.0,
                governed / 1000.0,
                single.per_second / 1000.0,
                direct.p50_us,
                single.p50_us,
            ));
        }
        syncs.push(sync);
    }
    let sync = median(&syncs);
    let name = |what: &str| format!("{}, changes: {what}", one.era);
    let what = name("one fdatasync of this disk, p50");
    table.push(Row::new(what, sync, "µs", Target::None));
    for (upstream, rounds) in UPSTREAMS.iter().zip(&rounds) {
        let mut push = |what: &str, numbers: &[f64], unit, target| {
            let name = name(&format!("{upstream} upstream, {what}"));
            table.push(Row::new(name, median(numbers), unit, target));
        };
        let most = Target::AtMost((ADDED_US + SYNCS * sync).round());
        push("32 clients", &rounds.per_second, "k/s", Target::None);
        push(
            "share of direct",
            &rounds.share,
            "%",
            Target::AtLeast(SHARE),
        );
        push("added p50", &rounds.added_p50_us, "µs", most);
        let times = "32 clients to one alone";
        push(times, &rounds.times, "×", Target::AtLeast(TIMES));
    }
    Ok(calls)
}

/// The middle of what writing a page in place and syncing it takes, in a folder's file system.
fn fdatasync_us(folder: &Path) -> Result<f64> {
    let mut file = tempfile::tempfile_in(folder).context("cannot make a file to sync")?;
    let page = [0xa5; PAGE];
    // The file's size must not change, or its metadata would be written too.
    file.write_all(&page.repeat(TRIES))?;
    file.sync_all()?;
    file.seek(SeekFrom::Start(0))?;
    let mut took = Vec::with_capacity(TRIES);
    for _ in 0..TRIES {
        let start = sys::now();
        file.write_all(&page)?;
        file.sync_data()?;
        took.push((sys::now() - start).as_secs_f64() * 1e6);
    }
    Ok(median(&took))
}
