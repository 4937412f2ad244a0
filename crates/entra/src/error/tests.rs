use std::collections::HashSet;

use super::meaning::ROWS;
use super::*;

fn refusal(step: Step, status: u16, error: &str, suberror: &str, code: u32) -> Refusal {
    let body = serde_json::json!({
        "error": error,
        "suberror": suberror,
        "error_description": format!(
            "AADSTS{code}: What the authority says. Trace ID: 11 Correlation ID: 22 Timestamp: 2026-11-21 01:55:06Z"
        ),
        "error_codes": [code],
        "trace_id": "11",
        "correlation_id": "22",
        "claims": "{\"access_token\":{}}",
    });
    Refusal::parse(step, status, body.to_string().as_bytes())
}

/// Every row of the authority's refusals: what was done, status, words, number; class, a word of
/// the hint.
const REFUSALS: &[(Step, u16, &str, &str, u32, Class, &str)] = &[
    (
        Step::ClientCredentials,
        401,
        "invalid_client",
        "",
        7_000_215,
        Class::Auth,
        "its value, not its id",
    ),
    (
        Step::OnBehalfOf,
        401,
        "invalid_client",
        "",
        7_000_222,
        Class::OboExchange,
        "new secret",
    ),
    (
        Step::ClientCredentials,
        401,
        "invalid_client",
        "",
        7_000_218,
        Class::Auth,
        "prove itself",
    ),
    (
        Step::AgentApplication,
        401,
        "invalid_client",
        "",
        700_027,
        Class::Auth,
        "certificate",
    ),
    (
        Step::AgentApplication,
        401,
        "invalid_client",
        "",
        700_024,
        Class::Auth,
        "clock",
    ),
    (
        Step::AgentIdentity,
        401,
        "invalid_client",
        "",
        700_211,
        Class::AgentIdNotAvailable,
        "tenant_id",
    ),
    (
        Step::AgentIdentity,
        401,
        "invalid_client",
        "",
        700_213,
        Class::AgentIdNotAvailable,
        "blueprint",
    ),
    (
        Step::DeviceCode,
        400,
        "unauthorized_client",
        "",
        700_016,
        Class::Auth,
        "client ids",
    ),
    (
        Step::AgentUser,
        400,
        "unauthorized_client",
        "",
        700_016,
        Class::AgentIdNotAvailable,
        "client ids",
    ),
    (
        Step::ClientCredentials,
        401,
        "invalid_client",
        "",
        7_000_112,
        Class::Auth,
        "enable",
    ),
    (
        Step::Refresh,
        400,
        "invalid_grant",
        "bad_token",
        50_173,
        Class::TokenExpired,
        "sign in again",
    ),
    (
        Step::Refresh,
        400,
        "invalid_grant",
        "token_expired",
        700_082,
        Class::TokenExpired,
        "sign in again",
    ),
    (
        Step::Refresh,
        400,
        "invalid_grant",
        "",
        70_043,
        Class::TokenExpired,
        "fresh sign-in",
    ),
    (
        Step::AgentRefresh,
        400,
        "invalid_grant",
        "",
        50_132,
        Class::TokenExpired,
        "sign in again",
    ),
    (
        Step::Refresh,
        400,
        "invalid_grant",
        "",
        50_133,
        Class::TokenExpired,
        "sign in again",
    ),
    (
        Step::OnBehalfOf,
        400,
        "invalid_grant",
        "",
        500_131,
        Class::OboExchange,
        "access_as_user",
    ),
    (
        Step::AgentOnBehalfOf,
        400,
        "invalid_grant",
        "",
        500_133,
        Class::OboExchange,
        "expired",
    ),
    (
        Step::OnBehalfOf,
        400,
        "invalid_grant",
        "",
        50_013,
        Class::OboExchange,
        "tenant",
    ),
    (
        Step::OnBehalfOf,
        400,
        "invalid_grant",
        "consent_required",
        65_001,
        Class::ConsentDenied,
        "agreed",
    ),
    (
        Step::Poll,
        400,
        "interaction_required",
        "consent_required",
        65_001,
        Class::ConsentDenied,
        "agreed",
    ),
    (
        Step::Poll,
        400,
        "access_denied",
        "",
        65_004,
        Class::ConsentDenied,
        "agree",
    ),
    (
        Step::Refresh,
        400,
        "interaction_required",
        "basic_action",
        50_076,
        Class::Auth,
        "second factor",
    ),
    (
        Step::OnBehalfOf,
        400,
        "invalid_grant",
        "basic_action",
        50_079,
        Class::OboExchange,
        "second factor",
    ),
    (
        Step::Refresh,
        400,
        "invalid_grant",
        "message_only",
        53_003,
        Class::Auth,
        "rule of the tenant",
    ),
    (
        Step::Poll,
        400,
        "invalid_grant",
        "additional_action",
        53_000,
        Class::Auth,
        "device",
    ),
    (
        Step::Poll,
        400,
        "invalid_grant",
        "",
        530_035,
        Class::Auth,
        "code",
    ),
    (
        Step::Poll,
        400,
        "authorization_pending",
        "",
        70_016,
        Class::Auth,
        "enter the code",
    ),
    (
        Step::Poll,
        400,
        "bad_verification_code",
        "",
        70_018,
        Class::Auth,
        "again",
    ),
    (
        Step::Poll,
        400,
        "expired_token",
        "",
        70_019,
        Class::DeviceCodeTimeout,
        "in time",
    ),
    (
        Step::Poll,
        400,
        "expired_token",
        "",
        70_020,
        Class::DeviceCodeTimeout,
        "in time",
    ),
    (
        Step::Poll,
        400,
        "invalid_grant",
        "",
        90_120,
        Class::Auth,
        "again",
    ),
    (
        Step::Poll,
        400,
        "invalid_request",
        "",
        50_134,
        Class::Auth,
        "data centre",
    ),
    (
        Step::DeviceCode,
        400,
        "invalid_scope",
        "",
        70_011,
        Class::Auth,
        "scopes",
    ),
    (
        Step::ClientCredentials,
        400,
        "invalid_scope",
        "",
        1_002_012,
        Class::Auth,
        ".default",
    ),
    (
        Step::Refresh,
        400,
        "invalid_scope",
        "",
        700_022,
        Class::Auth,
        "one service",
    ),
    (
        Step::DeviceCode,
        400,
        "invalid_resource",
        "",
        500_011,
        Class::Auth,
        "service",
    ),
    (
        Step::AgentApplication,
        400,
        "invalid_resource",
        "",
        500_011,
        Class::AgentIdNotAvailable,
        "service",
    ),
    (
        Step::AgentUser,
        400,
        "unsupported_grant_type",
        "",
        70_003,
        Class::AgentIdNotAvailable,
        "Agent ID",
    ),
    (
        Step::Refresh,
        400,
        "invalid_request",
        "",
        900_144,
        Class::Auth,
        "mistake",
    ),
    (
        Step::Refresh,
        400,
        "invalid_grant",
        "",
        50_196,
        Class::Auth,
        "minutes",
    ),
    (
        Step::AgentIdentity,
        400,
        "invalid_request",
        "",
        82_001,
        Class::AgentIdNotAvailable,
        "ask for less",
    ),
    (
        Step::AgentIdentity,
        400,
        "invalid_request",
        "",
        82_002,
        Class::AgentIdNotAvailable,
        "ask for less",
    ),
    (
        Step::Refresh,
        429,
        "temporarily_unavailable",
        "",
        90_055,
        Class::RateLimit,
        "wait",
    ),
    (
        Step::Discovery,
        400,
        "invalid_tenant",
        "",
        90_002,
        Class::Auth,
        "tenant_id",
    ),
    (
        Step::Discovery,
        400,
        "invalid_instance",
        "",
        50_049,
        Class::Auth,
        "authority",
    ),
    (
        Step::ClientCredentials,
        401,
        "invalid_client",
        "",
        7_000_216,
        Class::Auth,
        "prove itself",
    ),
];

