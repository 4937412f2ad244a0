//! Tasks that the caller's own calls began, seen to their end.
//!
//! A client of the protocol polls its tasks by [`Gate::task`], one question at a time. A caller that
//! follows a task in the background does what the host does for a client that knows none: it waits
//! for the answer of a call that was decided on, recorded and, where somebody had to, agreed to.

use legation_core::{ClientId, Principal};

use super::*;

impl Gate {
    /// How a task stands that a call of the caller's own began, made for `by`. Not recorded, and
    /// nobody is asked: that was done with the call.
    ///
    /// # Errors
    /// A [`Refusal`] when rules are against it by now, or there is no such task.
    pub async fn follow(
        self: &Arc<Self>,
        context: &OpContext,
        handle: TaskHandle,
        by: &ClientId,
        peer: Arc<dyn Peer>,
    ) -> Result<Outcome, Refusal> {
        self.clients.load().check(&context.caller.principal)?;
        self.asking.rates.poll(&context.caller.principal.client)?;
        let mut target = self.servers.task_target(&context.caller, &handle)?;
        target.verb = Verb::TaskUpdate;
        let delegation = made_for(context, by);
        let permitted = self.see_through(context, target, &delegation).await?;
        let receipt = permitted.receipt();
        let most = peer.result_max();
        let outcome = self
            .servers
            .task(context.clone(), permitted, handle, TaskVerb::Get, peer)
            .await;
        let told = self.told_of_task(context, &receipt, outcome)?;
        Ok(self.put_result_aside(context, &receipt, told, most))
    }

    /// Calls such a task off, as dropping a call that runs does. Recorded.
    ///
    /// # Errors
    /// As [`Gate::follow`].
    pub async fn abandon(
        self: &Arc<Self>,
        context: &OpContext,
        handle: TaskHandle,
        by: &ClientId,
        peer: Arc<dyn Peer>,
    ) -> Result<Outcome, Refusal> {
        self.clients.load().check(&context.caller.principal)?;
        let mut target = self.servers.task_target(&context.caller, &handle)?;
        target.verb = Verb::TaskCancel;
        let item = Item::Tool(target.item.clone());
        let delegation = made_for(context, by);
        let permitted = self.see_through(context, target, &delegation).await?;
        let mut seen = Seen::begin(Verb::TaskCancel, None);
        seen.resolved(permitted.target());
        let cleared = Cleared {
            permitted,
            uses: Uses::Nothing,
        };
        let asks = Asks {
            item: &item,
            peer: &peer,
            arguments: None,
            written: None,
            delegation: &delegation,
        };
        let ticket = self.intend(context, &cleared, asks).await?;
        let permitted = cleared.permitted;
        let receipt = permitted.receipt();
        let outcome = self
            .servers
            .task(context.clone(), permitted, handle, TaskVerb::Cancel, peer)
            .await;
        self.hand_on(
            context,
            &receipt,
            (ticket, &mut seen),
            (outcome, Room::Bounded(None)),
        )
    }

    /// A finished task whose result is too long for the caller has the beginning of it.
    fn put_result_aside(
        &self,
        context: &OpContext,
        receipt: &Receipt,
        outcome: Outcome,
        most: Option<usize>,
    ) -> Outcome {
        let Outcome::Complete(raw) = outcome else {
            return outcome;
        };
        let Some((mut task, result)) = raw
            .to_object()
            .and_then(|task| task.get("result").cloned().map(|result| (task, result)))
        else {
            return Outcome::Complete(raw);
        };
        match self.put_aside(
            context,
            receipt,
            Outcome::Complete(result),
            Room::Bounded(most),
        ) {
            Outcome::Complete(result) => {
                task.set("result", result);
                Outcome::Complete(task.to_raw())
            }
            other => other,
        }
    }
}

/// For whom the call was made.
fn made_for(context: &OpContext, by: &ClientId) -> Delegation {
    Delegation {
        on_behalf_of: Some(Principal {
            client: by.clone(),
            via: context.caller.principal.via,
        }),
        confidence: None,
    }
}
