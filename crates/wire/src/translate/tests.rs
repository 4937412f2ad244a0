use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::codes;
use crate::json::{Limits, Object, Raw};
use crate::message::ErrorObject;
use crate::meta::EraMeta;
use crate::revision::Revision;

fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned().into(), &Limits::CLIENT).expect("JSON")
}

fn object(text: &str) -> Object {
    raw(text).to_object().expect("an object")
}

fn check_text(seen: &impl ToString, expected: Expect) {
    expected.assert_eq(&seen.to_string());
}

#[test]
fn parameters_lose_and_gain_era_metadata() {
    let sent = r#"{"name":"t","arguments":{"requestState":1},"_meta":{"vendor":1,"progressToken":7,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}},"inputResponses":{"a":{}},"requestState":"s","task":{"ttl":1}}"#;
    let mut params = object(sent);
    let left = params_for_legacy("tools/call", &mut params);
    check_text(
        &params.to_raw(),
        expect![[
            r#"{"name":"t","arguments":{"requestState":1},"_meta":{"vendor":1,"progressToken":7},"task":{"ttl":1}}"#
        ]],
    );
    assert_eq!(left.request_state, Some(raw(r#""s""#)));
    assert_eq!(left.era.revision(), Some(Revision::V2026_07_28));
    assert_eq!(take_progress_token(&mut params), Some(raw("7")));
    assert_eq!(take_progress_token(&mut params), None);

    let task = params_for_modern("tools/call", &mut params, &left.era).task;
    assert_eq!(task, Some(raw(r#"{"ttl":1}"#)));
    check_text(
        &params.to_raw(),
        expect![[
            r#"{"name":"t","arguments":{"requestState":1},"_meta":{"vendor":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}}"#
        ]],
    );
    let mut other = object(r#"{"requestState":"kept elsewhere"}"#);
    assert_eq!(
        params_for_legacy("completion/complete", &mut other),
        LegacyLeftovers::default()
    );
    assert!(other.contains("requestState"));
    let mut empty = object(r#"{"_meta":{"io.modelcontextprotocol/logLevel":"info"}}"#);
    assert!(EraMeta::take(&mut empty).log_level.is_some());
    assert!(empty.is_empty());
}

#[test]
fn results_lose_what_legacy_clients_do_not_know() {
    let strip = |method, text| strip_result_for_legacy(method, &raw(text));
    check_text(
        &strip(
            "tools/list",
            r#"{"resultType":"complete","tools":[{"name":"a","ttlMs":1}],"ttlMs":5,"cacheScope":"public","vendor":1,"_meta":{"io.modelcontextprotocol/serverInfo":{},"x":1}}"#,
        ),
        expect![[r#"{"tools":[{"name":"a","ttlMs":1}],"vendor":1,"_meta":{"x":1}}"#]],
    );
    check_text(
        &strip(
            "tools/call",
            r#"{"content":[],"ttlMs":5,"_meta":{"io.modelcontextprotocol/serverInfo":{}}}"#,
        ),
        expect![[r#"{"content":[],"ttlMs":5}"#]],
    );
    check_text(
        &strip("tools/call", r#"{ "content" : [1.0] }"#),
        expect![[r#"{ "content" : [1.0] }"#]],
    );
    check_text(
        &strip("tools/call", r#"{"result\u0054ype":"complete"}"#),
        expect!["{}"],
    );
}

#[test]
fn results_gain_what_modern_clients_require() {
    let hint = CacheHint {
        ttl_ms: 60_000,
        scope: CacheScope::Public,
    };
    let complete = |method, text, info: Option<&Raw>| {
        complete_result_for_modern(method, &raw(text), hint, info)
    };
    check_text(
        &complete("tools/call", r#"{ "content":[]}"#, None),
        expect![[r#"{"resultType":"complete", "content":[]}"#]],
    );
    check_text(
        &complete("tools/call", "{ }", None),
        expect![[r#"{"resultType":"complete" }"#]],
    );
    check_text(
        &complete("resources/read", r#"{"contents":[],"ttlMs":1}"#, None),
        expect![[r#"{"resultType":"complete","cacheScope":"public","contents":[],"ttlMs":1}"#]],
    );
    check_text(
        &complete(
            "tools/call",
            r#"{"content":["resultType"],"_meta":{"a":1}}"#,
            Some(&raw(r#"{"name":"s"}"#)),
        ),
        expect![[
            r#"{"resultType":"complete","content":["resultType"],"_meta":{"a":1,"io.modelcontextprotocol/serverInfo":{"name":"s"}}}"#
        ]],
    );
    let typed = r#"{"resultType":"input_required","requestState":"s"}"#;
    assert_eq!(complete("tools/call", typed, None), raw(typed));
}

#[test]
fn results_have_kinds() {
    let kinds = [
        r#"{"a":"resultType"}"#,
        r#"{"resultType":"complete"}"#,
        r#"{"resultType":"input_required"}"#,
        r#"{"resultType":"task"}"#,
    ]
    .map(|text| result_kind(&raw(text)));
    assert_eq!(
        kinds,
        [
            ResultKind::Complete,
            ResultKind::Complete,
            ResultKind::InputRequired,
            ResultKind::Task
        ]
    );
    assert_eq!(
        result_kind(&raw(r#"{"resultType":"later"}"#)),
        ResultKind::Unknown("later".into())
    );
    assert_eq!(
        result_kind(&raw(r#"{"resultType":1}"#)),
        ResultKind::Unknown("1".into())
    );
}

#[test]
fn error_codes_follow_the_era() {
    let error = |code, data: &str| ErrorObject::new(code, "m").with_data(raw(data));
    let legacy = |method, revision, error| error_for_legacy(method, revision, error).code;
    let latest = Revision::V2025_11_25;
    assert_eq!(
        legacy(
            "resources/read",
            latest,
            error(codes::INVALID_PARAMS, r#"{"uri":"a:b"}"#)
        ),
        -32002
    );
    assert_eq!(
        legacy("resources/read", latest, error(codes::INVALID_PARAMS, "{}")),
        -32602
    );
    assert_eq!(
        legacy(
            "tools/call",
            latest,
            error(codes::INVALID_PARAMS, r#"{"uri":1}"#)
        ),
        -32602
    );
    assert_eq!(
        legacy("tools/call", latest, error(codes::MISSING_CAPABILITY, "{}")),
        -32600
    );
    assert_eq!(
        legacy(
            "tools/call",
            latest,
            error(codes::URL_ELICITATION_REQUIRED, "{}")
        ),
        -32042
    );
    assert_eq!(
        legacy(
            "tools/call",
            Revision::V2025_06_18,
            error(codes::URL_ELICITATION_REQUIRED, "{}")
        ),
        -32600
    );
    assert_eq!(legacy("tools/call", latest, error(-31999, "{}")), -31999);
    assert_eq!(
        error_for_modern(error(codes::RESOURCE_NOT_FOUND, r#"{"uri":"a:b"}"#)),
        error(-32602, r#"{"uri":"a:b"}"#)
    );
    assert_eq!(
        error_for_modern(error(codes::URL_ELICITATION_REQUIRED, "{}")).code,
        -32021
    );
}

#[test]
fn input_required_round_trips() {
    let text = r#"{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"m"}},"b":{"method":"roots/list"}},"requestState":"opaque","_meta":{"x":1}}"#;
    let parsed = InputRequired::parse(&raw(text)).expect("well formed");
    assert_eq!(parsed.to_raw(), raw(text));
    assert_eq!(
        parsed.requests[1].1,
        InputRequest {
            method: "roots/list".into(),
            params: None
        }
    );

    let mut params = object(r#"{"name":"t"}"#);
    let answers = InputAnswers {
        responses: object(r#"{"a":{"action":"accept"}}"#),
        request_state: Some("opaque".into()),
    };
    put_input_answers(&mut params, &answers);
    check_text(
        &params.to_raw(),
        expect![[
            r#"{"name":"t","inputResponses":{"a":{"action":"accept"}},"requestState":"opaque"}"#
        ]],
    );
    assert_eq!(take_input_answers(&mut params), Ok(Some(answers)));
    assert_eq!(take_input_answers(&mut params), Ok(None));

    for malformed in [
        r#"{"resultType":"input_required"}"#,
        r#"{"inputRequests":[]}"#,
        r#"{"inputRequests":{"a":{"method":"tools/call"}}}"#,
        r#"{"inputRequests":{"a":{"method":"roots/list","params":1}}}"#,
        r#"{"requestState":1}"#,
    ] {
        assert!(
            InputRequired::parse(&raw(malformed)).is_err(),
            "{malformed}"
        );
    }
    assert!(take_input_answers(&mut object(r#"{"inputResponses":1}"#)).is_err());
}

#[test]
fn elicitation_follows_the_revision() {
    let form = raw(r#"{"mode":"form","message":"m","requestedSchema":{}}"#);
    let url = raw(r#"{"mode":"url","message":"m","url":"https://x"}"#);
    let legacy = |params: &Raw, revision| {
        elicit_for_legacy(Some(params), revision, "e1").map(|params| params.unwrap().to_string())
    };
    assert_eq!(
        legacy(&form, Revision::V2025_06_18).unwrap(),
        r#"{"message":"m","requestedSchema":{}}"#
    );
    assert_eq!(
        legacy(&form, Revision::V2025_11_25).unwrap(),
        form.to_string()
    );
    assert_eq!(
        legacy(&url, Revision::V2025_11_25).unwrap(),
        r#"{"mode":"url","message":"m","url":"https://x","elicitationId":"e1"}"#
    );
    assert!(legacy(&url, Revision::V2025_06_18).is_err());
    assert!(legacy(&form, Revision::V2025_03_26).is_err());
    let (modern, id) = elicit_for_modern(Some(&raw(
        r#"{"mode":"url","elicitationId":"e1","url":"https://x","message":"m"}"#,
    )));
    assert_eq!(
        (modern.unwrap().as_text(), id.as_deref()),
        (
            r#"{"mode":"url","url":"https://x","message":"m"}"#,
            Some("e1")
        )
    );

    let error = ErrorObject::new(codes::URL_ELICITATION_REQUIRED, "m")
        .with_data(raw(r#"{"elicitations":[{"mode":"url","elicitationId":"e2","url":"https://y","message":"open"}]}"#));
    let asked = url_elicitations(&error).expect("one elicitation");
    assert_eq!(asked[0].elicitation_id.as_ref(), "e2");
    assert_eq!(
        asked[0].request.params,
        Some(raw(r#"{"mode":"url","url":"https://y","message":"open"}"#))
    );
    assert_eq!(url_elicitations(&ErrorObject::new(-32602, "m")), None);
}

#[test]
fn tasks_have_two_shapes() {
    let legacy = r#"{"task":{"taskId":"t","status":"working","statusMessage":"m","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:01Z","ttl":60000,"pollInterval":500,"vendor":1}}"#;
    let modern = r#"{"resultType":"task","taskId":"t","status":"working","statusMessage":"m","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:01Z","ttlMs":60000,"pollIntervalMs":500,"vendor":1}"#;
    let task = Task::parse(&raw(legacy)).expect("legacy");
    assert_eq!(Task::parse(&raw(modern)), Ok(task.clone()));
    assert_eq!(task.to_legacy_created(), raw(legacy));
    assert_eq!(task.to_modern_created(), raw(modern));
    let forever =
        Task::parse(&raw(r#"{"taskId":"t","status":"cancelled","ttlMs":null}"#)).expect("flat");
    assert_eq!(
        forever.to_legacy().to_raw().as_text(),
        r#"{"taskId":"t","status":"cancelled","ttl":null}"#
    );
    assert!(Task::parse(&raw(r#"{"taskId":"t","status":"napping"}"#)).is_err());
    assert!(Task::parse(&raw(r#"{"status":"working"}"#)).is_err());
}

#[test]
fn tasks_have_outcomes() {
    let cases = [
        r#"{"resultType":"complete","taskId":"t","status":"working","ttlMs":null}"#,
        r#"{"resultType":"complete","taskId":"t","status":"input_required","ttlMs":null,"inputRequests":{"k":{"method":"roots/list"}}}"#,
        r#"{"resultType":"complete","taskId":"t","status":"completed","ttlMs":null,"result":{"content":[],"isError":true}}"#,
        r#"{"resultType":"complete","taskId":"t","status":"failed","ttlMs":null,"error":{"code":-32603,"message":"m"}}"#,
    ];
    for text in cases {
        let mut task = Task::parse(&raw(text)).expect("a task");
        let outcome = task_outcome(&mut task).expect("an outcome");
        assert_eq!(task.to_modern_detailed(&outcome), raw(text));
    }
    for text in [
        r#"{"taskId":"t","status":"completed"}"#,
        r#"{"taskId":"t","status":"failed","error":1}"#,
    ] {
        assert!(task_outcome(&mut Task::parse(&raw(text)).expect("a task")).is_err());
    }
}

/// A member of a result: vendor names, and names that mean something elsewhere.
fn member() -> impl Strategy<Value = (&'static str, &'static str)> {
    let names = vec![
        "content",
        "structuredContent",
        "ttl",
        "x/y",
        "task",
        "isError",
        "inputRequests",
        "requestState",
        "taskId",
        "status",
    ];
    let values = vec![
        "1.0",
        "null",
        r#"{"resultType":"x","ttlMs":1}"#,
        r#"[{"_meta":{}}]"#,
        r#""\u00e9""#,
        "18446744073709551615",
        r#""working""#,
    ];
    (prop::sample::select(names), prop::sample::select(values))
}

proptest! {
    /// What a modern client is sent for a legacy result reads, made legacy again, as it was.
    #[test]
    fn eras_and_back_change_nothing(members in prop::collection::vec(member(), 0..6), list: bool, named: bool) {
        let result = members.into_iter().map(|(name, value)| (name, raw(value))).collect::<Object>().to_raw();
        let method = if list { "tools/list" } else { "tools/call" };
        let info = raw(r#"{"name":"s"}"#);
        let modern = complete_result_for_modern(method, &result, CacheHint::NONE, named.then_some(&info));
        prop_assert_eq!(result_kind(&modern), ResultKind::Complete);
        prop_assert_eq!(strip_result_for_legacy(method, &modern), result);
    }

    /// Whatever a server sends, reading it is an answer or an error, never a panic.
    #[test]
    fn shapes_never_panic(members in prop::collection::vec(member(), 0..6)) {
        let result = members.into_iter().map(|(name, value)| (name, raw(value))).collect::<Object>().to_raw();
        drop(InputRequired::parse(&result));
        if let Ok(mut task) = Task::parse(&result) {
            drop(task_outcome(&mut task));
        }
        let error = ErrorObject::new(codes::URL_ELICITATION_REQUIRED, "m").with_data(result);
        drop(url_elicitations(&error));
    }
}
