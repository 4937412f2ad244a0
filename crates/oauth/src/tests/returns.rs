//! Answers that are brought by hand, and clients that an authorization server forgot.

use std::sync::Arc;

use super::flows::{browse, sign_in, token};
use super::stand::{ISSUER, Stand};
use crate::authorize::AnswerError;
use crate::sign_in::SignIn;
use crate::url::pairs;
use crate::{Begun, Challenge, OAuthError, Upstream};

async fn open(upstream: &Arc<Upstream>, force: bool) -> Arc<SignIn> {
    match upstream.begin(force).await {
        Ok(Begun::Open(open)) => open,
        other => panic!("nobody was sent anywhere: {other:?}"),
    }
}

/// Where a browser elsewhere ends, with this `iss`.
fn end(open: &SignIn, iss: &str) -> String {
    let sent = pairs(open.url().split_once('?').unwrap().1).unwrap();
    let get = |name: &str| {
        let found = sent.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.clone()).unwrap()
    };
    format!(
        "{}?code=c&state={}&iss={iss}",
        get("redirect_uri"),
        get("state")
    )
}

#[tokio::test]
async fn an_answer_brought_by_hand_is_of_this_sign_in_or_refused() {
    let stand = Stand::new();
    let upstream = stand.upstream("notes");
    let begun = open(&upstream, false).await;
    let good = end(&begun, "https%3A%2F%2Fas.example.com");
    let query = good.split_once('?').unwrap().1;
    for (brought, expected) in [
        (String::new(), AnswerError::Address),
        ("code".to_owned(), AnswerError::Address),
        (query.to_owned(), AnswerError::Address),
        (
            good.replacen("/callback", "/callback/", 1),
            AnswerError::Address,
        ),
        (
            good.replacen("127.0.0.1", "localhost", 1),
            AnswerError::Address,
        ),
        (
            good.replacen("http://", "https://", 1),
            AnswerError::Address,
        ),
        (
            good.replacen("127.0.0.1", "evil.example.com", 1),
            AnswerError::Address,
        ),
        (good.replacen("state=", "state=x", 1), AnswerError::State),
        (good.replacen("&state=", "&status=", 1), AnswerError::State),
        (format!("{good}&state=x"), AnswerError::State),
    ] {
        match begun.bring(&brought) {
            Err(OAuthError::Answer { source }) => assert_eq!(source, expected, "{brought}"),
            other => panic!("{brought}: {other:?}"),
        }
    }
    assert!(stand.script.seen().forms.is_empty(), "no code was sent");
    begun.bring(&format!(" {good}#_=_\n")).unwrap();
    begun.done().await.unwrap();
    assert_eq!(token(upstream.access().await.unwrap().as_ref()), "at-1");
    // Its state is good once, and its port is closed.
    assert!(matches!(begun.bring(&good), Err(OAuthError::Withdrawn)));
    let port = good.split('/').nth(2).unwrap();
    assert!(tokio::net::TcpStream::connect(port).await.is_err());
}

#[tokio::test]
async fn an_answer_of_another_issuer_ends_the_sign_in_however_it_comes() {
    let stand = Stand::new();
    let upstream = stand.upstream("notes");
    let begun = open(&upstream, false).await;
    begun
        .bring(&end(&begun, "https%3A%2F%2Fevil.example.com"))
        .unwrap();
    let ended = begun.done().await;
    let other = AnswerError::OtherIssuer;
    assert!(matches!(ended, Err(OAuthError::Answer { source }) if source == other));
    assert!(stand.script.seen().forms.is_empty(), "no code was sent");
    assert!(ISSUER.starts_with("https://as."));
}

#[tokio::test]
async fn a_client_that_is_forgotten_registers_once_more_and_signs_in_anew() {
    let stand = Stand::new();
    let (first, second) = (
        stand.upstream("first"),
        stand.with("second", |settings| {
            settings.entity = Some(legation_core::EntityId::new("acme"));
        }),
    );
    sign_in(&first).await;
    sign_in(&second).await;
    assert_eq!(stand.script.seen().registered, 1);
    stand.pass(200);
    stand.script.seen().refuses = Some("invalid_client");
    assert!(first.access().await.unwrap().is_none());
    let again = first.refused(None, Challenge::default()).await.unwrap();
    assert!(again.is_none() && first.is_waiting());
    assert_eq!(
        stand.script.seen().registered,
        1,
        "nobody wants to sign in yet"
    );
    stand.script.seen().refuses = None;
    let begun = open(&first, false).await;
    assert!(
        begun.url().contains("client_id=client-2&"),
        "{}",
        begun.url()
    );
    browse(begun.url(), |_| {}).await;
    begun.done().await.unwrap();
    assert!(first.access().await.unwrap().is_some());
    // Whoever signed in with the old one after a start has to do so again too, and nobody
    // registers a third time.
    let stand = stand.restarted().await;
    let second = stand.with("second", |settings| {
        settings.entity = Some(legation_core::EntityId::new("acme"));
    });
    assert!(second.access().await.unwrap().is_none());
    let again = second.refused(None, Challenge::default()).await.unwrap();
    assert!(again.is_none() && second.is_waiting());
    sign_in(&second).await;
    assert_eq!(stand.script.seen().registered, 2);
}

#[tokio::test]
async fn a_client_of_the_owners_is_not_forgotten() {
    let stand = Stand::new();
    let upstream = stand.with("notes", |settings| settings.client_id = Some("mine".into()));
    sign_in(&upstream).await;
    stand.pass(200);
    stand.script.seen().refuses = Some("invalid_client");
    for _ in 0..2 {
        let error = upstream.access().await.unwrap_err();
        assert!(matches!(error, OAuthError::Token { .. }), "{error:?}");
    }
    stand.script.seen().refuses = None;
    assert!(
        upstream.access().await.unwrap().is_some(),
        "its owner put it right"
    );
    assert_eq!(stand.script.seen().registered, 0);
}

#[tokio::test]
async fn a_page_from_which_nobody_came_back_may_not_know_the_client() {
    let stand = Stand::new();
    let upstream = stand.upstream("notes");
    let first = open(&upstream, false).await;
    assert!(first.url().contains("client_id=client-1&"));
    // The same again while it waits; another client only where one is asked for.
    let same = open(&upstream, false).await;
    assert_eq!(same.url(), first.url());
    let second = open(&upstream, true).await;
    assert!(
        second.url().contains("client_id=client-2&"),
        "{}",
        second.url()
    );
    browse(second.url(), |_| {}).await;
    second.done().await.unwrap();
    let third = open(&upstream, true).await;
    assert!(
        third.url().contains("client_id=client-2&"),
        "it did come back"
    );
}
