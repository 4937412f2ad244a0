//! Several requests in one (Microsoft Learn, "JSON batching"): twenty at most,
//! answered in any order, each throttled on its own.

use std::collections::HashMap;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use legation_core::OpContext;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Graph, GraphCall};
use crate::error::{GraphError, GraphRefusal};
use crate::http::Repeat;

/// Most requests in one.
const AT_ONCE: usize = 20;
/// Rounds for those that were throttled.
const ROUNDS: usize = 5;
/// Where a throttled one names no time.
const PAUSE: Duration = Duration::from_secs(2);
/// Longer is not waited.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// One of the requests.
#[derive(Clone, Debug)]
pub struct BatchCall {
    /// GET, POST, …
    pub method: Method,
    /// Path and query after the version.
    pub path: String,
    /// What is sent.
    pub body: Option<Value>,
    /// Which of the others must succeed first, by their place.
    pub depends_on: Vec<usize>,
}

/// Its answer.
#[derive(Debug)]
pub struct BatchAnswer {
    /// Its status.
    pub status: u16,
    /// Its body; `null` when it has none.
    pub body: Value,
}

#[derive(Deserialize)]
struct Answers {
    responses: Vec<Inner>,
}

#[derive(Deserialize)]
struct Inner {
    id: String,
    status: u16,
    #[serde(default)]
    headers: HashMap<String, Value>,
    #[serde(default)]
    body: Value,
}

// === impl Graph ===

impl Graph {
    /// Sends the requests, twenty at a time, and those that were throttled
    /// again. The answers are in the order of the requests; a refused one is
    /// an error of its own.
    ///
    /// # Errors
    /// See [`GraphError`]: what went wrong with the whole.
    pub async fn batch(
        &self,
        ctx: &OpContext,
        calls: &[BatchCall],
    ) -> Result<Vec<Result<BatchAnswer, GraphError>>, GraphError> {
        let mut all = Vec::with_capacity(calls.len());
        for part in calls.chunks(AT_ONCE) {
            all.extend(self.part(ctx, part).await?);
        }
        Ok(all)
    }

    async fn part(
        &self,
        ctx: &OpContext,
        calls: &[BatchCall],
    ) -> Result<Vec<Result<BatchAnswer, GraphError>>, GraphError> {
        let mut answers: Vec<Option<Inner>> = calls.iter().map(|_| None).collect();
        let mut left: Vec<usize> = (0..calls.len()).collect();
        for round in 0..ROUNDS {
            for answer in self.round(ctx, calls, &left).await? {
                let place = answer.id.parse::<usize>().ok();
                if let Some(slot) = place.and_then(|place| answers.get_mut(place)) {
                    *slot = Some(answer);
                }
            }
            let again = |place: &usize| {
                let answer = answers.get(*place).and_then(Option::as_ref);
                answer.is_some_and(|answer| answer.status == 429)
            };
            left.retain(again);
            let waits = left.iter().filter_map(|place| {
                let answer = answers.get(*place).and_then(Option::as_ref)?;
                Some(answer.wait(self.account.http().wall()))
            });
            let Some(wait) = waits.max().filter(|wait| *wait <= WAIT_MAX) else {
                break;
            };
            if round + 1 < ROUNDS {
                pause(ctx, wait).await?;
            }
        }
        let named = calls.iter().zip(answers);
        Ok(named.map(|(call, answer)| finish(call, answer)).collect())
    }

    async fn round(
        &self,
        ctx: &OpContext,
        calls: &[BatchCall],
        places: &[usize],
    ) -> Result<Vec<Inner>, GraphError> {
        let reads = |place: &usize| calls.get(*place).is_some_and(|c| c.method == Method::GET);
        let requests: Vec<Value> = places
            .iter()
            .filter_map(|place| Some((*place, calls.get(*place)?)))
            .map(|(place, call)| call.to_json(place, places))
            .collect();
        let mut batch = GraphCall::new(Method::POST, "/$batch");
        batch.body = Some(json!({ "requests": requests }));
        batch.repeat = match places.iter().all(reads) {
            true => Repeat::Safe,
            false => Repeat::Refused,
        };
        let answers: Answers = self.call(ctx, &batch).await?.json()?;
        Ok(answers.responses)
    }
}

async fn pause(ctx: &OpContext, wait: Duration) -> Result<(), GraphError> {
    tokio::select! {
        biased;
        reason = ctx.cancel.cancelled() => Err(GraphError::Cancelled {
            operation: "POST /v1.0/$batch".into(),
            reason,
        }),
        () = tokio::time::sleep(wait + Duration::from_millis(1)) => Ok(()),
    }
}

fn finish(call: &BatchCall, answer: Option<Inner>) -> Result<BatchAnswer, GraphError> {
    let operation = format!("{} {}", call.method, super::operation::masked(&call.path));
    let Some(answer) = answer else {
        return Err(GraphError::BadAnswer {
            operation: operation.into(),
            what: "the batch does not answer it".to_owned(),
        });
    };
    if (200..300).contains(&answer.status) {
        return Ok(BatchAnswer {
            status: answer.status,
            body: answer.body,
        });
    }
    let body = answer.body.to_string();
    let refusal = GraphRefusal::parse(&operation, answer.status, body.as_bytes());
    Err(GraphError::Refused(Box::new(refusal)))
}

// === impl BatchCall ===

impl BatchCall {
    /// Reads something.
    #[must_use]
    pub fn get(path: &str) -> Self {
        Self {
            method: Method::GET,
            path: path.to_owned(),
            body: None,
            depends_on: Vec::new(),
        }
    }

    /// As the batch has it. What it depends on and is done already is left out.
    fn to_json(&self, place: usize, places: &[usize]) -> Value {
        let mut json = json!({
            "id": place.to_string(),
            "method": self.method.as_str(),
            "url": self.path,
        });
        if let Some(body) = &self.body {
            json["body"] = body.clone();
            json["headers"] = json!({ "Content-Type": "application/json" });
        }
        let first = self
            .depends_on
            .iter()
            .filter(|other| places.contains(other));
        let first: Vec<String> = first.map(ToString::to_string).collect();
        if !first.is_empty() {
            json["dependsOn"] = json!(first);
        }
        json
    }
}

// === impl Inner ===

impl Inner {
    fn wait(&self, now: legation_core::Wall) -> Duration {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            if let (Ok(name), Ok(value)) = (
                HeaderName::from_bytes(name.as_bytes()),
                HeaderValue::from_str(&text),
            ) {
                headers.insert(name, value);
            }
        }
        crate::http::retry_after(&headers, now).unwrap_or(PAUSE)
    }
}
