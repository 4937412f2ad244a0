use std::borrow::Cow;
use std::ffi::OsString;

use expect_test::{Expect, expect};

use super::{Environment, SecretTemplate, expand};

fn environment() -> Environment {
    Environment::from_pairs([
        ("PATH", "/usr/bin"),
        ("HOME", "/home/ana"),
        ("LC_TIME", "pt_PT"),
        ("XDG_RUNTIME_DIR", "/run/user/7"),
        ("https_proxy", "http://proxy"),
        ("EMPTY", ""),
        ("TOKEN", "s3cret"),
        ("NESTED", "$TOKEN"),
        ("NODE_OPTIONS", "--require ./evil.js"),
        ("SSH_AUTH_SOCK", "/tmp/agent"),
        ("LC_FUNCTION", "() { :; }; evil"),
    ])
}

#[test]
fn references_are_followed_once() {
    for (text, expected) in [
        ("", "Ok(\"\")"),
        ("plain", "Ok(\"plain\")"),
        ("$TOKEN", "Ok(\"s3cret\")"),
        ("a-${TOKEN}-b", "Ok(\"a-s3cret-b\")"),
        ("$TOKEN.$TOKEN", "Ok(\"s3cret.s3cret\")"),
        ("$NESTED", "Ok(\"$TOKEN\")"),
        ("$EMPTY|${EMPTY}", "Ok(\"|\")"),
        ("${EMPTY:-x}", "Ok(\"x\")"),
        ("${NONE:-}", "Ok(\"\")"),
        ("${NONE:-a:-$b}", "Ok(\"a:-$b\")"),
        ("${TOKEN:-x}", "Ok(\"s3cret\")"),
        ("$$TOKEN", "Ok(\"$TOKEN\")"),
        ("$$$TOKEN", "Ok(\"$s3cret\")"),
        ("5$ and ^a$|$5", "Ok(\"5$ and ^a$|$5\")"),
        ("é$TOKENé", "Ok(\"és3creté\")"),
        ("$NONE", "Err(Undefined { variable: \"NONE\" })"),
        ("${NONE}", "Err(Undefined { variable: \"NONE\" })"),
        ("${TOKEN", "Err(Unclosed)"),
        ("${}", "Err(BadName)"),
        ("${5}", "Err(BadName)"),
        ("${TOKEN-x}", "Err(BadName)"),
        ("${TOKEN:x}", "Err(BadName)"),
        ("${input:token}", "Err(BadName)"),
    ] {
        let environment = environment();
        let found = expand(text, |name| environment.get(name).map(Cow::Borrowed));
        assert_eq!(format!("{found:?}"), expected, "{text}");
    }
}

#[test]
fn secret_texts_show_their_references_only() {
    for (text, expected) in [
        ("ghp_0123", "****"),
        ("Bearer ghp_0123", "****"),
        ("Bearer ${TOKEN}", "Bearer ${TOKEN}"),
        ("$TOKEN", "${TOKEN}"),
        ("a$$b$TOKEN", "****${TOKEN}"),
        ("${TOKEN:-hunter2}", "${TOKEN:-****}"),
        ("broken ${", "****"),
        ("", ""),
    ] {
        let template = SecretTemplate::new(text);
        assert_eq!(template.to_string(), expected, "{text}");
        assert_eq!(format!("{template:?}"), expected, "{text}");
    }
}

#[test]
fn children_inherit_what_they_need_and_no_authority() {
    let environment = environment();
    let child = environment.child([
        (OsString::from("API_KEY"), OsString::from("k")),
        (OsString::from("PATH"), OsString::from("/opt/bin")),
    ]);
    let shown: Vec<String> = child
        .iter()
        .map(|(name, value)| format!("{}={}", name.display(), value.display()))
        .collect();
    expect![[r#"
        API_KEY=k
        HOME=/home/ana
        LC_TIME=pt_PT
        PATH=/opt/bin
        XDG_RUNTIME_DIR=/run/user/7
        https_proxy=http://proxy"#]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn values_are_not_printed() {
    let printed = format!("{:?}", environment());
    assert!(
        printed.contains("TOKEN") && !printed.contains("s3cret"),
        "{printed}"
    );
}

fn home(pairs: &[(&str, &str)], expected: &Expect) {
    let environment = Environment::from_pairs(pairs.iter().copied());
    let printed = match environment.legation_home() {
        Ok(home) => home.root().display().to_string(),
        Err(error) => format!("{error}; {}", error.hint()),
    };
    expected.assert_eq(&printed);
}

#[test]
fn the_data_directory_is_absolute_or_refused() {
    home(
        &[("LEGATION_HOME", "/data"), ("HOME", "/h")],
        &expect!["/data"],
    );
    home(
        &[("LEGATION_HOME", ""), ("HOME", "/h")],
        &expect!["/h/.legation"],
    );
    home(&[("HOME", "/h")], &expect!["/h/.legation"]);
    home(
        &[("LEGATION_HOME", "data"), ("HOME", "/h")],
        &expect![
            "neither LEGATION_HOME nor HOME is an absolute path, so there is no data directory; Set LEGATION_HOME to an absolute path."
        ],
    );
    home(
        &[("HOME", "h")],
        &expect![
            "neither LEGATION_HOME nor HOME is an absolute path, so there is no data directory; Set LEGATION_HOME to an absolute path."
        ],
    );
    home(
        &[],
        &expect![
            "neither LEGATION_HOME nor HOME is an absolute path, so there is no data directory; Set LEGATION_HOME to an absolute path."
        ],
    );
}

#[test]
fn only_the_secrets_of_accounts_are_split_off() {
    let all = Environment::from_pairs([
        ("PATH", "/bin"),
        ("LEGATION_WORK_CLIENT_SECRET", "one"),
        ("LEGATION_AT_HOME_BLUEPRINT_SECRET", "two"),
        ("LEGATION_WORK_CLIENT_ID", "id"),
        ("LEGATION_CLIENT_SECRET", "of no account"),
        ("OTHER_WORK_CLIENT_SECRET", "not ours"),
    ]);
    let (rest, secrets) = all.split_secrets(|_| false);
    let names: Vec<&OsString> = secrets.iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        [
            "LEGATION_AT_HOME_BLUEPRINT_SECRET",
            "LEGATION_WORK_CLIENT_SECRET"
        ]
    );
    assert_eq!(rest.iter().count(), 4);
    assert_eq!(rest.get("LEGATION_WORK_CLIENT_SECRET"), None);
    assert_eq!(rest.with(secrets), all);
    assert_eq!(all.without("PATH").get("PATH"), None);
}
