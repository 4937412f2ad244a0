//! The host's servers as sources of the inbox.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_core::{EntityId, ServerName, TaskSet};
use legation_host::{FeedAsk, Host, NoFeed};
use legation_servers::feeds::{Feed, FeedSet, Feeds, Untold};
use legation_store::Store;
use legation_wire::json::{Object, Raw};

use super::hub::Inner;

#[derive(Debug)]
struct HostFeeds {
    host: Arc<Host>,
}

#[derive(Debug)]
struct HostFeed(legation_host::Feed);

/// Brings events of servers to the inbox, for as long as the hub runs.
pub(super) fn run(tasks: &TaskSet, inner: &Arc<Inner>, store: &Arc<Store>) {
    let set = Arc::new(HostFeeds {
        host: Arc::clone(&inner.host),
    });
    let offers = Arc::clone(&inner.offers);
    let feeds = Feeds::new(set, Arc::clone(&inner.inbox), Arc::clone(store), offers);
    let mut changes = inner.offers.changes();
    let hub = Arc::clone(inner);
    tasks.spawn("events that servers offer", async move {
        while changes.changed().await.is_ok() {
            if let Some(events) = hub.events.get() {
                events.rules_changed();
            }
        }
    });
    let readers = tasks.clone();
    tasks.spawn(
        "events of servers",
        async move { feeds.run(&readers).await },
    );
}

// === impl HostFeeds ===

impl FeedSet for HostFeeds {
    fn feeds(&self) -> Vec<Arc<dyn Feed>> {
        let feeds = self.host.feeds().into_iter();
        feeds.map(|feed| Arc::new(HostFeed(feed)) as _).collect()
    }
}

// === impl HostFeed ===

impl HostFeed {
    fn ask(&self, ask: FeedAsk, params: Object) -> BoxFuture<'static, Result<Raw, Untold>> {
        let feed = self.0.clone();
        Box::pin(async move {
            let asked = feed.ask(ask, params).await;
            asked.map_err(|error| match error {
                NoFeed::Params { why } => Untold::Params(why),
                NoFeed::Answer { why } => Untold::Answer(why),
            })
        })
    }
}

impl Feed for HostFeed {
    fn server(&self) -> &ServerName {
        self.0.server()
    }

    fn entity(&self) -> Option<&EntityId> {
        self.0.entity()
    }

    fn wants(&self, name: &str) -> bool {
        self.0.wants(name)
    }

    fn is_current(&self) -> bool {
        self.0.is_current()
    }

    fn list(&self, params: Object) -> BoxFuture<'static, Result<Raw, Untold>> {
        self.ask(FeedAsk::List, params)
    }

    fn poll(&self, params: Object) -> BoxFuture<'static, Result<Raw, Untold>> {
        self.ask(FeedAsk::Poll, params)
    }
}
