use expect_test::expect;
use legation_core::error::chain;

use super::{load, print};
use crate::Environment;
use crate::servers::{EnvMode, Resolved, ResolvedProxy};

/// What an entry of `type: http` comes to.
fn resolved(entry: &str) -> String {
    let environment = Environment::from_pairs([
        ("HOME", "/home/ana"),
        ("HIDDEN", "s3cret"),
        ("SOCKET", "/run/x.sock"),
        (
            "KEY",
            "-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\n",
        ),
    ]);
    let loaded = load(&format!("{{\"srv\": {entry}}}"));
    let Some(server) = loaded.servers.first() else {
        return print(&loaded).replace("entry --additional-mcp-config: server \"srv\": ", "");
    };
    let printed = format!("{server:?}");
    assert!(!printed.contains("s3cret"), "{printed}");
    match server.resolve(&environment, EnvMode::Direct) {
        Err(error) => format!("{}\n", chain(&error)),
        Ok(Resolved::Stdio(_)) => "a program\n".to_owned(),
        Ok(Resolved::Memory) => "the hub's own\n".to_owned(),
        Ok(Resolved::Http(http)) => {
            let printed = format!("{http:?}");
            assert!(!printed.contains("s3cret"), "{printed}");
            let reach = &http.reach;
            let proxy = match &reach.proxy {
                ResolvedProxy::Environment => "environment".to_owned(),
                ResolvedProxy::Off => "off".to_owned(),
                ResolvedProxy::At(url) => url.reveal().to_owned(),
            };
            format!(
                "{} {} socket {:?} proxy {proxy} ca {:?} cert {:?} key {:?}\n",
                server.transport.as_str(),
                http.url.reveal(),
                reach.socket,
                reach.ca_file,
                reach.client_cert,
                reach.client_key.as_ref().map(|key| key
                    .reveal()
                    .lines()
                    .next()
                    .unwrap_or_default()),
            )
        }
    }
}

