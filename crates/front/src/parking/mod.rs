//! Calls that wait for a modern client to come back with answers.
//!
//! A round is one `input_required` result: the state sealed into it names the
//! round, and only the same client with the same request opens it. It can be
//! answered once; the same answers again get what was said then, because a
//! client whose connection broke cannot know whether it was heard. Behind a
//! round stands either a call that is still running, or a state that a modern
//! server wants back.

mod seal;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use legation_core::{BootId, Cancel, CancelReason, ClientId, SharedClock};
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use tokio::sync::watch;

pub(crate) use self::seal::{Binding, digest};
use self::seal::{Opened, Sealer, UnsealError};
use crate::peer::{ModernPeer, Pending, is_answer};
use crate::settings::FrontSettings;

/// What a request is answered with.
pub(crate) type Body = Result<Raw, ErrorObject>;

/// Longest answer that is kept for the same retry again, in bytes.
const STORED_MAX: usize = 256 * 1024;

/// The rounds that can still be answered, or were a short while ago.
#[derive(Debug)]
pub(crate) struct Parking {
    sealer: Sealer,
    clock: SharedClock,
    ttl: std::time::Duration,
    per_client: usize,
    rounds: Mutex<HashMap<RoundId, Arc<Round>>>,
}

/// Names a round inside its sealed state.
pub(crate) type RoundId = [u8; 16];

/// A call that goes on while its client is away. Dropped before its end, it is
/// called off.
#[derive(Debug)]
pub(crate) struct Parked {
    pub(crate) peer: Arc<ModernPeer>,
    pub(crate) cancel: Cancel,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Round {
    client: ClientId,
    opened: u64,
    expires: Instant,
    kind: Kind,
    answered: Mutex<Option<Answered>>,
}

#[derive(Debug)]
enum Kind {
    Live {
        call: Arc<Parked>,
        questions: Mutex<Vec<Pending>>,
        result: Object,
    },
    Upstream {
        state: Option<Raw>,
    },
}

#[derive(Debug)]
struct Answered {
    digest: [u8; 32],
    stored: watch::Receiver<Option<Body>>,
}

/// Where the end of a retry is put for the same retry again.
#[derive(Debug)]
pub(crate) struct Store(watch::Sender<Option<Body>>);

/// What a retry leads to.
#[derive(Debug)]
pub(crate) enum Resumed {
    /// The call goes on; its next step is the answer.
    Live(Arc<Parked>, Store),
    /// The server is called again with its state.
    Upstream(Option<Raw>, Store),
    /// Answers are missing: the same questions again.
    Again(Object),
    /// The same retry came before.
    Before(watch::Receiver<Option<Body>>),
}

// === impl Parking ===

impl Parking {
    /// An empty table with a fresh key.
    ///
    /// # Errors
    /// When the operating system has no randomness to give.
    pub(crate) fn new(
        boot: &BootId,
        clock: SharedClock,
        settings: &FrontSettings,
    ) -> Result<Self, getrandom::Error> {
        Ok(Self {
            sealer: Sealer::new(boot)?,
            clock,
            ttl: settings.park_ttl,
            per_client: settings.parked_per_client,
            rounds: Mutex::default(),
        })
    }

