//! What becomes of a request that was let in: one call, or a question back.
//!
//! The record is written before anything of an answer is shown, so that nothing is shown that is on
//! no record.

use bytes::Bytes;
use legation_core::EntityId;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::Sender;

use crate::hub::{
    Answered, Asker, Business, Called, Confirmation, Guess, Guessing, Hub, Refused, Requested,
    ToolCall, Work,
};
use crate::intent::{Intent, Wanted};
use crate::payload::{Payload, Pressed, State};
use crate::request::LetIn;
use crate::sse::{self, ErrorKind, Metadata, ShownError, ShownReference};
use crate::whose::{self, NamedDeal, Whose};

mod call;

/// How the question back begins; by it the next message is known to be its answer.
pub(crate) const WHOSE: &str = "Which business is this for?";
/// How the question for an account begins.
pub(crate) const WHICH_ACCOUNT: &str = "Which account is this for?";
/// Most answers to approvals that one message may bring.
const PRESSED_MAX: usize = 4;
/// Most references that are shown.
const REFERENCES_MAX: usize = 20;
/// Most characters of an answer that are shown; a chat is no place for more.
const TEXT_MAX: usize = 32 * 1024;
/// Who errors are of.
const SELF: &str = "legation";

/// The client has hung up, or the answer is complete.
pub(crate) struct Over;

/// Where events go; sending fails once nobody reads them.
pub(crate) struct Out(pub(crate) Sender<Bytes>);

/// What was understood, for the record.
#[derive(Debug, Default)]
struct Understood {
    intent: Option<Intent>,
    entity: Option<EntityId>,
    provider: Option<String>,
}

/// Answers a request.
pub(crate) async fn answer(hub: &dyn Hub, let_in: LetIn, out: &Out) -> Result<(), Over> {
    out.send(sse::ack()).await?;
    let LetIn {
        asker,
        payload,
        businesses,
    } = let_in;
    let pressed = pressed(&payload);
    if pressed.is_empty() {
        asked(hub, &asker, &payload, &businesses, out).await?;
    } else {
        for one in pressed {
            confirmed(hub, &asker, one, &businesses, out).await?;
        }
    }
    out.send(sse::done()).await
}

/// The buttons that the last message brings.
fn pressed(payload: &Payload) -> Vec<&Pressed> {
    let last = payload.last();
    let all = last.and_then(|last| last.copilot_confirmations.as_deref());
    let all = all.unwrap_or_default().iter();
    all.take(PRESSED_MAX).collect()
}

/// A message in words.
async fn asked(
    hub: &dyn Hub,
    asker: &Asker,
    payload: &Payload,
    businesses: &[Business],
    out: &Out,
) -> Result<(), Over> {
    let text = payload.last().map_or("", |last| last.text());
    // The answer to a question back says whose it is; what is wanted was said before.
    let before = payload
        .before(WHOSE)
        .or_else(|| payload.before(WHICH_ACCOUNT));
    let whole = match before {
        Some(before) => format!("{before}\n{text}"),
        None => text.to_owned(),
    };
    let whose = match (before, whose::whose(text, businesses)) {
        (Some(before), Whose::Unclear) => whose::whose(before, businesses),
        (_, whose) => whose,
    };
    let deal = whose::deal(&whole, businesses);
    let (intent, provider) =
        understand(hub, asker, &whole, &whose, deal.is_some(), businesses).await;
    let mut understood = Understood {
        intent: Some(intent),
        entity: None,
        provider,
    };
    let business = match whose {
        _ if !intent.needs_entity() => None,
        Whose::One(business) => Some(business),
        Whose::Unclear | Whose::Several => {
            recorded(hub, asker, &understood, None, Work::AskedBack, out).await?;
            return out.send(sse::text(&which(businesses))).await;
        }
        Whose::NotTheirs => {
            let code = "CLIENT_NOT_CLEARED";
            recorded(hub, asker, &understood, Some(code), Work::NotLetIn, out).await?;
            let message = "You may not ask about that here; nothing was read.";
            return out.fail(code, message, ErrorKind::Agent).await;
        }
    };
    understood.entity = business.map(|business| business.id.clone());
    if intent == Intent::General {
        recorded(hub, asker, &understood, None, Work::AskedBack, out).await?;
        return out.send(sse::text(&help())).await;
    }
    if business.is_some_and(|business| business.is_hipaa) && !intent.reads_only() {
        return hipaa(hub, asker, &understood, out).await;
    }
    let deal = match (deal, business) {
        (None, Some(business)) if matches!(intent, Intent::DealDetail | Intent::DealTimeline) => {
            deal_of(hub, asker, &whole, business).await
        }
        (deal, _) => deal,
    };
    match call::of(intent, &whole, business, deal.as_ref()) {
        Ok(call) => called(hub, asker, call, &understood, out).await,
        Err(question) => {
            recorded(hub, asker, &understood, None, Work::AskedBack, out).await?;
            out.send(sse::text(&question)).await
        }
    }
}