#[test]
fn addresses_are_reached_as_their_entries_say() {
    let mut shown = String::new();
    for entry in [
        r#"{"type": "sse", "url": "https://example.com/sse"}"#,
        r#"{"type": "http", "url": "unix:///run/a.sock:/mcp"}"#,
        r#"{"type": "http", "url": "unix:///run/a.sock#/mcp?a=b"}"#,
        r#"{"type": "http", "url": "unix:///run/a.sock"}"#,
        r#"{"type": "sse", "url": "unix://${SOCKET}:/sse"}"#,
        r#"{"type": "http", "url": "http+unix://%2Frun%2Fa%20b.sock/mcp/x"}"#,
        r#"{"type": "http", "url": "https://example.com", "proxy": false}"#,
        r#"{"type": "http", "url": "https://example.com", "proxy": "http://me:${HIDDEN}@proxy.example.com:3128"}"#,
        r#"{"type": "http", "url": "https://example.com", "tls": {"caFile": "certs/ca.pem"}}"#,
        r#"{"type": "http", "url": "https://example.com", "tls": {"clientCert": "/etc/me.pem", "clientKey": "${KEY}"}}"#,
    ] {
        shown += &resolved(entry);
    }
    expect![[r#"
        sse https://example.com/sse socket None proxy environment ca None cert None key None
        http http://localhost/mcp socket Some("/run/a.sock") proxy environment ca None cert None key None
        http http://localhost/mcp?a=b socket Some("/run/a.sock") proxy environment ca None cert None key None
        http http://localhost/ socket Some("/run/a.sock") proxy environment ca None cert None key None
        sse http://localhost/sse socket Some("/run/x.sock") proxy environment ca None cert None key None
        http http://localhost/mcp/x socket Some("/run/a b.sock") proxy environment ca None cert None key None
        http https://example.com socket None proxy off ca None cert None key None
        http https://example.com socket None proxy http://me:s3cret@proxy.example.com:3128 ca None cert None key None
        http https://example.com socket None proxy environment ca Some("/home/ana/certs/ca.pem") cert None key None
        http https://example.com socket None proxy environment ca None cert Some("/etc/me.pem") key Some("-----BEGIN PRIVATE KEY-----")
    "#]]
    .assert_eq(&shown);
}

#[test]
fn what_cannot_be_reached_is_said_so() {
    let mut shown = String::new();
    for entry in [
        r#"{"type": "http", "url": "unix://run/a.sock:/mcp"}"#,
        r#"{"type": "http", "url": "unix:///run/"}"#,
        r#"{"type": "http", "url": "http+unix://%2Frun%2/mcp"}"#,
        r#"{"type": "http", "url": "http+unix://%2Frun%00/mcp"}"#,
        r#"{"type": "sse", "url": "https://example.com", "era": "modern"}"#,
        r#"{"type": "http", "url": "https://example.com", "proxy": true}"#,
        r#"{"type": "http", "url": "https://example.com", "proxy": "${NOWHERE}"}"#,
        r#"{"type": "http", "url": "https://example.com", "tls": "ca.pem"}"#,
        r#"{"type": "http", "url": "https://example.com", "tls": {"clientCert": "me.pem"}}"#,
        r#"{"type": "http", "url": "https://example.com", "tls": {"clientKey": "me.key"}}"#,
    ] {
        shown += &resolved(entry);
    }
    expect![[r#"
        server srv: url names no socket by its absolute path, the server is not started
        server srv: url names no socket by its absolute path, the server is not started
        server srv: url has a % that two hexadecimal digits do not follow, the server is not started
        server srv: url has a % that two hexadecimal digits do not follow, the server is not started
        type `sse` and era `modern` exclude each other: that transport belongs to the older era -> Remove `era`, or write "type": "http".
        proxy is a boolean, not the address of a proxy or false -> Write the address of a proxy or false.
        server srv: proxy cannot be resolved, the server is not started: the variable NOWHERE is not set
        tls is a text, not an object -> Write an object.
        tls.clientCert is given without clientKey -> Add the key of the certificate.
        tls.clientKey is given without clientCert -> Add the certificate of the key.
    "#]]
    .assert_eq(&shown);
}

#[test]
fn a_command_for_headers_is_the_shells_and_is_told_which_server_it_is_for() {
    let environment = Environment::from_pairs([
        ("HOME", "/home/ana"),
        ("PATH", "/usr/bin"),
        ("HOST", "example.com"),
        ("GITHUB_TOKEN", "s3cret"),
    ]);
    let loaded = load(
        r#"{"srv": {"type": "http", "url": "https://${HOST}/mcp", "headersHelper": "./token.sh $HOME"}}"#,
    );
    assert_eq!(loaded.problems, []);
    let server = &loaded.servers[0];
    assert_eq!(server.transport.headers_helper(), Some("./token.sh $HOME"));
    let Ok(Resolved::Http(http)) = server.resolve(&environment, EnvMode::Direct) else {
        panic!("an address");
    };
    let helper = http.helper.expect("a command");
    assert_eq!(&*helper.command, "./token.sh $HOME");
    let cwd = helper.cwd.as_deref().expect("a folder");
    assert_eq!(cwd, std::path::Path::new("/home/ana"));
    let env: Vec<String> = helper
        .env
        .iter()
        .map(|(name, value)| format!("{}={}", name.display(), value.display()))
        .collect();
    expect![[r#"
        CLAUDE_CODE_MCP_SERVER_NAME=srv
        CLAUDE_CODE_MCP_SERVER_URL=https://example.com/mcp
        HOME=/home/ana
        PATH=/usr/bin"#]]
    .assert_eq(&env.join("\n"));

    let mut shown = String::new();
    for entry in [
        r#"{"type": "http", "url": "https://example.com", "headersHelper": " "}"#,
        r#"{"type": "http", "url": "https://example.com", "headersHelper": ["a"]}"#,
        r#"{"type": "http", "url": "https://example.com", "headersHelper": "echo ${keyring:hidden}"}"#,
        r#"{"command": "a", "headersHelper": "b"}"#,
    ] {
        shown += &resolved(entry);
    }
    expect![[r#"
        headersHelper is empty -> Write the command that prints the headers, or remove the field.
        headersHelper is a list, not a text -> Write a text.
        headersHelper names a secret of the keystore, which everybody on this machine could then read in the list of processes -> Put the secret into `headers`, or have the command fetch it.
        a program
    "#]]
    .assert_eq(&shown);
}