    /// Opens a round for a running call; the whole `input_required` result.
    ///
    /// # Errors
    /// When the operating system has no randomness to give.
    pub(crate) fn park(
        &self,
        binding: &Binding,
        call: Arc<Parked>,
        questions: Vec<Pending>,
    ) -> Result<Raw, getrandom::Error> {
        let requests: Object = questions
            .iter()
            .map(|question| {
                let request = Object::new()
                    .with("method", Raw::str(&question.method))
                    .with("params", question.params.clone());
                (question.key.clone(), request.to_raw())
            })
            .collect();
        let result = Object::new()
            .with("resultType", Raw::from_static(r#""input_required""#))
            .with("inputRequests", requests.to_raw());
        let kind = Kind::Live {
            call,
            questions: Mutex::new(questions),
            result: result.clone(),
        };
        self.open(binding, kind, result)
    }

    /// Opens a round for what a modern server asked itself.
    ///
    /// # Errors
    /// When the operating system has no randomness to give.
    pub(crate) fn pass(
        &self,
        binding: &Binding,
        asked: Object,
        state: Option<Raw>,
    ) -> Result<Raw, getrandom::Error> {
        let mut result = Object::new().with("resultType", Raw::from_static(r#""input_required""#));
        result.merge(&asked);
        self.open(binding, Kind::Upstream { state }, result)
    }

    /// Takes a retry in.
    ///
    /// # Errors
    /// What the client is told when the state or the answers are refused.
    pub(crate) fn resume(
        &self,
        state: &Raw,
        binding: &Binding,
        responses: Option<&Raw>,
    ) -> Result<Resumed, ErrorObject> {
        let opened = self
            .sealer
            .open(state, binding)
            .map_err(|error| unsealed(&error))?;
        let round = self.lock().get(&opened.round).cloned();
        let round = round
            .filter(|round| round.expires > self.clock.now())
            .ok_or_else(|| bad_state("the requestState has expired"))?;
        let responses = match responses {
            None => Object::new(),
            Some(raw) => raw.to_object().ok_or_else(|| {
                ErrorObject::new(codes::INVALID_PARAMS, "inputResponses must be an object")
            })?,
        };
        round.answer(&responses, |result| {
            self.with_state(result, &opened, binding)
        })
    }

    /// Ends the rounds whose time is over.
    pub(crate) fn sweep(&self) {
        let now = self.clock.now();
        let gone: Vec<_> = {
            let mut rounds = self.lock();
            let over: Vec<RoundId> = rounds
                .iter()
                .filter(|(_, round)| round.expires <= now)
                .map(|(id, _)| *id)
                .collect();
            over.iter().filter_map(|id| rounds.remove(id)).collect()
        };
        // Dropping calls off what waits, which must not happen under the lock.
        drop(gone);
    }

    /// How many rounds are held.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    fn open(&self, binding: &Binding, kind: Kind, result: Object) -> Result<Raw, getrandom::Error> {
        let mut id = RoundId::default();
        getrandom::fill(&mut id)?;
        let opened = Opened {
            round: id,
            expires_ms: self.clock.wall().0
                + i64::try_from(self.ttl.as_millis()).unwrap_or(i64::MAX / 2),
        };
        let sealed = self.sealer.seal(&opened, binding)?;
        let gone = {
            let mut rounds = self.lock();
            let gone = evict(&mut rounds, &binding.client, self.per_client);
            let number = rounds.values().map(|round| round.opened).max().unwrap_or(0) + 1;
            rounds.insert(
                id,
                Arc::new(Round {
                    client: binding.client.clone(),
                    opened: number,
                    expires: self.clock.now() + self.ttl,
                    kind,
                    answered: Mutex::new(None),
                }),
            );
            gone
        };
        drop(gone);
        Ok(result.with("requestState", sealed).to_raw())
    }

    fn with_state(
        &self,
        result: &Object,
        opened: &Opened,
        binding: &Binding,
    ) -> Result<Object, ErrorObject> {
        let sealed = self
            .sealer
            .seal(opened, binding)
            .map_err(|_| no_randomness())?;
        Ok(result.clone().with("requestState", sealed))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RoundId, Arc<Round>>> {
        self.rounds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes room for one more round of a client's: its oldest go.
fn evict(
    rounds: &mut HashMap<RoundId, Arc<Round>>,
    client: &ClientId,
    most: usize,
) -> Vec<Arc<Round>> {
    let mut own: Vec<(u64, RoundId)> = rounds
        .iter()
        .filter(|(_, round)| round.client == *client)
        .map(|(id, round)| (round.opened, *id))
        .collect();
    if own.len() < most {
        return Vec::new();
    }
    own.sort_unstable();
    let over = own.len() + 1 - most;
    own.iter()
        .take(over)
        .filter_map(|(_, id)| rounds.remove(id))
        .collect()
}

// === impl Round ===

impl Round {
    fn answer(
        &self,
        responses: &Object,
        again: impl FnOnce(&Object) -> Result<Object, ErrorObject>,
    ) -> Result<Resumed, ErrorObject> {
        let digest = digest(&[responses.to_raw().sha256_input()]);
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = &*answered {
            if before.digest == digest {
                return Ok(Resumed::Before(before.stored.clone()));
            }
            return Err(bad_state(
                "the requestState was answered before, with other answers",
            ));
        }
        let resumed = match &self.kind {
            Kind::Upstream { state } => {
                let (store, stored) = Store::new();
                *answered = Some(Answered { digest, stored });
                Resumed::Upstream(state.clone(), store)
            }
            Kind::Live {
                call,
                questions,
                result,
            } => {
                let mut questions = questions.lock().unwrap_or_else(PoisonError::into_inner);
                if questions
                    .iter()
                    .any(|question| !responses.contains(&question.key))
                {
                    return again(result).map(Resumed::Again);
                }
                check(&questions, responses)?;
                for question in questions.drain(..) {
                    if let Some(answer) = responses.get(&question.key) {
                        // A server that gave up asking no longer wants it.
                        drop(question.answer.send(Ok(answer.clone())));
                    }
                }
                let (store, stored) = Store::new();
                *answered = Some(Answered { digest, stored });
                Resumed::Live(Arc::clone(call), store)
            }
        };
        Ok(resumed)
    }
}

fn check(questions: &[Pending], responses: &Object) -> Result<(), ErrorObject> {
    let wrong = questions.iter().find(|question| {
        responses
            .get(&question.key)
            .is_some_and(|answer| !is_answer(&question.method, answer))
    });
    match wrong {
        None => Ok(()),
        Some(question) => Err(ErrorObject::new(
            codes::INVALID_PARAMS,
            &format!(
                "inputResponses.{} is no answer to {}",
                question.key, question.method
            ),
        )),
    }
}

// === impl Parked ===

impl Drop for Parked {
    fn drop(&mut self) {
        self.cancel.cancel(CancelReason::Deadline);
    }
}

// === impl Store ===

impl Store {
    fn new() -> (Self, watch::Receiver<Option<Body>>) {
        let (store, stored) = watch::channel(None);
        (Self(store), stored)
    }

    /// Keeps the end of the retry, unless it is too large to keep.
    pub(crate) fn put(self, body: &Body) {
        let kept = match body {
            Ok(result) if result.as_bytes().len() > STORED_MAX => Err(bad_state(
                "the requestState was answered before, and that answer is not kept",
            )),
            body => body.clone(),
        };
        self.0.send_replace(Some(kept));
    }
}

/// Waits for the end of the same retry that came before.
pub(crate) async fn stored(mut before: watch::Receiver<Option<Body>>) -> Body {
    match before.wait_for(Option::is_some).await {
        Ok(body) => body.clone().unwrap_or_else(|| Err(no_randomness())),
        Err(_) => Err(bad_state("the call was called off")),
    }
}

fn unsealed(error: &UnsealError) -> ErrorObject {
    match error {
        UnsealError::OtherBoot => {
            bad_state("the hub was restarted since this requestState was given")
        }
        UnsealError::Malformed => ErrorObject::new(
            codes::INVALID_PARAMS,
            "requestState is not what this hub gave for this request; call again without it",
        ),
    }
}

fn bad_state(what: &str) -> ErrorObject {
    let data = Object::new().with(
        "hint",
        Raw::from_static(r#""call again without requestState""#),
    );
    ErrorObject::new(
        codes::BAD_REQUEST_STATE,
        &format!("{what}; nothing was done"),
    )
    .with_data(data.to_raw())
}

/// The answer when the operating system has no randomness to give.
pub(crate) fn no_randomness() -> ErrorObject {
    ErrorObject::new(
        codes::INTERNAL_ERROR,
        "the operating system gave no random bytes; the call was called off",
    )
}

#[cfg(test)]
mod tests;
