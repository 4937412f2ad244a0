//! What a client asks a person of its own accord: whether it may use a tool that
//! is none of the hub's.
//!
//! It is held for as long as the client's session and nowhere else: an answer
//! that comes when nobody waits for it must not be found by the next session.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use legation_core::{Caller, ClientId, EntityId, SeatId};
use legation_policy::registry::{EventName, ReasonCode};
use sha2::{Digest as _, Sha256};

use crate::approval::{ApprovalEvent, Approvals, Channel, NotOpen, PREVIEW_MAX};
use crate::journal::{About, Happened};

/// Most that one session, and all of them, may have open.
const PER_SEAT: usize = 32;
const OPEN_MAX: usize = 512;
/// How long an answer is waited for: the dialog in the client has been answered
/// or left alone long before.
const TTL_MS: i64 = 60 * 60 * 1000;
/// Longest id and name of a client's own, in bytes.
const NAME_MAX: usize = 200;
/// What the name begins with: no approval or proposal has such a one.
pub(super) const PREFIX: &str = "C-";

/// One that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// What people call it by.
    pub id: Box<str>,
    /// Who asks.
    pub client: ClientId,
    /// In which session.
    pub seat: SeatId,
    /// The client's own name of it.
    pub request: Box<str>,
    /// The client's tool.
    pub tool: Box<str>,
    /// What the client says of it.
    pub description: Box<str>,
    /// The beginning of what the tool would get.
    pub preview: Box<str>,
    /// Whose data the conversation holds, and so perhaps the preview.
    pub entities: Vec<EntityId>,
    /// When it was asked, in milliseconds of wall time.
    pub created_ms: i64,
    /// Until when it can be answered.
    pub expires_ms: i64,
}

/// What a client sends.
#[derive(Debug, Clone)]
pub struct PermissionRequest {
    /// The client's own name of it.
    pub request: Box<str>,
    /// The client's tool.
    pub tool: Box<str>,
    /// What the client says of it.
    pub description: Box<str>,
    /// The beginning of what the tool would get.
    pub preview: Box<str>,
}

/// The session that waits for an answer.
pub trait Asker: Send + Sync + fmt::Debug {
    /// A person answered; whether the session is still there to be told.
    fn answered(&self, request: &str, allow: bool) -> bool;
}

/// Withdraws the question when it is dropped: its session has ended.
#[derive(Debug)]
pub struct PermissionGuard {
    id: Box<str>,
    of: Weak<Permissions>,
}

/// Everything that is open. Shared.
#[derive(Debug)]
pub struct Permissions {
    approvals: Arc<Approvals>,
    open: Mutex<HashMap<Box<str>, Held>>,
}

#[derive(Debug)]
struct Held {
    permission: Permission,
    asker: Arc<dyn Asker>,
}

// === impl Permission ===

impl Permission {
    pub(super) fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        for part in [
            self.client.as_str(),
            self.seat.as_str(),
            &self.request,
            &self.tool,
            &self.description,
            &self.preview,
        ] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.finalize().into()
    }
}

// === impl Permissions ===

impl Permissions {
    pub(crate) fn new(approvals: &Arc<Approvals>) -> Self {
        Self {
            approvals: Arc::clone(approvals),
            open: Mutex::default(),
        }
    }

