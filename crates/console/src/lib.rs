//! The admin API over HTTP, and the pages of the console.
//!
//! Everything here is asked of the hub through one trait, [`Hub`]: tools are called
//! through the gate as the owner in person, and what the admin socket answers is
//! answered here. A way of its own to the store or the rules was rejected: what a
//! page can do would then be decided and recorded in two places.
//!
//! Architecture invariant: nothing here knows a server, a rule or a file; no request
//! changes anything but through [`Hub`], and nothing that a server or a model wrote
//! reaches a page unescaped.

mod hub;
pub mod login;
mod pages;
mod rest;
pub mod web;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_core::SharedClock;

pub use hub::{
    AdminFault, AdminItem, Claimed, Event, EventStream, FaultKind, Hub, Kept, Road, Since,
    StopReason, ToolAnswer, ToolCall, ToolStop,
};

use crate::login::Door;
use crate::pages::Pages;
use crate::rest::Rest;
use crate::web::{Answer, Request};

/// Answers everything over HTTP that is neither MCP nor a sign of life.
#[derive(Debug)]
pub struct Console {
    pages: Pages,
    rest: Rest,
}

// === impl Console ===

impl Console {
    /// A console of this hub, whose pages are for whoever the door lets in.
    #[must_use]
    pub fn new(hub: Arc<dyn Hub>, door: Arc<Door>, clock: SharedClock) -> Self {
        let pages = Pages::new(Arc::clone(&hub), door, clock);
        let rest = Rest::new(hub);
        Self { pages, rest }
    }

    /// Answers a request; `None` where there is nothing at its path.
    #[must_use]
    pub fn handle(&self, request: Request) -> Option<BoxFuture<'static, Answer>> {
        match self.pages.has(&request.path) {
            true => Some(self.pages.handle(request)),
            false => self.rest.handle(request),
        }
    }
}
