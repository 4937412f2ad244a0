//! Bounds on what a command may use up.

use std::fs;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, Signal, getrlimit, kill_process_group, setrlimit};

use crate::spec::Confinement;

/// The least number of ids that a namespace can have.
const IDS_MIN: u32 = 400;
/// Longest file.
const FILE_MAX: u64 = 4 << 30;
/// Files open at once.
const OPEN_MAX: u64 = 4096;
/// How often processes are counted where the kernel does not bound them.
const COUNTED_EVERY: Duration = Duration::from_millis(20);

/// The first kernel whose namespaces have bounds of their own.
const BOUNDED_SINCE: (u32, u32) = (6, 14);

/// Bounds the ids of this process's namespace, which kernels from 6.14 on can;
/// says whether it did.
pub(super) fn bound_ids(processes: u32) -> bool {
    // On an older one root would bound the whole machine.
    let release = rustix::system::uname();
    if version(&release.release().to_string_lossy()) < BOUNDED_SINCE {
        return false;
    }
    let ids = processes.max(IDS_MIN).to_string();
    fs::write("/proc/sys/kernel/pid_max", &ids).is_ok()
        && fs::read_to_string("/proc/sys/kernel/pid_max").is_ok_and(|is| is.trim() == ids)
}

/// The first two numbers of a kernel's release.
fn version(release: &str) -> (u32, u32) {
    let mut numbers = release
        .split(|letter: char| !letter.is_ascii_digit())
        .map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// Bounds of each process; that on processes counts for all of the user's in
/// this user namespace, unless the user is root.
pub(super) fn set_limits(confinement: &Confinement) -> rustix::io::Result<()> {
    let limits = [
        (Resource::Core, 0),
        (Resource::Nproc, u64::from(confinement.processes)),
        (Resource::Fsize, FILE_MAX),
        (Resource::Nofile, OPEN_MAX),
    ];
    // What can be written to counts, and not what is only set aside: programs with
    // collectors of garbage set aside far more than any machine has.
    let memory = confinement.memory_bytes.map(|most| (Resource::Data, most));
    for (resource, limit) in limits.into_iter().chain(memory) {
        // One that is lower already stays.
        let now = getrlimit(resource);
        let lower = |now: Option<u64>| Some(now.map_or(limit, |now| now.min(limit)));
        setrlimit(
            resource,
            Rlimit {
                current: lower(now.current),
                maximum: lower(now.maximum),
            },
        )?;
    }
    Ok(())
}

/// Ends everything once there are too many processes: for kernels that bound
/// no namespace, on which root is bound by nothing else.
pub(super) fn watch(processes: u32) {
    let watched = std::thread::Builder::new()
        .name("count".into())
        .spawn(move || {
            loop {
                let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
                let numbered = entries.filter(|entry| {
                    let name = entry.file_name();
                    name.as_encoded_bytes()
                        .first()
                        .is_some_and(u8::is_ascii_digit)
                });
                if numbered.count() > usize::try_from(processes).unwrap_or(usize::MAX) {
                    kill_all();
                }
                std::thread::sleep(COUNTED_EVERY);
            }
        });
    if watched.is_err() {
        // Nobody would count.
        kill_all();
    }
}

/// Everything but this process, which the kernel spares as the namespace's
/// first.
fn kill_all() {
    if let Some(first) = rustix::process::Pid::from_raw(1) {
        // `kill(-1)` is the group of process 1 as this interface has it.
        let _none = kill_process_group(first, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_kernels_are_told_from_new_ones() {
        for (release, can) in [
            ("6.14.0-rc1", true),
            ("6.18.44-fc", true),
            ("7.0", true),
            ("6.13.12-arch1", false),
            ("5.15.0-100-generic", false),
            ("", false),
        ] {
            assert_eq!(version(release) >= BOUNDED_SINCE, can, "{release}");
        }
    }
}
