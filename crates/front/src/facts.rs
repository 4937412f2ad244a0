//! What the front has to know of a tool before it is called: read once per
//! list, because a list of thousands of tools does not change between calls.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use legation_core::Caller;
use legation_gate::{Endpoint, ListKind, Listing, ServerSet};
use legation_wire::headers::ParamHeaders;
use legation_wire::json::Raw;

/// Most lists whose facts are kept; past that they are read anew.
const LISTS_MAX: usize = 128;
/// Endpoints whose facts are kept beside, each found by comparing.
const LATEST_MAX: usize = 8;

/// One tool that is special in some way.
#[derive(Debug, Default)]
pub(crate) struct ToolFact {
    /// Parameters that request headers must mirror.
    pub(crate) headers: ParamHeaders,
    /// `execution.taskSupport` is `required`.
    pub(crate) task_required: bool,
}

type Facts = HashMap<Box<str>, Arc<ToolFact>>;

/// Facts by the version of the list they were read from.
#[derive(Debug, Default)]
pub(crate) struct FactCache {
    by_version: Mutex<HashMap<u64, Arc<Facts>>>,
    /// What was asked last, for which no list has to be looked for.
    latest: Mutex<VecDeque<Latest>>,
}

/// The facts of an endpoint for callers without a workspace.
#[derive(Debug)]
struct Latest {
    endpoint: Endpoint,
    /// See [`ServerSet::lists_version`].
    version: u64,
    facts: Arc<Facts>,
}

// === impl FactCache ===

impl FactCache {
    /// What is special about a tool; `None` for most.
    pub(crate) fn tool(
        &self,
        servers: &dyn ServerSet,
        caller: &Caller,
        endpoint: &Endpoint,
        name: &str,
    ) -> Option<Arc<ToolFact>> {
        // Read before the list: one that changes meanwhile is read again the next time.
        let version = match caller.workspace {
            None => servers.lists_version(),
            Some(_) => None,
        };
        if let Some(version) = version {
            let latest = self.latest();
            let known = latest.iter().find(|latest| latest.endpoint == *endpoint);
            if let Some(known) = known.filter(|known| known.version == version) {
                return known.facts.get(name).cloned();
            }
        }
        let facts = self.facts(servers, caller, endpoint)?;
        let found = facts.get(name).cloned();
        if let Some(version) = version {
            let mut latest = self.latest();
            latest.retain(|latest| latest.endpoint != *endpoint);
            latest.truncate(LATEST_MAX - 1);
            latest.push_front(Latest {
                endpoint: endpoint.clone(),
                version,
                facts,
            });
        }
        found
    }

    /// The facts of the list that a caller sees now.
    fn facts(
        &self,
        servers: &dyn ServerSet,
        caller: &Caller,
        endpoint: &Endpoint,
    ) -> Option<Arc<Facts>> {
        let listing = servers.listing(caller, endpoint, ListKind::Tools).ok()?;
        let known = self.lock().get(&listing.version).cloned();
        Some(known.unwrap_or_else(|| {
            let facts = Arc::new(read(&listing));
            let mut by_version = self.lock();
            if by_version.len() >= LISTS_MAX {
                by_version.clear();
            }
            by_version.insert(listing.version, Arc::clone(&facts));
            facts
        }))
    }

    fn latest(&self) -> std::sync::MutexGuard<'_, VecDeque<Latest>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Arc<Facts>>> {
        self.by_version
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(listing: &Listing) -> Facts {
    listing
        .entries
        .iter()
        .filter_map(|entry| {
            let headers = entry
                .raw
                .get("inputSchema")
                // A tool whose declarations are wrong is checked for nothing: its server errs, not its caller.
                .and_then(|schema| ParamHeaders::from_schema(&schema).ok())
                .unwrap_or_default();
            let task_required = entry
                .raw
                .get("execution")
                .and_then(|execution| execution.get("taskSupport"))
                .is_some_and(|support| support.to_str().as_deref() == Some("required"));
            if headers.is_empty() && !task_required {
                return None;
            }
            let name = entry.raw.get("name").as_ref().and_then(Raw::to_str)?.into();
            Some((
                name,
                Arc::new(ToolFact {
                    headers,
                    task_required,
                }),
            ))
        })
        .collect()
}
