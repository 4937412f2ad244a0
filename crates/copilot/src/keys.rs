//! GitHub's public keys, read when they are needed and kept for a while.
//!
//! A key that GitHub lists is good, current or not: requests that were on their way while it changed
//! keys are signed with the one before. One that it took off its list is good no more as soon as the
//! list was read again. While the list cannot be read, the last one holds for some hours and then
//! nobody is believed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{HeaderValue, StatusCode, header};
use legation_core::SharedClock;
use legation_core::error::chain;
use serde::Deserialize;

use crate::github::{Github, GithubError};
use crate::signature::Point;

/// Where the list is.
const PATH: &str = "/meta/public_keys/copilot_api";
/// For how long a list is taken as it is.
const FRESH: Duration = Duration::from_secs(10 * 60);
/// How old a list may get that cannot be read again.
const STALE: Duration = Duration::from_secs(6 * 60 * 60);
/// How soon after one attempt the list is asked for again, whatever names of keys come in, and
/// whether or not it was read: without a credential GitHub answers sixty questions an hour.
const PAUSE: Duration = Duration::from_secs(2 * 60);
/// Most keys of a list.
const KEYS_MAX: usize = 64;

/// No key can be had.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// GitHub has no key of this name.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// There is no list that is young enough.
    #[error("GitHub's keys cannot be read, so nobody is believed")]
    Unavailable,
}

/// GitHub has no key of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("GitHub lists no key of this identifier")]
pub struct Unknown;

/// The keys.
#[derive(Debug)]
pub(crate) struct Keys {
    github: Arc<Github>,
    clock: SharedClock,
    list: Mutex<Option<Arc<List>>>,
    /// Held by who reads the list; when that was tried last.
    reading: tokio::sync::Mutex<Option<Instant>>,
}

#[derive(Debug)]
struct List {
    points: HashMap<String, Point>,
    etag: Option<HeaderValue>,
    read: Instant,
}

#[derive(Deserialize)]
struct Listed {
    public_keys: Vec<ListedKey>,
}

#[derive(Deserialize)]
struct ListedKey {
    key_identifier: String,
    key: String,
}

// === impl Keys ===

impl Keys {
    pub(crate) fn new(github: Arc<Github>, clock: SharedClock) -> Self {
        Self {
            github,
            clock,
            list: Mutex::new(None),
            reading: tokio::sync::Mutex::new(None),
        }
    }

    /// The key of this name.
    pub(crate) async fn get(&self, name: &str) -> Result<Point, KeyError> {
        if let Some(point) = self.held(FRESH).and_then(|list| list.get(name)) {
            return Ok(point);
        }
        self.read_again(name).await;
        let list = self.held(STALE).ok_or(KeyError::Unavailable)?;
        list.get(name).ok_or(KeyError::Unknown(Unknown))
    }

    /// The list, where it is younger than this.
    fn held(&self, most: Duration) -> Option<Arc<List>> {
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        list.clone()
            .filter(|list| now.saturating_duration_since(list.read) < most)
    }

    /// Reads the list, unless that was done or tried a moment ago.
    async fn read_again(&self, wanted: &str) {
        let mut tried = self.reading.lock().await;
        // Another may have read it meanwhile.
        if self
            .held(FRESH)
            .is_some_and(|list| list.get(wanted).is_some())
        {
            return;
        }
        let now = self.clock.now();
        if tried.is_some_and(|at| now.saturating_duration_since(at) < PAUSE) {
            return;
        }
        *tried = Some(now);
        let before = {
            let list = self.list.lock();
            list.unwrap_or_else(PoisonError::into_inner).clone()
        };
        match self.read(before).await {
            Ok(list) => {
                *self.list.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(list));
            }
            Err(error) => tracing::warn!(error = %chain(&error), "GitHub's keys were not read"),
        }
    }

    async fn read(&self, before: Option<Arc<List>>) -> Result<List, GithubError> {
        let etag = before.as_ref().and_then(|list| list.etag.clone());
        let fields: Vec<_> = etag
            .map(|etag| (header::IF_NONE_MATCH, etag))
            .into_iter()
            .collect();
        let answer = self.github.get(PATH, &fields).await?;
        let read = self.clock.now();
        match (answer.status, before) {
            (StatusCode::NOT_MODIFIED, Some(before)) => Ok(List {
                points: before.points.clone(),
                etag: before.etag.clone(),
                read,
            }),
            (StatusCode::OK, _) => {
                let listed: Listed =
                    serde_json::from_slice(&answer.body).map_err(|_| GithubError::Unreadable)?;
                let keys = listed.public_keys.into_iter().take(KEYS_MAX);
                let points: HashMap<String, Point> = keys
                    .filter_map(|key| Some((key.key_identifier, Point::of_pem(&key.key)?)))
                    .collect();
                if points.is_empty() {
                    return Err(GithubError::Unreadable);
                }
                let etag = answer.headers.get(header::ETAG).cloned();
                Ok(List { points, etag, read })
            }
            (status, _) => Err(GithubError::Status(status.as_u16())),
        }
    }
}

// === impl List ===

impl List {
    fn get(&self, name: &str) -> Option<Point> {
        self.points.get(name).cloned()
    }
}
