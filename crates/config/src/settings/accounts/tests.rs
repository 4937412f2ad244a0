use expect_test::expect;
use legation_core::Home;
use legation_core::error::chain;

use super::super::{Settings, SettingsError};
use super::{ACCOUNT_KEYS, BrokerChoice, split};
use crate::Environment;

const WORK: &str = "[accounts.work]\nentity = \"acme\"\ntenant_id = \"acme.example.com\"\n";

fn load(file: &str, variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path());
    std::fs::write(home.settings(), file).expect("written");
    let environment = Environment::from_pairs(variables.iter().copied());
    Settings::load(&home, &environment, &[])
}

#[test]
fn a_file_and_variables_make_accounts_side_by_side() {
    let file = format!(
        "{WORK}client_id = \"one\"\nbroker = \"command\"\nbroker_command = [\"sign\", \"--now\"]\n"
    );
    let settings = load(
        &file,
        &[
            ("LEGATION_WORK_CLIENT_ID", "two"),
            ("LEGATION_WORK_API_CLIENT_ID", "three"),
            ("LEGATION_WORK_CLIENT_SECRET", "hunter2"),
            ("LEGATION_OTHER_FIRM_TENANT_ID", "other.example.com"),
            ("LEGATION_OTHER_FIRM_ENTITY", "other"),
            ("LEGATION_OTHER_FIRM_CLOUD", "china"),
            ("LEGATION_LISTEN", "127.0.0.1:1"),
        ],
    )
    .expect("two accounts");
    let names: Vec<&str> = settings.accounts.keys().map(AsRef::as_ref).collect();
    assert_eq!(names, ["other-firm", "work"]);
    let work = &settings.accounts["work"];
    assert_eq!(work.client_id.as_deref(), Some("two"));
    assert_eq!(work.api_client_id.as_deref(), Some("three"));
    assert_eq!(work.entity.as_str(), "acme");
    assert_eq!(&*work.cloud, "global");
    let secret = work.client_secret.as_ref().expect("set");
    assert_eq!(secret.0.reveal(), "hunter2");
    let command = vec!["sign".to_owned(), "--now".to_owned()];
    assert_eq!(work.broker, BrokerChoice::Command(command));
    assert_eq!(&*settings.accounts["other-firm"].cloud, "china");
    assert!(!format!("{settings:?}").contains("hunter2"));
}