    /// Takes a question in; it is open until the guard is dropped. The same name
    /// in the same session again is the same question.
    ///
    /// # Errors
    /// When too many are open, or it has no name that could be answered to.
    pub fn ask(
        self: &Arc<Self>,
        caller: &Caller,
        entities: Vec<EntityId>,
        request: PermissionRequest,
        asker: Arc<dyn Asker>,
    ) -> Result<PermissionGuard, NotOpen> {
        self.sweep();
        if request.request.is_empty() || request.request.len() > NAME_MAX {
            return Err(NotOpen::Unknown);
        }
        let now_ms = self.approvals.now_ms();
        let cut = |text: &str, most: usize| text.chars().take(most).collect::<Box<str>>();
        let code = crate::code::short().ok_or(NotOpen::Full)?;
        let permission = Permission {
            id: format!("{PREFIX}{code}").into(),
            client: caller.principal.client.clone(),
            seat: caller.seat.clone(),
            tool: cut(&request.tool, NAME_MAX),
            description: cut(&request.description, PREVIEW_MAX),
            preview: cut(&request.preview, PREVIEW_MAX),
            request: request.request,
            entities,
            created_ms: now_ms,
            expires_ms: now_ms.saturating_add(TTL_MS),
        };
        let mut open = self.lock();
        let of_seat = open
            .values()
            .filter(|held| held.permission.seat == caller.seat);
        let is_open = |held: &&Held| held.permission.request == permission.request;
        if of_seat.clone().any(|held| is_open(&held)) {
            return Err(NotOpen::Answered);
        }
        if open.len() >= OPEN_MAX || of_seat.count() >= PER_SEAT {
            return Err(NotOpen::Full);
        }
        let held = Held {
            permission: permission.clone(),
            asker,
        };
        open.insert(permission.id.clone(), held);
        drop(open);
        self.happened(
            EventName::ApprovalRequested,
            &permission,
            "a client asks a person",
        );
        Ok(PermissionGuard {
            id: permission.id,
            of: Arc::downgrade(self),
        })
    }

    /// Everything open, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<Permission> {
        let now_ms = self.approvals.now_ms();
        let mut all: Vec<Permission> = self
            .lock()
            .values()
            .map(|held| held.permission.clone())
            .filter(|open| now_ms < open.expires_ms)
            .collect();
        all.sort_by(|a, b| (a.created_ms, &a.id).cmp(&(b.created_ms, &b.id)));
        all
    }

    /// Tells the session that waits, which is asked once.
    ///
    /// # Errors
    /// When nobody waits any more.
    pub fn answer(&self, id: &str, allow: bool, channel: Channel) -> Result<(), NotOpen> {
        self.sweep();
        let held = self.lock().remove(id).ok_or(NotOpen::Unknown)?;
        let (event, word) = match allow {
            true => (EventName::ApprovalGranted, "once"),
            false => (EventName::ApprovalDenied, "deny"),
        };
        if !held.asker.answered(&held.permission.request, allow) {
            let text = "its session has ended";
            self.happened(EventName::ApprovalExpired, &held.permission, text);
            return Err(NotOpen::Expired);
        }
        let text = format!("{word} by {}", channel.as_str());
        self.happened(event, &held.permission, &text);
        Ok(())
    }

    /// Takes out what nobody answered in time.
    pub fn sweep(&self) {
        let now_ms = self.approvals.now_ms();
        let gone: Vec<Permission> = {
            let mut open = self.lock();
            let over = open.extract_if(|_, held| held.permission.expires_ms <= now_ms);
            over.map(|(_, held)| held.permission).collect()
        };
        for permission in gone {
            let text = "nobody answered it in time";
            self.happened(EventName::ApprovalExpired, &permission, text);
        }
    }

    fn withdraw(&self, id: &str) {
        let gone = self.lock().remove(id);
        if let Some(held) = gone {
            let text = "its session has ended";
            self.happened(EventName::ApprovalExpired, &held.permission, text);
        }
    }

    fn happened(&self, event: EventName, permission: &Permission, text: &str) {
        let entity = match permission.entities.as_slice() {
            [one] => one.clone(),
            _ => EntityId::personal(),
        };
        self.approvals.journal().add(Happened {
            entity,
            client: Some(permission.client.clone()),
            about: Some(About::Approval(permission.id.clone())),
            tool: Some(crate::approval::escaped(&permission.tool, NAME_MAX).into()),
            reason: match event {
                EventName::ApprovalRequested => Some(ReasonCode::ApprovalPending),
                EventName::ApprovalDenied => Some(ReasonCode::ApprovalDenied),
                EventName::ApprovalExpired => Some(ReasonCode::ApprovalExpired),
                _ => None,
            },
            ..Happened::new(event, &format!("client permission: {text}"))
        });
        self.approvals.tell(ApprovalEvent::OthersChanged);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Held>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl PermissionGuard ===

impl Drop for PermissionGuard {
    fn drop(&mut self) {
        if let Some(permissions) = self.of.upgrade() {
            permissions.withdraw(&self.id);
        }
    }
}
