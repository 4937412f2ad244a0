use std::fs;
use std::sync::Arc;

use legation_config::environment::{Environment, Keyring as _};
use legation_config::servers::{EnvMode, Resolved};
use legation_core::{Home, SystemClock};

use super::*;
use crate::Output;
use crate::accounts::HomeKeyring;

fn context(home: &Home) -> Context {
    let keyring = HomeKeyring::of(home);
    Context {
        home: home.clone(),
        environment: Environment::default().with_keyring(Arc::new(keyring)),
        clock: SystemClock::shared(),
        version: "0",
        output: Output::new(true),
    }
}

fn owner(folder: &tempfile::TempDir) -> Home {
    let home = Home::at(folder.path().join("home"));
    home.create().expect("made");
    fs::write(home.settings(), "secrets.keep_in = \"file\"\n").expect("written");
    home
}

#[test]
fn a_secret_reaches_the_server_that_refers_to_it_and_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = owner(&folder);
    let entries = r#"{"mcpServers": {
        "mail": {"command": "mail", "env": {"KEY": "${keyring:mail.key}", "B": "${keyring:none:-b}"}},
        "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${keyring:web}"}}
    }}"#;
    fs::write(home.servers(), entries).expect("written");
    let context = context(&home);
    // Looking makes nothing.
    assert!(HomeKeyring::of(&home).secret("mail.key").is_none());
    assert!(!home.secrets().exists());

    let store = open(&context).expect("opened");
    keep(&store, "mail.key", &Secret::new("hunter2-and-more")).expect("kept");
    assert_eq!(names(&store).expect("listed"), ["mail.key"]);
    assert_eq!(used_by(&context, "mail.key"), ["mail"]);
    for file in [home.servers(), home.secrets()] {
        let bytes = fs::read(&file).expect("there");
        let found = bytes.windows(15).any(|part| part == b"hunter2-and-mor");
        assert!(!found, "{}", file.display());
    }

    let loaded = super::super::mcp::configured(&context);
    let spec = |name: &str| {
        let found = loaded
            .servers
            .iter()
            .find(|spec| spec.name.as_str() == name);
        found.expect("configured")
    };
    let resolved = spec("mail").resolve(&context.environment, EnvMode::Direct);
    let Ok(Resolved::Stdio(stdio)) = resolved else {
        panic!("{resolved:?}");
    };
    assert!(
        stdio
            .env
            .contains(&("KEY".into(), "hunter2-and-more".into()))
    );
    assert!(stdio.env.contains(&("B".into(), "b".into())));
    let masked = spec("mail").secrets(&context.environment, EnvMode::Direct);
    assert!(masked.iter().any(|one| one.reveal() == "hunter2-and-more"));

    // One that is missing fails its server, with what to do.
    let error = spec("web")
        .resolve(&context.environment, EnvMode::Direct)
        .expect_err("no such secret");
    assert_eq!(
        error.hint(),
        "Keep it: `legation secret set web`. `legation secret list` says whether the keystore opens."
    );
    assert!(forget(&store, "mail.key").expect("forgotten"));
    assert!(
        spec("mail")
            .resolve(&context.environment, EnvMode::Direct)
            .is_err()
    );
}

#[test]
fn no_name_leads_out_of_the_servers_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = owner(&folder);
    for name in ["", "a/b", "../x", "a b", "a\n", &"x".repeat(121), "ключ"] {
        assert!(check(name).is_err(), "{name:?}");
    }
    check("github.GITHUB_TOKEN-2").expect("a name");
    // What is kept of sign-ins has names of its own, which no reference can spell.
    let store = open(&context(&home)).expect("opened");
    store
        .put("oauth/x", &Secret::new("a sign-in"))
        .expect("kept");
    assert_eq!(names(&store).expect("listed"), Vec::<String>::new());
    assert!(HomeKeyring::of(&home).secret("oauth/x").is_none());
}

#[test]
fn a_keystore_that_does_not_open_gives_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = owner(&folder);
    let context = context(&home);
    keep(
        &open(&context).expect("opened"),
        "a",
        &Secret::new("a secret"),
    )
    .expect("kept");
    fs::write(home.secrets(), "nonsense").expect("written");
    assert!(HomeKeyring::of(&home).secret("a").is_none());
    let error = cmd_secret(&context, &SecretCommand::List).expect_err("damaged");
    assert!(error.hint.is_some());
}
