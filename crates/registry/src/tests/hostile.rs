//! What a registry may do to whoever asks it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use legation_core::error::chain;
use serde_json::json;

use super::stand::{Stand, json};
use crate::error::RegistryError;
use crate::server::{BundleAt, Offer};

fn listed(name: &str) -> serde_json::Value {
    json!({"server": {"name": name, "version": "1.0.0", "description": "d"}})
}

#[tokio::test]
async fn a_search_reads_every_page_and_looks_for_every_word() {
    let stand = Stand::new(|target| {
        assert!(
            target.contains("version=latest") && target.contains("search=weather"),
            "{target}"
        );
        let (names, next) = match target.split("cursor=").nth(1) {
            None => (["a.b/weather-one", "a.b/other-weather"], Some("two&x")),
            Some("two%26x") => (["a.b/one-weather", "a.b/gone"], None),
            Some(other) => panic!("a page {other:?} was asked for"),
        };
        let mut servers: Vec<_> = names.iter().map(|name| listed(name)).collect();
        if next.is_none() {
            servers[1] = json!({"server": {"name": "a.b/weather-one", "version": "1"},
                "_meta": {"io.modelcontextprotocol.registry/official": {"status": "deleted"}}});
        }
        json(&json!({"servers": servers, "metadata": {"nextCursor": next}}))
    });
    let words = ["one".to_owned(), "weather".to_owned()];
    let (found, more) = stand.registry().search(&words, 30).await.unwrap();
    let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(
        (names, more),
        (vec!["a.b/weather-one", "a.b/one-weather"], false)
    );
    let (found, more) = stand.registry().search(&words, 1).await.unwrap();
    assert_eq!((found.len(), more), (1, true));
}

#[tokio::test]
async fn a_list_that_does_not_end_is_left() {
    let asked = Arc::new(AtomicUsize::new(0));
    for is_fresh in [false, true] {
        let count = Arc::clone(&asked);
        count.store(0, Ordering::SeqCst);
        let stand = Stand::new(move |_| {
            let number = count.fetch_add(1, Ordering::SeqCst);
            let cursor = if is_fresh {
                number.to_string()
            } else {
                "again".to_owned()
            };
            json(&json!({"servers": [], "metadata": {"nextCursor": cursor}}))
        });
        let refused = stand
            .registry()
            .search(&["x".to_owned()], 30)
            .await
            .unwrap_err();
        assert!(
            matches!(refused, RegistryError::Endless { .. }),
            "{refused}"
        );
        let pages = asked.load(Ordering::SeqCst);
        assert_eq!(pages, if is_fresh { 40 } else { 2 });
    }
}

#[tokio::test]
async fn an_answer_of_a_hundred_megabytes_is_not_read_to_its_end() {
    let stand = Stand::new(|_| (200, String::new(), vec![b' '; 100 << 20]));
    let refused = stand.registry().server("a.b/c", None).await.unwrap_err();
    assert_eq!(
        chain(&refused),
        "the registry was not read: the answer of 127.0.0.1 has more than 4194304 bytes"
    );
    let stand = Stand::new(|_| (200, String::new(), b"{\"server\": \"\x1b[2J\"".to_vec()));
    let refused = stand.registry().server("a.b/c", None).await.unwrap_err();
    assert!(matches!(refused, RegistryError::Unreadable { .. }));
    assert!(!chain(&refused).contains('\u{1b}'), "{refused}");
}

#[tokio::test]
async fn nothing_is_asked_of_private_addresses() {
    for (location, wanted) in [
        (
            "https://10.0.0.1/v0.1/servers",
            "leads to an address that is not on the Internet",
        ),
        (
            "https://169.254.169.254/latest/meta-data",
            "leads to an address that is not on the Internet",
        ),
        (
            "https://inside.example/x",
            "leads to an address that is not on the Internet",
        ),
        ("http://192.168.0.1/x", "would be asked without TLS"),
        (
            "file:///etc/passwd",
            "redirects in a way that is not followed",
        ),
    ] {
        let stand = Stand::new(move |_| (302, format!("location: {location}\r\n"), Vec::new()));
        let refused = stand.registry().server("a.b/c", None).await.unwrap_err();
        assert!(
            chain(&refused).contains(wanted),
            "{location}: {}",
            chain(&refused)
        );
        let at = BundleAt::new(&format!("{}/b.mcpb", stand.base), &"0".repeat(64)).unwrap();
        let refused = stand.registry().bundle(&at).await.unwrap_err();
        assert!(
            chain(&refused).contains(wanted),
            "{location}: {}",
            chain(&refused)
        );
    }
    let around = Stand::new(|target| (302, format!("location: {target}\r\n"), Vec::new()));
    let refused = around.registry().server("a.b/c", None).await.unwrap_err();
    assert!(chain(&refused).contains("redirects in a way that is not followed"));
}

#[tokio::test]
async fn an_answer_about_something_else_is_refused() {
    let stand = Stand::new(|target| {
        assert!(
            target.starts_with("/v0.1/servers/a.b%2Fc/versions/"),
            "{target}"
        );
        json(&json!({"server": {"name": "a.b/c", "version": "2.0.0"}}))
    });
    let registry = stand.registry();
    assert_eq!(
        registry.server("a.b/c", None).await.unwrap().version,
        "2.0.0"
    );
    let refused = registry.server("a.b/c", Some("1.0.0")).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the registry was asked for a.b/c@1.0.0 and answered with a.b/c@2.0.0"
    );
    let other = Stand::new(|_| json(&json!({"server": {"name": "a.b/d", "version": "2.0.0"}})));
    assert!(other.registry().server("a.b/c", None).await.is_err());
    let none = Stand::new(|_| (404, String::new(), Vec::new()));
    let refused = none.registry().server("a.b/c", None).await.unwrap_err();
    assert!(matches!(refused, RegistryError::Unknown { .. }));
    for name in ["c", "a.b/c/d", "a.b/", "/c", "a b/c", "a.b/../c?x"] {
        let refused = registry.server(name, None).await.unwrap_err();
        assert!(
            matches!(refused, RegistryError::Name { .. }),
            "{name}: {refused}"
        );
    }
}

#[tokio::test]
async fn a_bundle_that_is_not_the_one_described_is_refused() {
    let stand = Stand::new(|target| match target {
        "/b.mcpb" => (200, String::new(), b"another".to_vec()),
        _ => json(
            &json!({"server": {"name": "a.b/c", "version": "1.0.0", "packages": [
                {"registryType": "mcpb", "identifier": "https://example.com/b.mcpb"},
                {"registryType": "mcpb", "identifier": "file:///b.mcpb", "fileSha256": "0".repeat(64)},
                {"registryType": "mcpb", "identifier": "https://example.com/b.mcpb", "fileSha256": "0".repeat(64)}
            ]}}),
        ),
    });
    let registry = stand.registry();
    let server = registry.server("a.b/c", None).await.unwrap();
    let is_left = |offer: &Offer| matches!(offer, Offer::Left { .. });
    let left: Vec<bool> = server.offers.iter().map(is_left).collect();
    assert_eq!(left, [true, true, false]);
    let at = BundleAt::new(&format!("{}/b.mcpb", stand.base), &"0".repeat(64)).unwrap();
    let refused = registry.bundle(&at).await.unwrap_err();
    assert!(matches!(refused, RegistryError::Hash { .. }), "{refused}");
    assert!(BundleAt::new("https://example.com/b.mcpb", "abc").is_err());
    assert!(BundleAt::new("http://example.com/b.mcpb", &"0".repeat(64)).is_err());
}
