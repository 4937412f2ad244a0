//! Commands: lines that begin with a slash. Everything that a key does can be done by one.

use legation_api::{audit, conversation, inbox, mcp, tasks};

use super::{App, Ask, Cell, Effect, Mode, Target};

/// A command, what it takes, and what it does.
pub(crate) const COMMANDS: &[(&str, &str, &str)] = &[
    (
        "/tasks",
        "[undo TASK [now]]",
        "what is worked on and what waits; take back what a task did to files",
    ),
    (
        "/queue",
        "TEXT",
        "hand TEXT in once the task that is worked on is over",
    ),
    (
        "/steer",
        "TEXT",
        "say TEXT to the task that is worked on, between its steps",
    ),
    ("/answer", "TEXT", "answer the task that asks"),
    (
        "/cancel",
        "[TASK]",
        "call a task off; the one that is worked on when none is named",
    ),
    (
        "/pause",
        "",
        "hold back the agents' next steps while this terminal is open, or let them go on",
    ),
    (
        "/approvals",
        "[ID [ANSWER]]",
        "what waits for you, one of it, or your answer to it",
    ),
    (
        "/inbox",
        "[COUNT]",
        "what people wrote and you have not read",
    ),
    ("/audit", "[COUNT]", "the newest records of the ledger"),
    (
        "/mcp",
        "list|show|search|add|edit|delete|enable|disable|reload|auth",
        "the servers behind the hub, and their tools",
    ),
    (
        "/model",
        "[PROVIDER[/MODEL]|default]",
        "the model of your next messages",
    ),
    (
        "/session",
        "[list|new|resume ID|export ID|delete ID]",
        "conversations",
    ),
    ("/help", "", "the keys and these commands"),
    ("/quit", "", "end; tasks go on in the hub"),
];

/// What may follow a command.
const SECOND: &[(&str, &[&str])] = &[
    (
        "/mcp",
        &[
            "list", "show", "search", "add", "edit", "delete", "enable", "disable", "reload",
            "auth",
        ],
    ),
    ("/session", &["list", "new", "resume", "export", "delete"]),
    ("/tasks", &["undo"]),
    ("/model", &["default"]),
];

/// How many lines a list has when nobody says how many.
const LINES: usize = 20;
const LINES_MAX: usize = 500;

/// Under which name the terminal reads the inbox.
pub(crate) const CONSUMER: &str = "terminal";

/// What a text may be completed to.
pub(crate) fn matching(text: &str) -> Vec<String> {
    if !text.starts_with('/') || text.contains('\n') {
        return Vec::new();
    }
    match text.split_once(' ') {
        None => COMMANDS
            .iter()
            .filter(|(name, ..)| name.starts_with(text))
            .map(|(name, ..)| (*name).to_owned())
            .collect(),
        Some((first, rest)) => SECOND
            .iter()
            .filter(|(name, _)| *name == first)
            .flat_map(|(_, words)| words.iter())
            .filter(|word| word.starts_with(rest))
            .map(|word| format!("{first} {word}"))
            .collect(),
    }
}

// === impl App ===

impl App {
    /// Completes a command as far as it is the only one.
    pub(crate) fn complete(&mut self) {
        let text = self.composer.text().to_owned();
        let found = matching(&text);
        let Some(first) = found.first() else {
            return;
        };
        let common = found.iter().skip(1).fold(first.as_str(), |common, other| {
            let length = common
                .bytes()
                .zip(other.bytes())
                .take_while(|(one, two)| one == two)
                .count();
            common.get(..length).unwrap_or_default()
        });
        let common = common.to_owned();
        match found.len() {
            1 => self.composer.set(&format!("{common} ")),
            _ => self.composer.set(&common),
        }
    }