#[test]
fn every_refusal_has_its_class_and_a_hint() {
    for (step, status, error, suberror, code, class, hint) in REFUSALS {
        let refusal = refusal(*step, *status, error, suberror, *code);
        assert_eq!(refusal.class(), *class, "{refusal}");
        assert!(
            refusal.hint().contains(hint),
            "{refusal}: {}",
            refusal.hint()
        );
        assert_eq!(refusal.code, Some(*code));
        assert_eq!(&*refusal.description, "What the authority says.");
        let shown = refusal.to_string();
        assert!(
            shown.contains(&format!("AADSTS{code}")) && shown.contains("correlation id 22"),
            "{shown}"
        );
    }
    let tested: HashSet<u32> = REFUSALS.iter().map(|row| row.4).collect();
    for (code, _) in ROWS {
        assert!(tested.contains(code), "AADSTS{code} is in no test");
    }
    let unique: HashSet<u32> = ROWS.iter().map(|(code, _)| *code).collect();
    assert_eq!(unique.len(), ROWS.len());
}

#[test]
fn without_a_known_number_the_protocols_words_count() {
    for (error, suberror, status, meaning) in [
        ("authorization_pending", "", 400, Meaning::Pending),
        ("authorization_declined", "", 400, Meaning::Declined),
        ("access_denied", "", 400, Meaning::Declined),
        ("code_expired", "", 400, Meaning::ExpiredCode),
        ("invalid_grant", "consent_required", 400, Meaning::NoConsent),
        ("invalid_grant", "bad_token", 400, Meaning::Revoked),
        ("invalid_grant", "token_expired", 400, Meaning::Inactive),
        ("interaction_required", "", 400, Meaning::SecondFactor),
        ("unsupported_grant_type", "", 400, Meaning::UnknownGrant),
        ("server_error", "", 429, Meaning::Throttled),
        ("invalid_grant", "", 400, Meaning::Other),
    ] {
        let refusal = refusal(Step::Poll, status, error, suberror, 99_999);
        assert_eq!(refusal.meaning(), meaning, "{error} {suberror}");
    }
    let nothing = Refusal::parse(Step::Refresh, 502, b"<html>bad gateway</html>");
    assert_eq!(nothing.meaning(), Meaning::Other);
    assert_eq!(
        nothing.to_string(),
        "renewing the sign-in was refused with status 502"
    );
}

