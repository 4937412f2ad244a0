//! The roads that arguments and results do not take: each is redacted, or
//! closed, or carries nothing.

use super::redaction::{NAME, context, rules, rules_for_cleared};
use super::*;
use crate::{CallFailure, InputRequired, Retry};

/// A client that can be asked anything, and remembers all it was told.
#[derive(Debug)]
struct Talker {
    capabilities: ClientCapabilities,
    heard: Mutex<Vec<String>>,
    answer: Raw,
}

impl Talker {
    fn answering(answer: &str) -> Arc<Self> {
        Arc::new(Self {
            capabilities: ClientCapabilities {
                sampling: true,
                elicitation_form: true,
                roots: true,
                ..ClientCapabilities::default()
            },
            heard: Mutex::default(),
            answer: Raw::parse(
                answer.to_owned().into(),
                &legation_wire::json::Limits::CLIENT,
            )
            .expect("JSON"),
        })
    }

    fn heard(&self) -> String {
        self.heard.lock().expect("whole").join("\n")
    }

    fn note(&self, text: &str) {
        self.heard.lock().expect("whole").push(text.to_owned());
    }
}

impl Peer for Talker {
    fn revision(&self) -> Revision {
        Revision::V2025_11_25
    }
    fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }
    fn log_level(&self) -> Option<Box<str>> {
        Some("debug".into())
    }
    fn wants_progress(&self) -> bool {
        true
    }
    fn progress(&self, params: Object) {
        self.note(params.to_raw().as_text());
    }
    fn log(&self, params: Raw) {
        self.note(params.as_text());
    }
    fn ask(&self, ask: Ask) -> BoxFuture<'static, Result<Raw, ErrorObject>> {
        self.note(ask.params.as_text());
        std::future::ready(Ok(self.answer.clone())).boxed()
    }
}

fn saying(text: &str) -> Raw {
    Object::new().with("message", Raw::str(text)).to_raw()
}

/// What a server does with a call: it uses every road back, and answers with
/// what it was told.
fn talk(call: Call) -> BoxFuture<'static, Outcome> {
    async move {
        let peer = call.peer;
        let said = saying(&format!("about {NAME}"));
        peer.log(said.clone());
        peer.progress(said.to_object().expect("an object"));
        let mut told = Vec::new();
        for method in ["elicitation/create", "sampling/createMessage", "roots/list"] {
            let ask = Ask {
                method: method.into(),
                params: said.clone(),
            };
            told.push(match peer.ask(ask).await {
                Ok(answer) => answer,
                Err(error) => Raw::str(&format!("refused {}", error.code)),
            });
        }
        let told = Object::new().with("structuredContent", Raw::array(&told));
        Outcome::Complete(told.to_raw())
    }
    .boxed()
}

impl Bench {
    fn acts(&self, act: impl Fn(Call) -> BoxFuture<'static, Outcome> + Send + Sync + 'static) {
        *self.servers.act.lock().expect("whole") = Some(Act(Box::new(act)));
    }

    fn replies(&self, reply: &serde_json::Value) {
        *self.servers.act.lock().expect("whole") = None;
        *self.servers.reply.lock().expect("whole") = Some(Raw::from_serialize(reply));
    }

    fn as_talker(&self, tool: &str, talker: &Arc<Talker>) -> Result<Outcome, Refusal> {
        let mut request = request(tool);
        request.peer = Arc::clone(talker) as Arc<dyn Peer>;
        self.in_seat("a", request)
    }

    fn task(&self, tool: &str, verb: TaskVerb) -> Result<Outcome, Refusal> {
        let handle = TaskHandle::new(format!("of-{tool}"));
        let peer = Arc::new(Nobody::default());
        run(self.gate.task(&context("a"), handle, verb, peer))
    }
}

fn text_of(outcome: Result<Outcome, Refusal>) -> String {
    match outcome {
        Ok(Outcome::Complete(raw)) => raw.as_text().to_owned(),
        other => panic!("a result: {other:?}"),
    }
}

