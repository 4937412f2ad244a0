//! Calls: tools, resources, prompts and completions.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use legation_core::{Cancel, CancelReason, OpContext, boxed};
use legation_gate::{
    CallFailure, InputRequired, Item, Outcome, Peer, Refusal, Request, Retry, TaskWish,
};
use legation_wire::codes;
use legation_wire::json::{Kind, Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::revision::Revision;
use legation_wire::translate::{self, LegacyLeftovers};

use super::{Inquiry, Taken, finish, invalid};
use crate::facts::ToolFact;
use crate::method::Method;
use crate::parking::{self, Binding, Body, Parked, Resumed, Store, no_randomness};
use crate::peer::{LegacyPeer, ModernPeer, Step};
use crate::session::Session;
use crate::shared::{Gauge, Held, count};
use crate::speaker::{Modern, Speaker, missing_capability};

/// How long a call that was called off may take to say so, for its record.
const GRACE: Duration = Duration::from_secs(2);

/// A call on its way.
type Running<'c> = BoxFuture<'c, Result<Outcome, Refusal>>;

/// What a request's params held beside what goes to the server.
#[derive(Debug, Default)]
struct Aside {
    token: Option<Raw>,
    task: Option<Raw>,
    responses: Option<Raw>,
    state: Option<Raw>,
}

// === impl Aside ===

impl Aside {
    fn of_modern(token: Option<Raw>, left: LegacyLeftovers) -> Self {
        Self {
            token,
            task: None,
            responses: left.input_responses,
            state: left.request_state,
        }
    }
}

/// Makes a call and brings it to its end, or to a question.
pub(super) async fn call(inquiry: &Inquiry, taken: Option<Taken>) -> Body {
    count(&inquiry.shared.counters.mine().calls);
    let (mut params, aside) = apart(inquiry, taken);
    let item = item(inquiry.method, &params)?;
    if params.get("arguments").is_some_and(Raw::is_null) {
        params.remove("arguments");
    }
    if inquiry.method == Method::CallTool
        && params
            .get("arguments")
            .is_some_and(|arguments| arguments.kind() != Kind::Object)
    {
        return Err(invalid("arguments must be an object"));
    }
    match &inquiry.speaker {
        Speaker::Legacy(session) => legacy(inquiry, session, item, params, aside).await,
        Speaker::Modern(modern) => modern_call(inquiry, modern, item, params, aside).await,
    }
}

/// The params of the call, and beside them what is of the client's era.
fn apart(inquiry: &Inquiry, taken: Option<Taken>) -> (Object, Aside) {
    let (mut params, mut aside) = match (taken, &inquiry.speaker) {
        (Some(taken), _) => {
            let aside = Aside::of_modern(taken.token, taken.left);
            (taken.params, aside)
        }
        (None, Speaker::Legacy(_)) => {
            let mut params = inquiry.request.params_object();
            let aside = Aside {
                token: translate::take_progress_token(&mut params),
                ..Aside::default()
            };
            (params, aside)
        }
        (None, Speaker::Modern(_)) => {
            let mut params = inquiry.request.params_object();
            let (token, left) = translate::take_senders(&inquiry.request.method, &mut params);
            let aside = Aside::of_modern(token, left);
            (params, aside)
        }
    };
    if inquiry.method == Method::CallTool {
        let task = params.remove("task");
        // A word of 2025-11-25, which means nothing later.
        aside.task = task.filter(|_| matches!(inquiry.speaker, Speaker::Legacy(_)));
    }
    (params, aside)
}

async fn legacy(
    inquiry: &Inquiry,
    session: &Arc<Session>,
    item: Item,
    params: Object,
    aside: Aside,
) -> Body {
    let task = match (&aside.task, inquiry.speaker.revision()) {
        (Some(task), Revision::V2025_11_25) => TaskWish::Requested {
            ttl: task
                .get("ttl")
                .and_then(|ttl| ttl.to_i64())
                .and_then(|ttl| u64::try_from(ttl).ok())
                .map(Duration::from_millis),
        },
        _ => TaskWish::Never,
    };
    let peer = Arc::new(LegacyPeer::new(session, &inquiry.outbox, aside.token));
    let request = Request {
        endpoint: inquiry.endpoint.clone(),
        item,
        params,
        retry: None,
        task,
        peer: Arc::clone(&peer) as Arc<dyn Peer>,
    };
    let context = Cow::Borrowed(&inquiry.context);
    let end = run(&inquiry.shared, context, request).await;
    inquiry.delivers(&end, peer.deliveries());
    finish::legacy(inquiry, session, end)
}

async fn modern_call(
    inquiry: &Inquiry,
    modern: &Arc<Modern>,
    item: Item,
    params: Object,
    aside: Aside,
) -> Body {
    let responses = match &aside.responses {
        None => None,
        Some(raw) => Some(
            raw.to_object()
                .ok_or_else(|| invalid("inputResponses must be an object"))?,
        ),
    };
    let Some(state) = aside.state else {
        let given = responses.clone().unwrap_or_default();
        let retry = responses.map(|responses| Retry {
            responses,
            state: None,
        });
        return first(inquiry, modern, (item, params), aside.token, given, retry).await;
    };
    // Retries are few, and not worth room in every call.
    let item = (item, params);
    Box::pin(again(
        inquiry,
        modern,
        item,
        aside.token,
        (responses, aside.responses),
        state,
    ))
    .await
}

/// A call made again with what its first end asked for.
async fn again(
    inquiry: &Inquiry,
    modern: &Arc<Modern>,
    item: (Item, Object),
    token: Option<Raw>,
    (responses, raw): (Option<Object>, Option<Raw>),
    state: Raw,
) -> Body {
    let binding = bind(inquiry);
    match inquiry
        .shared
        .parking
        .resume(&state, &binding, raw.as_ref())?
    {
        Resumed::Again(result) => Ok(result.to_raw()),
        Resumed::Before(before) => parking::stored(before).await,
        Resumed::Live(call, store) => {
            call.peer.moved(&inquiry.outbox, token);
            let body = go_on(inquiry, &call).await;
            Ok(keep(store, body)?)
        }
        Resumed::Upstream(state, store) => {
            let retry = Retry {
                responses: responses.unwrap_or_default(),
                state,
            };
            let given = Object::new();
            let body = first(inquiry, modern, item, token, given, Some(retry)).await;
            keep(store, body)
        }
    }
}

fn keep(store: Store, body: Body) -> Body {
    store.put(&body);
    body
}

/// A tool that only works as a task is refused to a client that knows none
/// (tasks extension, capability negotiation).
pub(crate) fn check_task_support(
    modern: &Modern,
    fact: Option<&ToolFact>,
) -> Result<(), ErrorObject> {
    if !modern.capabilities.tasks_ext && fact.is_some_and(|fact| fact.task_required) {
        return Err(missing_capability(
            "the extension io.modelcontextprotocol/tasks",
            Raw::from_static(r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#),
        ));
    }
    Ok(())
}

/// Makes the call, and parks it when its server asks something.
async fn first(
    inquiry: &Inquiry,
    modern: &Arc<Modern>,
    (item, params): (Item, Object),
    token: Option<Raw>,
    given: Object,
    retry: Option<Retry>,
) -> Body {
    let task = if modern.capabilities.tasks_ext && inquiry.method == Method::CallTool {
        TaskWish::Accepts
    } else {
        TaskWish::Never
    };
    let peer = Arc::new(ModernPeer::new(
        Arc::clone(modern),
        &inquiry.outbox,
        token,
        given,
    ));
    let request = Request {
        endpoint: inquiry.endpoint.clone(),
        item,
        params,
        retry,
        task,
        peer: Arc::clone(&peer) as Arc<dyn Peer>,
    };
    // It may go on when this request is over.
    let context = Cow::Owned(inquiry.context.clone());
    let mut running = run(&inquiry.shared, context, request);
    tokio::select! {
        biased;
        end = &mut running => return modern_end(inquiry, &peer, end),
        () = peer.queue.asked() => {}
    }
    Box::pin(park(inquiry, peer, running)).await
}

/// A call whose server has asked something.
async fn park(inquiry: &Inquiry, peer: Arc<ModernPeer>, mut running: Running<'static>) -> Body {
    // Servers that ask several things at once send several requests.
    tokio::select! {
        biased;
        end = &mut running => return modern_end(inquiry, &peer, end),
        () = peer.queue.settled() => {}
    }
    let call = Arc::new(Parked {
        peer: Arc::clone(&peer),
        cancel: inquiry.context.cancel.clone(),
    });
    let shared = inquiry.shared.clone();
    shared
        .tasks
        .spawn("parked call", async move { peer.queue.done(running.await) });
    go_on(inquiry, &call).await
}

/// Waits for the next step of a call that runs beside this request. When the
/// client goes away meanwhile, the call is called off.
async fn go_on(inquiry: &Inquiry, call: &Arc<Parked>) -> Body {
    let mut away = CallOff {
        cancel: Some(call.cancel.clone()),
    };
    let step = tokio::select! {
        step = call.peer.queue.next() => step,
        reason = inquiry.context.cancel.cancelled() => {
            call.cancel.cancel(reason);
            call.peer.queue.next().await
        }
    };
    away.cancel = None;
    match step {
        Step::Done(end) => modern_end(inquiry, &call.peer, end),
        Step::Asked(questions) => inquiry
            .shared
            .parking
            .park(&bind(inquiry), Arc::clone(call), questions)
            .map_err(|_| no_randomness()),
    }
}

/// Calls a call off when dropped, unless told otherwise.
struct CallOff {
    cancel: Option<Cancel>,
}

impl Drop for CallOff {
    fn drop(&mut self) {
        if let Some(cancel) = self.cancel.take() {
            cancel.cancel(CancelReason::ClientCancelled);
        }
    }
}

fn modern_end(inquiry: &Inquiry, peer: &ModernPeer, end: Result<Outcome, Refusal>) -> Body {
    inquiry.delivers(&end, peer.deliveries());
    let asked = match end {
        Ok(Outcome::InputRequired(asked)) => asked,
        Ok(Outcome::Error(error)) if may_open_urls(inquiry) => {
            match translate::url_elicitations(&error) {
                Some(urls) => to_input(urls),
                None => return finish::modern(inquiry, Ok(Outcome::Error(error))),
            }
        }
        end => return finish::modern(inquiry, end),
    };
    inquiry
        .shared
        .parking
        .pass(&bind(inquiry), asked.result, asked.state)
        .map_err(|_| no_randomness())
}

/// Whether a server of 2025-11-25 may have the client open an address first,
/// which is a question in the modern era and was an error before.
fn may_open_urls(inquiry: &Inquiry) -> bool {
    inquiry.method != Method::Complete
        && matches!(&inquiry.speaker, Speaker::Modern(modern) if modern.capabilities.elicitation_url)
}

fn to_input(urls: Vec<translate::UrlElicitation>) -> InputRequired {
    let requests: Object = urls
        .into_iter()
        .map(|url| {
            let request = Object::new()
                .with("method", Raw::str(&url.request.method))
                .with(
                    "params",
                    url.request.params.unwrap_or_else(Raw::empty_object),
                );
            (url.elicitation_id, request.to_raw())
        })
        .collect();
    InputRequired {
        result: Object::new().with("inputRequests", requests.to_raw()),
        state: None,
    }
}

fn bind(inquiry: &Inquiry) -> Binding {
    Binding::new(
        &inquiry.context.caller.principal.client,
        &inquiry.endpoint,
        &inquiry.request.method,
        inquiry.request.params.as_ref(),
    )
}

/// The call through the gate. One that was called off gets a moment to end in
/// good order, then it is dropped, which ends it too.
pub(super) fn run<'c>(shared: &Held, context: Cow<'c, OpContext>, request: Request) -> Running<'c> {
    let in_flight = Gauge::new(shared, |counters| &counters.in_flight);
    // In a box of their own: a future that captures nothing large is made where it stays.
    let luggage = Box::new((context, request));
    boxed!(async move {
        let in_flight = in_flight;
        let gate = &in_flight.shared().gate;
        let (context, request) = *luggage;
        tokio::select! {
            biased;
            end = gate.call(&context, request) => end,
            reason = called_off(&context.cancel) => Ok(Outcome::Failed(CallFailure::Cancelled(reason))),
        }
    })
}

