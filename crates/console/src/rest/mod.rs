//! The admin API: routes that are a table, from which requests are answered and the
//! OpenAPI document is made, so that the two cannot differ.

pub(crate) mod events;
mod input;
mod once;
mod openapi;
mod pages;
mod problem;
mod route;
mod rpc;
mod shapes;
mod table;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _};
use http::header::{self, HeaderValue};
use http::{HeaderMap, Method, StatusCode};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use self::problem::Problem;
use self::route::{Act, Admin, Found, Route};
use self::shapes::Shapes;
use crate::web::{Answer, Caller, Request};
use crate::{AdminFault, AdminItem, Hub, Road, Since, ToolAnswer, ToolCall};

/// The server whose tools have routes of their own.
const DESK: &str = "desk";
/// Where a listener says which event it heard last.
const LAST_EVENT_ID: &str = "last-event-id";

/// The admin API of a hub.
#[derive(Debug)]
pub(crate) struct Rest {
    shared: Arc<Shared>,
}

/// What its requests share.
#[derive(Debug)]
struct Shared {
    hub: Arc<dyn Hub>,
    routes: Vec<Route>,
    shapes: Shapes,
}

/// A request that found its route.
struct Asked {
    shared: Arc<Shared>,
    /// Its route's place in the table.
    route: usize,
    path: Vec<(&'static str, String)>,
    request: Request,
}

// === impl Rest ===

impl Rest {
    pub(crate) fn new(hub: Arc<dyn Hub>) -> Self {
        let routes = table::routes();
        let shapes = Shapes::new(&routes);
        Self {
            shared: Arc::new(Shared {
                hub,
                routes,
                shapes,
            }),
        }
    }

    /// Answers a request; `None` where there is nothing at its path.
    pub(crate) fn handle(&self, request: Request) -> Option<BoxFuture<'static, Answer>> {
        let routes = &self.shared.routes;
        let found = route::find(routes, &request.method, &request.path);
        if matches!(found, Found::Nothing) {
            return None;
        }
        if request.caller == Caller::Nobody {
            let problem = Problem::new(
                StatusCode::UNAUTHORIZED,
                "no bearer token; nothing was done",
            );
            let answer = problem.with_hint("send the owner's token").answer();
            return Some(std::future::ready(answer).boxed());
        }
        let (route, path) = match found {
            Found::Nothing => return None,
            Found::Others(allowed) => {
                return Some(std::future::ready(not_allowed(&allowed)).boxed());
            }
            Found::Route(route, path) => (route, path),
        };
        let place = routes.iter().position(|one| std::ptr::eq(one, route));
        let asked = Asked {
            shared: Arc::clone(&self.shared),
            route: place.unwrap_or_default(),
            path,
            request,
        };
        Some(asked.answer().boxed())
    }
}

fn not_allowed(allowed: &str) -> Answer {
    let problem = Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "this path has no such method; nothing was done",
    );
    let allow = HeaderValue::from_str(allowed);
    let allow = allow.unwrap_or(HeaderValue::from_static("GET, HEAD"));
    problem.answer().with(header::ALLOW, allow)
}

/// The body is JSON and nothing else.
fn check_kind(headers: &HeaderMap) -> Result<(), Problem> {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let what = "the body must be application/json; nothing was done";
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, what))
}

// === impl Asked ===

impl Asked {
    fn act(&self) -> &Route {
        // The place is of a route that was found in the table.
        &self.shared.routes[self.route]
    }

    async fn answer(self) -> Answer {
        if self.act().verb.reads() {
            return self.work().await.unwrap_or_else(|problem| problem.answer());
        }
        if !self.request.body.is_empty()
            && let Err(problem) = check_kind(&self.request.headers)
        {
            return problem.answer();
        }
        let key = match once::key(&self.request.headers) {
            Ok(key) => key,
            Err(problem) => return problem.answer(),
        };
        let Some(key) = key else {
            return self.work().await.unwrap_or_else(|problem| problem.answer());
        };
        let digest = once::digest(&self.request);
        let hub = Arc::clone(&self.shared.hub);
        once::once(hub, key, digest, self.work()).await
    }

    async fn work(self) -> Result<Answer, Problem> {
        match &self.act().act {
            Act::Admin(admin) => self.admin(admin).await,
            Act::Tool(tool) => self.tool(tool).await,
            Act::AnyTool => self.any_tool().await,
            Act::Events => self.events(),
            Act::Document => {
                self.input(&self.shared.shapes.nothing)?;
                let tools = self.shared.shapes.tools(&self.shared.hub).await;
                let document = openapi::document(&self.shared.routes, &self.shared.shapes, &tools);
                Ok(Answer::json(StatusCode::OK, &document))
            }
            Act::Rpc => Ok(rpc::answer(&self.shared.hub, &self.request).await),
        }
    }

