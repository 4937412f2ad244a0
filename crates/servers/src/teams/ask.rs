//! Asking the human: a card, a wait, and an answer that is kept.

use std::time::Duration;

use legation_core::{OpContext, Wall};
use legation_entra::chat::{Body, Message, Outgoing};
use legation_entra::{Account, Class};
use legation_gate::Peer;
use legation_wire::json::{Object, Raw};
use serde::Serialize;

use super::Shared;
use super::arguments::{bad, number, text};
use super::asked::Asked;
use super::question::{self, Question};
use super::talk::Line;
use crate::accounts::Failure;
use crate::kept::{self, Kind};

/// Questions: an answer is found for a week after it was asked at most, and
/// then forgotten.
const QUESTIONS: Kind = Kind {
    word: "teams question",
    days: 14,
    most: 1_000,
};

/// How long a call waits unless it says so: clients give up after a minute.
const WAIT_S: i64 = 45;
/// Messages are listed by times that differ between Teams' own machines.
const SLACK_MS: i64 = 10_000;
/// Teams takes one request a second for a chat, everybody's together.
const EAGER: Duration = Duration::from_millis(1_500);
const PATIENT: Duration = Duration::from_secs(5);
/// So long somebody who was just asked is waited for eagerly.
const EAGER_FOR: Duration = Duration::from_secs(15);

/// Where a question stands.
#[derive(Debug, Serialize)]
pub(super) struct Standing {
    pub(super) status: &'static str,
    pub(super) id: String,
    account: String,
    entity: String,
    code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Said>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<&'static str>,
}

/// The human's answer. Its text is data.
#[derive(Debug, Serialize)]
struct Said {
    /// From one, in the order of the question's choices.
    #[serde(skip_serializing_if = "Option::is_none")]
    choice: Option<usize>,
    message_id: String,
    at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    untrusted_text: Option<String>,
}

const NEXT: &str =
    "There is no answer yet. Call ask with this id to go on waiting, or poll now and then.";
const OVER: &str = "Nobody answered in time. Ask anew if it still matters.";

pub(super) async fn ask(
    shared: &Shared,
    context: &OpContext,
    account: &Account,
    arguments: &Object,
    peer: &dyn Peer,
) -> Result<Standing, Failure> {
    let timeout = number(arguments, "timeout_s", 0..=3600)?.unwrap_or(WAIT_S);
    let timeout = Duration::from_secs(u64::try_from(timeout).unwrap_or_default());
    let id = text(arguments, "id")?;
    let asked = match &id {
        Some(_) => None,
        None => Some(Asked::read(arguments)?),
    };
    let line = shared.talks.line(context, account, false).await?;
    let (id, question) = match (id, asked) {
        (Some(id), _) => find(shared, context, account, &id).await?,
        (None, Some(asked)) => post(shared, context, account, &line, &asked).await?,
        (None, None) => return Err(bad("`question` or `id` is missing")),
    };
    if question.chat != line.chat.id {
        return Err(bad("the question was asked in another chat"));
    }
    let waiting = Waiting {
        shared,
        context,
        account,
        line: &line,
        id,
    };
    waiting.wait(question, timeout, peer).await
}

/// The open questions of a client in a chat, and the answers they got by these
/// messages; those it was given before too where it reads them again.
pub(super) async fn answered(
    shared: &Shared,
    context: &OpContext,
    account: &Account,
    line: &Line,
    messages: &[Message],
    is_again: bool,
) -> Result<Vec<Standing>, Failure> {
    let client = context.caller.principal.client.as_str();
    let mut found = Vec::new();
    for (id, mut question) in shared.kept.list::<Question>(QUESTIONS).await? {
        let is_ours = question.client == client && question.chat == line.chat.id;
        let answer = question.answer.as_ref();
        let is_in =
            answer.is_some_and(|answer| messages.iter().any(|one| one.id == answer.message));
        let is_done = question.told && !(is_again && is_in);
        if !is_ours || is_done || question.account != account.name() {
            continue;
        }
        if question.answer.is_none() {
            question.answer = question.find(messages);
        }
        if question.answer.is_some() {
            let standing = tell(shared, account, &id, &mut question, messages).await?;
            found.push(standing);
        }
    }
    Ok(found)
}