/// The deal that is named, found among those that this person may list.
async fn deal_of(
    hub: &dyn Hub,
    asker: &Asker,
    text: &str,
    business: &Business,
) -> Option<NamedDeal<'static>> {
    match hub.call(asker, call::deals(business)).await {
        Called::Answered(answered) if !answered.is_error => {
            whose::deal_among(text, &answered.references)
        }
        Called::Answered(_) | Called::Refused(_) | Called::Failed { .. } => None,
    }
}

/// What is wanted, by rules and, where they leave a doubt, by a model.
async fn understand(
    hub: &dyn Hub,
    asker: &Asker,
    text: &str,
    whose: &Whose<'_>,
    names_deal: bool,
    businesses: &[Business],
) -> (Intent, Option<String>) {
    let wanted = Wanted::of(text, names_deal);
    if wanted.is_certain() || text.trim().is_empty() {
        return (wanted.first(), None);
    }
    let entities = match whose {
        Whose::One(business) => vec![business.id.clone()],
        // It is shown to nobody who may not see all of what it could be about.
        Whose::Unclear | Whose::Several => {
            let allowed = businesses.iter().filter(|business| business.is_allowed);
            allowed.map(|business| business.id.clone()).collect()
        }
        Whose::NotTheirs => return (wanted.first(), None),
    };
    let among = match wanted.found.is_empty() {
        true => Intent::ALL.to_vec(),
        false => wanted.found.clone(),
    };
    let guessing = Guessing {
        text: text.to_owned(),
        among: among.clone(),
        entities,
    };
    match hub.guess(asker, guessing).await {
        Some(Guess { intent, provider }) if among.contains(&intent) => (intent, Some(provider)),
        Some(Guess { provider, .. }) => (wanted.first(), Some(provider)),
        None => (wanted.first(), None),
    }
}

/// A button was pressed.
async fn confirmed(
    hub: &dyn Hub,
    asker: &Asker,
    pressed: &Pressed,
    businesses: &[Business],
    out: &Out,
) -> Result<(), Over> {
    let understood = Understood::default();
    let Some((approval, call)) = call::back(&pressed.confirmation, businesses) else {
        recorded(
            hub,
            asker,
            &understood,
            Some("APPROVAL_VOIDED"),
            Work::Confirmed,
            out,
        )
        .await?;
        let message = "This question is none of this agent's; nothing was done.";
        return out.fail("APPROVAL_VOIDED", message, ErrorKind::Agent).await;
    };
    let is_yes = match pressed.state {
        State::Accepted => true,
        State::Dismissed => false,
        // Only an explicit answer is one.
        State::Other => {
            recorded(
                hub,
                asker,
                &understood,
                Some("APPROVAL_PENDING"),
                Work::Confirmed,
                out,
            )
            .await?;
            let message = "That is neither yes nor no; the question still waits.";
            return out.send(sse::text(message)).await;
        }
    };
    let understood = Understood {
        entity: call.entity.clone(),
        ..understood
    };
    match hub.confirm(asker, &approval, is_yes).await {
        Confirmation::Gone => {
            recorded(
                hub,
                asker,
                &understood,
                Some("APPROVAL_EXPIRED"),
                Work::Confirmed,
                out,
            )
            .await?;
            let message = "This question does not wait any more; nothing was done. Ask again.";
            out.fail("APPROVAL_EXPIRED", message, ErrorKind::Agent)
                .await
        }
        Confirmation::Taken if is_yes => called(hub, asker, call, &understood, out).await,
        Confirmation::Taken => {
            recorded(
                hub,
                asker,
                &understood,
                Some("APPROVAL_DENIED"),
                Work::Confirmed,
                out,
            )
            .await?;
            out.send(sse::text("Dismissed; nothing was done.")).await
        }
    }
}

/// Makes the call, and shows what came of it.
async fn called(
    hub: &dyn Hub,
    asker: &Asker,
    call: ToolCall,
    understood: &Understood,
    out: &Out,
) -> Result<(), Over> {
    let name = format!("{}/{}", call.server, call.tool);
    let made = hub.call(asker, call.clone()).await;
    let refused = match &made {
        Called::Refused(refused) => Some(refused.code.as_str()),
        Called::Answered(_) | Called::Failed { .. } => None,
    };
    recorded(hub, asker, understood, refused, Work::Called, out).await?;
    match made {
        Called::Answered(answered) => shown(answered, &name, out).await,
        Called::Refused(refused) => refused_by_gate(refused, &call, &name, out).await,
        Called::Failed { message } => {
            let error = error("TOOL_FAILED", &message, ErrorKind::Function, &name);
            out.send(sse::errors(&[error])).await
        }
    }
}