#[test]
fn every_key_says_who_set_it_and_no_secret_is_shown() {
    let settings = load(WORK, &[("LEGATION_WORK_CLIENT_SECRET", "hunter2")]).expect("one");
    let mut shown = String::new();
    for key in settings.keys().filter(|key| key.starts_with("accounts.")) {
        let explained = settings.explain(key).expect("in force");
        let place = explained.place.to_string();
        let place = place.rsplit('/').next().unwrap_or_default();
        let variable = explained.variable.expect("a variable");
        shown += &format!("{key} = {} ({place}; {variable})\n", explained.value);
    }
    expect![[r#"
        accounts.work.approvals = "off" (legation.toml:1; LEGATION_WORK_APPROVALS)
        accounts.work.broker = "keystore" (legation.toml:1; LEGATION_WORK_BROKER)
        accounts.work.client_secret = **** ($LEGATION_WORK_CLIENT_SECRET; LEGATION_WORK_CLIENT_SECRET)
        accounts.work.cloud = "global" (legation.toml:1; LEGATION_WORK_CLOUD)
        accounts.work.desk = "off" (legation.toml:1; LEGATION_WORK_DESK)
        accounts.work.entity = "acme" (legation.toml:2; LEGATION_WORK_ENTITY)
        accounts.work.inbox = "all" (legation.toml:1; LEGATION_WORK_INBOX)
        accounts.work.mail_leave_out = ["auto-replies", "calendar", "bulk", "no-reply"] (legation.toml:1; LEGATION_WORK_MAIL_LEAVE_OUT)
        accounts.work.mail_seconds = 60 (legation.toml:1; LEGATION_WORK_MAIL_SECONDS)
        accounts.work.tenant_id = "acme.example.com" (legation.toml:3; LEGATION_WORK_TENANT_ID)
    "#]]
    .assert_eq(&shown);
}

#[test]
fn chats_and_mail_come_into_the_inbox_unless_the_owner_says_otherwise() {
    for (lines, variables, chats, mail) in [
        ("", &[][..], true, true),
        ("inbox = \"all\"", &[], true, true),
        ("inbox = \"chats\"", &[], true, false),
        ("inbox = \"mail\"", &[], false, true),
        ("inbox = \"off\"", &[], false, false),
        (
            "inbox = \"all\"",
            &[("LEGATION_WORK_INBOX", "off")],
            false,
            false,
        ),
    ] {
        let settings = load(&format!("{WORK}{lines}"), variables).expect(lines);
        let inbox = &settings.accounts["work"].inbox;
        assert_eq!((inbox.chats, inbox.mail), (chats, mail), "{lines}");
        assert_eq!(inbox.mail_every.as_secs(), 60);
        assert_eq!(inbox.mail_leave_out.len(), 4);
    }
    let lines = "mail_seconds = 300\nmail_leave_out = [\"bulk\"]";
    let settings = load(&format!("{WORK}{lines}"), &[]).expect("both");
    let inbox = &settings.accounts["work"].inbox;
    assert_eq!(inbox.mail_every.as_secs(), 300);
    assert_eq!(inbox.mail_leave_out, ["bulk"]);
    for wrong in [
        "mail_seconds = 1",
        "mail_leave_out = [\"spam\"]",
        "inbox = \"calls\"",
    ] {
        load(&format!("{WORK}{wrong}"), &[]).expect_err(wrong);
    }
}

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    let mut shown = String::new();
    for (file, variables) in [
        ("[accounts.work]\ntenant_id = \"t\"", &[][..]),
        ("[accounts.work]\nentity = \"personal\"", &[]),
        ("", &[("LEGATION_WORK_CLIENT_ID", "x")]),
        (&format!("{WORK}tenantid = \"x\""), &[]),
        (&format!("{WORK}client_secret = \"hunter2\""), &[]),
        (&format!("{WORK}cloud = \"moon\""), &[]),
        (&format!("{WORK}graph = \"http://graph.example.com\""), &[]),
        (
            &format!("{WORK}proxy = \"http://me:hunter2@proxy:3128\""),
            &[],
        ),
        (
            &format!("{WORK}authority = \"https://me:hunter2@login.example.com\""),
            &[],
        ),
        (&format!("{WORK}ca_file = \"ca.pem\""), &[]),
        (&format!("{WORK}broker = \"command\""), &[]),
        (&format!("{WORK}client_id = 7"), &[]),
        ("[accounts.Work]\nentity = \"a\"", &[]),
        ("[accounts]\nwork = 1", &[]),
        ("accounts = 1", &[]),
    ] {
        let error = load(file, variables).expect_err(file);
        let text = format!("{} -> {}\n", chain(&error), error.hint());
        let at = text.find("legation.toml").unwrap_or(0);
        shown += &text[at..];
    }
    assert!(!shown.contains("hunter2"), "{shown}");
    expect![[r#"
        legation.toml:1: the account has no `accounts.work.entity` -> Say whose data the account reads: write `entity` or set LEGATION_WORK_ENTITY. An installation that has declared no entities has one, `personal`.
        legation.toml:1: the account has no `accounts.work.tenant_id` -> Write it, or set LEGATION_WORK_TENANT_ID.
        $LEGATION_WORK_CLIENT_ID: the account has no `accounts.work.entity` -> Say whose data the account reads: write `entity` or set LEGATION_WORK_ENTITY. An installation that has declared no entities has one, `personal`.
        legation.toml:4: there is no setting `accounts.work.tenantid` -> Did you mean `accounts.work.tenant_id`?
        legation.toml:4: accounts.work.client_secret is a secret, which does not belong in this file; it was not read -> Remove it there, and renew it if others could read it; keep it in the keystore or set LEGATION_WORK_CLIENT_SECRET.
        legation.toml:4: accounts.work.cloud is "moon", which is not one of global, us-gov, us-gov-dod, china -> Write one of global, us-gov, us-gov-dod, china.
        legation.toml:4: accounts.work.graph is something else, which is not an https address of a host, without user name, password and query -> Write an https address of a host, without user name, password and query.
        legation.toml:4: accounts.work.proxy is something else, which is not an http or https address, without user name, password and query -> Write an http or https address, without user name, password and query.
        legation.toml:4: accounts.work.authority is something else, which is not an https address of a host, without user name, password and query -> Write an https address of a host, without user name, password and query.
        legation.toml:4: accounts.work.ca_file is "ca.pem", which is not an absolute path, or nothing -> Write an absolute path, or nothing.
        legation.toml:1: the account has no `accounts.work.broker_command` -> Write it, or set LEGATION_WORK_BROKER_COMMAND.
        legation.toml:4: accounts.work.client_id is 7, which is not one word -> Write one word.
        legation.toml:1: "Work" cannot be the name of an account -> Use 1 to 32 small letters, digits and dashes, a letter first.
        legation.toml:2: accounts.work is a single value, which is not a table with `entity` and `tenant_id` -> Write a table with `entity` and `tenant_id`.
        legation.toml:1: accounts is a single value, which is not a table: [accounts] -> Write a table: [accounts].
    "#]].assert_eq(&shown);
}

#[test]
fn a_variable_names_its_account_and_key() {
    let of = |variable: &str| split(variable).map(|(name, key)| (name, key.key.name));
    let found = |name: &str, key: &'static str| Some((name.to_owned(), key));
    assert_eq!(of("LEGATION_A_CLIENT_ID"), found("a", "client_id"));
    assert_eq!(of("LEGATION_A_API_CLIENT_ID"), found("a", "api_client_id"));
    assert_eq!(of("LEGATION_A_B_ENTITY"), found("a-b", "entity"));
    for none in [
        "LEGATION_TENANT_ID",
        "LEGATION__TENANT_ID",
        "LEGATION_LISTEN",
        "A_ENTITY",
    ] {
        assert_eq!(of(none), None, "{none}");
    }
    for key in &ACCOUNT_KEYS {
        assert!(!key.about.is_empty());
    }
}
