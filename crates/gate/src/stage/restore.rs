//! Fourth stage: tokens on their way to a server, and data that leaves its entity.
//!
//! It stands before the decision, so that rules, digests and the ledger see what
//! the server would get: the real values towards the entity they are of, and
//! tokens towards anybody else. What a client sends is not arguments alone:
//! answers to a server's questions, completions, `_meta` and addresses go the
//! same road and are made fit by the same [`Road`].

use std::borrow::Cow;

use legation_core::{Caller, EntityId};
use legation_policy::{Arguments, Policy, Target};
use legation_wire::json::{Object, Raw};

use super::NotRedacted;
use crate::conversation::{Conversations, holder};
use crate::redaction::{Redaction, RedactionError};
use crate::{Item, Refusal, Request};

/// What an answer is made of (2026-07-28, client/elicitation, client/sampling,
/// client/roots); only `content` is somebody's words.
const ANSWER: [&str; 6] = ["action", "content", "role", "model", "stopReason", "roots"];

/// The way from one conversation to one server.
#[derive(Debug)]
pub(crate) struct Road<'a> {
    redaction: &'a Redaction,
    conversation: &'a str,
    target: &'a Target,
    /// The entity whose tokens become values again.
    home: Option<EntityId>,
    /// The entities whose data leaves them on this way.
    leaving: Vec<EntityId>,
}

/// What of a request is the caller's own words: what rules judge, approvals are
/// bound to and the ledger commits to.
pub(crate) fn carried(request: &Request) -> Option<Cow<'_, Raw>> {
    match request.item {
        Item::Tool(_)
        | Item::Resource(_)
        | Item::Prompt(_)
        | Item::Skill(_)
        | Item::Directory(_) => request.params.get("arguments").map(Cow::Borrowed),
        Item::PromptArgument(_) | Item::ResourceArgument(_) => {
            let mut carried = Object::new();
            for member in ["argument", "context"] {
                if let Some(value) = request.params.get(member) {
                    carried.set(member, value.clone());
                }
            }
            (!carried.is_empty()).then(|| Cow::Owned(carried.to_raw()))
        }
    }
}

// === impl Road ===

impl<'a> Road<'a> {
    /// The way to a target; `None` where there is nothing to restore or redact
    /// for anybody.
    pub(crate) fn to(
        redaction: &'a Redaction,
        (policy, conversations): (&Policy, &Conversations),
        caller: &'a Caller,
        target: &'a Target,
        arguments: Option<&Raw>,
    ) -> Result<Option<Self>, Refusal> {
        if redaction.is_idle() {
            return Ok(None);
        }
        let home = home(policy, target, arguments);
        let labels = conversations.labels(caller).map_err(Refusal::NoLabels)?;
        Ok(Some(Self {
            redaction,
            conversation: holder(caller),
            target,
            leaving: redaction.leaving(&labels, home.as_ref()),
            home,
        }))
    }

    /// Makes a request fit for the server. What has a place of its own in the
    /// protocol is treated by what it is; `_meta`, which may hold anything, does
    /// not leave at all where something could leave with it.
    pub(crate) fn request(
        &self,
        policy: &Policy,
        request: &mut Request,
        listed: impl FnOnce() -> bool,
    ) -> Result<(), Refusal> {
        for member in ["arguments", "context"] {
            if let Some(value) = request.params.get(member) {
                let kept = |restored: &Raw| {
                    // A value that names another entity must not take the others along.
                    member != "arguments" || home(policy, self.target, Some(restored)) == self.home
                };
                if let Some(value) = self.value(value, kept)? {
                    request.params.set(member, value);
                }
            }
        }
        if let Some(mut argument) = request.params.get("argument").and_then(Raw::to_object)
            && let Some(value) = argument.get("value")
            && let Some(value) = self.value(value, |_| true)?
        {
            argument.set("value", value);
            request.params.set("argument", argument.to_raw());
        }
        if let Some(retry) = &mut request.retry {
            self.answers(&mut retry.responses)?;
        }
        if self.leaving.is_empty() {
            return Ok(());
        }
        drop(request.params.remove("_meta"));
        self.address(&request.item, listed)
    }

    /// An address that the server itself listed tells it nothing; any other
    /// could carry what leaves, and would lead nowhere without it.
    pub(crate) fn address(
        &self,
        item: &Item,
        listed: impl FnOnce() -> bool,
    ) -> Result<(), Refusal> {
        let is_address = matches!(
            item,
            Item::Resource(_) | Item::Skill(_) | Item::Directory(_)
        );
        if is_address && !self.leaving.is_empty() && !listed() {
            return Err(self.stopped(RedactionError::Address));
        }
        Ok(())
    }

    /// Answers to a server's questions, by key.
    pub(crate) fn answers(&self, answers: &mut Object) -> Result<(), Refusal> {
        let keys: Vec<Box<str>> = answers.iter().map(|(key, _)| key.into()).collect();
        for key in keys {
            if let Some(answer) = answers.get(&key) {
                let answer = self.answer(answer)?;
                answers.set(&key, answer);
            }
        }
        Ok(())
    }

    /// An answer to one question: an elicitation's or a model's.
    pub(crate) fn answer(&self, answer: &Raw) -> Result<Raw, Refusal> {
        let Some(mut object) = answer.to_object() else {
            return Ok(self
                .value(answer, |_| true)?
                .unwrap_or_else(|| answer.clone()));
        };
        if let Some(content) = object.get("content") {
            let restored = self.restored(content, |_| true)?;
            let content = restored.as_ref().unwrap_or(content);
            if !self.leaving.is_empty() {
                let redacted =
                    self.redaction
                        .redact_result(&self.leaving, self.conversation, content);
                let redacted = redacted.map_err(|error| self.stopped(error))?;
                object.set("content", redacted);
            } else if let Some(restored) = restored {
                object.set("content", restored);
            }
        }
        if !self.leaving.is_empty() {
            object.retain(|member, _| ANSWER.contains(&member));
        }
        Ok(object.to_raw())
    }

    /// A value with tokens restored and what leaves redacted; `None` where it
    /// stays as it is.
    fn value(&self, value: &Raw, kept: impl Fn(&Raw) -> bool) -> Result<Option<Raw>, Refusal> {
        let restored = self.restored(value, kept)?;
        if self.leaving.is_empty() {
            return Ok(restored);
        }
        let value = restored.as_ref().unwrap_or(value);
        let redacted = self
            .redaction
            .redact(&self.leaving, self.conversation, value);
        redacted.map(Some).map_err(|error| self.stopped(error))
    }

    fn restored(&self, value: &Raw, kept: impl Fn(&Raw) -> bool) -> Result<Option<Raw>, Refusal> {
        let Some(home) = &self.home else {
            return Ok(None);
        };
        let restored = self.redaction.restore(home, self.conversation, value);
        let restored = restored.map_err(|error| self.stopped(error))?;
        Ok(restored.filter(kept))
    }

    fn stopped(&self, error: RedactionError) -> Refusal {
        Refusal::NotRedacted(NotRedacted::new(error, self.target))
    }
}

fn home(policy: &Policy, target: &Target, arguments: Option<&Raw>) -> Option<EntityId> {
    let arguments = arguments.map(|raw| Arguments::new(raw.as_text()));
    policy.home_of(target, arguments.as_ref())
}
