//! Every key there is, with what its value may be.

/// What a key takes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// A whole number within these bounds.
    Number { min: i64, max: i64 },
    /// Yes or no.
    Switch,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of some of these words.
    Words(&'static [&'static str]),
    /// An IP address and a port.
    Address,
    /// An IP address and a port, or nothing.
    AddressOrNone,
    /// Where a database is; may hold a password.
    Database,
    /// An absolute path, or nothing.
    Folder,
    /// Absolute paths.
    Folders,
    /// Names of variables.
    Names,
    /// Patterns of files, a colon, and a command; several of them.
    Servers,
    /// Headers whose values are in variables.
    Headers,
    /// A Git remote without a password, or nothing.
    Remote,
    /// A program and its arguments.
    Command,
    /// Hosts, with or without ports.
    Hosts,
    /// Hosts that may be reached, hosts below a name, and networks, with or without ports.
    Destinations,
    /// Names of tools, with `*` and `?`.
    Patterns,
    /// A text in one line.
    Line,
    /// A provider, a slash, and a model of it; or nothing.
    Model,
    /// An id, a domain, a sign-in name: one word.
    Name,
    /// An https address without user name and password.
    Https,
    /// An http or https address without user name and password.
    Proxy,
    /// A scope of tokens, a colon, and a client; several of them.
    Scopes,
    /// Names that another gives, each one word.
    Subjects,
    /// Names of letters, digits, `_` and `-`.
    Plain,
    /// A text that is never printed, from a variable only.
    Secret,
}

#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
}

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

const fn number(name: &'static str, min: i64, max: i64) -> Key {
    Key {
        name,
        kind: Kind::Number { min, max },
    }
}

pub(super) const LOG_LEVELS: &[&str] = &["error", "warn", "info", "debug", "trace"];

