//! What a session is told one by one: channel notifications and logs of the feed.
//!
//! Such things were handed to every session as they happened, and dropped where a
//! client had not read enough. Now a session that is told of them at all has a place
//! in the feed and goes on when its client has read, so that a burst reaches it whole
//! and a client that never reads costs a place and nothing else.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use legation_gate::{Feed, News};
use legation_wire::message::Message;

use super::Session;
use crate::outbox::Weight;
use crate::shared::{Held, Shared};

impl Session {
    /// Has the session told of things from now on, if it is one that is told. To be
    /// called when it may have become one.
    pub(crate) fn feed(self: &Arc<Self>, shared: &Held) {
        let Some(feed) = &shared.feed else { return };
        let is_told = self.has_channel() || self.level().is_some();
        if !is_told || !self.is_ready() || self.is_fed.swap(true, Ordering::Relaxed) {
            return;
        }
        let (session, feed) = (Arc::clone(self), Arc::clone(feed));
        let state = shared.clone();
        shared.tasks.spawn("feed of a session", async move {
            let end = session.general.until(|| session.general.is_finished());
            tokio::select! {
                () = session.told(&state, feed.as_ref()) => {}
                () = end => {}
                _ = state.cancel.cancelled() => {}
            }
        });
    }

    async fn told(self: &Arc<Self>, shared: &Shared, feed: &dyn Feed) {
        let mut place = feed.start(&self.caller, self.again).await;
        loop {
            let news = feed.next(&self.caller, place).await;
            let Some(last) = news.last() else { return };
            place = last.place;
            for one in &news {
                self.general.until(|| self.has_room_for_news()).await;
                self.tell(shared, one);
            }
        }
    }

    fn tell(self: &Arc<Self>, shared: &Shared, news: &News) {
        let injection = &news.injection;
        let (caller, server) = (&self.caller, &injection.server);
        if !shared.servers().covers(caller, &self.endpoint, server) {
            return;
        }
        // Nothing that is said so is redacted.
        let entity = injection.entity.as_ref();
        if self.has_channel() && shared.gate.may_be_told(caller, entity) {
            self.inject(injection);
        }
        let wanted = self.level().is_some_and(|level| level.lets(&news.log));
        if wanted && shared.gate.may_hear(caller, server) {
            let log = Message::notification("notifications/message", Some(news.log.clone()));
            self.general.push(log.to_bytes(), Weight::Droppable);
        }
    }
}