    /// Does what a command says.
    pub(crate) fn command(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default().to_owned();
        let words: Vec<&str> = words.collect();
        let rest = line.get(name.len()..).unwrap_or_default().trim();
        match name.as_str() {
            "/help" => self.help(),
            "/quit" | "/exit" => self.effects.push_back(Effect::Quit),
            "/tasks" => self.tasks_command(&words),
            "/queue" => self.send_later(rest),
            "/steer" => self.steer_active(rest),
            "/answer" => self.answer_asking(rest),
            "/cancel" => self.cancel_command(words.first().copied()),
            "/pause" => self.pause(),
            "/approvals" => self.approvals_command(&words),
            "/inbox" => self.ask(Ask::Inbox(inbox::Pull {
                consumer: CONSUMER.to_owned(),
                limit: count(&words),
                mark_consumed: true,
                ..inbox::Pull::default()
            })),
            "/audit" => self.ask(Ask::Audit(audit::Tail {
                count: count(&words),
            })),
            "/mcp" => self.mcp_command(&words, rest),
            "/model" => self.model_command(words.first().copied()),
            "/session" => self.session_command(&words),
            _ => self.say(format!("{name} is no command; /help lists them")),
        }
    }

    fn help(&mut self) {
        match self.choices.is_plain {
            true => {
                let lines = super::listing::help();
                self.show(Cell::listing(lines));
            }
            false => self.mode = Mode::Help,
        }
    }

    fn tasks_command(&mut self, words: &[&str]) {
        match words {
            [] => self.ask(Ask::Tasks(tasks::List {
                open: false,
                session: self.session.as_ref().map(|session| session.id.clone()),
                limit: Some(LINES),
            })),
            ["undo", id] | ["undo", id, "now"] => self.ask(Ask::Undo(tasks::Undo {
                task_id: (*id).to_owned(),
                dry_run: words.len() == 2,
            })),
            _ => self.say("/tasks, or /tasks undo TASK, or /tasks undo TASK now"),
        }
    }

    fn cancel_command(&mut self, id: Option<&str>) {
        let active = self.queue.active().or_else(|| self.queue.asking());
        let id = id.or(active.map(|task| task.task_id.as_str()));
        match id.map(str::to_owned) {
            Some(id) => self.cancel(&id, "cancelled at the terminal"),
            None => self.say("nothing is worked on"),
        }
    }

    pub(crate) fn cancel(&mut self, id: &str, reason: &str) {
        self.ask(Ask::Cancel(tasks::Cancel {
            task_id: id.to_owned(),
            reason: Some(reason.to_owned()),
        }));
    }

    fn steer_active(&mut self, text: &str) {
        let active = self.queue.active().map(|task| task.task_id.clone());
        match active {
            _ if text.is_empty() => self.say("/steer TEXT"),
            Some(id) => self.steer(&id, text),
            None => self.say("nothing is worked on"),
        }
    }

    pub(crate) fn steer(&mut self, id: &str, text: &str) {
        self.ask(Ask::Steer(tasks::Steer {
            task_id: id.to_owned(),
            text: text.to_owned(),
        }));
    }

    fn answer_asking(&mut self, text: &str) {
        let asking = self.queue.asking().map(|task| task.task_id.clone());
        match asking {
            _ if text.is_empty() => self.say("/answer TEXT"),
            Some(id) => self.reply(&id, text),
            None => self.say("no task asks anything"),
        }
    }

    pub(crate) fn reply(&mut self, id: &str, text: &str) {
        self.ask(Ask::Reply(tasks::Answer {
            task_id: id.to_owned(),
            text: text.to_owned(),
        }));
    }

    fn approvals_command(&mut self, words: &[&str]) {
        match words {
            [] if self.choices.is_plain => self.ask(Ask::Approvals { is_shown: true }),
            [] => self.approval(None),
            [id] if self.choices.is_plain => {
                let lines = self.approvals.iter().find(|one| one.id == *id);
                match lines.map(super::listing::question) {
                    Some(lines) => self.show(Cell::listing(lines)),
                    None => self.say(format!("{id} does not wait")),
                }
            }
            [id] => self.approval(Some(id)),
            [id, answer, ..] => {
                let waiting = self.approvals.iter().find(|one| one.id == *id).cloned();
                match waiting {
                    Some(waiting) if waiting.kind == "proposal" && *answer != "deny" => {
                        self.say("a proposal takes your PIN: legation approve ID");
                    }
                    Some(waiting) => self.answer_approval(&waiting, answer),
                    None => self.say(format!("{id} does not wait")),
                }
            }
        }
    }

