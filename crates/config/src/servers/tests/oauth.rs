//! How the hub signs in, as entries say it.

use serde_json::json;

use super::load;
use crate::Environment;
use crate::servers::{EnvMode, GrantType, Source, read_entry};

#[test]
fn a_sign_in_is_read_and_its_secrets_are_hidden() {
    let loaded = load(
        r#"{"a": {"type": "http", "url": "https://example.com/mcp", "oauthClientId": "me",
            "oauthGrantType": "client_credentials",
            "oauth": {"clientSecret": "${HUSH}", "scopes": ["read"], "redirectPort": 4711,
                      "issuer": "https://as.example.com", "allowedHosts": ["as.internal"]}},
            "off": {"type": "http", "url": "https://example.com/mcp", "oauth": false}}"#,
    );
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    let [server, off] = &loaded.servers[..] else {
        panic!("two servers");
    };
    assert!(off.oauth.off);
    let oauth = &server.oauth;
    assert_eq!(oauth.grant, GrantType::ClientCredentials);
    assert_eq!(oauth.redirect_port, Some(4711));
    assert_eq!(oauth.scopes, ["read".into()] as [Box<str>; 1]);
    let environment = Environment::from_pairs([("HUSH", "s3cret-s3cret-1")]);
    let resolved = server.resolve_oauth(&environment).expect("it resolves");
    let secret = resolved.client_secret.as_ref().expect("a secret");
    assert_eq!(secret.reveal(), "s3cret-s3cret-1");
    assert!(!format!("{resolved:?}").contains("s3cret"));
    let masked = server.secrets(&environment, EnvMode::Direct);
    assert!(
        masked
            .iter()
            .any(|secret| secret.reveal() == "s3cret-s3cret-1")
    );
    let error = server.resolve_oauth(&Environment::from_pairs([("A", "b")]));
    let error = error.expect_err("nothing stands for it").to_string();
    assert!(error.contains("oauth.clientSecret"), "{error}");
}

#[test]
fn half_a_sign_in_is_none() {
    for (fields, expected) in [
        (r#""oauth": 3"#, "oauth is a number, not an object or false"),
        (
            r#""oauth": {"redirectPort": 0}"#,
            "oauth.redirectPort is a number",
        ),
        (r#""oauth": {"clientSecret": "${"}"#, "oauth.clientSecret"),
        (
            r#""oauth": {"idp": {"clientId": "x", "idToken": "y"}}"#,
            "oauth.tokenEndpoint",
        ),
        (
            r#""oauthGrantType": "password""#,
            "oauthGrantType is \"password\"",
        ),
        (
            r#""oauthGrantType": "client_credentials""#,
            "without oauthClientId",
        ),
        (
            r#""oauthGrantType": "client_credentials", "oauthClientId": "me""#,
            "without oauth.clientSecret or oauth.privateKey",
        ),
        (
            r#""oauthGrantType": "jwt_bearer""#,
            "without oauth.assertion",
        ),
        (
            r#""oauthGrantType": "enterprise", "oauthClientId": "me""#,
            "without oauth.idp",
        ),
    ] {
        let text =
            format!(r#"{{"a": {{"type": "http", "url": "https://example.com/mcp", {fields}}}}}"#);
        let loaded = load(&text);
        assert!(loaded.servers.is_empty(), "{fields}");
        let message = &loaded.problems[0].message;
        assert!(message.contains(expected), "{fields}: {message}");
    }
    let odd = load(
        r#"{"a": {"type": "http", "url": "https://example.com/mcp", "oauth": {"secert": "x"}}}"#,
    );
    assert!(odd.problems[0].message.contains("oauth.secert"));
}

#[test]
fn a_folder_opens_no_network() {
    let entry = json!({
        "type": "http", "url": "https://example.com/mcp", "oauth": {"allowedHosts": ["as.internal"]},
    });
    let hosts = |source: &Source| {
        let (spec, _) = read_entry("a", &entry, source, true);
        spec.expect("an entry").oauth.allowed_hosts.len()
    };
    let agent = |of_folder| Source::Agent {
        file: "/home/alex/app/.github/agents/a.agent.md".into(),
        of_folder,
    };
    assert_eq!(hosts(&agent(true)), 0);
    assert_eq!(hosts(&agent(false)), 1);
}

#[test]
fn a_token_of_this_machines_identity_is_asked_for_by_the_entry() {
    let loaded = super::load(
        r#"{
            "plain": {"command": "a"},
            "off": {"command": "a", "oidc": false},
            "on": {"command": "a", "oidc": true},
            "whose": {"type": "http", "url": "https://a", "oidc": {"audience": "https://a", "repo-only-subject": true}},
            "both": {"type": "http", "url": "https://a", "oidc": true, "headersHelper": "b"},
            "traded": {"command": "a", "oidc": {"endpoints": {"exchange": "https://a"}}},
            "odd": {"command": "a", "oidc": "https://a"},
            "own": {"type": "memory", "server": "hub", "oidc": true}
        }"#,
    );
    let asks: Vec<_> = loaded
        .servers
        .iter()
        .map(|server| (server.name.as_str(), server.oidc.as_ref()))
        .map(|(name, oidc)| (name, oidc.map(|oidc| oidc.audience.as_deref())))
        .collect();
    assert_eq!(
        asks,
        [
            ("plain", None),
            ("off", None),
            ("on", Some(None)),
            ("whose", Some(Some("https://a"))),
            ("own", None),
        ]
    );
    let problems: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
    expect_test::expect![[r#"
        --additional-mcp-config: server "whose": without effect here: `oidc.repo-only-subject`
        --additional-mcp-config: server "both": oidc and headersHelper exclude each other: both say who asks
        --additional-mcp-config: server "traded": oidc.endpoints is not supported: no token is exchanged for another here
        --additional-mcp-config: server "odd": oidc is a text, not true, false or an object
        --additional-mcp-config: server "own": without effect here: `oidc`"#]]
    .assert_eq(&problems.join("\n"));
}
