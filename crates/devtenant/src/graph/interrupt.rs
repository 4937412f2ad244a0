//! Ordered faults that end a request before it is looked at.

use legation_core::Wall;
use serde_json::json;

use super::error::Failure;
use crate::entra::error::Refusal;
use crate::jwt::Parsed;
use crate::listen::http_date;
use crate::server::Shared;
use crate::state::World;
use crate::state::fault::{FaultKind, Met};
use crate::web::{Answer, Ask};

impl World {
    /// The answer instead, when a fault was ordered for such a request.
    pub(crate) fn interrupt(&mut self, shared: &Shared, what: &str, ask: &Ask) -> Option<Answer> {
        let now = shared.now();
        let told = self.was_told(what, now.0);
        let graph = what.contains(" /v1.0/") || what.contains(" /beta/");
        match self.meet_at(what, now.0, FaultKind::interrupts)? {
            Met::Early(seconds) => {
                if told {
                    shared.report().early(json!({
                        "request": what,
                        "secondsLeft": seconds,
                        "at": now.to_string(),
                    }));
                }
                Some(throttled(ask, now, graph, Some(seconds), false))
            }
            Met::Fault(FaultKind::Throttle { retry_after, date }) => {
                Some(throttled(ask, now, graph, retry_after, date))
            }
            Met::Fault(FaultKind::Status { status }) => {
                let (code, message) = match status {
                    503 => (
                        "serviceNotAvailable",
                        "The service is temporarily unavailable.",
                    ),
                    504 => (
                        "UnknownError",
                        "The upstream service did not answer in time.",
                    ),
                    _ => ("generalException", "An unspecified error has occurred."),
                };
                Some(if graph {
                    Failure::new(status, code, message).answer(ask, now, &crate::random::guid())
                } else {
                    let mut refusal = Refusal::new(90_033, "A transient error has occurred.");
                    refusal.status = status;
                    refusal.answer(&ask.origin, now, None)
                })
            }
            Met::Fault(_) => Some(Answer::cut()),
        }
    }

    /// Whether the connection is to be cut now that everything has happened.
    pub(crate) fn cuts_after(&mut self, what: &str) -> bool {
        self.meet(what, |kind| *kind == FaultKind::CutAfter)
            .is_some()
    }
}

impl Shared {
    /// The time that the tenant of a request believes it is: what its `Date` says.
    pub(crate) fn skewed_now(&self, ask: &Ask) -> Wall {
        let now = self.now();
        let world = self.world();
        let named = ask.parts.first().and_then(|name| world.tenant(name));
        let shown = ask
            .bearer()
            .and_then(Parsed::parse)
            .and_then(|token| world.tenant(token.text("tid")));
        named.or(shown).map_or(now, |tenant| tenant.now(now))
    }
}

fn throttled(ask: &Ask, now: Wall, graph: bool, seconds: Option<u32>, date: bool) -> Answer {
    let told = |seconds: u32| {
        if date {
            http_date(Wall(now.0 + i64::from(seconds) * 1000))
        } else {
            seconds.to_string()
        }
    };
    if !graph {
        let mut refusal = Refusal::new(
            90_055,
            "The server is temporarily unavailable because it received too many requests. Please \
             try again later.",
        );
        refusal.retry_after = seconds.map(told);
        return refusal.answer(&ask.origin, now, None);
    }
    let mut failure = Failure::new(429, "TooManyRequests", "Too many requests.");
    if let Some(seconds) = seconds {
        failure.headers.push(("retry-after", told(seconds)));
    }
    let request_id = crate::random::guid();
    failure
        .answer(ask, now, &request_id)
        .with("request-id", request_id)
}