/// Some time after the cancellation.
pub(super) async fn called_off(cancel: &Cancel) -> CancelReason {
    let reason = cancel.cancelled().await;
    tokio::time::sleep(GRACE).await;
    reason
}

fn item(method: Method, params: &Object) -> Result<Item, ErrorObject> {
    let text = |member: &str| {
        params
            .get(member)
            .and_then(|value| value.to_str().map(Box::<str>::from))
            .ok_or_else(|| invalid(&format!("params.{member} must be a string")))
    };
    match method {
        Method::CallTool => text("name").map(Item::Tool),
        Method::GetPrompt => text("name").map(Item::Prompt),
        Method::ReadResource => text("uri").map(Item::Resource),
        Method::GetSkill => text("uri").map(Item::Skill),
        Method::ReadDirectory => text("uri").map(Item::Directory),
        _ => completed(params),
    }
}

/// What a completion is for (`ref`).
fn completed(params: &Object) -> Result<Item, ErrorObject> {
    let reference = params
        .get("ref")
        .and_then(Raw::to_object)
        .ok_or_else(|| invalid("params.ref must be an object"))?;
    let text = |member: &str| {
        reference
            .get(member)
            .and_then(|value| value.to_str().map(Box::<str>::from))
    };
    let found = match text("type").as_deref() {
        Some("ref/prompt") => text("name").map(Item::PromptArgument),
        Some("ref/resource") => text("uri").map(Item::ResourceArgument),
        _ => None,
    };
    found.ok_or_else(|| {
        ErrorObject::new(
            codes::INVALID_PARAMS,
            "params.ref must be a ref/prompt with a name or a ref/resource with a uri",
        )
    })
}
