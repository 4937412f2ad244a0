//! Stands in for the admin API and the console.

use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _};
use http::header::{self, HeaderValue};
use http::{HeaderMap, StatusCode};
use tokio::sync::Semaphore;

use crate::{WebAnswer, WebBody, WebHandler, WebRequest};

/// `/echo` says who asked what, `/stream` sends three pieces, `/slow` waits for
/// [`Web::go`]; there is nothing else.
#[derive(Debug)]
pub(crate) struct Web {
    pub(crate) go: std::sync::Arc<Semaphore>,
    pub(crate) done: std::sync::Arc<AtomicUsize>,
}

impl Default for Web {
    fn default() -> Self {
        Self {
            go: std::sync::Arc::new(Semaphore::new(0)),
            done: std::sync::Arc::default(),
        }
    }
}

impl WebHandler for Web {
    fn web(&self, request: WebRequest) -> Option<BoxFuture<'static, WebAnswer>> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        // Not its to say.
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("7"));
        let answer = |status, body| WebAnswer {
            status,
            headers,
            body,
        };
        let (go, done) = (self.go.clone(), self.done.clone());
        Some(match request.path.as_str() {
            "/echo" => {
                let said = format!(
                    "{} {:?} {:?} {} {:?}",
                    request.method,
                    request.caller,
                    request.query,
                    request.headers.get("x-mine").is_some(),
                    request.body,
                );
                let answer = answer(StatusCode::ACCEPTED, WebBody::Whole(said.into()));
                async move { answer }.boxed()
            }
            "/stream" => {
                let pieces =
                    ["one ", "", "two ", "three"].map(|one| Bytes::from_static(one.as_bytes()));
                let stream = futures_util::stream::iter(pieces).boxed();
                let answer = answer(StatusCode::OK, WebBody::Stream(stream));
                async move { answer }.boxed()
            }
            "/slow" => {
                let answer = answer(StatusCode::NO_CONTENT, WebBody::Whole(Bytes::new()));
                async move {
                    go.acquire().await.expect("open").forget();
                    done.fetch_add(1, Ordering::SeqCst);
                    answer
                }
                .boxed()
            }
            _ => return None,
        })
    }
}
