//! `subscriptions/listen` (2026-07-28): a request that is answered when it ends,
//! and whose notifications are exactly those its filter names.

use std::collections::{HashMap, HashSet};

use legation_core::{CancelReason, ServerName};
use legation_gate::{Item, ListKind, Resolve, Subscription};
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::{ErrorObject, Message};
use legation_wire::meta;

use super::{Interest, Watcher};
use crate::dispatch::{Inquiry, events_offered};
use crate::outbox::Weight;
use crate::parking::Body;
use crate::shared::Shared;
use crate::speaker::{Speaker, missing_capability};

/// Most resources, and most tasks, one listener names.
const NAMED_MAX: usize = 1000;

/// An open listener.
#[derive(Debug)]
pub(crate) struct Listen {
    id: Raw,
    tools: bool,
    prompts: bool,
    resources: bool,
    events: bool,
    uris: HashMap<Box<str>, Watched>,
    tasks: HashSet<Box<str>>,
    /// Experimental capabilities whose notes it wants, of those it declared.
    notes: HashSet<Box<str>>,
}

/// A resource it listens to.
#[derive(Debug)]
struct Watched {
    server: Option<ServerName>,
    _guard: Subscription,
}

// === impl Listen ===

impl Listen {
    pub(super) fn wants_list(&self, kind: ListKind) -> bool {
        match kind {
            ListKind::Tools => self.tools,
            ListKind::Resources | ListKind::Templates | ListKind::Skills => self.resources,
            ListKind::Prompts => self.prompts,
        }
    }

    pub(super) fn wants_events(&self) -> bool {
        self.events
    }

    pub(super) fn wants_resource(&self, uri: &str, server: &ServerName) -> bool {
        self.uris
            .get(uri)
            .is_some_and(|watched| watched.server.as_ref().is_none_or(|owner| owner == server))
    }

    pub(super) fn wants_task(&self, handle: &str) -> bool {
        self.tasks.contains(handle)
    }

    pub(super) fn wants_notes(&self, capability: &str) -> bool {
        self.notes.contains(capability)
    }

    /// Marks params as belonging to this listener.
    pub(super) fn tag(&self, mut params: Object) -> Raw {
        meta::set(&mut params, meta::SUBSCRIPTION_ID, self.id.clone());
        params.to_raw()
    }

    /// The filter as far as it was accepted.
    fn accepted(&self) -> Raw {
        let mut accepted = Object::new();
        for (name, on) in [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
            ("eventsListChanged", self.events),
        ] {
            if on {
                accepted.set(name, Raw::bool(true));
            }
        }
        let mut names = |member: &str, names: Vec<&str>| {
            if !names.is_empty() {
                let names: Vec<Raw> = names.into_iter().map(Raw::str).collect();
                accepted.set(member, Raw::array(&names));
            }
        };
        names(
            "resourceSubscriptions",
            self.uris.keys().map(|uri| &**uri).collect(),
        );
        names("taskIds", self.tasks.iter().map(|id| &**id).collect());
        names(
            "experimental",
            self.notes.iter().map(|name| &**name).collect(),
        );
        accepted.to_raw()
    }

    async fn open(inquiry: &Inquiry, filter: &Object) -> Result<Self, ErrorObject> {
        let on = |name: &str| filter.get(name).and_then(Raw::to_bool).unwrap_or(false);
        let mut listen = Self {
            id: inquiry.request.id.to_raw(),
            tools: on("toolsListChanged"),
            prompts: on("promptsListChanged"),
            resources: on("resourcesListChanged"),
            events: on("eventsListChanged") && has_events(inquiry),
            uris: HashMap::new(),
            tasks: HashSet::new(),
            notes: HashSet::new(),
        };
        let shared = &inquiry.shared;
        for uri in strings(filter, "resourceSubscriptions")? {
            let subscribed = shared
                .gate
                .subscribe(&inquiry.context, &inquiry.endpoint, &uri)
                .await;
            // A resource that may not be read is left out of the acknowledgement.
            if let Ok(guard) = subscribed {
                let server = resource_owner(shared, inquiry, &uri);
                listen.uris.insert(
                    uri,
                    Watched {
                        server,
                        _guard: guard,
                    },
                );
            }
        }
        let tasks = strings(filter, "taskIds")?;
        if !tasks.is_empty() {
            require_tasks(&inquiry.speaker)?;
            let own = shared.gate.tasks(&inquiry.context.caller);
            listen.tasks = tasks
                .into_iter()
                .filter(|id| own.iter().any(|own| own.as_str() == &**id))
                .collect();
        }
        if let Speaker::Modern(modern) = &inquiry.speaker {
            let mut notes = strings(filter, "experimental")?;
            notes.retain(|name| super::declares(&modern.capabilities, name));
            listen.notes = notes.into_iter().collect();
        }
        Ok(listen)
    }
}

