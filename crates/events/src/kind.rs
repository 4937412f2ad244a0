//! The kinds of events there are.

use legation_wire::json::{Object, Raw};

/// A kind of event. A change that old clients would not understand takes a new
/// name (SEP-3415, event types).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A message came in.
    MessageReceived,
    /// A message has other words now, or is gone at its source.
    MessageEdited,
    /// A call of the client's waits for a person.
    ApprovalRequested,
    /// A person answered, or nobody did in time.
    ApprovalAnswered,
    /// A task of the client's is over.
    TaskCompleted,
}

/// What kinds have in common: where they come from, and who may hear of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// Messages of the inbox.
    Messages,
    /// Approvals of the client's own calls.
    Approvals,
    /// Tasks of the client's own.
    Tasks,
    /// Events of servers behind the hub, which are messages of the inbox as well.
    Servers,
}

const MESSAGE_INPUT: &str = r#"{"type":"object","properties":{"channel":{"type":"string","description":"Only messages of this channel"},"entity":{"type":"string","description":"Only messages of this entity. Without it messages of every entity are announced, those of an entity without sender and summary"}},"additionalProperties":false}"#;
const MESSAGE_PAYLOAD: &str = r#"{"type":"object","properties":{"id":{"type":"string","description":"The message's id; the inbox's pull has its text"},"uri":{"type":"string"},"channel":{"type":"string"},"kind":{"enum":["new","edited","deleted"]},"entity":{"type":"string"},"chat_id":{"type":"string"},"from":{"type":"string"},"ts":{"type":"string"},"summary":{"type":"string","description":"Untrusted text of another person"}},"required":["id","uri","channel","kind"]}"#;
pub(crate) const OWN_INPUT: &str =
    r#"{"type":"object","properties":{},"additionalProperties":false}"#;
const APPROVAL_PAYLOAD: &str = r#"{"type":"object","properties":{"id":{"type":"string"},"tool":{"type":"string","description":"server/tool"},"state":{"type":"string"},"expires":{"type":"string"}},"required":["id","state"]}"#;
const TASK_PAYLOAD: &str = r#"{"type":"object","properties":{"taskId":{"type":"string"},"status":{"enum":["completed","failed","cancelled"]}},"required":["taskId","status"]}"#;

// === impl Kind ===

impl Kind {
    /// All of them, in the order of the list.
    pub const ALL: [Self; 5] = [
        Self::MessageReceived,
        Self::MessageEdited,
        Self::ApprovalRequested,
        Self::ApprovalAnswered,
        Self::TaskCompleted,
    ];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MessageReceived => "message.received",
            Self::MessageEdited => "message.edited",
            Self::ApprovalRequested => "approval.requested",
            Self::ApprovalAnswered => "approval.answered",
            Self::TaskCompleted => "task.completed",
        }
    }

    /// The kind of a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Its family.
    #[must_use]
    pub fn family(self) -> Family {
        match self {
            Self::MessageReceived | Self::MessageEdited => Family::Messages,
            Self::ApprovalRequested | Self::ApprovalAnswered => Family::Approvals,
            Self::TaskCompleted => Family::Tasks,
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::MessageReceived => {
                "Somebody wrote to the agent. Its text is read with the inbox's pull."
            }
            Self::MessageEdited => {
                "A message that was received reads differently now, or was deleted."
            }
            Self::ApprovalRequested => "A call of yours waits for a person's approval.",
            Self::ApprovalAnswered => {
                "A person answered an approval of yours, or its time is over."
            }
            Self::TaskCompleted => "A task of yours has ended.",
        }
    }

    /// Its entry in `events/list`.
    pub(crate) fn definition(self) -> Raw {
        let (input, payload) = match self.family() {
            Family::Messages => (MESSAGE_INPUT, MESSAGE_PAYLOAD),
            Family::Approvals => (OWN_INPUT, APPROVAL_PAYLOAD),
            Family::Tasks | Family::Servers => (OWN_INPUT, TASK_PAYLOAD),
        };
        Object::new()
            .with("name", Raw::str(self.as_str()))
            .with("description", Raw::str(self.description()))
            .with("delivery", Raw::from_static(r#"["poll","push","webhook"]"#))
            .with("inputSchema", Raw::from_static(input))
            .with("payloadSchema", Raw::from_static(payload))
            .to_raw()
    }
}