async fn shown(answered: Answered, tool: &str, out: &Out) -> Result<(), Over> {
    if answered.is_error {
        let message = cut(&answered.text);
        let error = error("TOOL_ERROR", &message, ErrorKind::Function, tool);
        return out.send(sse::errors(&[error])).await;
    }
    out.send(sse::text(&plain(&cut(&answered.text)))).await?;
    let references: Vec<ShownReference> = answered
        .references
        .into_iter()
        .take(REFERENCES_MAX)
        .map(|one| ShownReference {
            kind: one.kind,
            id: one.id,
            is_implicit: false,
            metadata: Metadata {
                display_name: one.name,
            },
        })
        .collect();
    if references.is_empty() {
        return Ok(());
    }
    out.send(sse::references(&references)).await
}

async fn refused_by_gate(
    refused: Refused,
    call: &ToolCall,
    tool: &str,
    out: &Out,
) -> Result<(), Over> {
    if let Some(approval) = &refused.approval {
        let title = format!("Allow {tool}?");
        let message = format!("{} ({approval})", plain(&refused.message));
        let confirmation = call::confirmation(approval, call);
        return out
            .send(sse::confirmation(&title, &message, &confirmation))
            .await;
    }
    let message = format!("{} {}", refused.message, refused.hint);
    let error = error(&refused.code, &message, ErrorKind::Function, tool);
    out.send(sse::errors(&[error])).await
}

async fn hipaa(
    hub: &dyn Hub,
    asker: &Asker,
    understood: &Understood,
    out: &Out,
) -> Result<(), Over> {
    let code = "UNREDACTED_PHI";
    recorded(hub, asker, understood, Some(code), Work::NotLetIn, out).await?;
    let message = "This business is under HIPAA: from here it can be looked at and not changed. \
                   Do it where your own agent works.";
    out.fail(code, message, ErrorKind::Agent).await
}

/// Writes the record; where that fails the person is told, and nothing else.
async fn recorded(
    hub: &dyn Hub,
    asker: &Asker,
    understood: &Understood,
    refused: Option<&str>,
    work: Work,
    out: &Out,
) -> Result<(), Over> {
    let intent = match work {
        Work::Confirmed => "confirmation",
        _ => understood.intent.map_or("confirmation", Intent::as_str),
    };
    let requested = Requested {
        login: asker.login.clone(),
        thread: asker.thread.clone(),
        intent,
        entity: understood.entity.clone(),
        provider: understood.provider.clone(),
        refused: refused.map(str::to_owned),
        work,
    };
    if hub.record(requested).await.is_ok() {
        return Ok(());
    }
    let message = "The request could not be recorded, so nothing is shown of it.";
    out.fail("LEDGER_UNAVAILABLE", message, ErrorKind::Agent)
        .await?;
    out.send(sse::done()).await?;
    Err(Over)
}

/// The question for a business.
fn which(businesses: &[Business]) -> String {
    let mut question = format!("{WHOSE}\n\n");
    for business in businesses.iter().filter(|business| business.is_allowed) {
        question.push_str(&format!("- **{}**\n", plain(&business.name)));
    }
    question
}

/// What can be asked.
fn help() -> String {
    "I can show the morning brief, the end-of-day digest, letters, the calendar, deals, what waits \
     in triage and the status of the desk, find deadlines in a text, and write drafts. Say what you \
     want and for which business."
        .to_owned()
}

fn error(code: &str, message: &str, kind: ErrorKind, identifier: &str) -> ShownError {
    ShownError {
        kind,
        code: code.to_owned(),
        // It may be a server's own words.
        message: plain(message),
        identifier: identifier.to_owned(),
    }
}

/// Text of letters and deals in Markdown: it may neither load a picture, whose address would tell
/// its owner who reads what, nor hold HTML.
fn plain(text: &str) -> String {
    text.replace("![", "!\u{200b}[").replace('<', "&lt;")
}

fn cut(text: &str) -> String {
    let mut kept: String = text.chars().take(TEXT_MAX).collect();
    if kept.len() < text.len() {
        kept.push_str("\n\n(cut here)");
    }
    kept
}

// === impl Out ===

impl Out {
    pub(crate) async fn send(&self, event: Bytes) -> Result<(), Over> {
        self.0.send(event).await.map_err(|_| Over)
    }

    async fn fail(&self, code: &str, message: &str, kind: ErrorKind) -> Result<(), Over> {
        self.send(sse::errors(&[error(code, message, kind, SELF)]))
            .await
    }
}

/// As it stands in a confirmation.
fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn text_of(value: &str) -> Value {
    json!(value)
}