    fn mcp_command(&mut self, words: &[&str], rest: &str) {
        let workspace = self.choices.workspace.clone();
        let outside = |first: &str| {
            let rest = rest.split_once(' ').map_or("", |(_, rest)| rest);
            let mut all = vec!["mcp".to_owned(), first.to_owned()];
            all.extend(split(rest));
            Effect::Outside(all)
        };
        match words {
            [] | ["list"] => self.ask(Ask::Servers(mcp::List { workspace })),
            ["show", name] => self.ask(Ask::Server(mcp::Show {
                name: (*name).to_owned(),
                workspace,
            })),
            ["enable", name] => self.ask(Ask::Enable(mcp::Enable {
                name: (*name).to_owned(),
                workspace,
            })),
            ["disable", name] => self.ask(Ask::Disable(mcp::Disable {
                name: (*name).to_owned(),
                workspace,
            })),
            ["reload"] | ["reload", _] => self.ask(Ask::Reload(mcp::ReloadServer {
                name: words.get(1).map(|name| (*name).to_owned()),
                workspace,
            })),
            ["search", _, ..] => self.ask(Ask::Tools {
                words: words[1..].join(" "),
                request: mcp::Tools {
                    server: None,
                    workspace,
                },
            }),
            // It may open a browser, and waits until somebody signed in there.
            ["auth", _, ..] => self.effects.push_back(outside("auth")),
            ["add", _, ..] => self.effects.push_back(outside("add")),
            ["delete" | "remove", _, ..] => self.effects.push_back(outside("remove")),
            ["edit", name] => {
                self.effects.push_back(outside("get"));
                self.composer.set(&format!("/mcp add {name} --replace "));
            }
            _ => self.say("/mcp list, show NAME, search WORDS, add NAME ..., edit NAME, delete NAME, enable NAME, disable NAME, reload [NAME], auth NAME"),
        }
    }

    fn model_command(&mut self, name: Option<&str>) {
        match name {
            None => self.ask_engine_shown(),
            Some("default") => {
                self.model = None;
                self.say("the hub chooses the model of your next messages");
            }
            Some(name) => {
                let (provider, model) = match name.split_once('/') {
                    Some((provider, model)) => (provider, Some(model.to_owned())),
                    None => (name, None),
                };
                self.model = Some((provider.to_owned(), model));
                self.say(format!(
                    "your next messages go to {name}, where the rules allow it"
                ));
            }
        }
    }

    fn session_command(&mut self, words: &[&str]) {
        let open = |session: Option<&str>, new| conversation::Open {
            workspace: self.choices.workspace.clone(),
            session: session.map(str::to_owned),
            new,
        };
        let effect = match words {
            [] | ["list"] => Effect::Ask(Box::new(Ask::Sessions)),
            ["new"] => Effect::Follow(open(None, true)),
            ["resume", id] => Effect::Follow(open(Some(id), false)),
            ["export", id] => {
                Effect::Outside(["session", "export", id].map(str::to_owned).to_vec())
            }
            ["delete", id] if self.session.as_ref().is_some_and(|one| one.id == **id) => {
                self.say("this conversation is open; /session new begins another one first");
                return;
            }
            ["delete", id] => Effect::Ask(Box::new(Ask::Forget(conversation::Delete {
                session: (*id).to_owned(),
            }))),
            _ => {
                self.say("/session list, new, resume ID, export ID or delete ID");
                return;
            }
        };
        self.effects.push_back(effect);
    }

    /// A message waits until what is worked on is over.
    pub(crate) fn send_later(&mut self, text: &str) {
        let active = self.queue.active().map(|task| task.task_id.clone());
        match active {
            _ if text.is_empty() => self.say("/queue TEXT"),
            None => self.send(text, Target::Conversation),
            Some(after) => {
                if let Err(text) = self.queue.hold(text.to_owned(), after) {
                    self.composer.set(&text);
                    self.say("too many messages wait already");
                }
            }
        }
    }
}

/// How many lines are wanted.
fn count(words: &[&str]) -> usize {
    let given = words.first().and_then(|word| word.parse().ok());
    given.unwrap_or(LINES).clamp(1, LINES_MAX)
}

/// Words as a shell would split them, with quotes and nothing else of a shell.
fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for sign in text.chars() {
        match (quote, sign) {
            (Some(open), _) if open == sign => quote = None,
            (None, '"' | '\'') => {
                quote = Some(sign);
                word.get_or_insert_default();
            }
            (None, _) if sign.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(sign),
        }
    }
    words.extend(word);
    words
}
