//! Making what runs what the owner wants to run.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, PoisonError};

use legation_config::{Problem, ServerSpec, Source};
use legation_core::{SeatId, ServerName};
use legation_gate::{HubEvent, ListKind};

use super::Host;
use crate::roster::Roster;
use crate::server::Server;

/// What the owner wants to run.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    pub(super) specs: Vec<ServerSpec>,
    pub(super) problems: Vec<Problem>,
    /// What runs for one seat alone, by loan.
    pub(super) lent: BTreeMap<u64, (SeatId, Vec<ServerSpec>)>,
    pub(super) loans: u64,
    /// Servers switched on or off by hand, by label, until the configuration
    /// says something else of them.
    switched: HashMap<Box<str>, bool>,
}

/// A name that stands for no server, or for more than one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoServer {
    /// There is none.
    #[error("there is no server named {name:?}; nothing was changed")]
    Unknown {
        /// The name given.
        name: String,
    },
    /// Several folders have one of that name, and this is none of them.
    #[error("{name:?} may be {}; nothing was changed", .labels.join(" or "))]
    Ambiguous {
        /// The name given.
        name: String,
        /// What each of them can be called.
        labels: Vec<String>,
    },
}

/// The server a person means: by its label, else the one that counts in the
/// folder they are in, else the only one of that name.
pub(crate) fn meant<'a>(
    specs: impl IntoIterator<Item = &'a ServerSpec>,
    name: &str,
    folder: Option<&Path>,
) -> Result<&'a ServerSpec, NoServer> {
    let specs: Vec<&ServerSpec> = specs
        .into_iter()
        .filter(|spec| spec.name.as_str() == name || *spec.label() == *name)
        .collect();
    let in_folder = |spec: &&&ServerSpec| match &spec.source {
        Source::Workspace { folder: own, .. } => folder.is_some_and(|here| here.starts_with(own)),
        Source::Builtin
        | Source::Default { .. }
        | Source::User { .. }
        | Source::Plugin { .. }
        | Source::Additional { .. } => true,
        // An agent's is meant only by its whole name.
        Source::Agent { .. } => false,
    };
    let labelled = specs.iter().find(|spec| spec.name.as_str() != name);
    let here = specs.iter().filter(in_folder);
    let here = here.max_by_key(|spec| spec.source.rank());
    match (labelled.or(here), &*specs) {
        (Some(spec), _) => Ok(spec),
        (None, [spec]) => Ok(spec),
        (None, []) => Err(NoServer::Unknown {
            name: name.to_owned(),
        }),
        (None, _) => Err(NoServer::Ambiguous {
            name: name.to_owned(),
            labels: specs.iter().map(|spec| spec.label().into()).collect(),
        }),
    }
}

// === impl NoServer ===

impl NoServer {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "`legation mcp list` shows the names",
            Self::Ambiguous { .. } => "name it with its folder, or run the command in that folder",
        }
    }
}

// === impl Host ===

impl Host {
    /// Makes the running servers those of a configuration: what is unchanged
    /// stays untouched, what changed is replaced, what is gone is stopped.
    /// Applying the same twice does nothing the second time. Returns when what
    /// had to end has ended.
    pub async fn apply(&self, specs: Vec<ServerSpec>, problems: Vec<Problem>) {
        {
            let mut wanted = self.wanted();
            let old = std::mem::replace(&mut wanted.specs, specs);
            let changed = |label: &str| {
                let of = |specs: &[ServerSpec]| {
                    specs.iter().find(|spec| *spec.label() == *label).cloned()
                };
                of(&old) != of(&wanted.specs)
            };
            let kept = wanted.switched.iter().filter(|(name, _)| !changed(name));
            let kept = kept.map(|(name, on)| (name.clone(), *on)).collect();
            wanted.switched = kept;
            wanted.problems = problems;
        }
        self.reconcile(|_| false).await;
    }

    /// Starts or stops a server until its configuration changes.
    ///
    /// # Errors
    /// When the name stands for none; see [`NoServer`].
    pub async fn switch(
        &self,
        name: &str,
        folder: Option<&Path>,
        on: bool,
    ) -> Result<(), NoServer> {
        let known = self.known(name, folder)?;
        self.wanted().switched.insert(known, on);
        self.reconcile(|_| false).await;
        Ok(())
    }

    /// Stops a server and starts it again.
    ///
    /// # Errors
    /// When the name stands for none; see [`NoServer`].
    pub async fn reload(&self, name: &str, folder: Option<&Path>) -> Result<(), NoServer> {
        let known = self.known(name, folder)?;
        self.reconcile(|spec| *spec.label() == *known).await;
        Ok(())
    }

    /// Stops every server and starts it again.
    pub async fn reload_all(&self) {
        self.reconcile(|_| true).await;
    }

    fn known(&self, name: &str, folder: Option<&Path>) -> Result<Box<str>, NoServer> {
        meant(&self.wanted().specs, name, folder).map(ServerSpec::label)
    }

