//! What `connect` installs beside the hub's entry: what wakes an agent's idle
//! session, its command `/inbox`, and the rule when to look into the inbox.
//!
//! No agent is woken by anything a server sends. Each has another way in from
//! outside, and some have none, so there is a file or two for each.

use std::path::PathBuf;

use legation_config::environment::Environment;
use serde_json::{Value, json};

use super::client::Client;
use super::file::FileError;
use super::jsonc;
use super::part::{OWN, Part, with_block, with_hooks};
use crate::shell;

/// A day: as long as a session may wait.
const WAIT_S: u32 = 86_400;
/// What a hook takes that only writes down what happened.
const NOTE_S: u32 = 10;

const COPILOT: &str = include_str!("wake/copilot.mjs");
const OPENCODE: &str = include_str!("wake/opencode.js");
const RULE: &str = include_str!("wake/rule.md");
const INBOX: &str = include_str!("wake/inbox.md");

/// A file beside the one with the hub's entry.
#[derive(Debug, Clone)]
pub(super) struct Extra {
    pub(super) path: PathBuf,
    pub(super) part: Part,
    /// What the part holds, where it is a text.
    text: String,
}

/// The words that start this program on the right data directory.
#[derive(Debug, Clone)]
pub(super) struct Program {
    pub(super) words: Vec<String>,
}

/// What wakes an agent, and its command `/inbox`.
pub(super) fn extras(client: Client, environment: &Environment, program: &Program) -> Vec<Extra> {
    let Some(folder) = client.folder(environment) else {
        return Vec::new();
    };
    let own = |path: &str, text: String| Extra {
        path: folder.join(path),
        part: Part::Own,
        text,
    };
    let hooks = |path: &str, hooks: Vec<(String, Value)>| Extra {
        path: folder.join(path),
        part: Part::Hooks(hooks),
        text: String::new(),
    };
    match client {
        Client::Claude => vec![
            hooks("settings.json", claude(program)),
            own("commands/inbox.md", command(client)),
        ],
        Client::Codex => vec![
            hooks("hooks.json", codex(program)),
            own("skills/inbox/SKILL.md", skill(client)),
        ],
        Client::Copilot => vec![
            own(
                "extensions/legation/extension.mjs",
                program.fill(COPILOT, client),
            ),
            // Copilot CLI loads extensions only with this.
            Extra {
                path: folder.join("settings.json"),
                part: Part::On("experimental".to_owned()),
                text: String::new(),
            },
            own("skills/inbox/SKILL.md", skill(client)),
        ],
        Client::Opencode => vec![
            own("plugin/legation.js", program.fill(OPENCODE, client)),
            own("command/inbox.md", command(client)),
        ],
        // None of these takes a prompt from outside.
        Client::Gemini => vec![own(
            "commands/inbox.toml",
            format!(
                "# {OWN} gemini`.\ndescription = \"Read what people wrote to you\"\nprompt = '''\n{INBOX}'''\n"
            ),
        )],
        Client::Vscode | Client::Jetbrains => Vec::new(),
    }
}

/// The rule, in the file that the agent reads in every folder, or in another.
pub(super) fn rule(
    client: Client,
    environment: &Environment,
    file: Option<PathBuf>,
) -> Option<Extra> {
    let name = match client {
        Client::Claude => Some("CLAUDE.md"),
        Client::Codex | Client::Opencode => Some("AGENTS.md"),
        Client::Copilot => Some("copilot-instructions.md"),
        Client::Gemini => Some("GEMINI.md"),
        Client::Vscode | Client::Jetbrains => None,
    };
    let usual = || Some(client.folder(environment)?.join(name?));
    Some(Extra {
        path: file.or_else(usual)?,
        part: Part::Block,
        text: RULE.to_owned(),
    })
}

fn command(client: Client) -> String {
    format!(
        "---\ndescription: Read what people wrote to you\n---\n<!-- {OWN} {}`. -->\n{INBOX}",
        client.name()
    )
}

fn skill(client: Client) -> String {
    format!(
        "---\nname: inbox\ndescription: Read what people wrote to you in Teams, mail and local programs, and report it. Use when the user says /inbox or asks for new messages.\n---\n<!-- {OWN} {}`. -->\n{INBOX}",
        client.name()
    )
}