    fn input(&self, shape: &input::Shape) -> Result<Map<String, Value>, Problem> {
        let Request { query, body, .. } = &self.request;
        let in_query = self.act().verb != route::Verb::Post;
        shape.read(&self.path, query.as_deref(), body, in_query)
    }

    /// Asks the administration.
    async fn admin(&self, admin: &Admin) -> Result<Answer, Problem> {
        let shape = self.shared.shapes.of_admin(admin).ok_or_else(broken)?;
        let mut object = self.input(shape)?;
        let page = match admin.pages {
            Some(pages) => Some(pages::Page::take(pages, &mut object)?),
            None => None,
        };
        for number in admin.numbers {
            object
                .entry(number.member)
                .or_insert_with(|| number.default.into());
        }
        let answered = ask(&self.shared.hub, admin.method, &Value::Object(object)).await;
        let answered = answered.map_err(Problem::of_fault)?;
        let Some(page) = page else {
            return Ok(Answer::json(StatusCode::OK, &answered));
        };
        let mut whole: Map<String, Value> =
            serde_json::from_str(answered.get()).map_err(|_| broken())?;
        page.cut(&mut whole)?;
        Ok(Answer::json(StatusCode::OK, &whole))
    }

    /// Calls a tool of the desk.
    async fn tool(&self, tool: &'static str) -> Result<Answer, Problem> {
        let tools = self.shared.shapes.tools(&self.shared.hub).await;
        let Some(known) = tools.get(tool) else {
            let message = format!("there is no tool `{tool}` of the desk; nothing was called");
            let problem = Problem::new(StatusCode::NOT_FOUND, message);
            return Err(problem.with_hint("`legation mcp tools` shows the tools there are"));
        };
        let arguments = self.input(&known.input)?;
        let call = ToolCall {
            server: DESK.into(),
            tool: tool.into(),
            arguments: to_raw_value(&arguments).map_err(|_| broken())?,
            road: Road::Api,
        };
        match self.shared.hub.call(call).await {
            ToolAnswer::Stopped(stop) => Err(Problem::of_stop(stop)),
            ToolAnswer::Done {
                structured,
                text,
                is_error: true,
                ..
            } => Err(Problem::of_tool(&text, structured)),
            ToolAnswer::Done {
                structured, text, ..
            } => Ok(match structured {
                Some(structured) => Answer::json(StatusCode::OK, &structured),
                None => Answer::json(StatusCode::OK, &json!({ "text": text })),
            }),
        }
    }

    /// Calls any tool; the result is what MCP has for one.
    async fn any_tool(&self) -> Result<Answer, Problem> {
        let named = |name| {
            let given = self.path.iter().find(|(known, _)| *known == name);
            given.map(|(_, value)| value.as_str()).unwrap_or_default()
        };
        if self
            .request
            .query
            .as_deref()
            .is_some_and(|query| !query.is_empty())
        {
            return Err(Problem::invalid("this path takes no query"));
        }
        let arguments = input::read_body(&self.request.body)?;
        let call = ToolCall {
            server: named("server").into(),
            tool: named("tool").into(),
            arguments: to_raw_value(&arguments).map_err(|_| broken())?,
            road: Road::Api,
        };
        match self.shared.hub.call(call).await {
            ToolAnswer::Stopped(stop) => Err(Problem::of_stop(stop)),
            ToolAnswer::Done { result, .. } => Ok(Answer::json(StatusCode::OK, &result)),
        }
    }

    /// Tells what happens. A browser says where it was in a header of its own.
    fn events(&self) -> Result<Answer, Problem> {
        let mut object = self.input(&self.shared.shapes.events)?;
        let since = match object.remove("since") {
            Some(Value::String(id)) => Some(id),
            _ => None,
        };
        let last = self.request.headers.get(LAST_EVENT_ID);
        let last = last.map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned());
        let since = last.or(since).map_or(Since::Now, Since::Event);
        if self.request.method == Method::HEAD {
            return Ok(Answer::whole(StatusCode::OK, "text/event-stream", ""));
        }
        Ok(events::answer(self.shared.hub.as_ref(), since))
    }
}

/// One answer of the administration's, past whatever it says before.
async fn ask(
    hub: &Arc<dyn Hub>,
    method: &str,
    params: &Value,
) -> Result<Box<RawValue>, AdminFault> {
    let params = to_raw_value(params).unwrap_or_else(|_| RawValue::NULL.to_owned());
    let mut items = hub.admin(Road::Api, method, params);
    while let Some(item) = items.next().await {
        if let AdminItem::Done(answer) = item {
            return answer;
        }
    }
    Err(AdminFault::stopping())
}

/// What only a fault of this program brings about.
fn broken() -> Problem {
    Problem::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "the hub could not put the request or its answer together; nothing is known of what was done",
    )
}
