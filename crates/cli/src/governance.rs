//! From files on the disk to what the policy reads, and back. The two crates
//! know nothing of each other.

use std::path::{Path, PathBuf};

use legation_config::environment::Environment;
use legation_config::first_run;
use legation_config::governance::{self, Files, Found};
use legation_config::servers::{ServerSpec, Transport};
use legation_core::Home;
use legation_policy::Policy;
use legation_policy::governance::{FileText, Fingerprint, Sources, Template};

/// Everything that governs, for clients that work in `folders`.
pub fn sources(home: &Home, environment: &Environment, folders: &[PathBuf]) -> Sources {
    of_files(governance::read(home, environment, folders))
}

/// The same, with the files of another folder in the place of the home's.
pub(crate) fn sources_in(folder: &Path, environment: &Environment, folders: &[PathBuf]) -> Sources {
    of_files(governance::read_folder(folder, environment, folders))
}

fn of_files(mut files: Files) -> Sources {
    let mut sources =
        Sources::from_files(|name| files.named.remove(name).map_or(FileText::Absent, file_text))
            .with_rosters(
                files
                    .rosters
                    .into_iter()
                    .map(|(name, found)| (name, file_text(found))),
            );
    sources.workspaces = files
        .workspaces
        .into_iter()
        .map(|(folder, found)| (folder, file_text(found)))
        .collect();
    sources.enterprise = files.enterprise.into_iter().map(file_text).collect();
    sources
}

/// A template as the configuration writes it.
pub fn template(template: Template) -> first_run::Template<'static> {
    first_run::Template {
        name: template.as_str(),
        files: template.everything(),
    }
}

/// Marks the servers that the organisation does not let start, with its reason. What cannot be read
/// lets none start.
pub fn withhold(policy: &Policy, servers: &mut [ServerSpec]) {
    for server in servers {
        // Rules reach the hub's own server by its own name, whatever else it is called.
        if server.transport.memory().is_some() {
            continue;
        }
        let print = fingerprint(&server.transport);
        let helper = server.transport.headers_helper();
        // A command is a command, whatever it is for.
        let helper = helper.map(|line| Fingerprint::of_command(&[line]));
        let mut prints = std::iter::once(print).chain(helper);
        server.filtered = prints.find_map(|print| policy.forbids_server(&server.name, print));
    }
}

/// What an organisation's allow-list knows a server by: the command or the
/// address as written.
pub(crate) fn fingerprint(transport: &Transport) -> Fingerprint {
    match transport {
        Transport::Stdio { command, args, .. } => {
            let words = std::iter::once(command).chain(args);
            let words: Vec<&str> = words.map(|word| word.as_str()).collect();
            Fingerprint::of_command(&words)
        }
        Transport::Http { url, .. } => Fingerprint::of_url(url.as_str()),
        Transport::Memory { server } => Fingerprint::of_command(&["memory", server.as_str()]),
    }
}

fn file_text(found: Found) -> FileText {
    match found {
        Found::Text(text) => FileText::Text(text),
        Found::Absent => FileText::Absent,
        Found::Unusable(why) => FileText::Unusable(why),
    }
}
