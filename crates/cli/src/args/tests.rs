use clap::CommandFactory as _;

use super::*;

#[test]
fn the_arguments_are_consistent_and_every_one_is_explained() {
    let mut command = Cli::command();
    command.build();
    command.clone().debug_assert();
    let mut waiting = vec![command];
    while let Some(command) = waiting.pop() {
        assert!(command.get_about().is_some(), "{}", command.get_name());
        for argument in command.get_arguments() {
            let name = format!("{} {}", command.get_name(), argument.get_id());
            // The parser writes the help of its own `help COMMAND` itself.
            if command.get_name() != "help" {
                assert!(argument.get_help().is_some(), "{name}");
            }
        }
        waiting.extend(command.get_subcommands().cloned());
    }
}

#[test]
fn what_goes_together() {
    let cases = [
        ("serve --listen 127.0.0.1:0 --no-auth", true),
        ("bridge --server files --client claude --home /x", true),
        ("bridge --server files --view work", false),
        ("mcp", false),
        ("mcp add files -- npx -y server --json", true),
        ("mcp add files npx", false),
        ("mcp add files --url https://x -- npx", false),
        ("mcp add files --json-entry {} --url https://x", false),
        ("mcp add files --json-entry {} --env A=b", false),
        ("mcp add files --json-entry {} -- npx", false),
        ("mcp add files --json-entry {} --replace --dry-run", true),
        ("mcp add files --era ancient -- npx", false),
        (
            "mcp add files --instance client --era modern --prefix= -- npx",
            true,
        ),
        ("mcp remove files", true),
        ("mcp remove", false),
        ("mcp remove --undo", true),
        ("mcp remove files --undo", false),
        ("mcp install a.b/c@1.0.0 --as c --from npm --yes", true),
        ("mcp install", false),
        ("mcp install --undo", true),
        ("mcp install a.b/c --undo", false),
        ("mcp search", false),
        ("mcp search weather tides --limit 5", true),
        ("mcp search weather --limit 0", false),
        ("mcp enable files --session", true),
        ("connect", true),
        ("connect claude --dry-run", true),
        ("connect claude --undo --dry-run", true),
        ("connect --undo", false),
        ("connect --http", false),
        ("connect claude --undo --http", false),
        ("connect claude --server a --view b", false),
        ("connect emacs", false),
        ("trust --list", true),
        ("trust . --list", false),
        ("trust --revoke --yes", false),
        ("trust --dry-run --yes", false),
        ("audit tail -n 5", true),
        ("audit tail -n -5", false),
        ("service install --dry-run", true),
        ("config explain", false),
        ("completions tcsh", false),
        ("man mcp add", true),
    ];
    for (line, good) in cases {
        for words in [
            format!("legation {line}"),
            format!("legation --json {line}"),
        ] {
            let parsed = Cli::try_parse_from(words.split(' '));
            assert_eq!(parsed.is_ok(), good, "{words}: {parsed:?}");
        }
    }
    let after = Cli::try_parse_from("legation mcp add a -- b --json".split(' '));
    assert!(
        !after.expect("parsed").json,
        "it is an argument of the server"
    );
}

#[test]
fn a_bridge_is_told_the_same_either_way() {
    for line in [
        "bridge",
        "bridge --home /x --json --client claude --channel --no-start",
        "bridge --server=files --home=x",
        "bridge --view work",
        "bridge --server files --view work",
        "bridge --help",
        "bridge --version",
        "bridge files",
        "bridge --home",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let whole = Cli::try_parse_from(std::iter::once("legation").chain(words.iter().copied()));
        let brief = BridgeLine::try_parse_from(&words).map(Cli::from);
        assert_eq!(
            brief.ok().map(|cli| format!("{cli:?}")),
            whole.ok().map(|cli| format!("{cli:?}")),
            "{line}"
        );
    }
}
