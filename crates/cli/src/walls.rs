//! The walls around servers, in the words of the admin API and of people.

use legation_api::mcp::Walls;
use legation_config::SandboxEntry;

/// What an entry says, for programs.
#[must_use]
pub fn walls(entry: &SandboxEntry) -> Walls {
    let paths = |paths: &[legation_config::environment::Template]| {
        paths.iter().map(|path| path.as_str().to_owned()).collect()
    };
    Walls {
        network: entry.network.as_str().to_owned(),
        hosts: entry.network.hosts(),
        read: paths(&entry.read),
        write: paths(&entry.write),
        memory_bytes: entry.memory,
        processes: entry.processes,
        required: entry.required,
    }
}

/// The same in one line.
pub(crate) fn line(walls: &Walls) -> String {
    let mut parts = vec![match walls.network.as_str() {
        "none" => "no network".to_owned(),
        "named" => format!("reaches {}", walls.hosts.join(", ")),
        other => format!("network {other}"),
    }];
    if !walls.read.is_empty() {
        parts.push(format!("reads {}", walls.read.join(", ")));
    }
    if !walls.write.is_empty() {
        parts.push(format!("changes {}", walls.write.join(", ")));
    }
    if let Some(bytes) = walls.memory_bytes {
        parts.push(format!("{} MiB for each process", bytes >> 20));
    }
    if let Some(processes) = walls.processes {
        parts.push(format!("at most {processes} processes and threads"));
    }
    if !walls.required {
        parts.push("may run without".to_owned());
    }
    parts.join("; ")
}
