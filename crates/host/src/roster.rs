//! Which servers there are, and which of them a caller sees.

use std::sync::Arc;

use legation_config::Instance as Mode;
use legation_core::{Caller, QuickMap, ServerName};
use legation_gate::policy::Target;

use crate::server::Server;

/// Every configured server, in the order of the catalogue: default servers
/// first, then by name. Replaced whole when the configuration changes.
#[derive(Debug, Default)]
pub(crate) struct Roster {
    servers: Vec<Arc<Server>>,
    by_name: QuickMap<ServerName, Vec<usize>>,
    /// Whether any server has instances that not everybody shares, or is not
    /// everybody's itself.
    pub(crate) has_own: bool,
}

// === impl Roster ===

impl Roster {
    /// Sorts servers into a roster.
    pub(crate) fn new(mut servers: Vec<Arc<Server>>) -> Self {
        servers.sort_by(|a, b| {
            let order = |server: &Arc<Server>| (!server.spec.is_default, server.spec.name.clone());
            order(a)
                .cmp(&order(b))
                .then_with(|| a.spec.source.to_string().cmp(&b.spec.source.to_string()))
        });
        let mut by_name: QuickMap<ServerName, Vec<usize>> = QuickMap::default();
        for (index, server) in servers.iter().enumerate() {
            by_name
                .entry(server.spec.name.clone())
                .or_default()
                .push(index);
        }
        let has_own = servers
            .iter()
            .any(|server| server.spec.instance != Mode::Shared || server.seat.is_some());
        Self {
            servers,
            by_name,
            has_own,
        }
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[Arc<Server>] {
        &self.servers
    }

    /// The servers a caller sees, in order.
    pub(crate) fn visible<'a>(
        &'a self,
        caller: &'a Caller,
    ) -> impl Iterator<Item = &'a Arc<Server>> {
        self.servers.iter().filter(|server| {
            let same_name = self.by_name.get(&server.spec.name);
            if same_name.is_none_or(|same| same.len() == 1) {
                return server.is_visible(caller);
            }
            self.find(caller, &server.spec.name)
                .is_some_and(|found| Arc::ptr_eq(found, server))
        })
    }

    /// The server a caller means by a name: of several visible ones, the one
    /// whose source has the highest rank.
    pub(crate) fn find(&self, caller: &Caller, name: &ServerName) -> Option<&Arc<Server>> {
        let same = self.by_name.get(name)?.iter();
        same.map(|index| &self.servers[*index])
            .filter(|server| server.is_visible(caller))
            .max_by_key(|server| server.spec.source.rank())
    }

    /// The server that a decision was about, as far as its caller still sees it: what was lent to
    /// the caller hides what everybody has, and neither stands in for the other.
    pub(crate) fn exact(&self, caller: &Caller, target: &Target) -> Option<&Arc<Server>> {
        let same = self.by_name.get(&target.server)?.iter();
        let of_caller = same.map(|index| &self.servers[*index]).filter(|server| {
            let is_lent = server.seat.is_some();
            server.origin == target.origin
                && (!is_lent || server.is_visible(caller))
                && target
                    .fingerprint
                    .is_none_or(|print| print == server.fingerprint)
        });
        of_caller.max_by_key(|server| server.seat.is_some())
    }

    /// Every server of a name, whoever sees it.
    pub(crate) fn named(&self, name: &str) -> impl Iterator<Item = &Arc<Server>> {
        self.servers
            .iter()
            .filter(move |server| server.spec.name.as_str() == name)
    }
}
