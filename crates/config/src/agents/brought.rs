//! The servers that agents bring along, and the owner's word for those of folders.
//!
//! They are no part of the owner's configuration: they run for an agent's tasks and for nobody
//! else. What a folder's agent would run is agreed to entry by entry, like the folder's other
//! servers; the owner wrote his own agents himself.

use std::path::{Path, PathBuf};

use legation_core::Home;

use super::{AGENTS_MAX, Agent, FrontMatterError, read};
use crate::servers::{Instance, Loaded, Source, read_entry};
use crate::trust::{self, State, Trust};

/// Where a folder keeps its agents.
const PLACES: [&str; 2] = [".github/agents", ".claude/agents"];

/// The file of a folder's agent, and what it holds.
#[derive(Debug)]
pub(crate) struct OfFolder {
    /// The file.
    pub(crate) file: PathBuf,
    /// The agent, or why it cannot be read.
    pub(crate) agent: Result<Agent, FrontMatterError>,
}

/// The servers of an agent that may run, and what is wrong with the others.
#[must_use]
pub fn servers(home: &Home, agent: &Agent) -> Loaded {
    let folder = agent.folder.as_ref().map(|folder| {
        let real = folder.canonicalize();
        real.unwrap_or_else(|_| folder.clone())
    });
    // Where the folder really is, which is what trust is given to.
    let within = agent.folder.as_ref().zip(folder.as_ref());
    let file =
        within.and_then(|(named, real)| Some(real.join(agent.file.strip_prefix(named).ok()?)));
    let source = Source::Agent {
        file: file.unwrap_or_else(|| agent.file.clone()),
        of_folder: folder.is_some(),
    };
    let trust = folder.is_some().then(|| Trust::load(home));
    let mut loaded = Loaded::default();
    for (name, entry) in &agent.servers {
        if let (Some(folder), Some(trust)) = (&folder, &trust) {
            let state = trust.state(folder, &entry_name(&agent.file, name), entry);
            if state != State::Trusted {
                let problem = trust::problem(&source, name, state, trust.broken());
                loaded.problems.push(problem);
                continue;
            }
        }
        let (spec, problems) = read_entry(name, entry, &source, true);
        loaded.problems.extend(problems);
        loaded.servers.extend(spec.map(|mut spec| {
            // Its only client is the task it was started for.
            spec.instance = Instance::Shared;
            spec
        }));
    }
    loaded
}

/// The name under which the owner agrees to a server of an agent's: two agents of a folder may each
/// bring one of a name, and so may the folder itself.
pub(crate) fn entry_name(file: &Path, server: &str) -> String {
    // The last three parts: the folder may be written in several ways.
    let parts: Vec<_> = file.iter().rev().take(3).collect();
    let parts: Vec<_> = parts
        .iter()
        .rev()
        .map(|part| part.to_string_lossy())
        .collect();
    format!("{}#{server}", parts.join("/"))
}

/// The agents that a folder brings along, in the order of their files.
pub(crate) fn of_folder(folder: &Path) -> Vec<OfFolder> {
    let mut files: Vec<PathBuf> = Vec::new();
    for place in PLACES {
        let Ok(found) = std::fs::read_dir(folder.join(place)) else {
            continue;
        };
        let found = found.flatten().take(AGENTS_MAX).map(|file| file.path());
        files.extend(found.filter(|file| file.extension().is_some_and(|ends| ends == "md")));
    }
    files.sort_unstable();
    let agents = files.into_iter().filter_map(|file| {
        // A file that cannot be read starts nothing.
        let text = read(&file).ok().flatten()?;
        let agent = Agent::parse("", &text);
        Some(OfFolder { file, agent })
    });
    agents.collect()
}
