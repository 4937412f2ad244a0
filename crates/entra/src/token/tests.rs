use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use legation_core::clock::ManualClock;
use legation_core::{CancelReason, OpContext, SharedClock};

use super::*;
use crate::error::{Class, SignInError, Step};
use crate::test_kit::ctx;

/// Gives tokens with numbers, or failures, after everybody else has had a turn.
struct Numbered {
    clock: SharedClock,
    fetched: AtomicUsize,
    fails: AtomicUsize,
    claims: std::sync::Mutex<Vec<Option<String>>>,
}

impl Numbered {
    fn new(clock: &Arc<ManualClock>) -> Self {
        Self {
            clock: Arc::clone(clock) as SharedClock,
            fetched: AtomicUsize::new(0),
            fails: AtomicUsize::new(0),
            claims: std::sync::Mutex::default(),
        }
    }

    fn token(&self, number: usize) -> Token {
        let grant = Grant {
            access_token: Secret::new(format!("token-{number}")),
            expires_in: Duration::from_secs(3600),
            refresh_token: None,
            id_token: None,
            scope: "https://graph.microsoft.com/Chat.Create".to_owned(),
        };
        Token::new(&grant, self.clock.now(), self.clock.wall())
    }
}

impl Source for Numbered {
    fn fetch<'a>(
        &'a self,
        ctx: &'a OpContext,
        _key: &'a TokenKey,
        claims: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Token, SignInError>> {
        Box::pin(async move {
            let number = self.fetched.fetch_add(1, Ordering::SeqCst) + 1;
            self.claims.lock().unwrap().push(claims.map(str::to_owned));
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            if let Some(reason) = ctx.cancel.reason() {
                return Err(SignInError::Cancelled { reason });
            }
            let left = self.fails.load(Ordering::SeqCst);
            if left > 0 {
                self.fails.store(left - 1, Ordering::SeqCst);
                return Err(SignInError::Unreachable {
                    step: Step::Refresh,
                    source: crate::http::HttpError::Random,
                });
            }
            Ok(self.token(number))
        })
    }
}

fn made() -> (Arc<ManualClock>, TokenCache, Numbered, TokenKey) {
    let clock = Arc::new(ManualClock::at(Wall(0)));
    let cache = TokenCache::new(Arc::clone(&clock) as SharedClock);
    let source = Numbered::new(&clock);
    (clock, cache, source, TokenKey::new(Role::OnBehalf, "scope"))
}

#[tokio::test]
async fn a_hundred_who_wait_get_one_refresh() {
    let (clock, cache, source, key) = made();
    let ctx = ctx();
    for round in 1..=3 {
        let all = (0..100).map(|_| cache.get(&ctx, &key, &source));
        for token in futures_util::future::join_all(all).await {
            assert_eq!(token.unwrap().reveal(), format!("token-{round}"));
        }
        assert_eq!(source.fetched.load(Ordering::SeqCst), round);
        clock.advance(Duration::from_secs(3600));
    }
}

#[tokio::test]
async fn it_is_renewed_before_it_expires_and_used_to_the_end_if_need_be() {
    let (clock, cache, source, key) = made();
    let ctx = ctx();
    let first = cache.get(&ctx, &key, &source).await.unwrap();
    clock.advance(Duration::from_secs(3600 - 6 * 60 - 1));
    assert!(Arc::ptr_eq(
        &first,
        &cache.get(&ctx, &key, &source).await.unwrap()
    ));
    clock.advance(Duration::from_secs(61));
    source.fails.store(1, Ordering::SeqCst);
    let still = cache.get(&ctx, &key, &source).await.unwrap();
    assert!(
        Arc::ptr_eq(&first, &still),
        "no new one is to be had, and it is good"
    );
    clock.advance(Duration::from_millis(1));
    let second = cache.get(&ctx, &key, &source).await.unwrap();
    assert_eq!(second.reveal(), "token-3");
    clock.advance(Duration::from_secs(3600));
    source.fails.store(1, Ordering::SeqCst);
    let error = cache.get(&ctx, &key, &source).await.unwrap_err();
    assert_eq!(error.class(), Class::Unreachable);
}

#[tokio::test]
async fn a_failure_is_shared_by_those_who_waited_and_not_by_the_next() {
    let (clock, cache, source, key) = made();
    let ctx = ctx();
    source.fails.store(1, Ordering::SeqCst);
    let all = (0..20).map(|_| cache.get(&ctx, &key, &source));
    let failed = futures_util::future::join_all(all).await;
    assert!(failed.iter().all(Result::is_err));
    assert_eq!(source.fetched.load(Ordering::SeqCst), 1);
    clock.advance(Duration::from_millis(1));
    assert!(cache.get(&ctx, &key, &source).await.is_ok());
}

#[tokio::test]
async fn who_is_called_off_takes_nobody_along() {
    let (_clock, cache, source, key) = made();
    let (leader, other) = (ctx(), ctx());
    leader.cancel.cancel(CancelReason::ClientCancelled);
    let (first, second) = tokio::join!(
        cache.get(&leader, &key, &source),
        cache.get(&other, &key, &source),
    );
    assert_eq!(first.unwrap_err().class(), Class::Cancelled);
    assert!(second.is_ok());
}

#[tokio::test]
async fn a_refused_token_is_replaced_once_with_what_was_asked_for() {
    let (_clock, cache, source, key) = made();
    let ctx = ctx();
    let old = cache.get(&ctx, &key, &source).await.unwrap();
    let claims = r#"{"access_token":{"nbf":{}}}"#;
    let all = (0..50).map(|_| cache.replace(&ctx, &key, &old, Some(claims), &source));
    for token in futures_util::future::join_all(all).await {
        assert_eq!(token.unwrap().reveal(), "token-2");
    }
    assert_eq!(source.fetched.load(Ordering::SeqCst), 2);
    let asked = source.claims.lock().unwrap().clone();
    assert_eq!(asked, [None, Some(claims.to_owned())]);
}

#[tokio::test]
async fn what_is_forgotten_is_gone() {
    let (_clock, cache, source, key) = made();
    let ctx = ctx();
    cache.get(&ctx, &key, &source).await.unwrap();
    cache.forget(|key| key.role == Role::AgentUser);
    assert!(cache.peek(&key).is_some());
    cache.forget(|key| key.role == Role::OnBehalf);
    assert!(cache.peek(&key).is_none());
}

#[test]
fn a_token_shows_nothing_but_its_time() {
    let (_clock, _cache, source, _key) = made();
    let token = source.token(1);
    assert!(!format!("{token:?}").contains("token-1"));
    assert_eq!(token.scopes(), ["Chat.Create"]);
    assert_eq!(token.expires(), Wall(3_600_000));
}
