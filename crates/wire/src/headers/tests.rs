use expect_test::{Expect, expect};
use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::{ParamHeaders, decode, encode, validate, write};
use crate::json::{Limits, Object, Raw};
use crate::revision::Revision;

fn object(text: &str) -> Object {
    Raw::parse(text.to_owned().into(), &Limits::CLIENT)
        .expect("JSON")
        .to_object()
        .expect("an object")
}

fn declared(schema: &str) -> Result<ParamHeaders, String> {
    let schema = Raw::parse(schema.to_owned().into(), &Limits::CLIENT).expect("JSON");
    ParamHeaders::from_schema(&schema).map_err(|error| error.to_string())
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
const SCHEMA: &str = r#"{"type":"object","properties":{
    "region":{"type":"string","x-mcp-header":"Region"},
    "n":{"type":"integer","x-mcp-header":"N"},
    "deep":{"type":"object","properties":{"flag":{"type":"boolean","x-mcp-header":"Flag"}}},
    "x-mcp-header":{"type":"object"},
    "query":{"type":"string","default":{"x-mcp-header":1}}}}"#;

fn check_build(method: &str, params: &str, expected: Expect) {
    let params = object(&format!("{{{params}{META}}}"));
    let declared = declared(SCHEMA).unwrap();
    let mut text = Vec::new();
    write(&mut text, method, &params, None, Some(&declared));
    let text = String::from_utf8(text).expect("visible ASCII");
    expected.assert_eq(&text.replace("\r\n", "\n"));
    let mut again = Vec::new();
    let revision = Some(Revision::V2026_07_28);
    write(&mut again, method, &params, revision, Some(&declared));
    assert_eq!(
        again,
        text.as_bytes(),
        "the revision may come from elsewhere"
    );
    let map: HeaderMap = text
        .lines()
        .map(|line| {
            let (name, value) = line.split_once(": ").expect("a header line");
            (
                name.parse::<HeaderName>().expect("a name"),
                value.parse::<HeaderValue>().expect("a value"),
            )
        })
        .collect();
    assert_eq!(
        validate(&map, method, Some("2026-07-28"), &params, Some(&declared)),
        Ok(()),
        "what is built is valid"
    );
}