/// Whether the listener's endpoint offers events at all.
fn has_events(inquiry: &Inquiry) -> bool {
    let caller = &inquiry.context.caller;
    events_offered(&inquiry.shared, caller, &inquiry.endpoint).is_some()
}

/// The server behind a URI, so that another's resource of the same URI is not
/// taken for it.
pub(crate) fn resource_owner(shared: &Shared, inquiry: &Inquiry, uri: &str) -> Option<ServerName> {
    let item = Item::Resource(uri.into());
    match shared
        .servers()
        .resolve(&inquiry.context.caller, &inquiry.endpoint, &item)
    {
        Resolve::Ready(Ok(target)) => Some(target.server),
        Resolve::Ready(Err(_)) | Resolve::Wait(_) => None,
    }
}

/// Refuses a modern client that did not declare the tasks extension.
pub(crate) fn require_tasks(speaker: &Speaker) -> Result<(), ErrorObject> {
    match speaker {
        Speaker::Modern(modern) if !modern.capabilities.tasks_ext => Err(missing_capability(
            "the extension io.modelcontextprotocol/tasks",
            Raw::from_static(r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#),
        )),
        Speaker::Modern(_) | Speaker::Legacy(_) => Ok(()),
    }
}

/// Serves a listener until its client or the hub ends it.
pub(crate) async fn listen(inquiry: &Inquiry) -> Body {
    let params = inquiry.request.params_object();
    let filter = params
        .get("notifications")
        .and_then(Raw::to_object)
        .ok_or_else(|| invalid("subscriptions/listen needs notifications, an object"))?;
    let listen = Listen::open(inquiry, &filter).await?;
    let acknowledged = Object::new().with("notifications", listen.accepted());
    let acknowledged = Message::notification(
        "notifications/subscriptions/acknowledged",
        Some(listen.tag(acknowledged)),
    );
    let end = listen.tag(Object::new().with("resultType", Raw::from_static(r#""complete""#)));
    // Before the place among the watchers, so that it comes first.
    inquiry.outbox.push(acknowledged.to_bytes(), Weight::Needed);
    let guard = inquiry.shared.watchers.add(Watcher {
        caller: inquiry.context.caller.clone(),
        endpoint: inquiry.endpoint.clone(),
        outbox: std::sync::Arc::clone(&inquiry.outbox),
        interest: Interest::Listen(listen),
    });
    let reason = inquiry.context.cancel.cancelled().await;
    drop(guard);
    if reason == CancelReason::Shutdown {
        return Ok(end);
    }
    Err(ErrorObject::new(codes::CANCELLED, reason.as_str()))
}

fn strings(filter: &Object, member: &str) -> Result<Vec<Box<str>>, ErrorObject> {
    let Some(raw) = filter.get(member) else {
        return Ok(Vec::new());
    };
    let wrong = || {
        invalid(&format!(
            "notifications.{member} must be an array of strings"
        ))
    };
    let items = raw.to_array().ok_or_else(wrong)?;
    if items.len() > NAMED_MAX {
        return Err(invalid(&format!(
            "notifications.{member} names more than {NAMED_MAX}"
        )));
    }
    items
        .iter()
        .map(|item| item.to_str().map(Into::into).ok_or_else(wrong))
        .collect()
}

fn invalid(message: &str) -> ErrorObject {
    ErrorObject::new(codes::INVALID_PARAMS, message)
}
