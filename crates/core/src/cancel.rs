//! Cancellation that says why.

use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

/// Why something was called off; a later, graver reason replaces an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CancelReason {
    /// The client said it no longer wants the answer.
    ClientCancelled,
    /// The client's connection is gone.
    Disconnected,
    /// The time allowed has passed.
    Deadline,
    /// The hub is stopping.
    Shutdown,
}

/// A token that is cancelled once, with a reason, together with its children.
#[derive(Debug, Clone)]
pub struct Cancel {
    token: CancellationToken,
    reason: Arc<Reason>,
}

#[derive(Debug)]
struct Reason {
    own: Mutex<Option<CancelReason>>,
    parent: Option<Arc<Self>>,
}

// === impl CancelReason ===

impl CancelReason {
    /// A word for records and messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClientCancelled => "cancelled by the client",
            Self::Disconnected => "the client disconnected",
            Self::Deadline => "the time allowed has passed",
            Self::Shutdown => "the hub is stopping",
        }
    }
}

// === impl Cancel ===

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}

impl Cancel {
    /// A token nobody has cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self {
            token: CancellationToken::new(),
            reason: Arc::new(Reason {
                own: Mutex::new(None),
                parent: None,
            }),
        }
    }

    /// A token that is cancelled with this one, and can be cancelled alone.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            token: self.token.child_token(),
            reason: Arc::new(Reason {
                own: Mutex::new(None),
                parent: Some(Arc::clone(&self.reason)),
            }),
        }
    }

    /// Cancels this token and its children.
    pub fn cancel(&self, reason: CancelReason) {
        {
            let mut own = self
                .reason
                .own
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            *own = (*own).max(Some(reason));
        }
        self.token.cancel();
    }

    /// Why it was cancelled, if it was.
    #[must_use]
    pub fn reason(&self) -> Option<CancelReason> {
        if !self.token.is_cancelled() {
            return None;
        }
        self.reason.find()
    }

    /// Waits for the cancellation.
    pub async fn cancelled(&self) -> CancelReason {
        self.token.cancelled().await;
        self.reason.find().unwrap_or(CancelReason::Shutdown)
    }
}

// === impl Reason ===

impl Reason {
    fn find(&self) -> Option<CancelReason> {
        let own = *self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let parent = self.parent.as_ref().and_then(|parent| parent.find());
        own.max(parent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_knows_its_parents_reason_and_the_parent_not_its_childs() {
        let parent = Cancel::new();
        let child = parent.child();
        let other = parent.child();
        child.cancel(CancelReason::ClientCancelled);
        assert_eq!(child.reason(), Some(CancelReason::ClientCancelled));
        assert_eq!((parent.reason(), other.reason()), (None, None));
        parent.cancel(CancelReason::Shutdown);
        assert_eq!(other.reason(), Some(CancelReason::Shutdown));
        assert_eq!(
            child.reason(),
            Some(CancelReason::Shutdown),
            "the graver reason wins"
        );
    }
}