#[test]
fn nothing_passes_on_the_way_of_a_call_to_a_client_that_may_not_read_it() {
    let cases = [
        // Rules, tool, whether the client hears what the server says.
        (rules(), "files-record", false),
        (rules(), "files-ledger", true),
        (rules_for_cleared(), "files-record", true),
    ];
    for (rules, tool, open) in cases {
        let bench = bench(rules);
        bench.acts(talk);
        let talker = Talker::answering(r#"{"action":"accept","content":{"note":"yes"}}"#);
        let told = text_of(bench.as_talker(tool, &talker));
        let heard = talker.heard();
        if open {
            let times = heard.matches(NAME).count();
            assert!(times >= 4, "{tool}: a log, progress and questions: {heard}");
            assert!(!told.contains("refused"), "{told}");
        } else {
            assert_eq!(heard, "", "{tool}");
            assert_eq!(told.matches("refused").count(), 3, "{told}");
        }
    }
}

#[test]
fn a_question_instead_of_a_result_and_a_failure_in_words_are_withheld_from_it() {
    let required = |_: Call| -> BoxFuture<'static, Outcome> {
        let result = Object::new().with("inputRequests", saying(NAME));
        let required = InputRequired {
            result,
            state: None,
        };
        std::future::ready(Outcome::InputRequired(required)).boxed()
    };
    let failed = |_: Call| -> BoxFuture<'static, Outcome> {
        let failure = CallFailure::Protocol {
            server: ServerName::parse("files").expect("a name"),
            reason: NAME.to_owned(),
        };
        std::future::ready(Outcome::Failed(failure)).boxed()
    };
    let error = |_: Call| -> BoxFuture<'static, Outcome> {
        let mut error = ErrorObject::new(-32000, &format!("resident {NAME} is not here"))
            .with_data(saying(NAME));
        error.rest = Object::new().with("detail", Raw::str(NAME));
        std::future::ready(Outcome::Error(error)).boxed()
    };
    let closed = bench(rules());
    let open = bench(rules_for_cleared());
    for step in 0..2 {
        for bench in [&closed, &open] {
            match step {
                0 => bench.acts(required),
                _ => bench.acts(failed),
            }
        }
        let refusal = closed
            .in_seat("a", request("files-record"))
            .expect_err("withheld");
        assert_eq!(refusal.rule(), "clearance.phi");
        assert!(!format!("{refusal:?}{}", refusal.to_error()).contains("Featherstone"));
        let passed = open.in_seat("a", request("files-record")).expect("passed");
        assert!(format!("{passed:?}").contains(NAME), "{passed:?}");
    }
    closed.acts(error);
    let told = closed
        .in_seat("a", request("files-record"))
        .expect("an error, redacted");
    assert!(!format!("{told:?}").contains("Featherstone"), "{told:?}");
    let outcomes = closed.recorded();
    assert!(
        outcomes
            .iter()
            .any(|record| record.contains("outcome - ok")),
        "what was withheld was called: {outcomes:?}"
    );
}

