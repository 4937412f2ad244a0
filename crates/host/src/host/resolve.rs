//! From a name to the one definition behind it.

use std::sync::{Arc, PoisonError};

use legation_core::{Caller, ServerName};
use legation_gate::policy::Target;
use legation_gate::{Endpoint, Item, ListKind, Unresolved};

use super::Inner;
use crate::call;
use crate::catalogue::Part;
use crate::glob;
use crate::instance::Phase;
use crate::names::{Space, sanitise};
use crate::published::Published;
use crate::server::Server;
use crate::template;

/// A server of an endpoint, with what it shows the caller.
struct Shown {
    server: Arc<Server>,
    published: Arc<Published>,
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
                let view = self.common.settings.views.get(name);
                let view = view.ok_or_else(|| Unresolved::NoEndpoint {
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
                let view = self.common.settings.views.get(name);
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
            (Item::Resource(uri) | Item::ResourceArgument(uri), _) => self
                .resource(caller, endpoint, uri)?
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
            Some((server, &name[at + 1..]))
        });
        let flat = owner
            .as_ref()
            .map(|owner| (owner.server.clone(), &*owner.item));
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
                let view = self.common.settings.views.get(name);
                view.is_some_and(|view| glob::any(&view.tools, item))
            }
            _ => true,
        }
    }

    /// The owner of a URI: who lists it; else whose template it fits; else the
    /// only server that has resources at all.
    fn resource(
        &self,
        caller: &Caller,
        endpoint: &Endpoint,
        uri: &str,
    ) -> Result<Option<Shown>, Unresolved> {
        let servers = self.servers(caller, endpoint)?.into_iter();
        let mut shown: Vec<Shown> = servers
            .filter_map(|server| {
                let published = server.shown(caller)?;
                Some(Shown { server, published })
            })
            .filter(|shown| shown.published.definitions.declares("resources"))
            .collect();
        let lists = |shown: &Shown| {
            let definitions = &shown.published.definitions;
            definitions.list(ListKind::Resources).get(uri).is_some()
                || definitions.list(ListKind::Templates).get(uri).is_some()
        };
        let fits = |shown: &Shown| {
            let templates = shown.published.definitions.list(ListKind::Templates);
            let mut templates = templates.items().iter();
            templates.any(|item| template::matches(&item.name, uri))
        };
        let ways: [&dyn Fn(&Shown) -> bool; 2] = [&lists, &fits];
        for offers in ways {
            let mut owners = (0..shown.len()).filter(|index| offers(&shown[*index]));
            let (first, second) = (owners.next(), owners.next());
            match (first, second) {
                (None, _) => {}
                (Some(only), None) => return Ok(Some(shown.swap_remove(only))),
                (Some(first), Some(second)) => {
                    let name = |index: usize| shown[index].server.spec.name.clone();
                    return Err(Unresolved::Ambiguous {
                        name: uri.into(),
                        owners: [name(first), name(second)],
                    });
                }
            }
        }
        let only = if shown.len() == 1 { shown.pop() } else { None };
        Ok(only)
    }

    /// The servers that may yet turn out to offer what is named: those of the
    /// endpoint of which nothing is known and which are still connecting.
    pub(super) fn pending(
        &self,
        caller: &Caller,
        endpoint: &Endpoint,
        item: &Item,
    ) -> Vec<Arc<crate::instance::Instance>> {
        let Ok(servers) = self.servers(caller, endpoint) else {
            return Vec::new();
        };
        let may_offer = |server: &Server| match (endpoint, item) {
            (Endpoint::Server(_), _) => true,
            (_, Item::Resource(_) | Item::ResourceArgument(_)) => true,
            (_, item) => {
                let (name, prefix) = (item.name(), server.spec.flat_prefix());
                let flat = sanitise(prefix);
                let flat = &flat[..flat.len().min(crate::names::FLAT_MAX / 2)];
                name.starts_with(flat) || name.starts_with(&format!("{}/", server.spec.name))
            }
        };
        servers
            .into_iter()
            .filter(|server| server.shown(caller).is_none() && may_offer(server))
            .filter_map(|server| server.running(&server.first_key()))
            .filter(|instance| matches!(instance.phase(), Phase::Starting))
            .collect()
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
    Target {
        server: shown.server.spec.name.clone(),
        verb: item.verb(),
        definition: call::definition(definitions, item, &name),
        item: name,
        read_only_hint: tool.is_some_and(|tool| tool.read_only_hint),
        trusted: shown.server.spec.trusted,
        origin: shown.server.origin.clone(),
    }
}

fn unknown(item: &Item) -> Unresolved {
    let what = match item {
        Item::Tool(_) => "tool",
        Item::Resource(_) | Item::ResourceArgument(_) => "resource",
        Item::Prompt(_) | Item::PromptArgument(_) => "prompt",
    };
    Unresolved::Unknown {
        what,
        name: item.name().into(),
    }
}
