//! Which proxy is taken, and what is trusted.

use legation_config::{Environment, ResolvedProxy, ResolvedReach};
use legation_core::Secret;

use super::reach;
use crate::port::DialError;

/// The proxy for a URL, as it is shown and with what it is told.
fn found(env: &[(&str, &str)], proxy: ResolvedProxy, url: &str) -> Result<String, String> {
    let environment = Environment::from_pairs(env.iter().copied());
    let resolved = ResolvedReach {
        proxy,
        ..ResolvedReach::default()
    };
    match reach(&environment, url, &resolved) {
        Ok(reach) => Ok(reach.proxy.map_or_else(
            || "direct".to_owned(),
            |proxy| match &proxy.credentials {
                Some(value) => format!("{proxy} {}", value.to_str().expect("text")),
                None => proxy.to_string(),
            },
        )),
        Err(DialError::Misconfigured(why)) => Err(why),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn the_environment_names_proxies_by_scheme() {
    let env = [
        ("https_proxy", "http://small.example.com:3128"),
        ("HTTPS_PROXY", "http://large.example.com:3128"),
        ("HTTP_PROXY", "plain.example.com:8080"),
        (
            "NO_PROXY",
            "inside.example.com,.corp.example,10.0.0.0/8,[fd00::1],odd.example:8443",
        ),
    ];
    for (url, expected) in [
        ("https://mcp.example.net/mcp", "small.example.com:3128"),
        ("http://mcp.example.net/mcp", "plain.example.com:8080"),
        ("https://inside.example.com/mcp", "direct"),
        ("https://a.inside.example.com/mcp", "direct"),
        (
            "https://notinside.example.com/mcp",
            "small.example.com:3128",
        ),
        ("https://a.corp.example/mcp", "direct"),
        ("https://10.1.2.3/mcp", "direct"),
        ("https://11.1.2.3/mcp", "small.example.com:3128"),
        ("https://[fd00::1]/mcp", "direct"),
        ("https://odd.example:8443/mcp", "direct"),
        ("https://odd.example/mcp", "small.example.com:3128"),
        // Never for what is on this machine, whatever is set.
        ("http://127.0.0.1:9/mcp", "direct"),
        ("http://127.8.8.8/mcp", "direct"),
        ("http://[::1]:9/mcp", "direct"),
        ("http://[::ffff:127.0.0.1]:9/mcp", "direct"),
        ("https://LOCALHOST/mcp", "direct"),
        ("https://a.localhost./mcp", "direct"),
    ] {
        let proxy = found(&env, ResolvedProxy::Environment, url);
        assert_eq!(proxy.as_deref(), Ok(expected), "{url}");
    }
    let all = [("ALL_PROXY", "http://all.example.com")];
    let proxy = found(
        &all,
        ResolvedProxy::Environment,
        "https://mcp.example.net/mcp",
    );
    assert_eq!(proxy.as_deref(), Ok("all.example.com:80"));
}

#[test]
fn an_entry_counts_before_the_environment() {
    let env = [
        ("https_proxy", "http://env.example.com:3128"),
        ("no_proxy", "*"),
    ];
    let url = "https://mcp.example.net/mcp";
    let at = |proxy: &str| ResolvedProxy::At(Secret::new(proxy));
    assert_eq!(
        found(&env[..1], ResolvedProxy::Off, url).as_deref(),
        Ok("direct")
    );
    let own = found(
        &env,
        at("http://own%2B:p%40ss@proxy.example.com:8080/"),
        url,
    );
    // `own+:p@ss`
    assert_eq!(
        own.as_deref(),
        Ok("proxy.example.com:8080 Basic b3duKzpwQHNz")
    );
    let six = found(&env, at("http://[2001:db8::1]:8080"), url);
    assert_eq!(six.as_deref(), Ok("[2001:db8::1]:8080"));
}

#[test]
fn a_proxy_that_cannot_be_used_fails_the_server_and_shows_no_password() {
    let url = "https://mcp.example.net/mcp";
    for bad in [
        "socks5://user:hush@proxy.example.com",
        "https://user:hush@proxy.example.com",
        "http://user:hush@",
        "http://",
        "http://user:hush@proxy.example.com:port",
    ] {
        let own = found(&[], ResolvedProxy::At(Secret::new(bad)), url);
        let env = found(&[("HTTPS_PROXY", bad)], ResolvedProxy::Environment, url);
        for why in [own, env] {
            let why = why.expect_err(bad);
            assert!(!why.contains("hush"), "{why}");
            assert!(why.contains("proxy") || why.contains("PROXY"), "{why}");
        }
    }
}

#[test]
fn certificates_that_are_none_fail_the_server_and_stay_unseen() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("key.pem");
    std::fs::write(&file, "hush hush").expect("written");
    let path = file.to_str().expect("text").to_owned();
    let pem = "-----BEGIN CERTIFICATE-----\nhush\n-----END CERTIFICATE-----\n";
    let none = ResolvedReach::default;
    let cases = [
        ResolvedReach {
            ca_file: Some(path.clone()),
            ..none()
        },
        ResolvedReach {
            ca_file: Some(pem.to_owned()),
            ..none()
        },
        ResolvedReach {
            ca_file: Some("/no/such/file".to_owned()),
            ..none()
        },
        ResolvedReach {
            ca_file: Some("/".to_owned()),
            ..none()
        },
        ResolvedReach {
            client_cert: Some(pem.to_owned()),
            client_key: Some(Secret::new(path)),
            ..none()
        },
    ];
    for case in cases {
        let made = reach(&Environment::default(), "https://example.com/mcp", &case);
        let Err(DialError::Misconfigured(why)) = made else {
            panic!("{made:?}");
        };
        assert!(why.starts_with("tls.") && !why.contains("hush"), "{why}");
    }
}
