//! What a client's hook is given on standard input: a JSON object whose members
//! each client names as it likes. Anything else is as good as nothing.

use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use legation_core::process::line_above;
use serde_json::{Map, Value};

use super::session::canonical;

/// More than any hook is given that does not carry a whole conversation.
const INPUT_MAX: u64 = 4 * 1024 * 1024;
/// Longest id of a session; a longer one is no id.
const ID_MAX: usize = 200;

/// What was said.
#[derive(Debug)]
pub(super) struct Hook {
    given: Option<String>,
    said: Map<String, Value>,
}

// === impl Hook ===

impl Hook {
    /// Reads standard input, unless it is a terminal.
    pub(super) fn read(session: Option<&str>) -> Self {
        let mut text = Vec::new();
        let input = io::stdin();
        if !input.is_terminal() {
            // A hook without its input is still one of the session's.
            let _read = input.lock().take(INPUT_MAX).read_to_end(&mut text);
        }
        Self::parse(session, &text)
    }

    pub(super) fn parse(session: Option<&str>, text: &[u8]) -> Self {
        Self {
            given: session.map(str::to_owned),
            said: serde_json::from_slice(text).unwrap_or_default(),
        }
    }

    /// The session's id; without one, the process it belongs to stands for it.
    pub(super) fn session(&self) -> String {
        let fits = |id: &&str| !id.is_empty() && id.len() <= ID_MAX;
        let said = ["session_id", "sessionId", "sessionID", "thread_id"]
            .iter()
            .find_map(|name| self.said.get(*name)?.as_str());
        let id = self.given.as_deref().or(said).filter(fits);
        id.map_or_else(
            || {
                let process = line_above().last().map_or(0, |kin| kin.pid);
                format!("process-{process}")
            },
            str::to_owned,
        )
    }

    /// The folder the session works in.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        let said = ["cwd", "directory", "workspace"]
            .iter()
            .find_map(|name| self.said.get(*name)?.as_str());
        match said.map(Path::new).filter(|path| path.is_absolute()) {
            Some(path) => Some(canonical(path)),
            None => std::env::current_dir().ok().map(|path| canonical(&path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Hook;

    #[test]
    fn whatever_a_client_says_is_taken() {
        for (text, expected) in [
            (r#"{"session_id":"a-1","cwd":"/"}"#, "a-1"),
            (r#"{"sessionId":"b","timestamp":1}"#, "b"),
            (r#"{"thread_id":"c"}"#, "c"),
        ] {
            assert_eq!(Hook::parse(None, text.as_bytes()).session(), expected);
            assert_eq!(Hook::parse(Some("mine"), text.as_bytes()).session(), "mine");
        }
        for text in [
            "",
            "null",
            "[1]",
            "{half",
            r#"{"session_id":7}"#,
            r#"{"session_id":""}"#,
            "\u{0}\u{1}",
        ] {
            let hook = Hook::parse(None, text.as_bytes());
            assert!(hook.session().starts_with("process-"), "{text:?}");
            assert!(hook.folder().is_some_and(|folder| folder.is_absolute()));
        }
        let folder = Hook::parse(None, br#"{"cwd":"/usr/.."}"#).folder();
        assert_eq!(folder.as_deref(), Some(std::path::Path::new("/")));
    }
}