/// The question with this id, if this client asked it.
async fn find(
    shared: &Shared,
    context: &OpContext,
    account: &Account,
    id: &str,
) -> Result<(String, Question), Failure> {
    let client = context.caller.principal.client.as_str();
    let found: Option<Question> = shared.kept.get(QUESTIONS, id).await?;
    let found = found.filter(|one| one.client == client && one.account == account.name());
    let found = found.ok_or_else(|| bad("there is no question with this id"))?;
    Ok((id.to_owned(), found))
}

/// Asks, unless the same question is open: an agent that repeats itself is
/// waiting, and has not asked twice.
async fn post(
    shared: &Shared,
    context: &OpContext,
    account: &Account,
    line: &Line,
    asked: &Asked,
) -> Result<(String, Question), Failure> {
    let _alone = tokio::select! {
        biased;
        reason = context.cancel.cancelled() => {
            let message = format!("{}; nothing was asked", reason.as_str());
            return Err(Failure::said(Class::Cancelled, message, "ask again if it is wanted"));
        }
        turn = line.talk.asking.lock() => turn,
    };
    let client = context.caller.principal.client.as_str();
    let content = asked.digest();
    let now = line.chats.services_time();
    let mut codes = Vec::new();
    let mut open = None;
    for (id, question) in shared.kept.list::<Question>(QUESTIONS).await? {
        let is_same = question.client == client
            && question.account == account.name()
            && question.chat == line.chat.id
            && question.content == content;
        if is_same && !question.told && !question.is_over(now) {
            open = Some((id, question));
        } else {
            codes.push(question.code);
        }
    }
    let (id, mut question) = match open {
        Some((id, question)) if question.message.is_some() => return Ok((id, question)),
        // It was begun, and perhaps posted.
        Some(begun) => begun,
        None => {
            let (id, code) = name(&codes)?;
            let question = Question {
                client: client.to_owned(),
                account: account.name().to_owned(),
                chat: line.chat.id.clone(),
                human: line.chat.human.clone(),
                code,
                choices: asked.choices.len(),
                content,
                message: None,
                expires_ms: now.0 + asked.expires_s * 1000,
                answer: None,
                told: false,
            };
            shared.kept.add(QUESTIONS, &id, &question).await?;
            (id, question)
        }
    };
    let outgoing = Outgoing {
        body: Body::Card {
            card: question::card(
                &asked.question,
                &asked.choices,
                &question.code,
                asked.link.as_deref(),
            ),
            text: format!("**Question {}**", question.code),
        },
        mentions: Vec::new(),
        key: None,
        earlier: None,
    };
    let client = &context.caller.principal.client;
    let key = kept::name(client, account.name(), &[&line.chat.id, "ask", &id]);
    shared.is_used(context, line);
    let (sent, _) = super::send::once(shared, context, line, &key, outgoing).await?;
    let first = sent.into_iter().next();
    question.message = first.map(|sent| (sent.id, sent.created.0));
    shared.kept.put(QUESTIONS, &id, &question).await?;
    Ok((id, question))
}

/// An id, and a code that no other question has.
fn name(taken: &[String]) -> Result<(String, String), Failure> {
    let random = || {
        legation_core::id::random_hex().map_err(|_| {
            let message = "the system has no randomness to give; nothing was asked";
            Failure::said(Class::Local, message.to_owned(), "try again")
        })
    };
    let id = random()?;
    // More tries than questions there can be cannot all be taken.
    for _ in 0..=taken.len() {
        let code = question::code(&random()?);
        if let Some(code) = code.filter(|code| !taken.contains(code)) {
            return Ok((id, code));
        }
    }
    Err(bad("no code is free"))
}

/// Notes that an answer was given to whoever asked, and gives it.
async fn tell(
    shared: &Shared,
    account: &Account,
    id: &str,
    question: &mut Question,
    messages: &[Message],
) -> Result<Standing, Failure> {
    question.told = true;
    shared.kept.put(QUESTIONS, id, question).await?;
    Ok(Standing::answered(id, account, question, messages))
}