/// All keys but those of accounts and views, whose names are the owner's.
pub(super) const KEYS: [Key; 89] = [
    Key {
        name: "listen",
        kind: Kind::Address,
    },
    number("idle_exit_ms", 0, 365 * DAY_MS),
    Key {
        name: "log_level",
        kind: Kind::Word(LOG_LEVELS),
    },
    Key {
        name: "env_value_mode",
        kind: Kind::Word(&["direct", "indirect"]),
    },
    Key {
        name: "server_sandbox",
        kind: Kind::Word(&["asked", "workspace", "all"]),
    },
    Key {
        name: "server_sandbox_network",
        kind: Kind::Destinations,
    },
    number("load_parallelism", 1, 64),
    number("slow_start_ms", 1, DAY_MS),
    number("call_timeout_ms", 1, DAY_MS),
    Key {
        name: "store.url",
        kind: Kind::Database,
    },
    Key {
        name: "secrets.keep_in",
        kind: Kind::Word(&["auto", "system", "file"]),
    },
    Key {
        name: "discovery.clients",
        kind: Kind::Patterns,
    },
    Key {
        name: "discovery.always",
        kind: Kind::Patterns,
    },
    Key {
        name: "discovery.embeddings",
        kind: Kind::Model,
    },
    Key {
        name: "instructions.included",
        kind: Kind::Patterns,
    },
    number("ledger.checkpoint_records", 1, 1_000_000),
    number("ledger.checkpoint_ms", 100, DAY_MS),
    Key {
        name: "ledger.export_folder",
        kind: Kind::Folder,
    },
    Key {
        name: "ledger.export_git",
        kind: Kind::Remote,
    },
    Key {
        name: "ledger.export_command",
        kind: Kind::Command,
    },
    number("limits.client_message_bytes", 16 << 10, 1 << 30),
    number("limits.upstream_message_bytes", 64 << 10, 4 << 30),
    number("limits.connections", 1, 1 << 20),
    number("limits.request_read_ms", 100, DAY_MS),
    number("limits.tools_per_server", 1, 1_000_000),
    number("rate.client_per_minute", 0, 1_000_000_000),
    number("rate.server_per_minute", 0, 1_000_000_000),
    number("rate.tool_per_minute", 0, 1_000_000_000),
    number("rate.poll_per_minute", 0, 1_000_000_000),
    number("rate.burst_s", 1, 3600),
    number("inbox.retention_days", 0, 36_500),
    Key {
        name: "inbox.retention_unread",
        kind: Kind::Word(&["keep", "take"]),
    },
    number("inbox.reader_days", 0, 36_500),
    Key {
        name: "events.error_numbers",
        kind: Kind::Word(&["sep", "draft"]),
    },
    number("events.heartbeat_ms", 100, 30_000),
    Key {
        name: "events.webhook_allow",
        kind: Kind::Hosts,
    },
    Key {
        name: "events.webhook_ca_file",
        kind: Kind::Folder,
    },
    number("events.webhook_retry_ms", 10, 60_000),
    Key {
        name: "delegate.enabled",
        kind: Kind::Switch,
    },
    Key {
        name: "delegate.provider",
        kind: Kind::Name,
    },
    Key {
        name: "delegate.model",
        kind: Kind::Line,
    },
    number("delegate.max_concurrent_tasks", 1, 64),
    number("delegate.queue_max", 1, 100_000),
    number("delegate.turns_max", 1, 10_000),
    number("delegate.tokens_max", 1_000, 1_000_000_000),
    number("delegate.wall_clock_ms", 1_000, 30 * DAY_MS),
    number("delegate.check_tries", 1, 100),
    number("delegate.age_ms", 0, 365 * DAY_MS),
    number("delegate.age_turns", 0, 1_000_000),
    number("delegate.keep_days", 0, 36_500),
    number("desk.keep_days", 0, 36_500),
    number("desk.keep_open_days", 0, 36_500),
    Key {
        name: "external.enabled",
        kind: Kind::Switch,
    },
    Key {
        name: "external.socket_path",
        kind: Kind::Folder,
    },
    number("external.rate_limit", 0, 1_000_000),
    Key {
        name: "workspace.bash",
        kind: Kind::Word(&["confined", "unconfined", "off"]),
    },
    Key {
        name: "workspace.bash_network",
        kind: Kind::Word(&["none", "host"]),
    },
    Key {
        name: "workspace.bash_read",
        kind: Kind::Folders,
    },
    Key {
        name: "workspace.bash_write",
        kind: Kind::Folders,
    },
    Key {
        name: "workspace.bash_env",
        kind: Kind::Names,
    },
    number("workspace.bash_timeout_ms", 100, DAY_MS),
    Key {
        name: "workspace.language_servers",
        kind: Kind::Servers,
    },
    Key {
        name: "copilot.listen",
        kind: Kind::AddressOrNone,
    },
    Key {
        name: "copilot.certificate_file",
        kind: Kind::Folder,
    },
    Key {
        name: "copilot.key_file",
        kind: Kind::Folder,
    },
    Key {
        name: "copilot.github",
        kind: Kind::Https,
    },
    Key {
        name: "copilot.github_ca_file",
        kind: Kind::Folder,
    },
    Key {
        name: "github.builtin",
        kind: Kind::Word(&["auto", "on", "off"]),
    },
    Key {
        name: "github.api_url",
        kind: Kind::Proxy,
    },
    Key {
        name: "github.token_variables",
        kind: Kind::Names,
    },
    Key {
        name: "github.gh",
        kind: Kind::Switch,
    },
    Key {
        name: "github.all_tools",
        kind: Kind::Switch,
    },
    Key {
        name: "github.toolsets",
        kind: Kind::Plain,
    },
    Key {
        name: "github.tools",
        kind: Kind::Plain,
    },
    Key {
        name: "github.insiders",
        kind: Kind::Switch,
    },
    Key {
        name: "oauth.issuer",
        kind: Kind::Proxy,
    },
    Key {
        name: "oauth.audience",
        kind: Kind::Proxy,
    },
    Key {
        name: "oauth.jwks_uri",
        kind: Kind::Proxy,
    },
    Key {
        name: "oauth.scopes",
        kind: Kind::Scopes,
    },
    Key {
        name: "oauth.subjects",
        kind: Kind::Subjects,
    },
    Key {
        name: "registry.url",
        kind: Kind::Proxy,
    },
    Key {
        name: "log.format",
        kind: Kind::Word(&["text", "json"]),
    },
    number("log.file_bytes", 64 << 10, 1 << 30),
    number("log.files", 0, 1_000),
    number("log.days", 0, 36_500),
    Key {
        name: "traces.endpoint",
        kind: Kind::Proxy,
    },
    Key {
        name: "tls.ca_files",
        kind: Kind::Folders,
    },
    Key {
        name: "traces.headers",
        kind: Kind::Headers,
    },
    number("traces.percent", 0, 100),
];

/// The keys of one view.
pub(super) const VIEW_KEYS: [&str; 2] = ["servers", "tools"];

// === impl Key ===

impl Key {
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// The variable that sets it: `limits.connections` is
    /// `LEGATION_LIMITS_CONNECTIONS`.
    pub(super) fn variable(&self) -> String {
        format!("LEGATION_{}", self.name.replace('.', "_").to_uppercase())
    }
}

/// The known word that `found` is most likely meant to be, if any is close.
pub(super) fn nearest<'k>(found: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    // The distance is quadratic in the lengths.
    if found.len() > 64 {
        return None;
    }
    known
        .map(|word| (distance(found, word), word))
        .filter(|(distance, word)| *distance <= word.len().max(3) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// Levenshtein's edit distance, in bytes.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.bytes().enumerate() {
            let substituted = diagonal + usize::from(left != right);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
