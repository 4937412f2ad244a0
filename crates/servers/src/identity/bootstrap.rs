//! Signing in: without a person where that is possible, else by asking the
//! client, else with a code that the client shows and a second call.

use std::sync::Arc;
use std::time::Duration;

use legation_core::OpContext;
use legation_entra::account::{AGENT_SCOPES, Bootstrap};
use legation_entra::{Account, Class, SignInError};
use legation_gate::{Ask, Outcome, Peer};
use legation_wire::json::{Object, Raw};
use serde::Serialize;

use super::flow::{Flow, Flows, Waiting};
use crate::accounts::Failure;
use crate::json_result;

/// How long a call waits that shows no progress: clients give up after a
/// minute.
const QUIET_WAIT: Duration = Duration::from_secs(45);
/// How long a call waits whose client shows the code by itself.
const SHORT_WAIT: Duration = Duration::from_secs(20);
/// How often progress is shown.
const PROGRESS: Duration = Duration::from_secs(5);

/// Signed in.
#[derive(Serialize)]
struct Ready {
    status: &'static str,
    account: String,
    entity: String,
    agent_id: Option<String>,
    attribution: &'static str,
    sponsor: Option<String>,
    scopes: Vec<String>,
    asked_for: [&'static str; 3],
    expires_in_s: u64,
    /// Why the agent does not act itself, where it was wanted to.
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback: Option<Failure>,
}

/// A person has to enter a code.
#[derive(Serialize)]
struct Pending<'a> {
    status: &'static str,
    account: &'a str,
    message: &'a str,
    user_code: &'a str,
    verification_uri: &'a str,
    expires_in_s: u64,
    next: &'static str,
}

/// What a client said to the question.
enum Answer {
    Accepted,
    Declined,
    /// Nothing that a person said.
    Nothing,
}

const NEXT: &str =
    "Show your user the link and the code. When they have entered it, call bootstrap again.";

/// Signs in and says as whom.
pub(super) async fn bootstrap(
    context: &OpContext,
    account: &Account,
    flows: &Flows,
    peer: &Arc<dyn Peer>,
) -> Outcome {
    let error = match account.bootstrap(context).await {
        Ok(found) => return json_result(&Ready::of(found, account)),
        Err(error) if error.needs_person() => error,
        Err(error) => return Failure::from(&error).outcome(),
    };
    if let Some(error) = flows.untold(account.name()) {
        return Failure::from(&*error).outcome();
    }
    let claims = error
        .refusal()
        .and_then(|refusal| refusal.claims.as_deref());
    let (waiting, is_new) = match flows.join(context, account, claims).await {
        Ok(joined) => joined,
        Err(error) => return Failure::from(&error).outcome(),
    };
    let ended = match ask(peer, waiting.flow()) {
        Some(question) => asked(context, account, &waiting, peer, question).await,
        None if is_new => None,
        None => wait(context, account, &waiting, peer, SHORT_WAIT).await,
    };
    match ended {
        Some(Ok(())) => {}
        Some(Err(failure)) => return failure.outcome(),
        None => {
            waiting.flow().give();
            return pending(account, waiting.flow());
        }
    }
    match account.bootstrap(context).await {
        Ok(found) => json_result(&Ready::of(found, account)),
        Err(error) => Failure::from(&error).outcome(),
    }
}

/// Asks the client and waits for the flow; `None` while it goes on.
async fn asked(
    context: &OpContext,
    account: &Account,
    waiting: &Waiting,
    peer: &Arc<dyn Peer>,
    question: Ask,
) -> Option<Result<(), Failure>> {
    let answer = peer.ask(question);
    let answer = if peer.takes_input_required() {
        // Such a client is away until it comes back with an answer.
        tokio::select! {
            reason = context.cancel.cancelled() => return Some(cancelled(reason)),
            answer = answer => read(answer.ok().as_ref()),
        }
    } else {
        // The code may be entered on a telephone, and the question never answered.
        tokio::select! {
            reason = context.cancel.cancelled() => return Some(cancelled(reason)),
            answer = answer => read(answer.ok().as_ref()),
            end = waiting.end() => return Some(told(end)),
        }
    };
    match answer {
        Answer::Accepted => wait(context, account, waiting, peer, QUIET_WAIT).await,
        Answer::Declined => {
            waiting.flow().decline();
            Some(Err(declined()))
        }
        Answer::Nothing => None,
    }
}