fn event(name: &str, command: &str, more: &Value) -> (String, Value) {
    let mut hook = json!({"type": "command", "command": command});
    if let (Some(hook), Some(more)) = (hook.as_object_mut(), more.as_object()) {
        hook.extend(more.clone());
    }
    (name.to_owned(), json!({"hooks": [hook]}))
}

/// A Stop hook that runs on behind the session and ends with 2 begins a turn, with
/// what it wrote to standard error. Each turn's end starts another one.
fn claude(program: &Program) -> Vec<(String, Value)> {
    let note = json!({"timeout": NOTE_S});
    let session = |what: &str| program.shell(&["inbox", "session", what, "--client", "claude"]);
    let waker = program.shell(&["inbox", "waker", "--client", "claude"]);
    let wait = json!({"asyncRewake": true, "timeout": WAIT_S});
    vec![
        event("SessionStart", &session("start"), &note),
        event("UserPromptSubmit", &session("busy"), &note),
        event("Stop", &format!("{waker} >&2 && exit 2; exit 0"), &wait),
        event("SessionEnd", &session("end"), &note),
    ]
}

/// Codex asks its user once whether to trust them. The first starts a waker that
/// puts messages into the session's queue.
fn codex(program: &Program) -> Vec<(String, Value)> {
    let note = json!({"timeout": NOTE_S});
    [
        ("SessionStart", "start"),
        ("UserPromptSubmit", "busy"),
        ("Stop", "idle"),
        ("SessionEnd", "end"),
    ]
    .into_iter()
    .map(|(name, what)| {
        let words = ["inbox", "session", what, "--client", "codex"];
        event(name, &program.shell(&words), &note)
    })
    .collect()
}

// === impl Extra ===

impl Extra {
    /// The file's text with this in it.
    pub(super) fn applied(&self, text: &str) -> Result<String, FileError> {
        Ok(match &self.part {
            Part::Entry => text.to_owned(),
            Part::Own => self.text.clone(),
            Part::Hooks(hooks) => with_hooks(text, hooks)?,
            Part::On(member) => jsonc::with_member(text, member, Some(&Value::Bool(true)))?,
            Part::Block => with_block(text, &self.text),
        })
    }

    /// What stood in its place before, where that is one value.
    pub(super) fn old(&self, text: &str) -> Option<Value> {
        match &self.part {
            Part::On(member) => jsonc::member(text, member).ok()?,
            Part::Entry | Part::Own | Part::Hooks(_) | Part::Block => None,
        }
    }
}

// === impl Program ===

impl Program {
    fn with(&self, more: &[&str]) -> Vec<String> {
        let more = more.iter().map(|word| (*word).to_owned());
        self.words.iter().cloned().chain(more).collect()
    }

    /// A command for a shell, each word of it whatever is in it.
    fn shell(&self, more: &[&str]) -> String {
        shell::line(self.with(more).iter().map(String::as_str))
    }

    /// A file in which a waker is started that speaks in lines.
    fn fill(&self, text: &str, client: Client) -> String {
        let words = ["inbox", "waker", "--by", "line", "--client", client.name()];
        let command = json!(self.with(&words)).to_string();
        text.replace("{OWN}", OWN).replace("{COMMAND}", &command)
    }
}

#[cfg(test)]
mod tests {
    use super::{Client, Program, claude, codex};

    #[test]
    fn a_path_of_any_shape_is_one_word_of_a_shell() {
        let program = Program {
            words: vec!["/opt/it's mine/legation".to_owned()],
        };
        assert_eq!(
            program.shell(&["inbox", "waker"]),
            r"'/opt/it'\''s mine/legation' inbox waker"
        );
        let text = program.fill("{OWN}` {COMMAND}", Client::Opencode);
        assert!(
            text.contains(r#"["/opt/it's mine/legation","inbox","waker""#),
            "{text}"
        );
    }

    #[test]
    fn a_session_is_noted_from_its_begin_to_its_end() {
        let program = Program {
            words: vec!["legation".to_owned()],
        };
        for hooks in [claude(&program), codex(&program)] {
            let events: Vec<&str> = hooks.iter().map(|(event, _)| event.as_str()).collect();
            assert_eq!(
                events,
                ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]
            );
        }
        let stop = claude(&program).swap_remove(2).1.to_string();
        assert!(stop.contains("legation inbox waker --client claude >&2 && exit 2; exit 0"));
        assert!(stop.contains("\"asyncRewake\":true"));
    }
}
