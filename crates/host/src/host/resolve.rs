//! From a name to the one definition behind it.

use std::borrow::Cow;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use legation_config::Instance as Mode;
use legation_core::{Caller, ServerName};
use legation_gate::policy::{PinState, Target};
use legation_gate::{Endpoint, Item, ListKind, Unresolved};

use super::Inner;
use crate::call;
use crate::catalogue::Part;
use crate::glob;
use crate::instance::{Instance, Key, Phase};
use crate::memory;
use crate::names::{Space, sanitise};
use crate::published::Published;
use crate::server::Server;
use crate::status::State;
use crate::template;

/// A server of an endpoint, with what it shows the caller.
struct Shown {
    server: Arc<Server>,
    published: Arc<Published>,
}

/// An instance that a name waits for.
pub(super) struct Pending {
    instance: Arc<Instance>,
    limit: Duration,
}

impl Inner {
    /// The servers of an endpoint that a caller sees, in order.
    pub(super) fn servers(
        &self,
        caller: &Caller,
        endpoint: &Endpoint,
    ) -> Result<Vec<Arc<Server>>, Unresolved> {
        let roster = self.roster.load();
        match endpoint {
            Endpoint::All => Ok(roster.visible(caller).cloned().collect()),
            Endpoint::Server(name) => match roster.find(caller, name) {
                Some(server) => Ok(vec![Arc::clone(server)]),
                None => Err(Unresolved::NoEndpoint {
                    what: "server",
                    name: name.as_str().into(),
                }),
            },
            Endpoint::View(name) => {
                let views = self.common.views.load();
                let view = views.get(name).ok_or_else(|| Unresolved::NoEndpoint {
                    what: "view",
                    name: name.clone(),
                })?;
                let of_view =
                    |server: &&Arc<Server>| glob::any(&view.servers, server.spec.name.as_str());
                Ok(roster.visible(caller).filter(of_view).cloned().collect())
            }
        }
    }

    /// The parts an endpoint's lists are made of.
    pub(super) fn parts(
        &self,
        caller: &Caller,
        endpoint: &Endpoint,
    ) -> Result<Vec<Part>, Unresolved> {
        let servers = self.servers(caller, endpoint)?;
        let shown = servers.iter().filter_map(|server| server.shown(caller));
        Ok(shown.map(|published| Part { published }).collect())
    }

    /// Whether an endpoint includes a server.
    pub(super) fn includes(&self, endpoint: &Endpoint, server: &ServerName) -> bool {
        match endpoint {
            Endpoint::All => true,
            Endpoint::Server(name) => name == server,
            Endpoint::View(name) => {
                let views = self.common.views.load();
                let view = views.get(name);
                view.is_some_and(|view| glob::any(&view.servers, server.as_str()))
            }
        }
    }

    /// Finds what is named, among what is known now.
    pub(super) fn resolve_now(
        &self,
        caller: &Caller,
        endpoint: &Endpoint,
        item: &Item,
    ) -> Result<Target, Unresolved> {
        let found = match (item, endpoint) {
            (Item::Tool(name), Endpoint::Server(server)) => {
                self.own(caller, server, ListKind::Tools, name)?
            }
            (Item::Prompt(name) | Item::PromptArgument(name), Endpoint::Server(server)) => {
                self.own(caller, server, ListKind::Prompts, name)?
            }
            (Item::Tool(name), _) => self.flat(caller, endpoint, Space::Tools, name)?,
            (Item::Prompt(name) | Item::PromptArgument(name), _) => {
                self.flat(caller, endpoint, Space::Prompts, name)?
            }
            (
                Item::Resource(uri)
                | Item::ResourceArgument(uri)
                | Item::Skill(uri)
                | Item::Directory(uri),
                _,
            ) => self
                .resource(caller, endpoint, item)?
                .map(|shown| (shown, uri.clone())),
        };
        let (shown, name) = found.ok_or_else(|| unknown(item))?;
        Ok(target(&shown, item, name))
    }

