//! The pages of the console, for a person with a browser.
//!
//! Pages are functions of what the hub answers, rendered here and complete without a
//! script; the script only brings changes as they happen. A program in the browser
//! over a JSON interface was rejected: it would need a build of its own, and
//! whatever a server wrote would be put into pages in two languages.

mod act;
mod approvals;
mod ask;
mod assets;
mod charts;
mod desk;
mod fields;
mod filing;
mod governance;
mod guard;
mod html;
mod inbox;
mod json;
mod ledger;
mod live;
mod models;
mod overview;
mod records;
mod servers;
mod show;
mod tasks;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::header::{self, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use legation_core::SharedClock;
use maud::{Markup, html};

use crate::hub::Hub;
use crate::login::{Door, Notice, Pass};
use crate::web::{Answer, Body, Request};
use ask::Failure;
use assets::Asset;
use fields::{Fields, parts};
use html::{Frame, Page, Section};

/// What the browser may do with a page: load what the hub itself serves, send forms
/// to the hub, and nothing else. No page may show it in a frame of its own.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const HTML: &str = "text/html; charset=utf-8";

/// What paths begin with beside those of the sections.
const BESIDE: [&str; 7] = [
    "assets",
    "definitions",
    "grants",
    "live",
    "login",
    "logout",
    "sessions",
];

/// Answers browsers.
#[derive(Debug)]
pub(crate) struct Pages {
    shared: Arc<Shared>,
}

/// What every page needs.
#[derive(Debug)]
struct Shared {
    hub: Arc<dyn Hub>,
    door: Arc<Door>,
    clock: SharedClock,
}

/// A request of somebody who was let in.
#[derive(Debug)]
struct Asked {
    pass: Pass,
    parts: Vec<String>,
    query: Fields,
    /// Whether somebody will read the answer, and not the script of a page that is open.
    is_read: bool,
}

/// What becomes of a form.
enum Done {
    /// Another page follows, which says what was done.
    See(String, Notice),
    /// The answer is a page itself.
    Page(Box<dyn FnOnce(&Frame) -> Page + Send>),
    /// There is no such form.
    Nothing,
}

/// What was not done, and the page that says so.
type Undone = (String, Failure);

// === impl Pages ===

impl Pages {
    /// Pages of this hub, for whoever this door lets in.
    pub(crate) fn new(hub: Arc<dyn Hub>, door: Arc<Door>, clock: SharedClock) -> Self {
        Self {
            shared: Arc::new(Shared { hub, door, clock }),
        }
    }

    /// Whether pages are at a path, whichever there are.
    pub(crate) fn has(&self, path: &str) -> bool {
        let first = path.trim_start_matches('/').split('/').next();
        let first = first.unwrap_or_default();
        BESIDE.contains(&first)
            || Section::ALL
                .iter()
                .any(|section| section.path().strip_prefix('/') == Some(first))
    }

    /// Answers a request.
    pub(crate) fn handle(&self, request: Request) -> BoxFuture<'static, Answer> {
        let parts = parts(&request.path);
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { shared.answer(request, parts).await })
    }
}

// === impl Shared ===

impl Shared {
    async fn answer(&self, request: Request, parts: Vec<String>) -> Answer {
        let is_get = matches!(request.method, Method::GET | Method::HEAD);
        if !is_get && request.method != Method::POST {
            let not_allowed = refused(StatusCode::METHOD_NOT_ALLOWED, "This cannot be done here.");
            return not_allowed.with(header::ALLOW, HeaderValue::from_static("GET, HEAD, POST"));
        }
        if let Some(refusal) = guard::check(&request, is_get) {
            return refused(StatusCode::FORBIDDEN, refusal);
        }
        let names: Vec<&str> = parts.iter().map(String::as_str).collect();
        match names.as_slice() {
            ["assets", ..] => return asset(assets::find(&request.path)),
            ["login", ..] => return self.login(&request, &names, is_get).await,
            _ => {}
        }
        let is_stream = names.first() == Some(&"live");
        let Some(pass) = self.pass(&request, is_stream) else {
            return outside();
        };
        let asked = Asked {
            pass,
            query: Fields::parse(request.query.as_deref().unwrap_or_default()),
            parts,
            is_read: !guard::is_script(&request.headers),
        };
        if is_stream {
            return self.live(&asked);
        }
        if is_get {
            return self.shown(&asked).await;
        }
        let form = Fields::parse(&String::from_utf8_lossy(&request.body));
        if !self
            .door
            .is_token(&asked.pass, form.get("csrf").unwrap_or_default())
        {
            let text = "This form is not of this session. Nothing was changed: go back, reload the page and try again.";
            return refused(StatusCode::FORBIDDEN, text);
        }
        if asked.parts.first().is_some_and(|part| part == "logout") {
            let forget = self.door.leave(&asked.pass);
            return with_cookie(see("/login"), &forget);
        }
        self.acted(&asked, &form).await
    }

    fn pass(&self, request: &Request, quiet: bool) -> Option<Pass> {
        let cookies = request.headers.get_all(header::COOKIE).iter();
        let cookies = cookies.filter_map(|value| value.to_str().ok());
        self.door.pass(cookies, self.clock.wall(), quiet)
    }