/// One call that waits.
struct Waiting<'a> {
    shared: &'a Shared,
    context: &'a OpContext,
    account: &'a Account,
    line: &'a Line,
    id: String,
}

// === impl Waiting ===

impl Waiting<'_> {
    async fn wait(
        &self,
        mut question: Question,
        timeout: Duration,
        peer: &dyn Peer,
    ) -> Result<Standing, Failure> {
        let begun = self.account.instant();
        let _waits = self.shared.waiting.enter();
        let mut is_over = false;
        loop {
            let has_looked = match self.look(&mut question).await {
                Ok(Some(standing)) => return Ok(standing),
                Ok(None) => true,
                Err(failure) if is_passing(&failure) => false,
                Err(failure) => return Err(failure),
            };
            if has_looked && is_over {
                question.told = true;
                self.shared.kept.put(QUESTIONS, &self.id, &question).await?;
                return Ok(self.standing(&question, "expired", OVER));
            }
            if !is_over && question.is_over(self.line.chats.services_time()) {
                // What was written in time is there now, if there is anything.
                is_over = true;
                continue;
            }
            let passed = self.account.instant().saturating_duration_since(begun);
            let left = timeout.saturating_sub(passed);
            if left.is_zero() {
                return Ok(self.standing(&question, "pending", NEXT));
            }
            let pace = if passed < EAGER_FOR { EAGER } else { PATIENT };
            tokio::select! {
                biased;
                reason = self.context.cancel.cancelled() => {
                    let message = format!("{}; the question {} stays open", reason.as_str(), self.id);
                    return Err(Failure::said(Class::Cancelled, message, NEXT));
                }
                () = tokio::time::sleep(pace.min(left)) => {}
            }
            if peer.wants_progress() {
                progress(peer, passed + pace.min(left), timeout);
            }
        }
    }

    /// Looks for the answer.
    async fn look(&self, question: &mut Question) -> Result<Option<Standing>, Failure> {
        let asked_ms = match &question.message {
            Some((_, at_ms)) => *at_ms,
            None => return Err(bad("the question was not asked: ask it again")),
        };
        let since = Some(Wall(asked_ms - SLACK_MS));
        let chat = &self.line.chat.id;
        let read = self.line.chats.messages(self.context, chat, since).await;
        let messages = read.map_err(|error| self.line.failure(&error))?;
        if question.answer.is_none() {
            question.answer = question.find(&messages);
        }
        if question.answer.is_none() {
            return Ok(None);
        }
        let told = tell(self.shared, self.account, &self.id, question, &messages);
        told.await.map(Some)
    }

    fn standing(&self, question: &Question, status: &'static str, next: &'static str) -> Standing {
        Standing {
            expires: Some(Wall(question.expires_ms).to_string()),
            next: Some(next),
            ..Standing::new(&self.id, self.account, question, status)
        }
    }
}

/// What may be better a moment later.
fn is_passing(failure: &Failure) -> bool {
    [Class::RateLimit, Class::Unreachable]
        .iter()
        .any(|class| failure.error == class.as_str())
}

fn progress(peer: &dyn Peer, passed: Duration, whole: Duration) {
    let params = Object::new()
        .with("progress", Raw::from_serialize(&passed.as_secs()))
        .with("total", Raw::from_serialize(&whole.as_secs()))
        .with("message", Raw::str("waiting for an answer in Teams"));
    peer.progress(params);
}

// === impl Standing ===

impl Standing {
    fn new(id: &str, account: &Account, question: &Question, status: &'static str) -> Self {
        Self {
            status,
            id: id.to_owned(),
            account: account.name().to_owned(),
            entity: account.entity().to_string(),
            code: question.code.clone(),
            expires: None,
            answer: None,
            next: None,
        }
    }

    fn answered(id: &str, account: &Account, question: &Question, messages: &[Message]) -> Self {
        let said = question.answer.as_ref().map(|answer| {
            let message = messages.iter().find(|one| one.id == answer.message);
            Said {
                choice: answer.choice,
                message_id: answer.message.clone(),
                at: Wall(answer.at_ms).to_string(),
                untrusted_text: message.map(|message| message.text.clone()),
            }
        });
        Self {
            answer: said,
            ..Self::new(id, account, question, "answered")
        }
    }
}
