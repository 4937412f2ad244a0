use expect_test::{Expect, expect};
use legation_core::Home;
use legation_core::error::chain;

use super::keys::{KEYS, Key};
use super::{Layer, Settings, SettingsError, commented_defaults, misspelt_variables};
use crate::Environment;

/// Settings of a home that holds `file`.
fn load(
    file: &str,
    variables: &[(&str, &str)],
    flags: &[(&str, String)],
) -> Result<Settings, SettingsError> {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path());
    std::fs::write(home.settings(), file).expect("written");
    Settings::load(
        &home,
        &Environment::from_pairs(variables.iter().copied()),
        flags,
    )
}

fn refused(result: Result<Settings, SettingsError>, expected: &Expect) {
    let error = result.expect_err("settings that are refused");
    let text = format!("{}\n{}\n", chain(&error), error.hint());
    // The file stands in a folder with a name made up for this test.
    let text = match text.find("/legation.toml") {
        Some(at) => format!("[home]{}", &text[at..]),
        None => text,
    };
    expected.assert_eq(&text);
}

fn file(text: &str, expected: &Expect) {
    refused(load(text, &[], &[]), expected);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a line for every key there is")]
fn defaults_are_read_from_their_own_file() {
    let settings = Settings::defaults();
    let mut shown = String::new();
    for key in settings.keys() {
        let explained = settings.explain(key).expect("a key in force");
        assert_eq!(explained.place.layer(), Layer::Default);
        assert!(!explained.about.is_empty(), "{key}");
        shown += &format!("{key} = {} # {}\n", explained.value, explained.about);
    }
    expect![[r#"
        call_timeout_ms = 60000 # How long a call may take where a server's entry has no `timeout`.
        copilot.certificate_file = "" # The certificate (PEM, with its chain) that it shows, read again when it changes; without one it does not listen.
        copilot.github = "https://api.github.com" # GitHub's API, which has the keys that requests are signed with and knows whose a token is.
        copilot.github_ca_file = "" # A file of certificates (PEM) that it is trusted by besides the system's.
        copilot.key_file = "" # The private key of the certificate (PEM).
        copilot.listen = "" # Where the webhook of GitHub Copilot's agents listens: empty for nowhere. GitHub has to reach it, directly or through something that passes TLS on as it is.
        delegate.age_ms = 600000 # A task that has waited for so long, in milliseconds, comes before people once, for twenty seconds; 0 means never.
        delegate.age_turns = 8 # A task that has let so many messages of people pass does so too; 0 means never.
        delegate.check_tries = 3 # How often the check of a task may fail before the task has failed.
        delegate.enabled = true # Whether tasks are worked on by a model at all, whoever hands them in.
        delegate.keep_days = 30 # After how many days tasks that are over are forgotten; 0 keeps them. What was said stays in the conversation.
        delegate.max_concurrent_tasks = 1 # How many tasks are worked on at once. Of one conversation it is always one.
        delegate.model = "" # The model that has tasks, where one is wanted.
        delegate.provider = "" # The provider that has tasks, where one is wanted; the rules decide whether it may.
        delegate.queue_max = 1000 # How many tasks of a class (people's, the hub's, agents') may be open.
        delegate.tokens_max = 2000000 # After how many tokens, read and written, a task fails.
        delegate.turns_max = 50 # After how many requests to its model a task fails.
        delegate.wall_clock_ms = 3600000 # After how much work a task fails, in milliseconds.
        desk.keep_days = 90 # After how many days items of triage that were dealt with, and suggestions where to file that were decided about, are forgotten; 0 keeps them, less than 8 counts as 8. The letters stay where they are.
        desk.keep_open_days = 365 # After how many days items that nobody dealt with, and suggestions that nobody decided about, are forgotten; 0 keeps them, less than 8 counts as 8.
        discovery.always = [] # Tools that stay in those lists, as server/tool, with * and ?.
        discovery.clients = [] # Clients, by name, that look for tools instead of reading all of them: their list holds the tools of the server `hub`, of which find_tools finds all others and call_tool calls them. Names may use * and ?. Not for clients that put tools off themselves, such as Claude Code.
        discovery.embeddings = "" # A local model, as provider/model, that find_tools asks what tools and questions mean; empty asks none. The provider is one of kind `local_model` in llm_provider.json that answers /v1/embeddings. It reads names and descriptions, and questions of conversations whose data it may have.
        env_value_mode = "direct" # How values of `env` in mcp.json are read: `direct` takes them as the values, `indirect` as names of variables that hold the values.
        events.error_numbers = "sep" # The numbers of errors of the events extension: those of its proposal (`sep`), or those of its draft (`draft`), which older clients expect.
        events.heartbeat_ms = 15000 # After how many milliseconds of silence a stream of events says that it lives.
        events.webhook_allow = [] # Receivers of webhooks, as host or host:port, that may be reached though they are on a private network or on this machine. Others there are refused.
        events.webhook_ca_file = "" # A file of certificates (PEM) that receivers are trusted by besides the system's.
        events.webhook_retry_ms = 5000 # How long is waited before an event is sent a second time, in milliseconds; before each of three further attempts it is five times as long.
        external.enabled = true # Whether agents may hand tasks to a local model: without it the server `delegate` is offered to nobody, and there is no socket of its own.
        external.rate_limit = 10 # How many tasks a minute one client may hand in; 0 is no limit. Looking after them is never limited by it.
        external.socket_path = "" # A second socket, in a folder that is closed to others, whose clients see the server `delegate` and nothing else; empty for none. Bridges need none.
        github.all_tools = false # Whether all its tools are offered, those that change something among them; else those that read, at an address that has no others.
        github.api_url = "https://api.github.com" # The API of the GitHub that is meant, which says where its server is.
        github.builtin = "auto" # GitHub's own MCP server, which is there without an entry: as long as clients work in repositories of GitHub or in none at all (`auto`), always (`on`), or never (`off`). Without a token it is not contacted.
        github.gh = false # Whether `gh auth token` is asked where neither holds one.
        github.insiders = false # Whether it may offer what it is trying out.
        github.token_variables = [] # Variables of the hub's environment that may hold a token, where the secret `github` holds none; the first that is set counts.
        github.tools = [] # Tools of other toolsets, one by one.
        github.toolsets = [] # Toolsets beside its usual ones, such as "actions", or "all".
        idle_exit_ms = 0 # A hub that was started by a bridge ends after so long without a client, in milliseconds; 0 means never.
        inbox.reader_days = 90 # After how many days without use an agent's reader is forgotten; 0 keeps them. One that a person named stays.
        inbox.retention_days = 0 # After how many days the hub takes whole days of messages out of the inbox; 0 keeps them.
        inbox.retention_unread = "keep" # Whether a day that somebody has not read all of is kept (`keep`) or taken out with the others (`take`).
        instructions.included = ["*"] # Servers whose instructions every client gets when it connects, within 2 KB together. Those of others, and what did not fit, are found by find_tools.
        ledger.checkpoint_ms = 300000 # And after so many milliseconds, when there is something new.
        ledger.checkpoint_records = 10000 # A signed checkpoint of the ledger is made after so many records, at most one a second, and when the hub ends.
        ledger.export_command = [] # And handed to this program, as a file whose path is its last argument.
        ledger.export_folder = "" # Checkpoints are exported to this folder, a file each: choose one that is copied elsewhere, since whoever can change the ledger can change it too.
        ledger.export_git = "" # And committed to the branch main of this Git remote; git must be installed and need no password.
        limits.client_message_bytes = 4194304 # The largest message a client may send, in bytes.
        limits.connections = 16384 # How many client connections may be open at once.
        limits.request_read_ms = 30000 # How long a client may take to send one request's headers and body, in milliseconds.
        limits.tools_per_server = 20000 # How many tools one server may list; the rest is left out, with a warning.
        limits.upstream_message_bytes = 67108864 # The largest message an upstream server may send, in bytes.
        listen = "127.0.0.1:48080" # Where the HTTP front listens. Addresses beyond this machine are refused.
        load_parallelism = 5 # How many servers are started at once; where this is not set, at most one more than the machine has cores.
        log.days = 30 # After how many days those are forgotten; 0 keeps them until they are too many.
        log.file_bytes = 8388608 # How large the file may be, in bytes, before another is begun.
        log.files = 5 # How many files are kept beside it.
        log.format = "text" # How lines of logs/hub.log are written: for people (`text`), or as one JSON object each (`json`).
        log_level = "info" # How much is logged: error, warn, info, debug or trace.
        oauth.audience = "" # What those tokens have to be for (`aud`): the address that clients have of the front; empty for http://LISTEN/mcp. Where it names another host, such as that of a proxy with TLS on this machine, MCP is answered under that name too, and only for these tokens.
        oauth.issuer = "" # An authorization server whose tokens open the HTTP front, beside the hub's own: signed JWTs of this issuer. Empty for none.
        oauth.jwks_uri = "" # Where the issuer's keys are; empty for where it says itself.
        oauth.scopes = [] # Scopes, each with the client whose rules hold for who has it, such as "mcp:write: editor". The first that a token has counts; with none of them it opens nothing.
        oauth.subjects = [] # Whose tokens are taken, by their `sub`; empty for everybody to whom the issuer gives one.
        rate.burst_s = 10 # How many seconds' worth of a budget may be used at once.
        rate.client_per_minute = 0 # How many calls a minute one client may make; 0 is no limit.
        rate.poll_per_minute = 0 # How often a minute one client may read a list or ask after a task; 0 is no limit. Calls have budgets of their own.
        rate.server_per_minute = 0 # How many calls a minute one client may make to one server; 0 is no limit.
        rate.tool_per_minute = 0 # How many calls a minute one client may make of one tool; 0 is no limit.
        registry.url = "https://registry.modelcontextprotocol.io" # Where `legation mcp search` and `mcp install` look for servers: the address of a registry's API (MCP registry API v0.1), before /v0.1; empty for none.
        secrets.keep_in = "auto" # Where the key is that seals tokens and other secrets: in the keystore of the system if one answers (`auto`), there or nowhere (`system`), or in a file of the data directory (`file`). What was sealed stays where it is.
        server_sandbox = "asked" # Which servers that are programs run in a sandbox although their entries in mcp.json do not say so: those that folders bring along (`workspace`), `all`, or none (`asked`).
        server_sandbox_network = [] # What those reach that run in a sandbox because of that, each a host and a port, such as "api.example.com:443", "*.example.org:443" or "127.0.0.1:5432".
        slow_start_ms = 10000 # After so many milliseconds a server that is still connecting is warned about.
        store.url = "" # Where the hub keeps its records, approvals and the like: empty for the file state.db in the data directory, else a PostgreSQL database, like postgres://legation:${DB_PASSWORD}@db.example.com/legation. A password that is left out is taken from the variable PGPASSWORD. Beyond this machine the connection is encrypted and the server's certificate checked.
        tls.ca_files = [] # Files of certificates (PEM) that are trusted besides the system's, by everything that connects: servers behind a URL, sign-ins, models, webhooks, the database and the collector of traces. SSL_CERT_FILE and SSL_CERT_DIR name others in the place of the system's.
        traces.endpoint = "" # A collector that spans are sent to over OTLP/HTTP, such as http://127.0.0.1:4318; empty for none.
        traces.headers = [] # What the collector is sent beside them, each as a header's name and a variable that holds its value, such as "authorization: Bearer ${COLLECTOR_TOKEN}".
        traces.percent = 100 # How many of a hundred traces are followed where the client does not say.
        workspace.bash = "confined" # Commands of the tool `bash`: behind walls, and not at all where this machine has none (`confined`), with all that the hub's user may do (`unconfined`), or never (`off`).
        workspace.bash_env = [] # Variables of the hub's environment that commands get. What they hold can be read by every command.
        workspace.bash_network = "none" # What confined commands reach beyond themselves: nothing (`none`), or what this machine reaches, its own services among it (`host`).
        workspace.bash_read = [] # Folders beside their own that confined commands may read, such as that of a tool chain.
        workspace.bash_timeout_ms = 600000 # How long a command may run, in milliseconds; two minutes where it does not say.
        workspace.bash_write = [] # Folders beside their own that confined commands may change, such as a cache.
        workspace.language_servers = [] # Language servers for the tool `lsp_diagnostics`, each as patterns of files, a colon and a command, such as "*.ts *.tsx: typescript-language-server --stdio". They run like confined commands, without network.
    "#]].assert_eq(&shown);
    assert_eq!(settings.keys().count(), KEYS.len());
    assert_eq!(settings.call_timeout.as_secs(), 60);
    assert_eq!(settings.limits.upstream_message_bytes, 64 << 20);
    assert_eq!(settings.idle_exit, None);
}

#[test]
fn the_file_of_a_first_start_sets_nothing() {
    let text = commented_defaults();
    assert!(
        text.lines()
            .all(|line| line.is_empty() || line.starts_with('#'))
    );
    let settings = load(&text, &[], &[]).expect("comments only");
    assert_eq!(settings, Settings::defaults());
    // Without its first mark every line of it is a setting again.
    let lines: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# "))
        .filter(|line| line.contains(" = ") || line.starts_with('['))
        .collect();
    load(&lines.join("\n"), &[], &[]).expect("the examples are settings");
}

#[test]
fn no_more_servers_start_at_once_than_the_cores_serve_unless_somebody_said_so() {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let at_once = |file, variables| {
        let settings = load(file, variables, &[]).expect("all is well");
        settings.load_parallelism
    };
    assert_eq!(at_once("", &[]), (cores + 1).min(5));
    assert_eq!(at_once("load_parallelism = 64", &[]), 64);
    assert_eq!(at_once("", &[("LEGATION_LOAD_PARALLELISM", "63")]), 63);
}

#[test]
fn the_strongest_layer_counts_and_says_so() {
    let text = "listen = \"127.0.0.1:1\"\nslow_start_ms = 1\n\n[limits]\nconnections = 3\n";
    let settings = load(
        text,
        &[
            ("LEGATION_LISTEN", "127.0.0.1:2"),
            ("LEGATION_LIMITS_CONNECTIONS", "4"),
            ("LEGATION_ENV_VALUE_MODE", "indirect"),
        ],
        &[("listen", "[::1]:3".to_owned())],
    )
    .expect("all is well");
    assert_eq!(settings.listen.to_string(), "[::1]:3");
    let mut shown = String::new();
    for key in [
        "listen",
        "slow_start_ms",
        "limits.connections",
        "env_value_mode",
        "log_level",
    ] {
        let explained = settings.explain(key).expect("a key in force");
        let place = explained.place.to_string();
        let place = place.rsplit('/').next().expect("a last part");
        shown += &format!(
            "{key} = {} by {} at {place}\n",
            explained.value,
            explained.place.layer().as_str()
        );
    }
    expect![[r#"
        listen = "[::1]:3" by flag at --listen
        slow_start_ms = 1 by file at legation.toml:2
        limits.connections = 4 by environment at $LEGATION_LIMITS_CONNECTIONS
        env_value_mode = "indirect" by environment at $LEGATION_ENV_VALUE_MODE
        log_level = "info" by default at built-in defaults, line 14
    "#]]
    .assert_eq(&shown);
}

#[test]
fn views_are_subsets() {
    let settings = load(
        "[views.work]\nservers = [\"github\", \"jira-*\"]\n[views.all]\n",
        &[],
        &[],
    )
    .expect("all is well");
    expect![[r#"
        {
            "all": View {
                servers: [
                    "*",
                ],
                tools: [
                    "*",
                ],
            },
            "work": View {
                servers: [
                    "github",
                    "jira-*",
                ],
                tools: [
                    "*",
                ],
            },
        }
    "#]]
    .assert_debug_eq(&settings.views);
    let explained = settings.explain("views.work.servers").expect("a view");
    expect![[r#"["github", "jira-*"] | Views are named subsets of the catalogue, served under /mcp/v/NAME and by `legation bridge --view NAME`. Names may use * and ?."#]].assert_eq(&format!("{} | {}", explained.value, explained.about));
}

#[test]
fn what_is_not_understood_is_refused_with_its_place() {
    let mut shown = String::new();
    for text in [
        "listne = \"127.0.0.1:1\"",
        "\n\nconnections = 5",
        "[limits]\nconections = 5",
        "[server]\nport = 5",
        "listen = ",
        "listen = 48080",
        "listen = \"localhost:48080\"",
        "log_level = \"loud\"",
        "load_parallelism = 0",
        "load_parallelism = 2.5",
        "slow_start_ms = 99999999999999999999",
        "limits = 5",
        "load_parallelism = 1\nload_parallelism = 2",
        "[views.\"a/b\"]",
        "[views.a]\nserver = [\"x\"]",
        "[views.a]\nservers = \"x\"",
        "views.a = 1",
    ] {
        let error = load(text, &[], &[]).expect_err("settings that are refused");
        let line = error.to_string();
        let at = line.find("/legation.toml").expect("the file is named");
        shown += &format!("[home]{} -> {}\n", &line[at..], error.hint());
    }
    expect![[r#"
        [home]/legation.toml:1: there is no setting `listne` -> Did you mean `listen`?
        [home]/legation.toml:3: there is no setting `connections` -> Did you mean `limits.connections`?
        [home]/legation.toml:2: there is no setting `limits.conections` -> Did you mean `limits.connections`?
        [home]/legation.toml:1: there is no setting `server` -> `legation config list` names all settings.
        [home]/legation.toml:1: string values must be quoted, expected literal string -> Correct that line.
        [home]/legation.toml:1: listen is 48080, which is not an address and a port, like 127.0.0.1:48080 -> Write an address and a port, like 127.0.0.1:48080.
        [home]/legation.toml:1: listen is "localhost:48080", which is not an address and a port, like 127.0.0.1:48080 -> Write an address and a port, like 127.0.0.1:48080.
        [home]/legation.toml:1: log_level is "loud", which is not one of error, warn, info, debug, trace -> Write one of error, warn, info, debug, trace.
        [home]/legation.toml:1: load_parallelism is 0, which is not a whole number from 1 to 64 -> Write a whole number from 1 to 64.
        [home]/legation.toml:1: load_parallelism is a fraction, which is not a whole number from 1 to 64 -> Write a whole number from 1 to 64.
        [home]/legation.toml:1: slow_start_ms is a number beyond all bounds, which is not a whole number from 1 to 86400000 -> Write a whole number from 1 to 86400000.
        [home]/legation.toml:1: limits is a single value, which is not a table: [limits] -> Write a table: [limits].
        [home]/legation.toml:2: duplicate key -> Correct that line.
        [home]/legation.toml:1: "a/b" cannot be the name of a view -> Use 1 to 64 letters, digits, dashes and underscores.
        [home]/legation.toml:2: there is no setting `views.a.server` -> Did you mean `views.a.servers`?
        [home]/legation.toml:2: views.a.servers is "x", which is not a list of names -> Write a list of names.
        [home]/legation.toml:1: views.a is a single value, which is not a table with `servers` or `tools` -> Write a table with `servers` or `tools`.
    "#]].assert_eq(&shown);
}

#[test]
fn variables_and_flags_are_held_to_the_same() {
    refused(
        load("", &[("LEGATION_LOAD_PARALLELISM", "many")], &[]),
        &expect![[r#"
            $LEGATION_LOAD_PARALLELISM: load_parallelism is "many", which is not a whole number from 1 to 64
            Write a whole number from 1 to 64.
        "#]],
    );
    refused(
        load("", &[("LEGATION_LOG_LEVEL", "")], &[]),
        &expect![[r#"
        $LEGATION_LOG_LEVEL: log_level is "", which is not one of error, warn, info, debug, trace
        Write one of error, warn, info, debug, trace.
    "#]],
    );
    refused(
        load("", &[], &[("listen", "nowhere".to_owned())]),
        &expect![[r#"
            --listen: listen is "nowhere", which is not an address and a port, like 127.0.0.1:48080
            Write an address and a port, like 127.0.0.1:48080.
        "#]],
    );
    refused(
        load("", &[], &[("lisen", "127.0.0.1:1".to_owned())]),
        &expect![[r#"
            --lisen: there is no setting `lisen`
            Did you mean `listen`?
        "#]],
    );
}

#[test]
fn other_machines_are_kept_out_by_every_layer() {
    file(
        "listen = \"0.0.0.0:48080\"",
        &expect![[r#"
        [home]/legation.toml:1: listening on 0.0.0.0:48080 is refused, other machines could reach it without TLS and OAuth
        Listen on 127.0.0.1 or [::1], and reach it from elsewhere through a tunnel.
    "#]],
    );
    refused(
        load("", &[("LEGATION_LISTEN", "192.168.1.5:1")], &[]),
        &expect![[r#"
            $LEGATION_LISTEN: listening on 192.168.1.5:1 is refused, other machines could reach it without TLS and OAuth
            Listen on 127.0.0.1 or [::1], and reach it from elsewhere through a tunnel.
        "#]],
    );
    refused(
        load("", &[], &[("listen", "[::]:1".to_owned())]),
        &expect![[r#"
            --listen: listening on [::]:1 is refused, other machines could reach it without TLS and OAuth
            Listen on 127.0.0.1 or [::1], and reach it from elsewhere through a tunnel.
        "#]],
    );
}

#[test]
fn a_misspelt_variable_is_heard_of() {
    let environment = Environment::from_pairs([
        ("LEGATION_LISTN", "x"),
        ("LEGATION_HOME", "/h"),
        ("LEGATION_LISTEN", "127.0.0.1:1"),
        ("LEGATION_SOMETHING_ELSE", "x"),
    ]);
    assert_eq!(
        misspelt_variables(&environment),
        [("LEGATION_LISTN".to_owned(), "LEGATION_LISTEN".to_owned())]
    );
}

#[test]
fn no_two_keys_share_a_variable() {
    let variables: std::collections::HashSet<String> = KEYS.iter().map(Key::variable).collect();
    assert_eq!(variables.len(), KEYS.len());
}

#[test]
fn an_unknown_key_is_explained_by_its_neighbour() {
    let settings = Settings::defaults();
    assert_eq!(settings.explain("log_levle"), Err(Some("log_level")));
    assert_eq!(settings.explain("nothing like it"), Err(None));
}

#[test]
fn the_address_of_the_store_is_never_printed_with_its_password() {
    for (written, shown) in [
        ("", ""),
        ("postgres://u@h/d", "postgres://u@h/d"),
        (
            "postgres://u:${DB_PASSWORD}@h/d",
            "postgres://u:${DB_PASSWORD}@h/d",
        ),
        (
            "postgres://u:hunter2@h:5433/d",
            "postgres://u:****@h:5433/d",
        ),
        ("postgres://u:${hunter2!}@h/d", "postgres://u:****@h/d"),
        ("postgresql://u:a@hunter2@h/d", "postgresql://u:****@h/d"),
        ("postgres://h/d?password=hunter2", "postgres://h/d?****"),
    ] {
        let text = format!("[store]\nurl = \"{written}\"");
        let settings = load(&text, &[], &[]).expect(written);
        let explained = settings.explain("store.url").expect("a key");
        assert_eq!(explained.value, format!("{shown:?}"));
        assert!(!format!("{settings:?}").contains("hunter2"), "{settings:?}");
        let kept = settings.store_url.as_ref().map(|url| url.reveal());
        assert_eq!(kept, (!written.is_empty()).then_some(written));
    }
    let error = load("[store]\nurl = \"host=h password=hunter2\"", &[], &[]);
    let error = error.expect_err("no address");
    let told = format!("{error} {error:?} {}", error.hint());
    assert!(
        !told.contains("hunter2") && told.contains("postgres://"),
        "{told}"
    );
    let settings = load("", &[("LEGATION_STORE_URL", "postgres://u@h/d")], &[]);
    assert!(settings.expect("set").store_url.is_some());
}

#[test]
fn where_checkpoints_go_is_checked() {
    let load = |line: &str| {
        let dir = tempfile::tempdir().expect("a folder");
        let home = Home::at(dir.path());
        std::fs::write(home.settings(), format!("[ledger]\n{line}\n")).expect("written");
        let environment = Environment::from_pairs::<&str, &str>([]);
        Settings::load(&home, &environment, &[]).map(|settings| settings.ledger)
    };
    let ledger = load("export_folder = \"/srv/checkpoints\"").expect("a folder");
    assert_eq!(
        ledger.export_folder.as_deref(),
        Some(std::path::Path::new("/srv/checkpoints"))
    );
    let ledger = load("export_git = \"ssh://git@example.com/ledger.git\"").expect("a remote");
    assert_eq!(
        ledger.export_git.as_deref(),
        Some("ssh://git@example.com/ledger.git")
    );
    let ledger = load("export_command = [\"lpr\", \"-P\", \"vault\"]").expect("a command");
    assert_eq!(ledger.export_command, ["lpr", "-P", "vault"]);
    for bad in [
        "export_folder = \"checkpoints\"",
        "export_git = \"--upload-pack=x\"",
        "export_git = \"https://user:password@example.com/ledger.git\"",
        "export_command = \"lpr\"",
        "checkpoint_records = 0",
        "export = true",
    ] {
        let error = load(bad).expect_err(bad).to_string();
        assert!(!error.contains("user:password"), "{error}");
    }
}

#[test]
fn tokens_of_an_issuer_open_the_front_as_clients_that_rules_know() {
    let text = "[oauth]\nissuer = \"https://as.example.com\"\nscopes = [\"mcp:write: editor\", \"mcp:read: reader\"]\nsubjects = [\"auth0|1\"]\n";
    let settings = load(text, &[], &[]).expect("all is well");
    let oauth = settings.oauth.expect("an issuer");
    let scopes: Vec<(&str, &str)> = oauth
        .scopes
        .iter()
        .map(|(one, as_)| (&**one, &**as_))
        .collect();
    assert_eq!(scopes, [("mcp:write", "editor"), ("mcp:read", "reader")]);
    assert_eq!(oauth.subjects, ["auth0|1".into()] as [Box<str>; 1]);
    assert_eq!((oauth.audience, oauth.jwks_uri), (None, None));
    assert_eq!(Settings::defaults().oauth, None);
    let variables = [
        ("LEGATION_OAUTH_ISSUER", "http://127.0.0.1:1"),
        ("LEGATION_OAUTH_SCOPES", "a:b: one; c: two"),
    ];
    let settings = load("", &variables, &[]).expect("all is well");
    assert_eq!(settings.oauth.expect("an issuer").scopes.len(), 2);
    // Nobody becomes the owner, or somebody whom GitHub vouches for.
    for scope in [
        "mcp: owner",
        "mcp: local",
        "mcp: delegate",
        "mcp: copilot",
        "mcp: a/b",
        "mcp",
        "a b: c",
        ": c",
        "mcp: ",
    ] {
        let text = format!("[oauth]\nscopes = [{scope:?}]\n");
        let error = load(&text, &[], &[]).expect_err(scope);
        assert!(matches!(error, SettingsError::BadValue { .. }), "{scope}");
    }
}