    /// A name of one server's own.
    fn own(
        &self,
        caller: &Caller,
        server: &ServerName,
        kind: ListKind,
        name: &str,
    ) -> Result<Option<(Shown, Box<str>)>, Unresolved> {
        let endpoint = Endpoint::Server(server.clone());
        let server = self.servers(caller, &endpoint)?.pop();
        Ok(server.and_then(|server| find(server, caller, kind, name)))
    }

    /// A flat name, else `server/name`. A server's name may have slashes, so
    /// every one is tried.
    fn flat(
        &self,
        caller: &Caller,
        endpoint: &Endpoint,
        space: Space,
        name: &str,
    ) -> Result<Option<(Shown, Box<str>)>, Unresolved> {
        if let Endpoint::View(_) = endpoint {
            // An unknown view is an error whatever is looked for in it.
            self.servers(caller, endpoint)?;
        }
        let owner = {
            let names = self
                .common
                .names
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            names.owner(space, name).cloned()
        };
        let slashed = name.match_indices('/').filter_map(|(at, _)| {
            let server = ServerName::parse(&name[..at]).ok()?;
            Some((Cow::Owned(server), &name[at + 1..]))
        });
        let flat = owner
            .as_ref()
            .map(|owner| (Cow::Borrowed(&owner.server), &*owner.item));
        let kind = match space {
            Space::Tools => ListKind::Tools,
            Space::Prompts => ListKind::Prompts,
        };
        let roster = self.roster.load();
        for (server, item) in flat.into_iter().chain(slashed) {
            if !self.includes(endpoint, &server) || !self.view_shows(endpoint, space, item) {
                continue;
            }
            let found = roster.find(caller, &server).cloned();
            if let Some(found) = found.and_then(|found| find(found, caller, kind, item)) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn view_shows(&self, endpoint: &Endpoint, space: Space, item: &str) -> bool {
        match (endpoint, space) {
            (Endpoint::View(name), Space::Tools) => {
                let views = self.common.views.load();
                let view = views.get(name);
                view.is_some_and(|view| glob::any(&view.tools, item))
            }
            _ => true,
        }
    }

    /// The owner of a URI: who lists it; else whose skill it is part of; else whose template it
    /// fits; else the only server that has such things at all.
    fn resource(
        &self,
        caller: &Caller,
        endpoint: &Endpoint,
        item: &Item,
    ) -> Result<Option<Shown>, Unresolved> {
        let uri = item.name();
        let kind = match item {
            Item::Skill(_) | Item::Directory(_) => ListKind::Skills,
            _ => ListKind::Resources,
        };
        let servers = self.servers(caller, endpoint)?.into_iter();
        let mut shown: Vec<Shown> = servers
            .filter_map(|server| {
                let published = server.shown(caller)?;
                Some(Shown { server, published })
            })
            .filter(|shown| shown.published.definitions.declares(kind))
            .collect();
        let lists = |shown: &Shown| {
            let definitions = &shown.published.definitions;
            let has = |kind: ListKind| definitions.list(kind).get(uri).is_some();
            match item {
                Item::Skill(_) => has(ListKind::Skills),
                _ => has(ListKind::Resources) || has(ListKind::Templates),
            }
        };
        let holds = |shown: &Shown| {
            let definitions = &shown.published.definitions;
            definitions.has_skill_at(uri)
                || matches!(item, Item::Directory(_)) && definitions.has_skills_below(uri)
        };
        let fits = |shown: &Shown| {
            let templates = shown.published.definitions.list(ListKind::Templates);
            let mut templates = templates.items().iter();
            templates.any(|item| template::matches(&item.name, uri))
        };
        // Whose it is comes first: no server is asked for another's directory.
        let answers = |owner: &Shown| {
            !matches!(item, Item::Directory(_))
                || owner.published.definitions.capabilities().skill_directories
        };
        let ways: [&dyn Fn(&Shown) -> bool; 3] = [&lists, &holds, &fits];
        for offers in ways {
            let owners: Vec<usize> = (0..shown.len())
                .filter(|index| offers(&shown[*index]))
                .collect();
            match *owners {
                [] => {}
                [only] => return Ok(Some(shown.swap_remove(only)).filter(answers)),
                _ => {
                    let name = |index: &usize| shown[*index].server.spec.name.clone();
                    return Err(Unresolved::Ambiguous {
                        name: uri.into(),
                        owners: owners.iter().map(name).collect(),
                    });
                }
            }
        }
        let only = if shown.len() == 1 { shown.pop() } else { None };
        Ok(only.filter(answers))
    }

    /// The caller's own instance of a server whose instances are not shared, if
    /// it does not run yet: what it offers may differ from what is known of the
    /// others, and it is what will be called.
    pub(super) fn own_pending(&self, caller: &Caller, target: &Target) -> Vec<Pending> {
        let roster = self.roster.load();
        if !roster.has_own {
            return Vec::new();
        }
        let server = roster.exact(caller, target);
        server
            .and_then(|server| self.own_instance(server, caller, true))
            .into_iter()
            .collect()
    }

    fn own_instance(&self, server: &Arc<Server>, caller: &Caller, start: bool) -> Option<Pending> {
        let key = server.key(caller);
        let shared = server.spec.instance == Mode::Shared;
        // Without its client an instance would take it for one that can do
        // nothing; then the call itself starts it.
        let alone = matches!(key, Key::Seat(_)) && self.common.seats.peer(&caller.seat).is_none();
        if shared || alone {
            return None;
        }
        let instance = match server.running(&key) {
            Some(instance) => instance,
            None if start => server.instance(&self.common, caller, None).ok()?,
            None => return None,
        };
        self.waiting(server, instance)
    }

    fn waiting(&self, server: &Server, instance: Arc<Instance>) -> Option<Pending> {
        let limit = self.common.settings.call_timeout;
        matches!(instance.phase(), Phase::Starting).then(|| Pending {
            limit: server.spec.timeout.unwrap_or(limit),
            instance,
        })
    }

    /// What may yet turn out to offer what is named: servers of the endpoint of
    /// which nothing is known and which are still connecting, and the caller's
    /// own instances.
    pub(super) fn pending(
        &self,
        caller: &Caller,
        endpoint: &Endpoint,
        item: &Item,
    ) -> Vec<Pending> {
        let Ok(servers) = self.servers(caller, endpoint) else {
            return Vec::new();
        };
        // A URI names no server, so it is no reason to start all of them.
        let start = named(endpoint, item);
        servers
            .iter()
            .filter(|server| may_offer(server, endpoint, item))
            .flat_map(|server| {
                let first = server
                    .running(&server.first_key())
                    .filter(|_| server.shown(caller).is_none())
                    .and_then(|instance| self.waiting(server, instance));
                [first, self.own_instance(server, caller, start)]
            })
            .flatten()
            .collect()
    }

    /// Why a name is not known, where that is for a server that has not
    /// connected yet or is disabled.
    pub(super) fn explain(
        &self,
        error: Unresolved,
        caller: &Caller,
        endpoint: &Endpoint,
        item: &Item,
    ) -> Unresolved {
        if !matches!(error, Unresolved::Unknown { .. }) || !named(endpoint, item) {
            return error;
        }
        let servers = self.servers(caller, endpoint).unwrap_or_default();
        let silent = servers
            .iter()
            .find(|server| server.shown(caller).is_none() && may_offer(server, endpoint, item));
        let roster = self.roster.load();
        let disabled = || {
            let mut all = roster.all().iter();
            all.find(|server| {
                !server.enabled
                    && server.belongs_to(caller)
                    && self.includes(endpoint, &server.spec.name)
                    && may_offer(server, endpoint, item)
            })
        };
        let Some(server) = silent.or_else(disabled) else {
            return error;
        };
        let name = &server.spec.name;
        Unresolved::Unavailable {
            name: item.name().into(),
            server: name.clone(),
            reason: match State::of(server) {
                State::Failed(reason) => reason,
                State::NeedsAuth => "it wants a sign-in".to_owned(),
                State::Disabled => {
                    format!("it is disabled; `legation mcp enable {name}` starts it")
                }
                State::Filtered(reason) => reason,
                State::Starting | State::Connected => "it is still connecting".to_owned(),
            },
        }
    }
}

/// Whether a name says which server it is of.
fn named(endpoint: &Endpoint, item: &Item) -> bool {
    let has_prefix = match item {
        Item::Tool(_) | Item::Prompt(_) | Item::PromptArgument(_) => true,
        Item::Resource(_) | Item::ResourceArgument(_) | Item::Skill(_) | Item::Directory(_) => {
            false
        }
    };
    matches!(endpoint, Endpoint::Server(_)) || has_prefix
}

fn may_offer(server: &Server, endpoint: &Endpoint, item: &Item) -> bool {
    if matches!(endpoint, Endpoint::Server(_)) || !named(endpoint, item) {
        return true;
    }
    let (name, prefix) = (item.name(), server.spec.flat_prefix());
    let flat = sanitise(prefix);
    let flat = &flat[..flat.len().min(crate::names::FLAT_MAX / 2)];
    name.starts_with(flat) || name.starts_with(&format!("{}/", server.spec.name))
}

// === impl Pending ===

impl Pending {
    /// Waits until it is known whether there will be a connection, but not for
    /// longer than a call of this server may take: what is known then is what
    /// there is.
    pub(super) async fn settled(&self) {
        drop(tokio::time::timeout(self.limit, self.instance.settled()).await);
    }
}

fn find(
    server: Arc<Server>,
    caller: &Caller,
    kind: ListKind,
    name: &str,
) -> Option<(Shown, Box<str>)> {
    let published = server.shown(caller)?;
    let name = published.definitions.list(kind).get(name)?.name.clone();
    Some((Shown { server, published }, name))
}

fn target(shown: &Shown, item: &Item, name: Box<str>) -> Target {
    let definitions = &shown.published.definitions;
    let tool = match item {
        Item::Tool(_) => definitions.list(ListKind::Tools).get(&name),
        _ => None,
    };
    let kind = match item {
        Item::Tool(_) => ListKind::Tools,
        _ => ListKind::Prompts,
    };
    let offer = shown.server.offer.as_ref();
    if let Some(own) = offer.and_then(|offer| offer.entry(kind, &name)) {
        return memory::target(own, item.verb());
    }
    Target {
        server: shown.server.spec.name.clone(),
        verb: item.verb(),
        definition: call::definition(definitions, item, &name),
        pin: pin(shown, item, &name),
        item: name,
        read_only_hint: tool.is_some_and(|tool| tool.read_only_hint),
        trusted: shown.server.spec.trusted,
        origin: shown.server.origin.clone(),
        entity: shown.server.spec.entity.clone(),
        native: None,
        fingerprint: Some(shown.server.fingerprint),
    }
}

fn pin(shown: &Shown, item: &Item, name: &str) -> PinState {
    let kind = match item {
        Item::Tool(_) => ListKind::Tools,
        Item::Prompt(_) | Item::PromptArgument(_) => ListKind::Prompts,
        Item::ResourceArgument(_) => ListKind::Templates,
        Item::Skill(_) => ListKind::Skills,
        Item::Resource(_) | Item::Directory(_) => return PinState::Approved,
    };
    shown.published.pinned.state(kind, name)
}

fn unknown(item: &Item) -> Unresolved {
    Unresolved::Unknown {
        what: item.what(),
        name: item.name().into(),
    }
}