    /// Links are opened with a form, so that whatever only looks at an address
    /// (a preview, a scanner) does not use it up.
    async fn login(&self, request: &Request, names: &[&str], is_get: bool) -> Answer {
        match names {
            ["login"] if is_get => outside(),
            ["login", word] if is_get => {
                let body = html! {
                    p { "This link lets this browser in, once. It acts as you: answers approvals, hands in tasks, changes preferences." }
                    form method="post" action="/login" data-auto {
                        input type="hidden" name="word" value=(word);
                        button type="submit" { "Open the console" }
                    }
                };
                page(StatusCode::OK, &html::outside("Open the console", &body))
            }
            ["login"] => {
                let form = Fields::parse(&String::from_utf8_lossy(&request.body));
                let word = form.get("word").unwrap_or_default();
                match self.door.enter(word, self.clock.wall()) {
                    Ok(Some(cookie)) => self.let_in(&cookie).await,
                    Ok(None) => refused(
                        StatusCode::FORBIDDEN,
                        "This link was used, is older than five minutes, or is of another hub. `legation console` makes a new one.",
                    ),
                    Err(error) => refused(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
                }
            }
            _ => refused(StatusCode::NOT_FOUND, "There is nothing here."),
        }
    }

    /// Hands out the cookie of a session that is on record; without it nobody has the session.
    async fn let_in(&self, cookie: &str) -> Answer {
        match self.hub.signed_in().await {
            Ok(()) => with_cookie(see("/"), cookie),
            Err(fault) => {
                let text = format!(
                    "You were not let in, because it could not be recorded: {}. `legation console` makes a new link.",
                    fault.message
                );
                refused(StatusCode::SERVICE_UNAVAILABLE, &text)
            }
        }
    }

    async fn shown(&self, asked: &Asked) -> Answer {
        let frame = self.frame(asked).await;
        if let Some(shown) = show::page(self, asked, &frame).await {
            return page(StatusCode::OK, &frame.render(&shown));
        }
        let body = html! { p { "There is nothing at this address." } };
        let missing = Page::still(Section::Overview, "Not found", body);
        page(StatusCode::NOT_FOUND, &frame.render(&missing))
    }

    async fn acted(&self, asked: &Asked, form: &Fields) -> Answer {
        match act::done(self, asked, form).await {
            Ok(Done::See(path, notice)) => {
                self.door.tell(&asked.pass, notice);
                see(&path)
            }
            Ok(Done::Page(shown)) => {
                let frame = self.frame(asked).await;
                page(StatusCode::OK, &frame.render(&shown(&frame)))
            }
            Ok(Done::Nothing) => refused(StatusCode::NOT_FOUND, "There is nothing here."),
            Err((path, failure)) => {
                self.door.tell(&asked.pass, failure.notice());
                see(&path)
            }
        }
    }

    async fn frame(&self, asked: &Asked) -> Frame {
        let waiting = ask::ask(&*self.hub, &legation_api::approvals::List {}).await;
        Frame {
            token: self.door.token(&asked.pass),
            // It is said once, so a page that asks for itself again must not take it.
            notice: asked.is_read.then(|| self.door.told(&asked.pass)).flatten(),
            waiting: waiting.ok().map(|found| found.waiting.len()),
        }
    }

    fn live(&self, asked: &Asked) -> Answer {
        let stream = live::stream(self, asked);
        let answer = Answer {
            body: Body::Stream(stream),
            ..Answer::empty(StatusCode::OK)
        };
        guarded(answer).with(
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/event-stream"),
        )
    }
}

// === answers ===

fn page(status: StatusCode, markup: &Markup) -> Answer {
    guarded(Answer::whole(status, HTML, markup.0.clone()))
}

/// For somebody who is not let in.
fn outside() -> Answer {
    let body = html! {
        p { "This is the console of Legation. It opens with a link that works once:" }
        pre { "legation console" }
        p.quiet { "Sessions end after half an hour without use, after half a day, and when the hub stops." }
    };
    page(
        StatusCode::UNAUTHORIZED,
        &html::outside("You are not signed in", &body),
    )
}

fn refused(status: StatusCode, text: &str) -> Answer {
    let body = html! {
        p role="alert" { (text) }
        p { a href="/" { "To the overview" } }
    };
    page(status, &html::outside("Not possible", &body))
}

/// What is sent is not sent again when the page is reloaded.
fn see(path: &str) -> Answer {
    // Paths here are made of encoded parts.
    let location = HeaderValue::try_from(path).unwrap_or(HeaderValue::from_static("/"));
    guarded(Answer::empty(StatusCode::SEE_OTHER)).with(header::LOCATION, location)
}

fn with_cookie(answer: Answer, cookie: &str) -> Answer {
    match HeaderValue::try_from(cookie) {
        Ok(mut value) => {
            value.set_sensitive(true);
            answer.with(header::SET_COOKIE, value)
        }
        // Names and values are of a small alphabet; without the cookie nobody is let in.
        Err(_) => refused(
            StatusCode::INTERNAL_SERVER_ERROR,
            "The session could not begin.",
        ),
    }
}

fn asset(found: Option<&'static Asset>) -> Answer {
    let Some(asset) = found else {
        return refused(StatusCode::NOT_FOUND, "There is nothing here.");
    };
    let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
    guarded(Answer::whole(
        StatusCode::OK,
        asset.kind,
        asset.body.clone(),
    ))
    .with(header::CACHE_CONTROL, kept)
}

/// What every answer says to the browser. The referrer stays within the hub and is
/// not left out altogether: a browser that tells no referrer tells no origin either
/// when it sends a form, and forms without one are refused.
fn guarded(answer: Answer) -> Answer {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("permissions-policy"),
            "camera=(), geolocation=(), microphone=()",
        ),
    ];
    headers.into_iter().fold(answer, |answer, (name, value)| {
        answer.with(name, HeaderValue::from_static(value))
    })
}

#[cfg(test)]
mod tests;
