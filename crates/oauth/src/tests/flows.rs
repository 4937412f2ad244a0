//! Whole sign-ins.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use legation_core::EntityId;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::stand::{ISSUER, Stand};
use crate::slot::Access;
use crate::url::{encode, pairs};
use crate::{Begun, Challenge, MetadataError, News, OAuthError, Upstream};

pub(super) fn token(access: Option<&Arc<Access>>) -> &str {
    access.map_or("", |access| access.token.reveal())
}

/// A browser that goes straight back, with `change` made to what it brings.
pub(super) async fn browse(url: &str, change: impl Fn(&mut Vec<(String, String)>)) -> String {
    let query = url.split_once('?').unwrap().1;
    let sent = pairs(query).unwrap();
    let get = |name: &str| {
        let found = sent.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    let redirect = get("redirect_uri");
    let mut brings = vec![
        ("code".to_owned(), "code-1".to_owned()),
        ("state".to_owned(), get("state")),
        ("iss".to_owned(), ISSUER.to_owned()),
    ];
    change(&mut brings);
    let mut query = String::new();
    for (name, value) in &brings {
        query.push_str(if query.is_empty() { "" } else { "&" });
        query.push_str(name);
        query.push('=');
        encode(value, &mut query);
    }
    let rest = redirect.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    visit(host, host, &format!("/{path}?{query}")).await
}

async fn visit(at: &str, host: &str, target: &str) -> String {
    let mut stream = TcpStream::connect(at).await.unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

pub(super) async fn sign_in(upstream: &Arc<Upstream>) {
    let Begun::Open(open) = upstream.begin(false).await.unwrap() else {
        panic!("nobody was sent anywhere");
    };
    let page = browse(open.url(), |_| {}).await;
    assert!(page.contains("You are signed in"), "{page}");
    open.done().await.unwrap();
}

#[tokio::test]
async fn a_person_signs_in_and_everybody_has_the_token() {
    let stand = Stand::new();
    let upstream = stand.upstream("notes");
    let mut news = stand.oauth.news();
    assert_eq!(token(upstream.access().await.unwrap().as_ref()), "");
    let again = upstream.refused(None, Challenge::default()).await.unwrap();
    assert!(again.is_none() && upstream.is_waiting());
    assert!(matches!(news.recv().await, Ok(News::Required { .. })));
    // Nobody who asks: no registration.
    assert_eq!(stand.script.seen().registered, 0);
    sign_in(&upstream).await;
    assert!(!upstream.is_waiting());
    assert!(matches!(
        news.recv().await,
        Ok(News::Completed { failure: None, .. })
    ));
    assert_eq!(token(upstream.access().await.unwrap().as_ref()), "at-1");
    // What serves still brings no address; told to, it does.
    assert!(matches!(upstream.begin(false).await, Ok(Begun::Ready)));
    assert!(matches!(upstream.begin(true).await, Ok(Begun::Open(_))));
    let form = stand.script.seen().forms[0].clone();
    let has = |name: &str, value: &str| form.iter().any(|(k, v)| k == name && v == value);
    assert!(has("resource", super::stand::SERVER) && has("client_id", "client-1"));
}

#[tokio::test]
async fn fifty_who_wait_renew_once_and_no_family_is_revoked() {
    let stand = Stand::new();
    let first = stand.upstream("first");
    sign_in(&first).await;
    // Another entry of the same server uses the same sign-in.
    let second = stand.upstream("second");
    for round in 2..6 {
        stand.pass(96);
        let waiting = (0..50).map(|number| {
            let upstream = if number % 2 == 0 { &first } else { &second };
            upstream.access()
        });
        for access in join_all(waiting).await {
            assert_eq!(token(access.unwrap().as_ref()), format!("at-{round}"));
        }
        let seen = stand.script.seen();
        assert_eq!((seen.refreshes, seen.revoked), (round - 1, false));
    }
}

#[tokio::test]
async fn fifty_refusals_of_one_token_are_one_renewal() {
    let stand = Stand::new();
    let upstream = stand.upstream("notes");
    sign_in(&upstream).await;
    let used = upstream.access().await.unwrap();
    let refused = (0..50).map(|_| upstream.refused(used.as_ref(), Challenge::default()));
    for access in join_all(refused).await {
        assert_eq!(token(access.unwrap().as_ref()), "at-2");
    }
    assert_eq!(stand.script.seen().refreshes, 1);
}

#[tokio::test]
async fn a_caller_who_gives_up_loses_no_token_and_a_restart_none_either() {
    let stand = Stand::new();
    let upstream = stand.upstream("notes");
    sign_in(&upstream).await;
    stand.pass(200);
    {
        let caller = upstream.access();
        tokio::pin!(caller);
        let given_up = tokio::time::timeout(Duration::ZERO, &mut caller).await;
        assert!(given_up.is_err(), "the renewal was not under way");
    }
    let stand = stand.restarted().await;
    assert_eq!(stand.script.seen().refreshes, 1, "it was waited for");
    let upstream = stand.upstream("notes");
    assert_eq!(token(upstream.access().await.unwrap().as_ref()), "at-3");
    assert!(!stand.script.seen().revoked);
    assert_eq!(stand.script.seen().registered, 1, "the client is kept");
}

#[tokio::test]
async fn a_sign_in_that_ended_is_asked_for_and_a_passing_trouble_is_not() {
    let stand = Stand::new();
    let upstream = stand.upstream("notes");
    sign_in(&upstream).await;
    stand.pass(200);
    stand.script.seen().refuses = Some("temporarily_unavailable");
    let error = upstream.access().await.unwrap_err();
    assert!(error.is_passing(), "{error:?}");
    assert!(!format!("{error:?} {error}").contains("s3cret"));
    stand.script.seen().refuses = None;
    assert_eq!(token(upstream.access().await.unwrap().as_ref()), "at-2");
    stand.pass(200);
    stand.script.seen().refuses = Some("invalid_grant");
    assert!(upstream.access().await.unwrap().is_none());
    let refused = upstream.refused(None, Challenge::default()).await;
    assert!(refused.unwrap().is_none() && upstream.is_waiting());
}

#[tokio::test]
async fn nobody_is_sent_to_a_page_that_is_not_safe() {
    let waiting = |upstream: Arc<Upstream>| async move {
        let error = upstream.begin(false).await.unwrap_err();
        assert!(!error.is_passing());
        error
    };
    let stand = Stand::new();
    stand.script.seen().described = Some(json!({"code_challenge_methods_supported": []}));
    let error = waiting(stand.upstream("a")).await;
    assert!(matches!(error, OAuthError::NoPkce), "{error:?}");
    for page in [
        "javascript:alert(1)",
        "file:///bin/sh",
        "http://evil.example.com/",
    ] {
        stand.script.seen().described = Some(json!({"authorization_endpoint": page}));
        let error = waiting(stand.upstream("b")).await;
        let endpoint = matches!(
            error,
            OAuthError::Metadata {
                source: MetadataError::Endpoint { .. },
                ..
            }
        );
        assert!(endpoint, "{page}: {error:?}");
    }
    stand.script.seen().described = None;
    stand.script.seen().resource = Some(json!({"resource": "https://evil.example.com/mcp"}));
    let error = waiting(stand.upstream("c")).await;
    let other = matches!(
        error,
        OAuthError::Metadata {
            source: MetadataError::OtherResource { .. },
            ..
        }
    );
    assert!(other, "{error:?}");
    assert_eq!(stand.script.seen().registered, 0, "nothing was begun");
}

#[tokio::test]
async fn what_a_browser_brings_is_for_one_sign_in_alone() {
    let stand = Stand::new();
    let upstream = stand.upstream("notes");
    let Begun::Open(open) = upstream.begin(false).await.unwrap() else {
        panic!("nobody was sent anywhere");
    };
    let sent = pairs(open.url().split_once('?').unwrap().1).unwrap();
    let redirect = &sent
        .iter()
        .find(|(key, _)| key == "redirect_uri")
        .unwrap()
        .1;
    let host = redirect
        .strip_prefix("http://")
        .unwrap()
        .split('/')
        .next()
        .unwrap();
    // Foreign and near-miss requests end nothing.
    for (named, target, status) in [
        (host, "/callback?code=x&state=wrong", "400"),
        (host, "/callback/?code=x&state=wrong", "404"),
        (host, "/callbackx?code=x", "404"),
        (host, "/", "404"),
        ("evil.example.com", "/callback?code=x&state=wrong", "404"),
    ] {
        let page = visit(host, named, target).await;
        assert!(
            page.starts_with(&format!("HTTP/1.1 {status}")),
            "{target}: {page}"
        );
    }
    assert!(stand.script.seen().forms.is_empty(), "no code was sent");
    // The right state from the wrong issuer does.
    let page = browse(open.url(), |brings| {
        brings[2].1 = "https://evil.example.com".to_owned()
    })
    .await;
    assert!(page.contains("You are not signed in"), "{page}");
    assert!(matches!(open.done().await, Err(OAuthError::Answer { .. })));
    assert!(stand.script.seen().forms.is_empty(), "no code was sent");
    // And its state is good no more: the port is closed.
    assert!(TcpStream::connect(host).await.is_err());
}

#[tokio::test]
async fn tokens_are_bound_to_a_key_where_both_servers_take_such() {
    let issuer = json!({"dpop_signing_alg_values_supported": ["RS256", "ES256"]});
    let takes = json!({"dpop_signing_alg_values_supported": ["ES256"]});
    let requires = json!({"dpop_bound_access_tokens_required": true});
    for (described, resource, challenge, is_bound) in [
        (Some(&issuer), None, "Bearer", false),
        (Some(&issuer), None, "DPoP", true),
        (Some(&issuer), Some(&takes), "Bearer", true),
        (Some(&issuer), Some(&requires), "Bearer", true),
        (None, Some(&takes), "DPoP", false),
    ] {
        let stand = Stand::new();
        stand.script.seen().described = described.cloned();
        stand.script.seen().resource = resource.cloned();
        let upstream = stand.upstream("notes");
        let refused = upstream.refused(None, Challenge::read(challenge)).await;
        assert!(refused.unwrap().is_none());
        sign_in(&upstream).await;
        let proofs = |stand: &Stand| stand.script.seen().proofs;
        assert_eq!(proofs(&stand) == 1, is_bound, "{resource:?} {challenge}");
        // So it stays when it is renewed by the next hub.
        let stand = stand.restarted().await;
        stand.pass(200);
        assert!(stand.upstream("notes").access().await.unwrap().is_some());
        assert_eq!(proofs(&stand) == 2, is_bound, "{resource:?} {challenge}");
    }
}

#[tokio::test]
async fn another_authorization_server_never_sees_what_the_first_gave() {
    let stand = Stand::new();
    let upstream = stand.upstream("notes");
    sign_in(&upstream).await;
    let used = upstream.access().await.unwrap();
    let other = "https://other.example.com";
    stand.script.seen().resource = Some(json!({"authorization_servers": [other]}));
    stand.script.seen().described = Some(json!({
        "issuer": other, "token_endpoint": format!("{other}/token"),
        "registration_endpoint": format!("{other}/register"),
    }));
    let before = stand.script.seen().forms.len();
    let again = upstream.refused(used.as_ref(), Challenge::default()).await;
    assert!(again.unwrap().is_none() && upstream.is_waiting());
    assert_eq!(
        stand.script.seen().forms.len(),
        before,
        "nothing was sent there"
    );
    let Begun::Open(open) = upstream.begin(false).await.unwrap() else {
        panic!("nobody was sent anywhere");
    };
    assert!(
        open.url().contains("client_id=client-2"),
        "it registered anew"
    );
}

#[tokio::test]
async fn a_program_signs_itself_in_and_asks_for_more_rights_once() {
    let stand = Stand::new();
    let upstream = stand.program("notes");
    assert!(upstream.access().await.unwrap().is_none());
    let first = upstream
        .refused(None, Challenge::read("Bearer scope=\"read\""))
        .await;
    let first = first.unwrap();
    assert_eq!(token(first.as_ref()), "at-1");
    let more = Challenge::read("Bearer error=\"insufficient_scope\", scope=\"write\"");
    let second = upstream
        .refused(first.as_ref(), more.clone())
        .await
        .unwrap();
    assert_eq!(token(second.as_ref()), "at-2");
    let form = stand.script.seen().forms[1].clone();
    assert!(
        form.contains(&("scope".to_owned(), "read write".to_owned())),
        "{form:?}"
    );
    // Refused with all there is, it stays refused.
    assert!(
        upstream
            .refused(second.as_ref(), more)
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(stand.script.seen().given, 2);
}

#[tokio::test]
async fn a_sign_in_that_is_given_back_is_forgotten() {
    let stand = Stand::new();
    let upstream = stand.upstream("notes");
    sign_in(&upstream).await;
    assert!(upstream.revoke().await.unwrap());
    assert!(upstream.access().await.unwrap().is_none());
    assert!(!upstream.revoke().await.unwrap());
    let stand = stand.restarted().await;
    assert!(stand.upstream("notes").access().await.unwrap().is_none());
}

#[tokio::test]
async fn a_sign_in_of_one_company_is_none_of_another() {
    let of = |stand: &Stand, entity: &str| {
        stand.with("notes", |settings| {
            settings.entity = Some(EntityId::new(entity));
        })
    };
    let stand = Stand::new();
    let (acme, globex) = (of(&stand, "acme"), of(&stand, "globex"));
    sign_in(&acme).await;
    for upstream in [&globex, &stand.upstream("notes")] {
        let again = upstream.refused(None, Challenge::default()).await.unwrap();
        assert!(again.is_none() && upstream.is_waiting());
    }
    sign_in(&globex).await;
    assert_eq!(token(acme.access().await.unwrap().as_ref()), "at-1");
    assert_eq!(token(globex.access().await.unwrap().as_ref()), "at-2");
    // Taken back for one, it is there for the other, after a restart too.
    assert!(acme.revoke().await.unwrap());
    let stand = stand.restarted().await;
    assert!(of(&stand, "acme").access().await.unwrap().is_none());
    assert_ne!(
        token(of(&stand, "globex").access().await.unwrap().as_ref()),
        ""
    );
}

#[tokio::test]
async fn a_new_sign_in_is_not_renewed_with_what_the_last_one_left() {
    let stand = Stand::new();
    let upstream = stand.upstream("notes");
    sign_in(&upstream).await;
    stand.script.seen().gives_once = true;
    let Begun::Open(open) = upstream.begin(true).await.unwrap() else {
        panic!("nobody was sent anywhere");
    };
    browse(open.url(), |_| {}).await;
    open.done().await.unwrap();
    assert_eq!(token(upstream.access().await.unwrap().as_ref()), "at-2");
    stand.pass(200);
    assert!(upstream.access().await.unwrap().is_none());
    assert_eq!(stand.script.seen().refreshes, 0);
}

#[tokio::test]
async fn a_sign_in_that_is_not_taken_back_is_forgotten_and_said_so() {
    let stand = Stand::new();
    let upstream = stand.upstream("notes");
    sign_in(&upstream).await;
    stand.script.seen().takes_none_back = true;
    let error = upstream.revoke().await.unwrap_err();
    assert!(matches!(error, OAuthError::NotRevoked { status: 503 }));
    assert!(upstream.access().await.unwrap().is_none());
}
