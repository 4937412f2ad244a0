//! A command that prints the proof. What it is asked for stands in its
//! environment, and nothing of that is secret; the proof comes on its standard
//! output, so that it is in nobody's list of processes.

use std::ffi::OsString;
use std::time::Duration;

use futures_util::future::BoxFuture;
use legation_core::OpContext;
use legation_core::process::{OnceSpec, Output, run_to_end};
use zeroize::Zeroizing;

use super::{Ask, Broker, BrokerError, Proof};
use crate::base::Private;

const TIMEOUT: Duration = Duration::from_secs(30);
const OUTPUT_MAX: usize = 64 << 10;
const NAME: &str = "broker's command";

/// A program and its arguments, and the environment it runs in.
#[derive(Clone)]
pub struct CommandBroker {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// What its environment has besides what it is asked for.
    pub env: Vec<(OsString, OsString)>,
}

// === impl CommandBroker ===

impl CommandBroker {
    fn spec(&self, ask: &Ask) -> OnceSpec {
        let mut env = self.env.clone();
        for (name, value) in [
            ("LEGATION_ACCOUNT", &*ask.account),
            ("LEGATION_APPLICATION", ask.application.as_str()),
            ("LEGATION_CLIENT_ID", &*ask.client_id),
            ("LEGATION_AUDIENCE", &*ask.audience),
        ] {
            env.push((name.into(), value.into()));
        }
        let mut words = self.command.iter();
        OnceSpec {
            program: words.next().map(OsString::from).unwrap_or_default(),
            args: words.map(OsString::from).collect(),
            env,
            cwd: None,
            timeout: TIMEOUT,
            keep: OUTPUT_MAX,
        }
    }
}

impl Broker for CommandBroker {
    fn name(&self) -> &'static str {
        "command"
    }

    fn prove<'a>(
        &'a self,
        ctx: &'a OpContext,
        ask: &'a Ask,
    ) -> BoxFuture<'a, Result<Proof, BrokerError>> {
        let spec = self.spec(ask);
        Box::pin(async move {
            let running = tokio::task::spawn_blocking(move || run_to_end(&spec));
            // A command that is called off ends by itself, within its time.
            let ended = tokio::select! {
                reason = ctx.cancel.cancelled() => return Err(BrokerError::Cancelled { reason }),
                ended = running => ended.map_err(|_| BrokerError::Task)?,
            };
            let output = ended.map_err(|source| BrokerError::Run { source })?;
            read(output)
        })
    }
}

/// The names of variables are no secret, their values may be.
impl std::fmt::Debug for CommandBroker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommandBroker")
            .field("program", &self.command.first())
            .finish_non_exhaustive()
    }
}

fn read(output: Output) -> Result<Proof, BrokerError> {
    let stdout = Zeroizing::new(output.stdout);
    if output.exit.code != Some(0) {
        return Err(BrokerError::Answer {
            name: NAME,
            what: format!("nothing: it {}", output.exit.text),
        });
    }
    proof(NAME, &stdout)
}

/// `{"assertion": "…"}` or `{"secret": "…"}`.
pub(super) fn proof(name: &'static str, json: &[u8]) -> Result<Proof, BrokerError> {
    #[derive(serde::Deserialize)]
    struct Body {
        #[serde(default)]
        assertion: Option<Private>,
        #[serde(default)]
        secret: Option<Private>,
    }
    let bad = |what: &str| BrokerError::Answer {
        name,
        what: what.to_owned(),
    };
    let body: Body = serde_json::from_slice(json).map_err(|_| bad("no JSON object"))?;
    let assertion = body.assertion.and_then(Private::some);
    match (assertion, body.secret.and_then(Private::some)) {
        (Some(assertion), None) => Ok(Proof::Assertion(assertion)),
        (None, Some(secret)) => Ok(Proof::Secret(secret)),
        _ => Err(bad("neither one assertion nor one secret")),
    }
}