/// Waits for the flow: to its end where the client sees progress, else for
/// `quiet`.
async fn wait(
    context: &OpContext,
    account: &Account,
    waiting: &Waiting,
    peer: &Arc<dyn Peer>,
    quiet: Duration,
) -> Option<Result<(), Failure>> {
    let shows = peer.wants_progress();
    let whole = waiting.flow().prompt.expires_in;
    let limit = async {
        match shows {
            true => std::future::pending().await,
            false => tokio::time::sleep(quiet).await,
        }
    };
    tokio::pin!(limit);
    loop {
        tokio::select! {
            biased;
            reason = context.cancel.cancelled() => return Some(cancelled(reason)),
            end = waiting.end() => return Some(told(end)),
            () = &mut limit => return None,
            () = tokio::time::sleep(PROGRESS), if shows => {
                let left = waiting.flow().left(account.instant());
                let done = whole.saturating_sub(left).as_secs();
                let message = format!("waiting for the code, {} s left", left.as_secs());
                peer.progress(
                    Object::new()
                        .with("progress", Raw::from_serialize(&done))
                        .with("total", Raw::from_serialize(&whole.as_secs()))
                        .with("message", Raw::str(&message)),
                );
            }
        }
    }
}

/// The question to a client that can be asked: a link to open where it shows
/// links, else a form.
fn ask(peer: &Arc<dyn Peer>, flow: &Flow) -> Option<Ask> {
    let capabilities = peer.capabilities();
    let prompt = &flow.prompt;
    let text = format!(
        "Sign your agent in: open {} and enter the code {}.",
        prompt.verification_uri, prompt.user_code
    );
    let params = Object::new().with("message", Raw::str(&text));
    let params = if capabilities.elicitation_url {
        params
            .with("mode", Raw::str("url"))
            .with("url", Raw::str(&prompt.verification_uri))
    } else if capabilities.elicitation_form {
        params
            .with("mode", Raw::str("form"))
            .with("requestedSchema", Raw::from_static(FORM))
    } else {
        return None;
    };
    Some(Ask {
        method: "elicitation/create".into(),
        params: params.to_raw(),
    })
}

const FORM: &str = r#"{"type":"object","properties":{"entered":{"type":"boolean","title":"I have entered the code","default":true}}}"#;

fn read(response: Option<&Raw>) -> Answer {
    let action = response.and_then(|response| response.get("action"));
    match action.as_ref().and_then(Raw::to_str).as_deref() {
        Some("accept") => Answer::Accepted,
        Some("decline") => Answer::Declined,
        _ => Answer::Nothing,
    }
}

fn told(end: super::flow::End) -> Result<(), Failure> {
    end.map_err(|error| Failure::from(&*error))
}

fn cancelled(reason: legation_core::CancelReason) -> Result<(), Failure> {
    Err(Failure::from(&SignInError::Cancelled { reason }))
}

fn declined() -> Failure {
    let class = Class::ConsentDenied;
    Failure {
        error: class.as_str(),
        kind_of: class.parent().map(Class::as_str),
        message: "the sign-in was declined; nobody was signed in".to_owned(),
        hint: "call bootstrap again if it is wanted after all".to_owned(),
        retry_after_s: None,
    }
}

fn pending(account: &Account, flow: &Flow) -> Outcome {
    json_result(&Pending {
        status: "pending",
        account: account.name(),
        message: &flow.prompt.message,
        user_code: &flow.prompt.user_code,
        verification_uri: &flow.prompt.verification_uri,
        expires_in_s: flow.left(account.instant()).as_secs(),
        next: NEXT,
    })
}

// === impl Ready ===

impl Ready {
    fn of(found: Bootstrap, account: &Account) -> Self {
        let class = Class::AgentIdNotAvailable;
        let name = account.name();
        Self {
            status: "ready",
            account: name.to_owned(),
            entity: account.entity().to_string(),
            agent_id: found.agent_id,
            attribution: found.acting.as_str(),
            sponsor: account.identity().sponsor.map(Into::into),
            scopes: found.scopes,
            asked_for: AGENT_SCOPES,
            expires_in_s: found.expires_in.as_secs(),
            fallback: found.instead_because.map(|why| Failure {
                error: class.as_str(),
                kind_of: class.parent().map(Class::as_str),
                message: format!("{why}; the application acts for its user instead"),
                hint: format!(
                    "make an agent identity: `legation identity provision --account {name}`"
                ),
                retry_after_s: None,
            }),
        }
    }
}
