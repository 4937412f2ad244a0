//! From a request of either era to the gate, and back in the shape the client
//! reads.

mod call;
mod describe;
mod errors;
mod events;
mod finish;
mod lists;
mod page;
mod skills;
mod tasks;

use std::sync::{Arc, Mutex, PoisonError};

use legation_core::OpContext;
use legation_gate::{Endpoint, ListKind, Outcome, Refusal};
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::{ErrorObject, Message, Request};
use legation_wire::translate::LegacyLeftovers;

use crate::level::Level;
use crate::method::Method;
use crate::outbox::Outbox;
use crate::outgoing::{Deliveries, Outgoing};
use crate::parking::Body;
use crate::shared::Held;
use crate::speaker::Speaker;
use crate::watch::{listen, resource_owner};

pub(crate) use self::call::check_task_support;
pub(crate) use self::describe::initialize_result;
pub(crate) use self::errors::{method_not_found, refused};
pub(crate) use self::events::offered as events_offered;

/// One request, with everything around it.
#[derive(Debug)]
pub(crate) struct Inquiry {
    pub(crate) shared: Held,
    pub(crate) context: OpContext,
    pub(crate) endpoint: Endpoint,
    pub(crate) speaker: Speaker,
    /// Where notifications and questions of this request go.
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) method: Method,
    pub(crate) request: Request,
    /// Who wants to know when the answer was written out.
    pub(crate) deliveries: Mutex<Deliveries>,
}

/// The params of a modern request, taken apart.
#[derive(Debug)]
pub(crate) struct Taken {
    /// What is the call's.
    pub(crate) params: Object,
    /// The progress token.
    pub(crate) token: Option<Raw>,
    /// What else is of the client's era; the metadata itself was read.
    pub(crate) left: LegacyLeftovers,
}

// === impl Inquiry ===

impl Inquiry {
    /// Has those told who gave something with the answer, if that is a result: what a
    /// refusal or an error stands for was not given to anybody.
    fn delivers(&self, end: &Result<Outcome, Refusal>, deliveries: Deliveries) {
        if matches!(end, Ok(Outcome::Complete(_))) {
            self.carries(deliveries);
        }
    }

    /// Has those told who gave something with the answer.
    fn carries(&self, deliveries: Deliveries) {
        let mut all = self
            .deliveries
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.join(deliveries);
    }

    /// The answer on its way out.
    pub(crate) fn answered(self, body: Body) -> Outgoing {
        let deliveries = self.deliveries.into_inner();
        Outgoing {
            bytes: Message::response(self.request.id, body).to_bytes(),
            deliveries: deliveries.unwrap_or_else(PoisonError::into_inner),
        }
    }
}

/// Answers a request, whose params may have been taken apart before. `initialize` is not
/// answered here: it makes a session.
/// What is asked seldom has a place of its own, for the room of a request is
/// that of the largest of them.
pub(crate) async fn answer(inquiry: &Inquiry, taken: Option<Taken>) -> Body {
    match inquiry.method {
        Method::Initialize => Err(method_not_found(&inquiry.request.method)),
        Method::Ping => Ok(Raw::empty_object()),
        Method::Discover => describe::discover(inquiry),
        Method::SetLevel => set_level(inquiry),
        Method::List(kind) => {
            if kind == ListKind::Skills {
                skills::check_offered(inquiry)?;
            }
            lists::list(inquiry, kind)
        }
        Method::CallTool | Method::ReadResource | Method::GetPrompt | Method::Complete => {
            call::call(inquiry, taken).await
        }
        Method::GetSkill | Method::ReadDirectory => {
            skills::check_offered(inquiry)?;
            call::call(inquiry, taken).await
        }
        Method::Subscribe => Box::pin(subscribe(inquiry)).await,
        Method::Unsubscribe => unsubscribe(inquiry),
        Method::Listen => Box::pin(listen(inquiry)).await,
        Method::TaskGet => Box::pin(tasks::get(inquiry)).await,
        Method::TaskResult => Box::pin(tasks::result(inquiry)).await,
        Method::TaskList => Box::pin(tasks::list(inquiry)).await,
        Method::TaskUpdate => Box::pin(tasks::update(inquiry)).await,
        Method::TaskCancel => Box::pin(tasks::cancel(inquiry)).await,
        Method::Events(act) => Box::pin(events::answer(inquiry, act)).await,
    }
}

fn set_level(inquiry: &Inquiry) -> Body {
    let level = inquiry
        .request
        .params_object()
        .get("level")
        .and_then(Level::from_raw);
    let level =
        level.ok_or_else(|| invalid("level must be one of the eight severities of RFC 5424"))?;
    if let Speaker::Legacy(session) = &inquiry.speaker {
        session.set_level(level);
        session.feed(&inquiry.shared);
    }
    Ok(Raw::empty_object())
}

async fn subscribe(inquiry: &Inquiry) -> Body {
    let Speaker::Legacy(session) = &inquiry.speaker else {
        return Err(method_not_found(&inquiry.request.method));
    };
    let uri = text(inquiry, "uri")?;
    let guard = inquiry
        .shared
        .gate
        .subscribe(&inquiry.context, &inquiry.endpoint, &uri)
        .await
        .map_err(|refusal| errors::refused_item(inquiry, &refusal))?;
    let owner = resource_owner(&inquiry.shared, inquiry, &uri);
    session.subscribe(&uri, owner, guard)?;
    Ok(Raw::empty_object())
}

fn unsubscribe(inquiry: &Inquiry) -> Body {
    let uri = text(inquiry, "uri")?;
    if let Speaker::Legacy(session) = &inquiry.speaker {
        session.unsubscribe(&uri);
    }
    Ok(Raw::empty_object())
}

/// A string among a request's params.
fn text(inquiry: &Inquiry, member: &str) -> Result<Box<str>, ErrorObject> {
    inquiry
        .request
        .params
        .as_ref()
        .and_then(|params| params.get(member))
        .and_then(|value| value.to_str().map(Into::into))
        .ok_or_else(|| {
            invalid(&format!(
                "{} needs {member}, a string",
                inquiry.request.method
            ))
        })
}

fn invalid(message: &str) -> ErrorObject {
    ErrorObject::new(codes::INVALID_PARAMS, message)
}
