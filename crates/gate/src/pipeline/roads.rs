//! The roads by which a conversation's words reach a server.

use super::*;
use crate::stage::restore::Road;

impl Gate {
    /// Restores and redacts what a request carries.
    pub(super) async fn prepare(
        &self,
        context: &OpContext,
        target: &Target,
        request: &mut Request,
        arguments: Option<&Raw>,
    ) -> Result<(), Refusal> {
        let rules = self.rules.load();
        let prepared = match self.road(&rules, &context.caller, target, arguments) {
            Ok(None) => return Ok(()),
            Ok(Some(road)) => {
                let endpoint = request.endpoint.clone();
                let listed = || self.is_listed(&context.caller, &endpoint, target);
                road.request(&rules, request, listed)
            }
            Err(refusal) => Err(refusal),
        };
        match prepared {
            Ok(()) => Ok(()),
            Err(refusal) => Err(self.refuse_known(context, refusal).await),
        }
    }

    /// Restores and redacts the answers to a task's questions.
    pub(super) async fn prepare_answers(
        &self,
        context: &OpContext,
        target: &Target,
        answers: &mut Object,
    ) -> Result<(), Refusal> {
        let prepared = match self.road(&self.rules.load(), &context.caller, target, None) {
            Ok(None) => return Ok(()),
            Ok(Some(road)) => road.answers(answers),
            Err(refusal) => Err(refusal),
        };
        match prepared {
            Ok(()) => Ok(()),
            Err(refusal) => Err(self.refuse_known(context, refusal).await),
        }
    }

    /// Restores and redacts an answer of the client's to a live question.
    pub(crate) fn prepared_answer(
        &self,
        context: &OpContext,
        target: &Target,
        answer: Raw,
    ) -> Result<Raw, ErrorObject> {
        let prepared = match self.road(&self.rules.load(), &context.caller, target, None) {
            Ok(None) => return Ok(answer),
            Ok(Some(road)) => road.answer(&answer),
            Err(refusal) => Err(refusal),
        };
        prepared.map_err(|refusal| refusal.to_error())
    }

    /// Stops a subscription to an address that may carry what must not leave.
    pub(super) async fn check_address(
        &self,
        context: &OpContext,
        endpoint: &Endpoint,
        item: &Item,
        target: &Target,
    ) -> Result<(), Refusal> {
        let listed = || self.is_listed(&context.caller, endpoint, target);
        let checked = match self.road(&self.rules.load(), &context.caller, target, None) {
            Ok(None) => return Ok(()),
            Ok(Some(road)) => road.address(item, listed),
            Err(refusal) => Err(refusal),
        };
        match checked {
            Ok(()) => Ok(()),
            Err(refusal) => Err(self.refuse_known(context, refusal).await),
        }
    }

    /// Whether a person's data may be on its way in either direction at all.
    pub(crate) fn redacts(&self) -> bool {
        let redaction = self.redaction.as_ref();
        redaction.is_some_and(|redaction| !redaction.is_idle())
    }

    fn road<'a>(
        &'a self,
        rules: &Policy,
        caller: &'a Caller,
        target: &'a Target,
        arguments: Option<&Raw>,
    ) -> Result<Option<Road<'a>>, Refusal> {
        let Some(redaction) = &self.redaction else {
            return Ok(None);
        };
        let known = (rules, &*self.asking.conversations);
        Road::to(redaction, known, caller, target, arguments)
    }

    /// Whether a target is a resource that its server lists, by itself or as a skill or a
    /// file of one.
    fn is_listed(&self, caller: &Caller, endpoint: &Endpoint, target: &Target) -> bool {
        let any = |kind: ListKind, is_it: &dyn Fn(&crate::Entry) -> bool| {
            let listing = self.servers.listing(caller, endpoint, kind);
            listing.is_ok_and(|listing| {
                let mut entries = listing.entries.iter();
                entries.any(|entry| entry.server == target.server && is_it(entry))
            })
        };
        let named = |entry: &crate::Entry| entry.item == target.item;
        let file = |entry: &crate::Entry| {
            let files = entry
                .raw
                .get("resources")
                .and_then(|files| files.to_array());
            let mut files = files.into_iter().flatten();
            let is_it = |file: Raw| {
                let uri = file.get("uri");
                uri.as_ref().and_then(Raw::to_str).as_deref() == Some(&*target.item)
            };
            named(entry) || files.any(is_it)
        };
        any(ListKind::Resources, &named) || any(ListKind::Skills, &file)
    }
}