    pub(super) fn wanted(&self) -> std::sync::MutexGuard<'_, Wanted> {
        self.inner
            .wanted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn reconcile(&self, again: impl Fn(&ServerSpec) -> bool + Send) {
        let one_at_a_time = self.inner.applying.lock().await;
        let common = &self.inner.common;
        let wanted: Vec<(ServerSpec, bool, Option<SeatId>)> = {
            let wanted = self.wanted();
            let enabled = |spec: &ServerSpec| {
                let switched = wanted.switched.get(&spec.label()).copied();
                switched.unwrap_or(!spec.disabled) && spec.waits_for_token().is_none()
            };
            let own = wanted.specs.iter().map(|spec| (spec, None));
            let lent = wanted.lent.values();
            let lent =
                lent.flat_map(|(seat, specs)| specs.iter().map(move |spec| (spec, Some(seat))));
            own.chain(lent)
                .map(|(spec, seat)| (spec.clone(), enabled(spec), seat.cloned()))
                .collect()
        };
        let old = self.inner.roster.load_full();
        let mut kept: Vec<Arc<Server>> = Vec::new();
        let mut begun: Vec<Arc<Server>> = Vec::new();
        for (spec, enabled, seat) in wanted {
            let is_it = |server: &Arc<Server>| {
                *server.spec == spec && server.enabled == enabled && server.seat == seat
            };
            // A task that was taken up again is lent the same twice for a moment.
            if kept.iter().chain(&begun).any(is_it) {
                continue;
            }
            let same = old
                .all()
                .iter()
                .find(|server| is_it(server) && !again(&spec));
            match same {
                Some(server) => kept.push(Arc::clone(server)),
                None => {
                    let before = old.all().iter().find(|server| {
                        server.spec.name == spec.name && server.spec.source == spec.source
                    });
                    let before = before.map(|before| &**before);
                    let new = Server::new(common, spec, (enabled, seat), before);
                    begun.push(Arc::new(new));
                }
            }
        }
        let ended: Vec<_> = old
            .all()
            .iter()
            .filter(|server| !kept.iter().any(|kept| Arc::ptr_eq(kept, server)))
            .cloned()
            .collect();
        if begun.is_empty() && ended.is_empty() && kept.len() == old.all().len() {
            return;
        }
        common.keep_names();
        let all: Vec<_> = kept.into_iter().chain(begun.iter().cloned()).collect();
        common.set_servers(&all);
        self.inner.roster.store(Arc::new(Roster::new(all)));
        self.inner.catalogue.clear();
        common.lists_changed();
        self.tell_changes(&old);
        // The new one of a server connects when the old one is gone: two at once
        // may want the same port, file or lock.
        for server in &begun {
            server.start(common);
            if !ended
                .iter()
                .any(|ended| ended.spec.name == server.spec.name && ended.seat == server.seat)
            {
                server.release();
            }
        }
        let ends = ended.iter().map(|server| server.end(common, true));
        futures_util::future::join_all(ends).await;
        for server in &begun {
            server.release();
        }
        drop(one_at_a_time);
    }

    /// Tells of every list that a new roster shows differently.
    fn tell_changes(&self, old: &Roster) {
        let new = self.inner.roster.load();
        let names: BTreeSet<&ServerName> = old
            .all()
            .iter()
            .chain(new.all())
            .filter(|server| server.seat.is_none())
            .map(|server| &server.spec.name)
            .collect();
        for name in names {
            let (before, after) = (versions(old, name), versions(&new, name));
            for (kind, (before, after)) in
                ListKind::ALL.into_iter().zip(before.into_iter().zip(after))
            {
                if before != after {
                    self.inner.common.tell(HubEvent::ListChanged {
                        server: name.clone(),
                        kind,
                        audience: legation_gate::Audience::All,
                    });
                }
            }
            self.inner.common.tell(HubEvent::StatusChanged {
                server: name.clone(),
            });
        }
    }

    /// Ends every server and waits until nothing of them is left.
    pub async fn shutdown(&self) {
        let one_at_a_time = self.inner.applying.lock().await;
        let common = &self.inner.common;
        let old = self.inner.roster.swap(Arc::default());
        let ends = old.all().iter().map(|server| server.end(common, false));
        futures_util::future::join_all(ends).await;
        common.background.shutdown().await;
        drop(one_at_a_time);
    }
}

/// The versions of a server's lists; what it does not show counts as empty.
fn versions(roster: &Roster, name: &ServerName) -> [Vec<u64>; 5] {
    ListKind::ALL.map(|kind| {
        roster
            .named(name.as_str())
            .filter(|server| server.enabled && server.seat.is_none())
            .filter_map(|server| server.known.load_full())
            .filter(|known| !known.definitions.list(kind).items().is_empty())
            .map(|known| known.shelf(kind).version)
            .collect()
    })
}
