use serde_json::json;

use super::{Issuer, MetadataError, Resource, issuer_places, resource_places};
use crate::url::{BadUrl, WebUrl};

fn url(text: &str) -> WebUrl {
    WebUrl::parse(text).unwrap()
}

fn texts(places: &[WebUrl]) -> Vec<&str> {
    places.iter().map(WebUrl::as_str).collect()
}

#[test]
fn descriptions_are_looked_for_in_the_order_of_the_specification() {
    let server = url("https://example.com/team/mcp");
    assert_eq!(
        texts(&resource_places(&server, None)),
        [
            "https://example.com/.well-known/oauth-protected-resource/team/mcp",
            "https://example.com/.well-known/oauth-protected-resource",
        ]
    );
    assert_eq!(
        texts(&resource_places(&server, Some("https://example.com/meta"))),
        ["https://example.com/meta"]
    );
    assert!(resource_places(&server, Some("file:///etc/passwd")).is_empty());
    assert_eq!(
        texts(&issuer_places(&url("https://as.example.com/tenant"))),
        [
            "https://as.example.com/.well-known/oauth-authorization-server/tenant",
            "https://as.example.com/.well-known/openid-configuration/tenant",
            "https://as.example.com/tenant/.well-known/openid-configuration",
        ]
    );
    assert_eq!(
        texts(&issuer_places(&url("https://as.example.com"))),
        [
            "https://as.example.com/.well-known/oauth-authorization-server",
            "https://as.example.com/.well-known/openid-configuration",
        ]
    );
}

#[test]
fn a_resource_must_be_the_server_that_was_asked() {
    let server = url("https://example.com/team/mcp");
    for (resource, is_own) in [
        ("https://example.com/team/mcp", true),
        ("https://example.com/team/", true),
        ("https://example.com", true),
        ("https://example.com/te", false),
        ("https://example.com/team/mcp/x", false),
        ("http://example.com/team/mcp", false),
        ("https://example.com:8443/team/mcp", false),
        ("https://evil.example.com/team/mcp", false),
        ("mcp", false),
    ] {
        let body = json!({"resource": resource, "authorization_servers": ["https://as"]});
        let read = Resource::read(body.to_string().as_bytes(), &server);
        assert_eq!(read.is_ok(), is_own, "{resource}");
        if let Ok(read) = read {
            assert_eq!(&*read.resource, resource, "sent as it was published");
        }
    }
}

fn issuer(change: serde_json::Value) -> Result<Issuer, MetadataError> {
    let mut body = json!({
        "issuer": "https://as.example.com",
        "authorization_endpoint": "https://as.example.com/authorize",
        "token_endpoint": "https://as.example.com/token",
        "code_challenge_methods_supported": ["plain", "S256"],
    });
    let members = change.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(members);
    Issuer::read(body.to_string().as_bytes(), "https://as.example.com")
}

#[test]
fn an_issuer_must_repeat_its_name_to_the_letter() {
    assert!(issuer(json!({})).unwrap().has_s256);
    for other in [
        "https://as.example.com/",
        "https://AS.example.com",
        "https://as.example.com:443",
        "https://evil.example.com",
        "",
    ] {
        let read = issuer(json!({"issuer": other}));
        assert!(
            matches!(read, Err(MetadataError::OtherIssuer { .. })),
            "{other}"
        );
    }
}

#[test]
fn endpoints_are_addresses_that_people_and_tokens_can_be_sent_to() {
    for (member, text, bad) in [
        (
            "authorization_endpoint",
            "javascript:alert(1)",
            BadUrl::Scheme,
        ),
        (
            "authorization_endpoint",
            "file:///etc/passwd",
            BadUrl::Scheme,
        ),
        (
            "authorization_endpoint",
            "http://example.com/a",
            BadUrl::Plain,
        ),
        ("authorization_endpoint", "https://a b/", BadUrl::Syntax),
        ("token_endpoint", "http://10.0.0.1/token", BadUrl::Plain),
        ("registration_endpoint", "data:,x", BadUrl::Scheme),
        (
            "revocation_endpoint",
            "https://u:p@example.com/",
            BadUrl::Extra,
        ),
    ] {
        let read = issuer(json!({ member: text }));
        assert_eq!(read, Err(MetadataError::Endpoint { member, bad }), "{text}");
    }
}

#[test]
fn what_is_no_description_is_refused_without_being_quoted() {
    for body in ["", "[]", "{\"issuer\":1}", "<html>", "{\"a\":\"s3cret\"}"] {
        let error = Issuer::read(body.as_bytes(), "x").unwrap_err();
        assert!(!error.to_string().contains("s3cret"));
        assert!(matches!(error, MetadataError::Unreadable { .. }), "{body}");
    }
}

#[test]
fn scopes_that_no_request_can_hold_are_left_out() {
    let long = "x".repeat(300);
    let read = issuer(json!({"scopes_supported": ["a", "b c", "d\"", "", "e\\", long, "f:g"]}));
    let scopes = read.unwrap().scopes;
    assert_eq!(scopes, ["a".into(), "f:g".into()] as [Box<str>; 2]);
}