#[test]
fn answers_to_a_server_are_restored_for_their_entity_and_redacted_for_others() {
    let bench = bench(rules_for_cleared());
    // The conversation holds the entity's data, and tokens of it.
    bench.gate.set_rules(rules());
    let (_, token) = bench.record("a").expect("a result");
    bench.gate.set_rules(rules_for_cleared());
    let cases = [
        (token.as_str(), "files-record", NAME),
        (NAME, "files-record", NAME),
        (token.as_str(), "files-ledger", token.as_str()),
        (NAME, "files-ledger", token.as_str()),
    ];
    for (said, tool, got) in cases {
        let content = serde_json::json!({ "resident_name": said });
        let answer = serde_json::json!({
            "action": "accept", "content": content, "_meta": { "note": said }
        });
        // In a retry.
        bench.replies(&serde_json::json!({ "content": [] }));
        let seen = Arc::new(Mutex::new(String::new()));
        let note = Arc::clone(&seen);
        bench.acts(move |call| {
            let retry = call.retry.expect("a retry");
            *note.lock().expect("whole") = retry.responses.to_raw().as_text().to_owned();
            std::future::ready(Outcome::Complete(Raw::empty_object())).boxed()
        });
        let mut request = request(tool);
        request.retry = Some(Retry {
            responses: Object::new().with("who", Raw::from_serialize(&answer)),
            state: None,
        });
        bench.in_seat("a", request).expect("called");
        let retried = seen.lock().expect("whole").clone();
        // Live.
        let talker = Talker::answering(&answer.to_string());
        bench.acts(talk);
        let live = text_of(bench.as_talker(tool, &talker));
        // To a task.
        *bench.servers.act.lock().expect("whole") = None;
        let answers = Object::new().with("who", Raw::from_serialize(&answer));
        bench
            .task(tool, TaskVerb::Update(answers))
            .expect("answered");
        for text in [retried, live, bench.last_seen()] {
            let wanted = format!(r#""resident_name":"{got}""#);
            assert!(text.contains(&wanted), "{tool} {said}: {wanted} in {text}");
            let stays = tool == "files-record";
            assert_eq!(text.contains("Featherstone"), stays, "{tool}: {text}");
        }
    }
}

#[test]
fn completions_prompts_and_meta_go_the_same_road() {
    let bench = bench(rules());
    let (_, token) = bench.record("a").expect("a result");
    let seen = Arc::new(Mutex::new(String::new()));
    let note = Arc::clone(&seen);
    let result = format!(r#"{{"completion":{{"values":["{NAME}"],"hasMore":false}}}}"#);
    let limits = legation_wire::json::Limits::CLIENT;
    let result = Raw::parse(result.into(), &limits).expect("JSON");
    bench.acts(move |call| {
        *note.lock().expect("whole") = call.params.to_raw().as_text().to_owned();
        std::future::ready(Outcome::Complete(result.clone())).boxed()
    });
    let parts = |said: &str| {
        Object::new()
            .with(
                "argument",
                Object::new()
                    .with("name", Raw::str("resident_name"))
                    .with("value", Raw::str(said))
                    .to_raw(),
            )
            .with(
                "context",
                Raw::from_serialize(&serde_json::json!({ "arguments": { "resident_name": said } })),
            )
            .with("_meta", saying(said))
    };
    let prompt = |said: &str| {
        let arguments = serde_json::json!({ "resident_name": said });
        Object::new()
            .with("arguments", Raw::from_serialize(&arguments))
            .with("_meta", saying(said))
    };
    let cases: [(Item, Object); 4] = [
        (Item::PromptArgument("files-ledger".into()), parts(NAME)),
        (Item::ResourceArgument("files-ledger".into()), parts(NAME)),
        (Item::Prompt("files-ledger".into()), prompt(NAME)),
        (Item::Tool("files-ledger".into()), prompt(NAME)),
    ];
    for (item, params) in cases {
        let name = format!("{item:?}");
        let mut request = request("files-ledger");
        request.item = item;
        request.params = params;
        bench.in_seat("a", request).expect("called");
        let seen = seen.lock().expect("whole").clone();
        assert!(!seen.contains("Featherstone"), "{name}: {seen}");
        assert!(seen.contains(&token), "{name}: {seen}");
    }
    // Towards its own entity tokens become values, and what comes back is redacted.
    let mut request = request("files-record");
    request.item = Item::PromptArgument("files-record".into());
    request.params = parts(&token);
    let told = text_of(bench.in_seat("a", request));
    assert!(
        !told.contains("Featherstone") && told.contains("⟦P:name:"),
        "{told}"
    );
    let seen = seen.lock().expect("whole").clone();
    assert_eq!(seen.matches(NAME).count(), 2, "{seen}");
}

#[test]
fn an_address_that_its_server_did_not_list_is_not_sent() {
    let bench = bench(rules());
    let read = |uri: &str| {
        let mut request = request("files-ledger");
        request.item = Item::Resource(uri.into());
        bench.in_seat("a", request)
    };
    read("files-wilhelmina-featherstone").expect("the conversation holds nothing yet");
    bench.record("a").expect("a result");
    let refusal = read("files-wilhelmina-featherstone").expect_err("it may carry data");
    assert_eq!(refusal.rule(), "redaction.address");
    assert_eq!(refusal.reason_code().as_str(), "UNREDACTED_PHI");
    let subscribed = run(bench.gate.subscribe(
        &context("a"),
        &Endpoint::All,
        "files-wilhelmina-featherstone",
    ));
    assert_eq!(subscribed.expect_err("refused").rule(), "redaction.address");
    bench.lists(&[("listed", None)]);
    read("files-listed").expect("its server listed it");
}

#[test]
fn a_list_leaves_out_resources_with_a_persons_name() {
    for (rules, whole) in [(rules(), false), (rules_for_cleared(), true)] {
        let bench = bench(rules);
        bench.lists(&[
            (
                "records://resident/Wilhelmina%20Featherstone",
                Some("meadow"),
            ),
            ("records://policy/visitors", Some("meadow")),
            ("ledger://Wilhelmina/Featherstone", None),
        ]);
        let listing = bench
            .gate
            .listing(&context("a"), &Endpoint::All, ListKind::Resources)
            .expect("a list");
        let shown: Vec<&str> = listing.entries.iter().map(|entry| &*entry.item).collect();
        assert_eq!(
            shown.contains(&"records://resident/Wilhelmina%20Featherstone"),
            whole,
            "{shown:?}"
        );
        assert!(shown.contains(&"records://policy/visitors"), "{shown:?}");
        assert!(
            shown.contains(&"ledger://Wilhelmina/Featherstone"),
            "{shown:?}"
        );
    }
}

impl Bench {
    fn lists(&self, resources: &[(&str, Option<&str>)]) {
        let entry = |(uri, entity): &(&str, Option<&str>)| crate::Entry {
            server: ServerName::parse("files").expect("a name"),
            item: (*uri).into(),
            raw: Object::new().with("uri", Raw::str(uri)).to_raw(),
            trusted: true,
            origin: Origin::User,
            read_only_hint: true,
            entity: entity.map(EntityId::new),
            native: None,
            fingerprint: None,
        };
        *self.servers.resources.lock().expect("whole") = resources.iter().map(entry).collect();
    }
}

#[test]
fn a_task_is_redacted_when_it_is_read_and_pushed_without_its_words() {
    let task = serde_json::json!({
        "taskId": "of-files-record", "status": "working", "createdAt": "2026-01-01T00:00:00Z",
        "lastUpdatedAt": "2026-01-02T00:00:00Z", "ttlMs": 60000,
        "statusMessage": format!("reading about {NAME}"),
        "result": { "content": [], "structuredContent": { "resident_name": NAME } },
        "error": { "code": -1, "message": format!("resident {NAME} is not here"), "x": NAME },
        "note": NAME,
    });
    let asking = {
        let mut task = task.clone();
        task["inputRequests"] = serde_json::json!({ "who": { "params": { "message": NAME } } });
        task
    };
    let pushed = |bench: &Bench, task: &serde_json::Value| {
        let task = Raw::from_serialize(task).to_object().expect("an object");
        let pushed = bench.gate.task_pushed(&context("a").caller, &task);
        pushed.to_raw().as_text().to_owned()
    };
    let closed = bench(rules());
    closed.replies(&task);
    let text = text_of(closed.task("files-record", TaskVerb::Get));
    assert!(!text.contains("Featherstone"), "{text}");
    for member in [
        r#""taskId":"of-files-record""#,
        r#""createdAt":"2026-01-01T00:00:00Z""#,
        r#""lastUpdatedAt":"2026-01-02T00:00:00Z""#,
        r#""ttlMs":60000"#,
        r#""structuredContent":{"resident_name":"⟦P:name:"#,
    ] {
        assert!(text.contains(member), "{member} in {text}");
    }
    closed.replies(&asking);
    let refusal = closed.task("files-record", TaskVerb::Get);
    assert_eq!(refusal.expect_err("withheld").rule(), "clearance.phi");
    let text = pushed(&closed, &asking);
    assert!(!text.contains("Featherstone"), "{text}");
    assert!(
        text.contains(r#""status":"working""#) && !text.contains("result"),
        "{text}"
    );

    let open = bench(rules_for_cleared());
    open.replies(&asking);
    let text = text_of(open.task("files-record", TaskVerb::Get));
    assert!(
        text.contains("inputRequests") && text.contains(NAME),
        "{text}"
    );
    assert!(pushed(&open, &asking).contains(NAME));
}

#[test]
fn a_push_says_which_resource_changed_and_to_the_cleared_what_else_it_says() {
    let records = ServerName::parse("records").expect("a name");
    let other = ServerName::parse("files").expect("a name");
    let params = Object::new()
        .with("uri", Raw::str("records://1"))
        .with("title", Raw::str(NAME));
    let caller = context("a").caller;
    for (rules, hears) in [(rules(), false), (rules_for_cleared(), true)] {
        let bench = bench(rules);
        assert!(bench.gate.may_hear(&caller, &other));
        assert_eq!(bench.gate.may_hear(&caller, &records), hears);
        let pushed = bench.gate.resource_pushed(&caller, &records, &params);
        assert_eq!(pushed.contains("title"), hears);
        assert!(pushed.contains("uri"));
        let entity = bench.gate.servers.entity(&caller, &records);
        let told = bench.gate.may_be_told(&caller, entity.as_ref());
        assert_eq!(told, hears);
        let held = bench.gate.asking.conversations.labels(&caller);
        assert_eq!(
            !held.expect("labels").is_empty(),
            hears,
            "what it is told it holds"
        );
    }
}

#[test]
fn a_question_about_a_call_shows_the_client_its_own_words() {
    let bench = bench(rules());
    let (_, token) = bench.record("a").expect("a result");
    bench.gate.set_rules(super::redaction::asking_rules());
    let talker = Talker::answering(r#"{"action":"accept","content":{"decision":"once"}}"#);
    let mut request = request("files-record");
    let arguments = Object::new().with("note", Raw::str(&token)).to_raw();
    request.params.set("arguments", arguments);
    request.peer = Arc::clone(&talker) as Arc<dyn Peer>;
    bench.in_seat("a", request).expect("approved and called");
    let heard = talker.heard();
    assert!(!heard.contains("Featherstone"), "{heard}");
    assert!(heard.contains("⟦P:name:"), "{heard}");
    assert!(
        bench.last_seen().contains(NAME),
        "the server gets the value"
    );
}
