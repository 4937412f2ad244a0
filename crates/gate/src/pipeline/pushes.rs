//! What reaches a client that did not just call: lists, tasks, and what servers
//! say unasked. Nothing of it is redacted on the way, so a client that may not
//! read it as it is hears that something changed and no more.

use legation_core::EntityLabels;
use legation_policy::Clearance;

use super::*;

/// What a push about a task may say of it to anybody: how it stands.
const TASK: [&str; 6] = [
    "taskId",
    "status",
    "createdAt",
    "lastUpdatedAt",
    "ttlMs",
    "pollIntervalMs",
];

impl Gate {
    /// Whether a client may read as it is what a server says outside of calls.
    #[must_use]
    pub fn may_hear(&self, caller: &Caller, server: &ServerName) -> bool {
        let entity = self.servers.entity(caller, server);
        self.may_read(caller, entity.as_ref())
    }

    /// A change of a resource as a client may hear of it.
    #[must_use]
    pub fn resource_pushed(&self, caller: &Caller, server: &ServerName, params: &Object) -> Object {
        let mut params = params.clone();
        if !self.may_hear(caller, server) {
            params.retain(|member, _| member == "uri");
        }
        params
    }

    /// A change of a task as a client may hear of it; the rest of it is read
    /// with `tasks/get`, where it is redacted.
    #[must_use]
    pub fn task_pushed(&self, caller: &Caller, task: &Object) -> Object {
        let mut task = task.clone();
        let target = task.get("taskId").and_then(Raw::to_str).and_then(|handle| {
            let handle = TaskHandle::new(&*handle);
            self.servers.task_target(caller, &handle).ok()
        });
        match target {
            Some(target) if self.may_hear_of(caller, target.entity.as_slice()) => {
                let cleaning = self.cleaning.load();
                cleaning.object(&target.server, &target.item, task)
            }
            _ => {
                task.retain(|member, _| TASK.contains(&member));
                task
            }
        }
    }

    /// Whether data of an entity may be said into a conversation as it is, which
    /// holds it from then on.
    #[must_use]
    pub fn may_be_told(&self, caller: &Caller, entity: Option<&EntityId>) -> bool {
        let conversations = &self.asking.conversations;
        let Some(more) = self.rules.load().labels_of(entity) else {
            return false;
        };
        loop {
            let Ok(held) = conversations.labels(caller) else {
                return false;
            };
            if !self.may_read(caller, entity) {
                return false;
            }
            match conversations.join(caller, &held, &more) {
                Ok(Ok(())) => return true,
                // A call was first; it may have brought what forbids this.
                Ok(Err(_moved)) => {}
                Err(_) => return false,
            }
        }
    }

    /// Whose data the conversation of a caller holds, or may come to hold by a call that is
    /// under way: what a call brings of theirs is judged and redacted as theirs. `None` when
    /// nobody can say, and then it holds anything.
    #[must_use]
    pub fn held(&self, caller: &Caller) -> Option<EntityLabels> {
        self.asking.conversations.labels(caller).ok()
    }

    /// Whether a client may be told data of entities as it is outside of calls: its
    /// conversation holds them already, and it may read all that it holds.
    #[must_use]
    pub fn may_hear_of(&self, caller: &Caller, entities: &[EntityId]) -> bool {
        let Some(held) = self.held(caller) else {
            return false;
        };
        entities.iter().all(|entity| held.contains(entity)) && self.may_read(caller, None)
    }

    /// Whether a client may read data of an entity and of its own conversation
    /// as it is.
    fn may_read(&self, caller: &Caller, entity: Option<&EntityId>) -> bool {
        let Ok(held) = self.asking.conversations.labels(caller) else {
            return false;
        };
        let rules = self.rules.load();
        let Some(labels) = rules.labels_of(entity) else {
            return false;
        };
        let labels = labels.join(&held);
        let client = &caller.principal.client;
        labels.is_empty() || rules.clearance(client, &labels) == Clearance::Cleared
    }

    /// A list of resources or skills without those whose names would have to be redacted
    /// for the client: an address with a token in it leads nowhere.
    pub(super) fn without_names(
        &self,
        context: &OpContext,
        kind: ListKind,
        listing: Arc<Listing>,
    ) -> Arc<Listing> {
        if !matches!(kind, ListKind::Resources | ListKind::Skills) || !self.redacts() {
            return listing;
        }
        let rules = self.rules.load();
        let client = &context.caller.principal.client;
        let shown = |entry: &crate::Entry| {
            if entry.entity.is_none() {
                return true;
            }
            let Some(labels) = rules.labels_of(entry.entity.as_ref()) else {
                return false;
            };
            match rules.clearance(client, &labels) {
                Clearance::Cleared => true,
                Clearance::Redact(entities) => {
                    let redaction = self.redaction.as_ref();
                    redaction.is_some_and(|redaction| redaction.is_clean(&entities, &words(entry)))
                }
                Clearance::Refused => false,
            }
        };
        if listing.entries.iter().all(shown) {
            return listing;
        }
        let entries = listing.entries.iter().filter(|entry| shown(entry));
        Arc::new(Listing {
            version: listing.version,
            entries: entries.cloned().collect(),
        })
    }

    /// Judges and cleans a task that was read.
    pub(super) fn told_of_task(
        &self,
        context: &OpContext,
        receipt: &Receipt,
        outcome: Outcome,
    ) -> Result<Outcome, Refusal> {
        let (outcome, whole) = match outcome {
            // Its members are a task's and no result's.
            Outcome::Complete(raw) => match raw.to_object() {
                Some(task) => (Outcome::Task(task), true),
                None => (Outcome::Complete(raw), false),
            },
            outcome => (outcome, false),
        };
        let handed = stage::result::handed_on(
            &self.rules.load(),
            &self.cleaning.load(),
            (self.redaction.as_ref(), &context.caller),
            receipt,
            outcome,
        )?;
        Ok(match handed {
            Outcome::Task(task) if whole => Outcome::Complete(task.to_raw()),
            handed => handed,
        })
    }
}

/// What a resource's or skill's entry says in words: its names, and its address without
/// what makes it one.
fn words(entry: &crate::Entry) -> Raw {
    let path = entry
        .item
        .split_once("://")
        .map_or(&*entry.item, |(_, path)| path);
    let path = path.replace(['/', '?', '&', '=', '#', '.', '-', '_', '+'], " ");
    let mut texts = vec![Raw::str(&path)];
    for member in ["name", "title", "description", "frontmatter"] {
        texts.extend(entry.raw.get(member));
    }
    Raw::array(&texts)
}
