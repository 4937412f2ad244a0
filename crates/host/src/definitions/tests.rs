use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use legation_gate::ListKind;
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::revision::Revision;
use tokio::sync::Barrier;

use super::{Bounds, Definitions, Item, List, fetch, fetch_all};
use crate::port::{About, AskKey, CallEvent, Exchange, ListenWish, Order, Port};
use crate::testing::raw;

type Pages = dyn Fn(usize, &Order) -> Result<Raw, ErrorObject> + Send + Sync;

/// A server whose lists are a function of how often they were asked for.
struct Paged {
    pages: Box<Pages>,
    asked: AtomicUsize,
}

struct Page(Option<Result<Raw, ErrorObject>>);

impl std::fmt::Debug for Paged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Paged")
    }
}

impl Port for Paged {
    fn open(&self, order: Order) -> Box<dyn Exchange> {
        let page = self.asked.fetch_add(1, Ordering::SeqCst);
        Box::new(Page(Some((self.pages)(page, &order))))
    }

    fn notify(&self, _: &'static str, _: Option<Raw>) {}

    fn listen(&self, _: ListenWish) {}

    fn answer(&self, _: AskKey, _: Result<Raw, ErrorObject>) {}

    fn stop(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl Exchange for Page {
    fn next(&mut self) -> BoxFuture<'_, CallEvent> {
        let page = self.0.take().expect("asked once");
        Box::pin(std::future::ready(CallEvent::Done(page)))
    }

    fn answer(&mut self, _: AskKey, _: Result<Raw, ErrorObject>) {}
}

fn paged(
    pages: impl Fn(usize, &Order) -> Result<Raw, ErrorObject> + Send + Sync + 'static,
) -> Paged {
    Paged {
        pages: Box::new(pages),
        asked: AtomicUsize::new(0),
    }
}

const BOUNDS: Bounds = Bounds {
    items_max: 10_000,
    modern: false,
};

async fn read(server: &Paged, kind: ListKind, bounds: Bounds) -> (List, Vec<String>) {
    let mut warnings = Vec::new();
    let allow = |tool: &str| tool != "secret";
    let list = fetch(server, kind, &allow, bounds, &mut warnings).await;
    (list.expect("a list"), warnings)
}

fn names(list: &List) -> Vec<&str> {
    list.items().iter().map(|item| &*item.name).collect()
}

#[test]
fn a_change_in_any_member_is_a_change() {
    let item = |text: &str| Item::read(ListKind::Tools, raw(text)).expect("a tool");
    let first = item(r#"{"name":"a","description":"x","annotations":{"readOnlyHint":true}}"#);
    for changed in [
        r#"{"name":"a","description":"y","annotations":{"readOnlyHint":true}}"#,
        r#"{"name":"a","description":"x","annotations":{"readOnlyHint":false}}"#,
        r#"{"name":"a","description":"x"}"#,
        r#"{"name":"a","description":"x","annotations":{"readOnlyHint":true},"outputSchema":{}}"#,
        r#"{"name":"a","description":"x","annotations":{"readOnlyHint":true},"vendor/x":1}"#,
    ] {
        assert_ne!(item(changed).hash, first.hash, "{changed}");
    }
    assert_eq!(item(first.raw.as_text()).hash, first.hash);
}

#[tokio::test]
async fn pages_are_read_in_order_and_bad_entries_left_out() {
    let server = paged(|page, order| {
        let cursor = order.params.get("cursor").map(ToString::to_string);
        assert_eq!(cursor, (page > 0).then(|| format!("\"c{}\"", page - 1)));
        Ok(raw(match page {
            0 => r#"{"tools":[{"name":"b"},{"x":1},7,{"name":""}],"nextCursor":"c0"}"#,
            1 => {
                r#"{"tools":[{"name":"a"},{"name":"b","again":1},{"name":"secret"}],"nextCursor":"c1"}"#
            }
            _ => r#"{"tools":[{"name":"c"}],"nextCursor":null}"#,
        }))
    });
    let (list, warnings) = read(&server, ListKind::Tools, BOUNDS).await;
    assert_eq!(names(&list), ["b", "a", "c"]);
    assert_eq!(
        list.get("b").map(|item| item.raw.to_string()).as_deref(),
        Some(r#"{"name":"b"}"#)
    );
    assert_eq!(
        warnings,
        [
            "tools/list has 3 entries without a name; they were left out",
            "tools/list names 1 entries more than once, of which the first counts: \"b\"",
        ]
    );
}

#[tokio::test]
async fn endless_lists_end() {
    let repeats = paged(|_, _| Ok(raw(r#"{"tools":[{"name":"a"}],"nextCursor":"same"}"#)));
    let (list, warnings) = read(&repeats, ListKind::Tools, BOUNDS).await;
    assert_eq!(
        (names(&list), warnings[0].contains("same cursor twice")),
        (vec!["a"], true)
    );

    let endless = paged(|page, _| Ok(raw(&format!(r#"{{"tools":[],"nextCursor":"c{page}"}}"#))));
    let (_, warnings) = read(&endless, ListKind::Tools, BOUNDS).await;
    assert!(warnings[0].contains("1000 pages"), "{warnings:?}");
    assert_eq!(endless.asked.load(Ordering::SeqCst), 1_000);

    let many = paged(|_, _| {
        let tools: Vec<String> = (0..12_000)
            .map(|n| format!(r#"{{"name":"t{n}"}}"#))
            .collect();
        Ok(raw(&format!(r#"{{"tools":[{}]}}"#, tools.join(","))))
    });
    let (list, warnings) = read(&many, ListKind::Tools, BOUNDS).await;
    assert_eq!(list.items().len(), 10_000);
    assert!(
        warnings[0].contains("more than 10000 entries"),
        "{warnings:?}"
    );

    let long = paged(|page, _| {
        let text = "x".repeat(3 << 20);
        Ok(raw(&format!(
            r#"{{"tools":[{{"name":"t{page}","d":"{text}"}}],"nextCursor":"c{page}"}}"#
        )))
    });
    let (list, warnings) = read(&long, ListKind::Tools, BOUNDS).await;
    assert_eq!(list.items().len(), 10);
    assert!(warnings[0].contains("32 MiB"), "{warnings:?}");
}

#[tokio::test]
async fn a_server_without_templates_has_an_empty_list_of_them() {
    let server = paged(|_, order| match order.method {
        "resources/list" => Ok(raw(r#"{"resources":[{"uri":"a://b"}]}"#)),
        _ => Err(ErrorObject::new(codes::METHOD_NOT_FOUND, "no")),
    });
    let about = About {
        revision: Revision::V2025_06_18,
        capabilities: Object::new().with("resources", Raw::empty_object()),
        server_info: None,
        instructions: None,
    };
    let (definitions, warnings) = fetch_all(&server, about, &|_| true, 10)
        .await
        .expect("definitions");
    assert_eq!(names(definitions.list(ListKind::Resources)), ["a://b"]);
    assert!(definitions.list(ListKind::Templates).items().is_empty() && warnings.is_empty());

    let mut warnings = Vec::new();
    let refused = fetch(&server, ListKind::Prompts, &|_| true, BOUNDS, &mut warnings).await;
    let error = refused.expect_err("no prompts").to_string();
    assert!(error.contains("prompts/list"), "{error}");
    let shapeless = paged(|_, _| Ok(raw(r#"{"tools":{}}"#)));
    let none = fetch(
        &shapeless,
        ListKind::Tools,
        &|_| true,
        BOUNDS,
        &mut warnings,
    )
    .await;
    assert!(none.expect_err("no list").to_string().contains("\"tools\""));
}

#[tokio::test]
async fn a_modern_tool_with_illegal_header_declarations_is_left_out() {
    let schema = |header: &str| {
        format!(
            r#"{{"name":"{}","inputSchema":{{"type":"object","properties":{{"a":{{"type":"string","x-mcp-header":"{header}"}}}}}}}}"#,
            if header == "Region" { "good" } else { "bad" }
        )
    };
    let tools = format!(
        r#"{{"tools":[{},{}]}}"#,
        schema("Region"),
        schema("not a header")
    );
    let server = paged(move |_, _| Ok(raw(&tools)));
    let modern = Bounds {
        modern: true,
        ..BOUNDS
    };
    let (list, warnings) = read(&server, ListKind::Tools, modern).await;
    assert_eq!(names(&list), ["good"]);
    assert!(list.get("good").is_some_and(|tool| tool.declared.is_some()));
    assert!(warnings[0].contains("\"bad\""), "{warnings:?}");
    let (list, _) = read(&server, ListKind::Tools, BOUNDS).await;
    assert_eq!(
        names(&list),
        ["good", "bad"],
        "a legacy server means nothing by it"
    );
}

#[test]
fn definitions_survive_the_store() {
    let about = About {
        revision: Revision::V2026_07_28,
        capabilities: raw(r#"{"tools":{},"v":{"n":1.0}}"#)
            .to_object()
            .expect("an object"),
        server_info: Some(raw(r#"{"name":"x"}"#)),
        instructions: Some("say\n\"hi\"".to_owned()),
    };
    let mut definitions = Definitions::new(about);
    let mut tools = List::default();
    let tool = raw(
        r#"{"name":"t", "annotations":{"readOnlyHint":true},"execution":{"taskSupport":"required"}}"#,
    );
    tools.push(Item::read(ListKind::Tools, tool).expect("a tool"));
    definitions.set(ListKind::Tools, tools);
    let again = Definitions::from_raw(&definitions.to_raw()).expect("readable");
    assert_eq!(again.about, definitions.about);
    assert!(again.differences(&definitions).is_empty());
    let tool = again.list(ListKind::Tools).get("t").expect("there");
    assert!(tool.read_only_hint && tool.task_support == super::TaskSupport::Required);
    assert!(Definitions::from_raw(&raw(r#"{"revision":"1999-01-01"}"#)).is_none());
    assert!(Arc::new(again).declares(ListKind::Tools));
}

#[tokio::test]
async fn skills_are_read_page_by_page_and_bad_ones_left_out() {
    let pages = [
        r#"{"skills":[{"uri":"skill://a/SKILL.md","frontmatter":{"name":"a","description":"d"},"resources":"dynamic"},{"uri":"skill://b/SKILL.md"}],"nextCursor":"2"}"#,
        r#"{"skills":[{"uri":"skill://c/SKILL.md","frontmatter":{"name":"c","description":"d"},"resources":[{"uri":"skill://c/SKILL.md"},{"uri":"skill://a/x.md"}]}]}"#,
    ];
    let server = paged(move |page, order| {
        assert_eq!(order.method, "skills/list");
        Ok(raw(pages[page]))
    });
    let (list, warnings) = read(&server, ListKind::Skills, BOUNDS).await;
    assert_eq!(names(&list), ["skill://a/SKILL.md"]);
    assert!(warnings[0].contains("skill://b/SKILL.md"), "{warnings:?}");
    assert!(warnings[1].contains("outside"), "{warnings:?}");
    // One that declares skills and refuses to say which keeps what else it has.
    let refuses = paged(|_, _| Err(ErrorObject::new(codes::METHOD_NOT_FOUND, "what?")));
    let (list, warnings) = read(&refuses, ListKind::Skills, BOUNDS).await;
    assert_eq!((names(&list).len(), warnings.len()), (0, 1));
}

#[test]
fn skills_are_remembered_and_older_memories_have_none() {
    let about = About {
        revision: Revision::V2026_07_28,
        capabilities: Object::new(),
        server_info: None,
        instructions: None,
    };
    let mut definitions = Definitions::new(about);
    let older = definitions.to_raw().to_object().expect("an object");
    let mut list = List::default();
    let skill = r#"{"uri":"skill://a/SKILL.md","x":1.0}"#;
    assert!(list.push(Item::read(ListKind::Skills, raw(skill)).expect("a skill")));
    definitions.set(ListKind::Skills, list);
    let again = Definitions::from_raw(&definitions.to_raw()).expect("definitions");
    let kept = again.list(ListKind::Skills).get("skill://a/SKILL.md");
    assert_eq!(kept.map(|item| item.raw.as_text()), Some(skill));
    let mut before = older;
    before.remove("skills");
    let before = Definitions::from_raw(&before.to_raw()).expect("definitions");
    assert!(before.list(ListKind::Skills).items().is_empty());
    // What every memory has is still asked for.
    let mut broken = before.to_raw().to_object().expect("an object");
    broken.remove("tools");
    assert!(Definitions::from_raw(&broken.to_raw()).is_none());
}

/// A server that answers nothing before it was asked for as many lists as it has.
struct Together(Arc<Barrier>);

struct Waiting(Arc<Barrier>, Raw);

impl std::fmt::Debug for Together {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Together")
    }
}

impl Port for Together {
    fn open(&self, order: Order) -> Box<dyn Exchange> {
        let member = order.method.trim_end_matches("/list");
        let answer = Raw::from_serialize(&serde_json::json!({ member: [] }));
        Box::new(Waiting(Arc::clone(&self.0), answer))
    }

    fn notify(&self, _: &'static str, _: Option<Raw>) {}

    fn listen(&self, _: ListenWish) {}

    fn answer(&self, _: AskKey, _: Result<Raw, ErrorObject>) {}

    fn stop(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl Exchange for Waiting {
    fn next(&mut self) -> BoxFuture<'_, CallEvent> {
        Box::pin(async {
            self.0.wait().await;
            CallEvent::Done(Ok(self.1.clone()))
        })
    }

    fn answer(&mut self, _: AskKey, _: Result<Raw, ErrorObject>) {}
}

#[tokio::test]
async fn lists_are_asked_for_all_at_once() {
    let server = Together(Arc::new(Barrier::new(2)));
    let capabilities = Object::new().with("tools", Raw::empty_object());
    let about = About {
        revision: Revision::V2025_06_18,
        capabilities: capabilities.with("prompts", Raw::empty_object()),
        server_info: None,
        instructions: None,
    };
    let all = fetch_all(&server, about, &|_| true, 10).await;
    let (definitions, warnings) = all.expect("both lists");
    assert!(definitions.list(ListKind::Tools).items().is_empty());
    assert!(warnings.is_empty(), "{warnings:?}");
}
