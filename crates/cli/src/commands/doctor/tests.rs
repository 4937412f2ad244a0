use std::fs;

use expect_test::expect;
use legation_config::environment::Environment;
use legation_core::{Home, SystemClock};

use super::*;
use crate::Output;

fn context(folder: &std::path::Path) -> Context {
    let pairs = [("HOME", folder.as_os_str()), ("PATH", "/bin".as_ref())];
    Context {
        home: Home::at(folder.join(".legation")),
        environment: Environment::from_pairs(pairs),
        clock: SystemClock::shared(),
        version: "0",
        output: Output::new(true),
    }
}

/// The lines about `what`, without the folder of this test.
fn lines(folder: &std::path::Path, checks: Vec<Check>, what: &str) -> String {
    let shown = checks.iter().filter(|check| check.what == what);
    let text: String = shown.map(render).collect();
    text.replace(&folder.display().to_string(), "~")
}

#[test]
fn a_home_before_its_first_start_is_well() {
    let folder = tempfile::tempdir().expect("a folder");
    let context = context(folder.path());
    cmd_doctor(&context, &DoctorArgs {}, None).expect("well");
    context.home.create().expect("made, as by connect");
    cmd_doctor(&context, &DoctorArgs {}, None).expect("still well");
}

#[test]
fn a_home_that_no_socket_fits_in_is_bad() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut context = context(folder.path());
    context.home = Home::at(folder.path().join("x".repeat(100)));
    assert_eq!(check_home(&context).state, State::Bad);
}

#[test]
fn rules_that_are_gone_or_broken_are_bad() {
    let folder = tempfile::tempdir().expect("a folder");
    let context = context(folder.path());
    first_run::first_run(
        &context.home,
        &crate::template(legation_policy::governance::Template::Personal),
    )
    .expect("started");
    assert_eq!(check_rules(&context).state, State::Good);
    let file = context.home.governance().join("permissions.toml");
    fs::write(&file, "version = 3").expect("broken");
    assert_eq!(check_rules(&context).state, State::Bad);
    fs::remove_file(&file).expect("gone");
    assert_eq!(check_rules(&context).state, State::Bad);
    let error = cmd_doctor(&context, &DoctorArgs {}, None).expect_err("bad");
    assert_eq!(error.exit, Exit::Failed);
}

#[test]
fn servers_that_would_not_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let context = context(folder.path());
    context.home.create().expect("made");
    let text = r#"{"mcpServers": {
        "good": {"command": "sh"},
        "gone": {"command": "no-such-program"},
        "unset": {"command": "sh", "env": {"A": "${NO_SUCH_VARIABLE}"}},
        "off": {"command": "no-such-program", "disabled": true},
        "old": {"type": "sse", "url": "http://x"},
        "odd": {"command": "sh", "colour": "red"}
    }}"#;
    fs::write(context.home.servers(), text).expect("written");
    let checks = servers::check_servers(&context);
    expect![[r#"
        ok    servers      6 servers
        warn  servers      odd (~/.legation/mcp.json): without effect here: `colour`
                           hint: Check the spelling; unknown fields are kept for other clients.
        warn  servers      gone: the program of `no-such-program` is not found
                           hint: install it, or write its whole path
        warn  servers      server unset: env.A cannot be resolved, the server is not started: the variable NO_SUCH_VARIABLE is not set
                           hint: Set NO_SUCH_VARIABLE where the hub is started, or write ${NO_SUCH_VARIABLE:-default}.
    "#]]
    .assert_eq(&lines(folder.path(), checks, "servers"));
}

#[test]
fn an_agent_whose_program_is_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = r#"{"mcpServers": {"legation": {"command": "/no/such/legation"}}}"#;
    fs::write(folder.path().join(".claude.json"), text).expect("written");
    let checks = check_agents(&context(folder.path()));
    expect![[r#"
        ok    agents       1 connected, see `legation connect`
        warn  agents       claude: it starts /no/such/legation, which does not exist any more; connect it again
                           hint: legation connect claude
    "#]]
    .assert_eq(&lines(folder.path(), checks, "agents"));
}

#[test]
fn a_governance_file_that_broke_is_bad_with_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let context = context(folder.path());
    let checks = || vec![check_governance(&context)];
    expect![[r#"
        ok    governance   written at the first start
    "#]]
    .assert_eq(&lines(folder.path(), checks(), "governance"));
    let template = crate::template(legation_policy::governance::Template::Personal);
    first_run::first_run(&context.home, &template).expect("started");
    expect![[r#"
        ok    governance   every file holds
    "#]]
    .assert_eq(&lines(folder.path(), checks(), "governance"));
    let ladder = context.home.governance().join("autonomy_ladder.json");
    legation_core::home::write_private(&ladder, b"{\n  \"default_mode\": \"free\"\n}\n")
        .expect("written");
    fs::remove_file(context.home.governance().join("role_cards.json")).expect("removed");
    expect![[r#"
        BAD   governance   role_cards.json: is missing (and 1 more: `legation governance check`)
                           hint: Repair the file; until then it denies what it governs.
    "#]]
    .assert_eq(&lines(folder.path(), checks(), "governance"));
}
