//! The table, the router and the document are one.

use std::collections::BTreeSet;

use super::super::route::Verb;
use super::super::*;
use super::fake::{Fake, request, send};

async fn document() -> Value {
    let fake = Fake::with(&[]);
    let got = send(&fake.rest(), "GET /openapi.json", &[], "").await;
    assert_eq!(got.status, 200);
    got.body
}

#[test]
fn no_two_routes_are_the_same() {
    let routes = table::routes();
    let mut ids = BTreeSet::new();
    let mut places = BTreeSet::new();
    for route in &routes {
        assert!(ids.insert((route.tag, route.id)), "{}", route.id);
        assert!(
            places.insert((route.verb.as_str(), route.path)),
            "{}",
            route.path
        );
        assert!(
            route.path.starts_with('/') && !route.path.ends_with('/'),
            "{}",
            route.path
        );
        assert!(route.summary.ends_with('.'), "{}", route.summary);
    }
}

#[tokio::test]
async fn the_document_shows_every_route_that_leads_somewhere_and_no_other() {
    let document = document().await;
    let routes = table::routes();
    let desk = ["deals_list", "deal_detail", "mail_move"];
    let mut shown = 0;
    for route in &routes {
        let operation = &document["paths"][route.path][route.verb.as_str()];
        let there = match &route.act {
            Act::Tool(tool) => desk.contains(tool),
            _ => true,
        };
        assert_eq!(
            operation.is_object(),
            there,
            "{} {}",
            route.verb.as_str(),
            route.path
        );
        shown += usize::from(there);
        // What is shown is what a request finds.
        let path = route.path.replace(['{', '}'], "");
        let method = match route.verb {
            Verb::Get => Method::GET,
            Verb::Post => Method::POST,
            Verb::Delete => Method::DELETE,
        };
        match route::find(&routes, &method, &path) {
            Found::Route(found, _) => assert_eq!(found.path, route.path),
            other => panic!("{path}: {other:?}"),
        }
    }
    let operations: usize = document["paths"]
        .as_object()
        .expect("paths")
        .values()
        .map(|path| path.as_object().expect("operations").len())
        .sum();
    assert_eq!(operations, shown);
}

/// Every reference leads somewhere, and every parameter of a path is described.
#[tokio::test]
async fn the_document_is_whole() {
    let document = document().await;
    let mut references = Vec::new();
    collect(&document, &mut references);
    assert!(references.len() > 50, "{}", references.len());
    for reference in references {
        let place = reference.strip_prefix('#').expect("in the document");
        assert!(document.pointer(place).is_some(), "{reference}");
    }
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for (verb, operation) in operations.as_object().expect("operations") {
            let described: BTreeSet<&str> = operation["parameters"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|one| one["in"] == "path")
                .filter_map(|one| one["name"].as_str())
                .collect();
            let named: BTreeSet<&str> = path
                .split('/')
                .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
                .collect();
            assert_eq!(described, named, "{verb} {path}");
            let body = operation.get("requestBody").is_some();
            assert_eq!(body, verb == "post", "{verb} {path}");
        }
    }
}

fn collect<'v>(value: &'v Value, references: &mut Vec<&'v str>) {
    match value {
        Value::Object(object) => {
            references.extend(object.get("$ref").and_then(Value::as_str));
            object.values().for_each(|value| collect(value, references));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, references)),
        _ => {}
    }
}

#[tokio::test]
async fn strangers_and_wrong_methods_are_told_so() {
    let fake = Fake::with(&[]);
    let rest = fake.rest();
    let cases = [
        ("PUT /api/v1/servers", "GET, HEAD"),
        ("GET /deals/create", "POST"),
        ("OPTIONS /ops/llm-provider", "GET, HEAD, POST"),
        ("PATCH /api/v1/grants/1", "DELETE"),
    ];
    for (line, allowed) in cases {
        let got = send(&rest, line, &[], "").await;
        assert_eq!(got.status, 405, "{line}");
        assert_eq!(got.headers["allow"], allowed, "{line}");
    }
    for nowhere in [
        "GET /",
        "GET /deals",
        "GET /deals//timeline",
        "GET /api/v1",
        "GET /deals/a/b/c",
        "GET /deals/%ff",
    ] {
        assert!(
            rest.handle(request(nowhere, &[], "")).is_none(),
            "{nowhere}"
        );
    }
    let mut stranger = request("GET /api/v1/servers", &[], "");
    stranger.caller = Caller::Nobody;
    let answer = rest.handle(stranger).expect("a route").await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    assert!(answer.headers.contains_key("www-authenticate"));
    assert!(fake.asked.lock().expect("whole").is_empty());
}
