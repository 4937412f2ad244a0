//! What waits for a person's yes or no, beside the messages.
//!
//! It is asked of a hub on this machine where one runs, over the socket that only its
//! owner may open, and for a moment each time: somebody who watches must not keep a hub
//! from ending when its last agent has gone.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use legation_api::AdminClient;
use legation_api::approvals::{List, Waiting};

use crate::Context;

/// How often is looked.
const LOOK: Duration = Duration::from_secs(3);

/// What was shown already.
#[derive(Debug, Default)]
pub(super) struct Asked {
    shown: HashSet<String>,
    next: Option<Instant>,
}

// === impl Asked ===

impl Asked {
    /// What has come to wait since the last time, oldest first. Without a hub nothing does.
    pub(super) fn now(&mut self, context: &Context) -> Vec<Waiting> {
        let now = context.clock.now();
        if self.next.is_some_and(|next| now < next) {
            return Vec::new();
        }
        self.next = Some(now + LOOK);
        let client = AdminClient::connect(&context.home, context.version);
        let Ok(Some(mut client)) = client else {
            return Vec::new();
        };
        let Ok(answer) = client.call(&List {}) else {
            return Vec::new();
        };
        self.news(answer.waiting)
    }

    /// Those of all that wait which were not shown.
    pub(super) fn news(&mut self, all: Vec<Waiting>) -> Vec<Waiting> {
        let open: HashSet<String> = all.iter().map(|one| one.id.clone()).collect();
        // What is answered is forgotten, so that this grows no larger than what waits.
        self.shown.retain(|id| open.contains(id));
        let mut news = all;
        news.retain(|one| one.state == "pending" && self.shown.insert(one.id.clone()));
        news
    }
}
