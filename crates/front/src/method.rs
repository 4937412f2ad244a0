//! The methods a client may call, by revision.

use legation_gate::ListKind;
use legation_wire::revision::Revision;

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Initialize,
    Discover,
    Ping,
    SetLevel,
    List(ListKind),
    CallTool,
    ReadResource,
    GetPrompt,
    GetSkill,
    ReadDirectory,
    Complete,
    Subscribe,
    Unsubscribe,
    Listen,
    TaskGet,
    TaskResult,
    TaskList,
    TaskUpdate,
    TaskCancel,
    Events(Act),
}

/// What is asked of the events extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    List,
    Poll,
    Stream,
    Subscribe,
    Unsubscribe,
}

// === impl Method ===

impl Method {
    /// Finds a method in a revision; `None` where the revision has none such.
    pub(crate) fn find(name: &str, revision: Revision) -> Option<Self> {
        let method = Self::parse(name)?;
        method.exists_in(revision).then_some(method)
    }

    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "initialize" => Self::Initialize,
            "server/discover" => Self::Discover,
            "ping" => Self::Ping,
            "logging/setLevel" => Self::SetLevel,
            "tools/list" => Self::List(ListKind::Tools),
            "resources/list" => Self::List(ListKind::Resources),
            "resources/templates/list" => Self::List(ListKind::Templates),
            "prompts/list" => Self::List(ListKind::Prompts),
            "skills/list" => Self::List(ListKind::Skills),
            "skills/get" => Self::GetSkill,
            "resources/directory/read" => Self::ReadDirectory,
            "tools/call" => Self::CallTool,
            "resources/read" => Self::ReadResource,
            "prompts/get" => Self::GetPrompt,
            "completion/complete" => Self::Complete,
            "resources/subscribe" => Self::Subscribe,
            "resources/unsubscribe" => Self::Unsubscribe,
            "subscriptions/listen" => Self::Listen,
            "tasks/get" => Self::TaskGet,
            "tasks/result" => Self::TaskResult,
            "tasks/list" => Self::TaskList,
            "tasks/update" => Self::TaskUpdate,
            "tasks/cancel" => Self::TaskCancel,
            "events/list" => Self::Events(Act::List),
            "events/poll" => Self::Events(Act::Poll),
            "events/stream" => Self::Events(Act::Stream),
            "events/subscribe" => Self::Events(Act::Subscribe),
            "events/unsubscribe" => Self::Events(Act::Unsubscribe),
            _ => return None,
        })
    }

    fn exists_in(self, revision: Revision) -> bool {
        match self {
            Self::Initialize
            | Self::Ping
            | Self::SetLevel
            | Self::Subscribe
            | Self::Unsubscribe => !revision.is_modern(),
            Self::Discover | Self::Listen | Self::TaskUpdate | Self::Events(_) => {
                revision.is_modern()
            }
            Self::TaskResult | Self::TaskList => revision == Revision::V2025_11_25,
            Self::TaskGet
            | Self::TaskCancel
            | Self::List(ListKind::Skills)
            | Self::GetSkill
            | Self::ReadDirectory => revision >= Revision::V2025_11_25,
            Self::List(_)
            | Self::CallTool
            | Self::ReadResource
            | Self::GetPrompt
            | Self::Complete => true,
        }
    }

    /// Whether its answer comes only when somebody ends it.
    pub(crate) fn is_held(self) -> bool {
        matches!(self, Self::Listen | Self::Events(Act::Stream))
    }

    /// Whether it may be asked before the handshake is over.
    pub(crate) fn before_handshake(self) -> bool {
        matches!(self, Self::Initialize | Self::Ping)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_and_later_methods_are_unknown_where_they_do_not_exist() {
        let modern = Revision::LATEST;
        for name in [
            "initialize",
            "ping",
            "logging/setLevel",
            "resources/subscribe",
            "resources/unsubscribe",
            "tasks/result",
            "tasks/list",
            "unknown/method",
            "__proto__",
            "TOOLS/LIST",
        ] {
            assert_eq!(Method::find(name, modern), None, "{name}");
        }
        assert_eq!(
            Method::find("server/discover", Revision::LATEST_LEGACY),
            None
        );
        assert_eq!(Method::find("tasks/get", Revision::V2025_06_18), None);
        assert_eq!(
            Method::find("events/list", modern),
            Some(Method::Events(Act::List))
        );
        assert_eq!(Method::find("events/list", Revision::LATEST_LEGACY), None);
        for (name, method) in [
            ("skills/list", Method::List(ListKind::Skills)),
            ("skills/get", Method::GetSkill),
            ("resources/directory/read", Method::ReadDirectory),
        ] {
            for revision in [Revision::V2025_11_25, modern] {
                assert_eq!(Method::find(name, revision), Some(method));
            }
            assert_eq!(Method::find(name, Revision::V2025_06_18), None);
        }
        assert_eq!(
            Method::find("tasks/list", Revision::V2025_11_25),
            Some(Method::TaskList)
        );
    }
}
