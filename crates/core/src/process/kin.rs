//! Knowing other processes again, and the programs that started this one.
//!
//! A process id alone is not enough: the system gives it to the next process
//! once the first is gone. On Linux the time at which a process was started
//! stands in `/proc` (proc(5), field 22 of `stat`) and tells the two apart;
//! elsewhere the id has to do.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

/// Programs that only run commands of others.
const SHELLS: [&str; 9] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "busybox", "env",
];
/// Shells above a program that are looked through.
const CLIMB_MAX: usize = 8;

/// A process, known by its id and, where the system says it, its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Kin {
    /// The process id.
    pub pid: i32,
    /// Clock ticks from the system's start to the process's.
    pub started: Option<u64>,
}

// === impl Kin ===

impl Kin {
    /// This process.
    #[must_use]
    pub fn own() -> Self {
        Self::of(rustix::process::getpid().as_raw_nonzero().get())
    }

    /// The process that started this one; `None` once it is gone, or where it is
    /// the system's first.
    #[must_use]
    pub fn parent() -> Option<Self> {
        let pid = rustix::process::getppid()?.as_raw_nonzero().get();
        (pid > 1).then(|| Self::of(pid))
    }

    /// The process that has an id now.
    #[must_use]
    pub fn of(pid: i32) -> Self {
        Self {
            pid,
            started: stat(pid).map(|stat| stat.started),
        }
    }

    /// Whether it still runs.
    #[must_use]
    pub fn lives(self) -> bool {
        if let Some(stat) = stat(self.pid) {
            return !stat.ended && self.started.is_none_or(|started| started == stat.started);
        }
        if Path::new("/proc/self/stat").exists() {
            return false;
        }
        let pid = Pid::from_raw(self.pid);
        pid.is_some_and(|pid| match rustix::process::test_kill_process(pid) {
            Ok(()) => true,
            // It is somebody else's, so it is there.
            Err(error) => error == rustix::io::Errno::PERM,
        })
    }

    /// The file of its program, where the system says it.
    #[must_use]
    pub fn program(self) -> Option<PathBuf> {
        fs::read_link(format!("/proc/{}/exe", self.pid)).ok()
    }

    fn above(self) -> Option<Self> {
        let parent = stat(self.pid)?.parent;
        (parent > 1).then(|| Self::of(parent))
    }

    fn is_shell(self) -> bool {
        let name = fs::read_to_string(format!("/proc/{}/comm", self.pid));
        name.is_ok_and(|name| SHELLS.contains(&name.trim_end()))
    }
}

/// The shells that started this process, nearest first, and at the end the
/// first program above them that is none: an agent, for what its hooks start.
#[must_use]
pub fn line_above() -> Vec<Kin> {
    let mut line = Vec::new();
    let mut next = Kin::parent();
    while let Some(kin) = next
        && line.len() < CLIMB_MAX
    {
        line.push(kin);
        next = if kin.is_shell() { kin.above() } else { None };
    }
    line
}

struct Stat {
    parent: i32,
    started: u64,
    ended: bool,
}

fn stat(pid: i32) -> Option<Stat> {
    read_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The second field may hold spaces and brackets, so what follows is counted
/// from its last bracket.
fn read_stat(text: &[u8]) -> Option<Stat> {
    let close = text.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&text[close + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    // Field 22 is the twentieth from the state on.
    let started = fields.nth(17)?.parse().ok()?;
    Some(Stat {
        parent,
        started,
        ended: matches!(state, "Z" | "X"),
    })
}

#[cfg(test)]
mod tests {
    use super::{Kin, line_above, read_stat};

    #[test]
    fn a_stat_line_is_read_behind_any_name() {
        let line = b"12 (a) b) (c) S 9 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 7755 1 2 3";
        let stat = read_stat(line).unwrap();
        assert_eq!((stat.parent, stat.started, stat.ended), (9, 7755, false));
        let gone = read_stat(b"12 (x) Z 9 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 7755").unwrap();
        assert!(gone.ended);
        assert!(read_stat(b"12 (x) S 9").is_none());
    }

    #[test]
    fn this_process_lives_and_one_with_its_id_and_another_start_does_not() {
        let own = Kin::own();
        assert!(own.lives());
        if let Some(started) = own.started {
            let other = Kin {
                started: Some(started + 1),
                ..own
            };
            assert!(!other.lives());
        }
        let first = Kin::parent().map(|parent| parent.pid);
        assert_eq!(line_above().first().map(|kin| kin.pid), first);
    }
}