#[test]
fn an_answer_cannot_write_to_the_terminal() {
    let body = serde_json::json!({
        "error": "\u{1b}[31mred", "error_description": format!("AADSTS1: {}\n\u{7}", "x".repeat(5_000)),
    });
    let refusal = Refusal::parse(Step::Refresh, 400, body.to_string().as_bytes());
    let shown = refusal.to_string();
    assert!(
        !shown.contains(char::is_control) && shown.len() < 1_000,
        "{shown}"
    );
}

#[test]
fn graphs_refusals_have_their_classes() {
    let licence = "Failed to get license information for the user. Ensure user has a valid Office365 license assigned to them.";
    for (operation, status, code, message, class) in [
        (
            "POST /v1.0/chats",
            403,
            "Forbidden",
            licence,
            Class::TeamsNotLicensed,
        ),
        (
            "POST /v1.0/chats",
            403,
            "Forbidden",
            "Missing scope permissions",
            Class::Teams,
        ),
        (
            "GET /v1.0/chats/{id}/messages",
            404,
            "NotFound",
            "",
            Class::ChatNotFound,
        ),
        (
            "GET /v1.0/users/{id}",
            404,
            "Request_ResourceNotFound",
            "",
            Class::Teams,
        ),
        (
            "POST /v1.0/chats/{id}/messages",
            413,
            "RequestEntityTooLarge",
            "",
            Class::MessageTooLong,
        ),
        (
            "GET /v1.0/me",
            401,
            "InvalidAuthenticationToken",
            "",
            Class::TokenExpired,
        ),
        ("GET /v1.0/me", 429, "TooManyRequests", "", Class::RateLimit),
        ("GET /v1.0/me", 500, "generalException", "", Class::Teams),
    ] {
        let body = serde_json::json!({ "error": {
            "code": code, "message": message,
            "innerError": { "date": "2026-11-21T01:55:06", "request-id": "their-id", "client-request-id": "my-id" },
        } });
        let refusal = GraphRefusal::parse(operation, status, body.to_string().as_bytes());
        assert_eq!(refusal.class(), class, "{refusal}");
        assert!(refusal.to_string().contains("their-id"), "{refusal}");
        assert!(!refusal.hint().is_empty());
    }
    for (status, code) in [
        (410, ""),
        (400, "syncStateNotFound"),
        (404, "resyncRequired"),
    ] {
        let body = serde_json::json!({ "error": { "code": code, "message": "" } });
        let refusal = GraphRefusal::parse("GET /v1.0/x", status, body.to_string().as_bytes());
        assert_eq!(refusal.meaning(), GraphMeaning::Resync, "{status} {code}");
    }
}

#[test]
fn classes_have_the_names_people_know() {
    let names: HashSet<&str> = Class::ALL.iter().map(|class| class.as_str()).collect();
    assert_eq!(names.len(), Class::ALL.len());
    for name in [
        "AuthError",
        "DeviceCodeTimeout",
        "ConsentDenied",
        "OBOExchangeError",
        "AgentIDNotAvailable",
        "TokenExpiredError",
        "TeamsError",
        "TeamsNotLicensed",
        "ChatNotFound",
        "MessageTooLong",
        "RateLimitError",
    ] {
        assert!(names.contains(name), "{name}");
    }
    assert_eq!(Class::OboExchange.parent(), Some(Class::Auth));
    assert_eq!(Class::ChatNotFound.parent(), Some(Class::Teams));
    assert_eq!(Class::RateLimit.parent(), None);
}
