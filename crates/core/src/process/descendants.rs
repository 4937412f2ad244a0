//! Every process below this one, from `/proc` (proc(5)).

use std::fs;

use rustix::process::{Pid, Signal};

/// One round: SIGKILL to everything below this process that is still alive.
/// `false` when there is no process table to read.
///
/// Reading the whole table is dearer than `/proc/self/task/*/children`, but it
/// also finds grandchildren whose parents live, and does not depend on a kernel
/// option.
pub(super) fn kill_all() -> bool {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let Some(table) = parents() else {
        return false;
    };
    let mut doomed = vec![own];
    let mut at = 0;
    while at < doomed.len() {
        let parent = doomed[at];
        doomed.extend(
            table
                .iter()
                .filter(|(_, of)| *of == parent)
                .map(|(pid, _)| *pid),
        );
        at += 1;
    }
    for pid in doomed.into_iter().skip(1).filter_map(Pid::from_raw) {
        let _gone = rustix::process::kill_process(pid, Signal::KILL);
    }
    true
}

/// (process, parent) of every process that has not ended.
fn parents() -> Option<Vec<(i32, i32)>> {
    let entries = fs::read_dir("/proc").ok()?;
    let table: Vec<_> = entries
        .filter_map(|entry| {
            let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
            Some((pid, parent_in(&stat)?))
        })
        .collect();
    // This process at least has to be in it.
    (!table.is_empty()).then_some(table)
}

/// The fourth field of a stat line; the second may hold spaces and brackets.
fn parent_in(stat: &[u8]) -> Option<i32> {
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&stat[close + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (state != "Z" && state != "X").then_some(parent)
}

#[cfg(test)]
mod tests {
    use super::parent_in;

    #[test]
    fn the_parent_is_found_behind_any_command_name() {
        for (line, parent) in [
            ("12 (sh) S 7 12 12 0", Some(7)),
            ("12 (a) b) (c) R 9 1", Some(9)),
            ("12 (gone) Z 7 12", None),
            ("12", None),
        ] {
            assert_eq!(parent_in(line.as_bytes()), parent, "{line}");
        }
    }
}
