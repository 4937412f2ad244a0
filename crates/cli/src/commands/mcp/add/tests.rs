use clap::Parser as _;
use expect_test::expect;

use super::*;
use crate::{Cli, Command};

fn added(line: &[&str]) -> Result<NewServer, CliError> {
    let words = ["legation", "mcp", "add", "name"];
    let cli = Cli::try_parse_from(words.iter().chain(line)).expect("parsed");
    match cli.command {
        Command::Mcp(crate::commands::mcp::McpCommand::Add(args)) => new_server(*args),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_program() {
    let server = added(&[
        "--env",
        "A=b=c",
        "--env",
        "EMPTY=",
        "--cwd",
        "/w",
        "--tool",
        "read",
        "--tool",
        "list",
        "--timeout",
        "9",
        "--display-name",
        "Files",
        "--era",
        "legacy",
        "--instance",
        "client",
        "--prefix",
        "",
        "--",
        "npx",
        "-y",
        "--env",
        "x",
    ])
    .expect("understood");
    let NewTransport::Stdio {
        command,
        args,
        cwd,
        env,
    } = &server.transport
    else {
        panic!("{server:?}");
    };
    assert_eq!((command.as_str(), cwd.as_deref()), ("npx", Some("/w")));
    assert_eq!(args, &["-y", "--env", "x"]);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(env, &[pair("A", "b=c"), pair("EMPTY", "")]);
    assert_eq!(server.tools, ["read", "list"]);
    assert_eq!(server.timeout_ms, Some(9));
    assert_eq!(server.display_name.as_deref(), Some("Files"));
    assert_eq!(server.era, Some(EraChoice::Legacy));
    assert_eq!(server.instance, Some(Instance::Client));
    assert_eq!(server.prefix.as_deref(), Some(""));
}

#[test]
fn an_address() {
    let server = added(&[
        "--url",
        "https://x/mcp",
        "--header",
        "Authorization=Bearer ${T}",
    ]);
    let server = server.expect("understood");
    let NewTransport::Http { url, headers } = &server.transport else {
        panic!("{server:?}");
    };
    assert_eq!(url, "https://x/mcp");
    assert_eq!(
        headers,
        &[("Authorization".to_owned(), "Bearer ${T}".to_owned())]
    );
    assert!(server.tools.is_empty() && server.era.is_none() && server.instance.is_none());
}

#[test]
fn what_does_not_go_together_is_usage_and_hides_values() {
    let cases: [&[&str]; 8] = [
        &[],
        &["--env", "A=SECRET"],
        &["--url", "https://x", "--env", "A=SECRET"],
        &["--url", "https://x", "--cwd", "/w"],
        &["--header", "A=SECRET", "--", "npx"],
        &["--env", "SECRET", "--", "npx"],
        &["--env", "=SECRET", "--", "npx"],
        &["--url", "https://x", "--header", "SECRET"],
    ];
    for line in cases {
        let error = added(line).expect_err("refused");
        assert_eq!(error.exit, Exit::Usage, "{line:?}");
        assert!(error.message.ends_with("nothing was added"), "{error:?}");
        assert!(!format!("{error:?}").contains("SECRET"), "{error:?}");
    }
}

#[test]
fn what_is_told() {
    let added = Added {
        name: "files".into(),
        file: "/home/me/.legation/mcp.json".into(),
        dry_run: false,
        warnings: vec!["without effect here: `arg`".into()],
        server: None,
    };
    expect![[r#"
        files was added to /home/me/.legation/mcp.json
        warning: without effect here: `arg`
        not connected yet: it is when a hub runs, see `legation mcp list`
    "#]]
    .assert_eq(&render(&added));
}
