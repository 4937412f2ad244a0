//! Sign-ins that wait for a person: one for each account, whoever asks for it.
//!
//! A flow runs beside the calls, because a client that cannot be asked gets its
//! code as a result and comes back later. The call that waits for a flow calls
//! it off when it is itself called off, unless somebody was given the code to
//! come back with.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use legation_core::{Cancel, CancelReason, OpContext, TaskSet};
use legation_entra::oauth::SignInPrompt;
use legation_entra::oauth::WAIT;
use legation_entra::token::Role;
use legation_entra::{Account, SignInError};
use tokio::sync::watch;

/// How a flow ended.
pub(super) type End = Result<(), Arc<SignInError>>;

/// The flows there are, by account.
#[derive(Default)]
pub(super) struct Flows {
    tasks: TaskSet,
    slots: Mutex<HashMap<Box<str>, Arc<Slot>>>,
}

/// One account's flow. The lock is held while a code is asked for, so that two
/// calls at once do not ask for two.
#[derive(Default)]
struct Slot {
    flow: Mutex<Option<Arc<Flow>>>,
    begin: tokio::sync::Mutex<()>,
}

/// A sign-in that waits for a person.
pub(super) struct Flow {
    pub(super) prompt: SignInPrompt,
    until: Instant,
    cancel: Cancel,
    end: watch::Receiver<Option<End>>,
    waiting: AtomicUsize,
    /// Somebody was given the code to come back with.
    given: AtomicBool,
    /// Somebody was told how it ended.
    told: AtomicBool,
}

/// A call that waits; when the last is gone and nobody was given the code, the
/// flow is called off.
pub(super) struct Waiting(Arc<Flow>);

// === impl Flows ===

impl Flows {
    /// The flow of an account: the one that runs, or a new one.
    ///
    /// # Errors
    /// No code could be had; see [`SignInError`].
    pub(super) async fn join(
        &self,
        context: &OpContext,
        account: &Account,
        claims: Option<&str>,
    ) -> Result<(Waiting, bool), SignInError> {
        let slot = self.slot(account.name());
        let _turn = tokio::select! {
            biased;
            reason = context.cancel.cancelled() => return Err(SignInError::Cancelled { reason }),
            turn = slot.begin.lock() => turn,
        };
        if let Some(flow) = slot.get().filter(|flow| flow.is_open()) {
            return Ok((Waiting::on(flow), false));
        }
        let pending = account.begin(context, Role::Human, WAIT, claims).await?;
        let prompt = pending.prompt().clone();
        let (ended, end) = watch::channel(None);
        let flow = Arc::new(Flow {
            until: account.instant() + prompt.expires_in,
            prompt,
            cancel: Cancel::new(),
            end,
            waiting: AtomicUsize::new(0),
            given: AtomicBool::new(false),
            told: AtomicBool::new(false),
        });
        let own = OpContext::new(context.caller.clone(), flow.cancel.clone());
        let account = account.clone();
        self.tasks.spawn("sign-in", async move {
            let end = account.sign_in_finish(&own, pending).await;
            ended.send_replace(Some(end.map(drop).map_err(Arc::new)));
        });
        slot.put(Arc::clone(&flow));
        Ok((Waiting::on(flow), true))
    }

    /// How the last flow failed, if nobody was told yet.
    pub(super) fn untold(&self, account: &str) -> Option<Arc<SignInError>> {
        let slot = self.slot(account);
        let flow = slot.get()?;
        let error = flow.ended()?.err();
        slot.clear(&flow);
        error.filter(|_| !flow.told.swap(true, Ordering::Relaxed))
    }

    /// Calls the flow of an account off, and waits until it has ended: what a
    /// person agreed to just now may be on its way to the disk. Whether there
    /// was one.
    pub(super) async fn call_off(&self, account: &str) -> bool {
        let slot = self.slot(account);
        let Some(flow) = slot.get() else {
            return false;
        };
        slot.clear(&flow);
        let open = flow.ended().is_none();
        flow.told.store(true, Ordering::Relaxed);
        flow.cancel.cancel(CancelReason::ClientCancelled);
        // Without a sender it has ended too.
        drop(flow.end.clone().wait_for(Option::is_some).await);
        open
    }

    fn slot(&self, account: &str) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(account.into()).or_default())
    }
}

impl fmt::Debug for Flows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flows").finish_non_exhaustive()
    }
}

// === impl Slot ===

impl Slot {
    fn get(&self) -> Option<Arc<Flow>> {
        let flow = self.flow.lock();
        flow.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn put(&self, flow: Arc<Flow>) {
        *self.flow.lock().unwrap_or_else(PoisonError::into_inner) = Some(flow);
    }

    /// Lets this flow go; one that began meanwhile stays.
    fn clear(&self, flow: &Arc<Flow>) {
        let mut current = self.flow.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().is_some_and(|one| Arc::ptr_eq(one, flow)) {
            *current = None;
        }
    }
}

// === impl Flow ===

impl Flow {
    /// For how long the code can still be entered.
    pub(super) fn left(&self, now: Instant) -> Duration {
        self.until.saturating_duration_since(now)
    }

    /// Lets it run on when the call that waits is gone.
    pub(super) fn give(&self) {
        self.given.store(true, Ordering::Relaxed);
    }

    /// Calls it off.
    pub(super) fn decline(&self) {
        self.told.store(true, Ordering::Relaxed);
        self.cancel.cancel(CancelReason::ClientCancelled);
    }

    /// Whether it can still be waited for: one that was called off goes on for
    /// a moment.
    fn is_open(&self) -> bool {
        self.cancel.reason().is_none() && self.ended().is_none()
    }

    fn ended(&self) -> Option<End> {
        self.end.borrow().clone()
    }
}

// === impl Waiting ===

impl Waiting {
    fn on(flow: Arc<Flow>) -> Self {
        flow.waiting.fetch_add(1, Ordering::Relaxed);
        Self(flow)
    }

    pub(super) fn flow(&self) -> &Flow {
        &self.0
    }

    /// Waits for the end of the flow.
    pub(super) async fn end(&self) -> End {
        let mut end = self.0.end.clone();
        let ended = match end.wait_for(Option::is_some).await {
            Ok(end) => end.clone(),
            // The hub is stopping.
            Err(_) => None,
        };
        self.0.told.store(true, Ordering::Relaxed);
        ended.unwrap_or_else(|| {
            let reason = CancelReason::Shutdown;
            Err(Arc::new(SignInError::Cancelled { reason }))
        })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let last = self.0.waiting.fetch_sub(1, Ordering::Relaxed) == 1;
        if last && !self.0.given.load(Ordering::Relaxed) {
            // Whoever asks next did not wait for this one.
            self.0.decline();
        }
    }
}