#[test]
fn builds_what_the_body_calls_for() {
    check_build(
        "tools/list",
        "",
        expect![[r#"
        mcp-protocol-version: 2026-07-28
        mcp-method: tools/list
    "#]],
    );
    check_build(
        "resources/read",
        r#""uri":"file:///a%20b?x=é","#,
        expect![[r#"
        mcp-protocol-version: 2026-07-28
        mcp-method: resources/read
        mcp-name: =?base64?ZmlsZTovLy9hJTIwYj94PcOp?=
    "#]],
    );
    check_build(
        "tasks/get",
        r#""taskId":"t-1","#,
        expect![[r#"
        mcp-protocol-version: 2026-07-28
        mcp-method: tasks/get
        mcp-name: t-1
    "#]],
    );
    check_build(
        "tools/call",
        r#""name":"my-tool","arguments":{"region":"us west 1","n":4.2e1,"deep":{"flag":false},"query":"q"},"#,
        expect![[r#"
            mcp-protocol-version: 2026-07-28
            mcp-method: tools/call
            mcp-name: my-tool
            mcp-param-region: us west 1
            mcp-param-n: 42
            mcp-param-flag: false
        "#]],
    );
    check_build(
        "tools/call",
        r#""name":"t","arguments":{"region":"","n":null},"#,
        expect![[r#"
        mcp-protocol-version: 2026-07-28
        mcp-method: tools/call
        mcp-name: t
        mcp-param-region: 
    "#]],
    );
}

#[test]
fn encodes_as_the_specification_shows() {
    let cases = [
        ("us-west1", "us-west1"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("\tindented", "=?base64?CWluZGVudGVk?="),
        ("=?base64?half", "=?base64?half"),
        ("", ""),
    ];
    for (text, value) in cases {
        assert_eq!(encode(text), value);
        assert_eq!(decode(value).as_deref(), Some(text));
    }
    for malformed in [
        "=?base64?SGVsbG8?=",
        "=?base64?SGVs!!!bG8=?=",
        "=?base64?/w==?=",
    ] {
        assert_eq!(decode(malformed), None, "{malformed}");
    }
}

/// Headers to replace (or, with none, to leave out) in a request that is otherwise right.
type Change<'a> = &'a [(&'a str, Option<&'a str>)];

fn verdict(change: Change<'_>) -> String {
    let params = object(&format!(
        r#"{{"name":"tööl","arguments":{{"region":"eu","n":7}},{META}}}"#
    ));
    let good: &[(&str, &str)] = &[
        ("mcp-protocol-version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "=?base64?dMO2w7Zs?="),
        ("Mcp-Param-Region", " =?base64?ZXU=?= "),
        ("Mcp-Param-N", "7.0"),
        ("Mcp-Param-Unknown", "ignored"),
    ];
    let kept = good.iter().filter(|(name, _)| {
        !change
            .iter()
            .any(|(changed, _)| name.eq_ignore_ascii_case(changed))
    });
    let added = change
        .iter()
        .filter_map(|(name, value)| Some((*name, (*value)?)));
    let mut map = HeaderMap::new();
    for (name, value) in kept.copied().chain(added) {
        let value = http::HeaderValue::from_bytes(value.as_bytes()).unwrap();
        map.append(name.parse::<http::HeaderName>().unwrap(), value);
    }
    match validate(
        &map,
        "tools/call",
        Some("2026-07-28"),
        &params,
        Some(&declared(SCHEMA).unwrap()),
    ) {
        Ok(()) => "fine".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn refuses_headers_that_differ_from_the_body() {
    assert_eq!(verdict(&[]), "fine");
    let cases: &[(Change<'_>, &str)] = &[
        (
            &[("mcp-protocol-version", None)],
            "mcp-protocol-version is missing",
        ),
        (
            &[("mcp-protocol-version", Some("2025-11-25"))],
            "mcp-protocol-version does not match the body",
        ),
        (&[("mcp-method", None)], "mcp-method is missing"),
        (
            &[("mcp-method", Some("TOOLS/CALL"))],
            "mcp-method does not match the body",
        ),
        (&[("mcp-name", None)], "mcp-name is missing"),
        (
            &[("mcp-name", Some("other"))],
            "mcp-name does not match the body",
        ),
        (
            &[("mcp-name", Some("t\u{f6}\u{f6}l"))],
            "mcp-name has a malformed value",
        ),
        (
            &[
                ("mcp-name", Some("=?base64?dMO2w7Zs?=")),
                ("mcp-name", Some("a")),
            ],
            "mcp-name is repeated",
        ),
        (&[("mcp-param-region", None)], "mcp-param-region is missing"),
        (
            &[("mcp-param-region", Some("=?base64?ZXU?="))],
            "mcp-param-region has a malformed value",
        ),
        (
            &[("mcp-param-n", Some("8"))],
            "mcp-param-n does not match the body",
        ),
        (
            &[("mcp-param-flag", Some("true"))],
            "mcp-param-flag is sent, but the body has no such value",
        ),
    ];
    for (change, expected) in cases {
        assert_eq!(verdict(change), format!("header mismatch: {expected}"));
    }
}

#[test]
fn refuses_illegal_declarations() {
    let property = |property: &str| {
        declared(&format!(
            r#"{{"type":"object","properties":{{"p":{property}}}}}"#
        ))
    };
    let cases = [
        (
            r#"{"type":"string","x-mcp-header":""}"#,
            r#"x-mcp-header at "p": not a header name"#,
        ),
        (
            r#"{"type":"string","x-mcp-header":7}"#,
            r#"x-mcp-header at "p": not a header name"#,
        ),
        (
            r#"{"type":"string","x-mcp-header":"My Region"}"#,
            r#"x-mcp-header at "p": not a header name"#,
        ),
        (
            r#"{"type":"string","x-mcp-header":"A:B"}"#,
            r#"x-mcp-header at "p": not a header name"#,
        ),
        (
            r#"{"type":"string","x-mcp-header":"Région"}"#,
            r#"x-mcp-header at "p": not a header name"#,
        ),
        (
            r#"{"type":"string","x-mcp-header":"A\r\nB"}"#,
            r#"x-mcp-header at "p": not a header name"#,
        ),
        (
            r#"{"type":"number","x-mcp-header":"A"}"#,
            r#"x-mcp-header at "p": only strings, integers and booleans can be mirrored"#,
        ),
        (
            r#"{"type":"array","x-mcp-header":"A"}"#,
            r#"x-mcp-header at "p": only strings, integers and booleans can be mirrored"#,
        ),
        (
            r#"{"x\u002dmcp-header":"A"}"#,
            r#"x-mcp-header at "p": only strings, integers and booleans can be mirrored"#,
        ),
        (
            r#"{"type":"array","items":{"type":"string","x-mcp-header":"A"}}"#,
            r#"x-mcp-header at "p/items": not reachable from the root through properties alone"#,
        ),
        (
            r#"{"anyOf":[{"properties":{"q":{"type":"string","x-mcp-header":"A"}}}]}"#,
            r#"x-mcp-header at "p/anyOf/q": not reachable from the root through properties alone"#,
        ),
        (
            r##"{"$ref":"#/$defs/d","$defs":{"d":{"type":"string","x-mcp-header":"A"}}}"##,
            r#"x-mcp-header at "p/d": not reachable from the root through properties alone"#,
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(property(schema), Err(expected.to_owned()), "{schema}");
    }
    let twice = r#"{"properties":{"a":{"type":"string","x-mcp-header":"Ab"},"b":{"type":"string","x-mcp-header":"aB"}}}"#;
    assert_eq!(
        declared(twice),
        Err(r#"x-mcp-header at "b": the name is used twice"#.to_owned())
    );
    let root = r#"{"type":"string","x-mcp-header":"A"}"#;
    assert_eq!(
        declared(root),
        Err(
            r#"x-mcp-header at "": not reachable from the root through properties alone"#
                .to_owned()
        )
    );
    assert!(declared(r#"{"type":"object"}"#).unwrap().is_empty());
}

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const OTHER: &str = "00-11111111111111111111111111111111-2222222222222222-00";

/// The parameters after a request's head was taken into them, where that changed something.
fn taken_in(params: &str, head: &[(&str, &str)]) -> Option<String> {
    let mut fields = HeaderMap::new();
    for (name, value) in head {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
        fields.append(name, HeaderValue::from_str(value).expect("a value"));
    }
    let mut params = object(params);
    let before = params.to_raw();
    let changed = super::trace::take_in(&mut params, &fields);
    assert_eq!(changed, params.to_raw() != before);
    changed.then(|| params.to_raw().as_text().to_owned())
}

#[test]
fn what_a_head_says_of_its_trace_stands_in_the_parameters() {
    let parent = ("traceparent", PARENT);
    let with = |meta: &str| Some(format!(r#"{{"_meta":{{{meta}}}}}"#));
    let said = format!(r#""traceparent":"{PARENT}""#);
    let own = format!(r#"{{"_meta":{{"traceparent":"{OTHER}"}}}}"#);
    let long = "a=".to_owned() + &"b".repeat(511);
    for (params, head, wanted) in [
        ("{}", vec![], None),
        ("{}", vec![parent], with(&said)),
        (
            "{}",
            vec![parent, ("tracestate", "a=1")],
            with(&format!(r#"{said},"tracestate":"a=1""#)),
        ),
        (
            "{}",
            vec![
                ("tracestate", "a=1"),
                ("Traceparent", PARENT),
                ("tracestate", "b=2, c=3"),
            ],
            with(&format!(r#"{said},"tracestate":"a=1,b=2, c=3""#)),
        ),
        (
            "{}",
            vec![parent, ("tracestate", long.as_str())],
            with(&said),
        ),
        (
            r#"{"_meta":{"tracestate":"x=1","progressToken":7}}"#,
            vec![parent],
            with(&format!(r#""progressToken":7,{said}"#)),
        ),
        // Alone, doubled or wrong it says nothing, nor against the request itself.
        ("{}", vec![("tracestate", "a=1")], None),
        ("{}", vec![parent, parent], None),
        (
            "{}",
            vec![("traceparent", "00-1-2-3"), ("tracestate", "a=1")],
            None,
        ),
        (own.as_str(), vec![parent, ("tracestate", "a=1")], None),
    ] {
        assert_eq!(taken_in(params, &head), wanted, "{params} {head:?}");
    }
}

#[test]
fn what_the_parameters_say_of_a_trace_stands_in_the_head() {
    let lines = |params: &str| {
        let mut out = Vec::new();
        super::trace::write(&mut out, &object(params));
        String::from_utf8(out).expect("visible ASCII")
    };
    let meta = |parent: &str, state: &str| {
        format!(r#"{{"_meta":{{"traceparent":{parent},"tracestate":{state}}}}}"#)
    };
    let text = |text: &str| format!("\"{text}\"");
    let head = format!("traceparent: {PARENT}\r\n");
    for (params, wanted) in [
        ("{}".to_owned(), String::new()),
        (r#"{"_meta":7}"#.to_owned(), String::new()),
        (meta(&text(PARENT), "null"), head.clone()),
        (
            meta(&text(PARENT), &text("a=1")),
            format!("{head}tracestate: a=1\r\n"),
        ),
        // Nothing ends its line, and nothing stands there without its parent.
        (meta(&text(PARENT), &text(r"a=1\r\nx: 2")), head.clone()),
        (meta(&text(PARENT), &text("")), head),
        (meta(&text(r"00-\r\nx: 1"), &text("a=1")), String::new()),
        (meta("null", &text("a=1")), String::new()),
        (meta("[1]", &text("a=1")), String::new()),
    ] {
        assert_eq!(lines(&params), wanted, "{params}");
    }
}
