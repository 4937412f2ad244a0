//! Results, which carry a type and caching hints in the modern era only.

use crate::json::{Kind, Object, Raw};
use crate::meta;

/// What a result is (2026-07-28, `resultType`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultKind {
    /// The answer; also what has no type.
    Complete,
    /// The server wants input first.
    InputRequired,
    /// The handle of a task (tasks extension).
    Task,
    /// A type nobody declared; such a result is invalid.
    Unknown(Box<str>),
}

/// How long and for whom a result may be kept (2026-07-28, caching).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheHint {
    /// Milliseconds for which the result is fresh; 0 means ask every time.
    pub ttl_ms: u64,
    /// Who may share it.
    pub scope: CacheScope,
}

/// Who may share a cached result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheScope {
    /// Anybody.
    Public,
    /// Only requests with the same authorization.
    Private,
}

// === impl CacheHint ===

impl CacheHint {
    /// For results whose server said nothing: to be asked for every time.
    pub const NONE: Self = Self {
        ttl_ms: 0,
        scope: CacheScope::Private,
    };
}

// === impl CacheScope ===

impl CacheScope {
    /// As written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}

/// The type of a result.
pub fn result_kind(result: &Raw) -> ResultKind {
    let Some(kind) = result.get("resultType") else {
        return ResultKind::Complete;
    };
    match kind.to_str().as_deref() {
        Some("complete") => ResultKind::Complete,
        Some("input_required") => ResultKind::InputRequired,
        Some("task") => ResultKind::Task,
        Some(other) => ResultKind::Unknown(other.into()),
        None => ResultKind::Unknown(kind.to_string().into()),
    }
}

/// Whether results of this method must carry `ttlMs` and `cacheScope`.
pub fn is_cacheable(method: &str) -> bool {
    matches!(
        method,
        "server/discover"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
            | "skills/list"
            | "skills/get"
    )
}

/// Takes out of a modern result what a legacy client does not know: the type, the caching
/// hints of cacheable methods, and the server's name in `_meta`.
pub fn strip_result_for_legacy(method: &str, result: &Raw) -> Raw {
    let cacheable = is_cacheable(method);
    // Most legacy results have nothing to take out, and are not put together again.
    let concerned = |key: &str| match key {
        "resultType" | meta::META => true,
        "ttlMs" | "cacheScope" => cacheable,
        _ => false,
    };
    if !result.any_member(concerned) {
        return result.clone();
    }
    let Some(mut object) = result.to_object() else {
        return result.clone();
    };
    object.remove("resultType");
    if cacheable {
        object.remove("ttlMs");
        object.remove("cacheScope");
    }
    meta::retain(&mut object, |key| {
        key != meta::SERVER_INFO && key != meta::SUBSCRIPTION_ID
    });
    object.to_raw()
}

/// Adds to a legacy result what a modern client requires: the type, and caching hints for
/// cacheable methods. What is there already stays. `server_info` goes into `_meta`.
pub fn complete_result_for_modern(
    method: &str,
    result: &Raw,
    hint: CacheHint,
    server_info: Option<&Raw>,
) -> Raw {
    if result.kind() != Kind::Object {
        return result.clone();
    }
    let mut added = Object::new();
    if result.get("resultType").is_none() {
        added.set("resultType", Raw::from_static(r#""complete""#));
    }
    if is_cacheable(method) {
        if result.get("ttlMs").is_none() {
            added.set(
                "ttlMs",
                Raw::int(i64::try_from(hint.ttl_ms).unwrap_or(i64::MAX)),
            );
        }
        if result.get("cacheScope").is_none() {
            added.set("cacheScope", Raw::str(hint.scope.as_str()));
        }
    }
    if let Some(server_info) = server_info
        && let Some(mut object) = result.to_object()
    {
        if meta::get(&object, meta::SERVER_INFO).is_none() {
            meta::set(&mut object, meta::SERVER_INFO, server_info.clone());
        }
        added.merge(&object);
        return added.to_raw();
    }
    if added.is_empty() {
        result.clone()
    } else {
        prepend(&added, result)
    }
}

/// Joins two objects without taking the second apart, which may be large.
fn prepend(added: &Object, result: &Raw) -> Raw {
    let rest = result.as_bytes();
    let mut out = Vec::with_capacity(rest.len() + 64);
    added.write_to(&mut out);
    out.pop();
    // The first thing behind the brace, white space aside, tells whether there are members.
    let empty = rest[1..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'}');
    if !empty {
        out.push(b',');
    }
    out.extend_from_slice(&rest[1..]);
    Raw::from_checked(out.into())
}
