//! `legation models test`.
//!
//! What is sent is a sentence of this program and holds nobody's data, so it
//! may go to every provider that is switched on.

use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use legation_core::OpContext;
use legation_core::error::chain;
use legation_models::{
    Answer, ChatRequest, Failure, Finish, RouteError, RoutedStream, Router, Wanted, cost_micro_usd,
};
use legation_policy::Policy;
use legation_policy::governance::{LlmProviders, ProviderKind};
use serde::Serialize;

use crate::table::{counted, printable};
use crate::{CliError, Context, Exit};

/// Arguments of `legation models test`.
#[derive(Debug, Args)]
pub struct TestArgs {
    /// Which providers; without any, every one that is switched on.
    #[arg(value_name = "PROVIDER")]
    providers: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Tested {
    provider: String,
    answers: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Heard>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<Local>,
}

#[derive(Debug, Serialize)]
struct Heard {
    model: String,
    first_word_ms: u64,
    whole_ms: u64,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cost_micro_usd: Option<u64>,
    finish: &'static str,
}

/// What a local server is.
#[derive(Debug, Serialize)]
struct Local {
    server: &'static str,
    resumption: &'static str,
    context: Option<u64>,
    tools: Option<bool>,
}

/// What is asked. A model that thinks before it speaks needs room for it.
const QUESTION: &str = "Answer with the single word: ready";
const TOKENS_MAX: u32 = 512;

pub(super) fn cmd_test(context: &Context, args: &TestArgs) -> Result<(), CliError> {
    let governed = crate::commands::governance::find(context);
    let providers = super::providers(governed.governance())?.clone();
    let names = names(&providers, &args.providers)?;
    let work = Work {
        context,
        policy: Arc::new(governed.policy),
        providers,
        router: super::router(context)?,
    };
    let tested = super::run(async |ctx| {
        let mut tested = Vec::new();
        for name in &names {
            tested.push(work.test(ctx, name).await);
        }
        Ok(tested)
    })?;
    context.output.result(&tested, |tested| render(tested))?;
    let failed = tested.iter().filter(|one| !one.answers).count();
    if failed == 0 {
        return Ok(());
    }
    let all = |class| {
        let is_so = |one: &Tested| one.answers || one.class == Some(class);
        tested.iter().all(is_so)
    };
    let exit = match (all("unreachable"), all("refused")) {
        (true, _) => Exit::NotReachable,
        (_, true) => Exit::Refused,
        _ => Exit::Failed,
    };
    let message = format!(
        "{} of {} did not answer",
        failed,
        counted(tested.len(), "provider")
    );
    let hint = tested.iter().find_map(|one| one.hint.clone());
    Err(CliError {
        hint,
        ..CliError::new(exit, message)
    })
}

/// The providers to ask.
fn names(providers: &LlmProviders, given: &[String]) -> Result<Vec<String>, CliError> {
    let unknown = given
        .iter()
        .find(|name| !providers.providers.contains_key(*name));
    if let Some(name) = unknown {
        let message = format!("there is no provider `{}`", printable(name));
        return Err(
            CliError::new(Exit::Usage, message).with_hint("`legation models list` names them")
        );
    }
    if !given.is_empty() {
        return Ok(given.to_vec());
    }
    let enabled = providers.providers.iter().filter(|(name, provider)| {
        // Only a request from there brings what Copilot is asked with.
        provider.enabled && provider.kind_as(name) != Some(ProviderKind::CopilotExtension)
    });
    let names: Vec<String> = enabled.map(|(name, _)| name.clone()).collect();
    if names.is_empty() {
        let message = "no provider is switched on; nobody was asked";
        return Err(CliError::new(Exit::Usage, message)
            .with_hint("switch one on: `legation models set enable PROVIDER`"));
    }
    Ok(names)
}

struct Work<'a> {
    context: &'a Context,
    policy: Arc<Policy>,
    providers: LlmProviders,
    router: Router,
}

// === impl Work ===

impl Work<'_> {
    async fn test(&self, ctx: &OpContext, name: &str) -> Tested {
        self.context.output.progress(&format!("asking {name}"));
        let began = self.context.clock.now();
        let governance = self.policy.governance();
        let mut request = ChatRequest::ask(QUESTION);
        request.tokens_max = Some(TOKENS_MAX);
        let wanted = Wanted::for_nobody();
        let stream = self
            .router
            .only(ctx, &self.policy, &wanted, &request, name)
            .await;
        let heard = match stream {
            Ok(stream) => self.hear(stream, began).await,
            Err(error) => Err(error),
        };
        // What was learnt before it was asked is remembered, and asked once.
        let known = self.router.known(ctx, governance, name).await;
        self.context.output.progress_done();
        let server = known.ok().flatten().map(|known| Local {
            server: known.kind.as_str(),
            resumption: known.resumption.as_str(),
            context: known.model.context,
            tools: known.model.tools,
        });
        let tested = Tested {
            provider: name.to_owned(),
            answers: heard.is_ok(),
            class: None,
            error: None,
            hint: None,
            answer: None,
            server,
        };
        match heard {
            Ok(heard) => Tested {
                answer: Some(heard),
                ..tested
            },
            Err(error) => {
                let (class, said) = failure(&error);
                Tested {
                    class,
                    error: Some(said),
                    hint: Some(error.hint()),
                    ..tested
                }
            }
        }
    }

    async fn hear(&self, mut stream: RoutedStream, began: Instant) -> Result<Heard, RouteError> {
        let since = |now: Instant| {
            u64::try_from(now.saturating_duration_since(began).as_millis()).unwrap_or(u64::MAX)
        };
        let first_word_ms = since(self.context.clock.now());
        let mut answer = Answer::default();
        while let Some(delta) = stream.next(&self.policy).await? {
            answer.push(delta);
        }
        let provider = self.providers.providers.get(&stream.selected.provider);
        let prices = provider.and_then(|provider| provider.prices);
        Ok(Heard {
            model: stream.model.clone(),
            first_word_ms,
            whole_ms: since(self.context.clock.now()),
            input_tokens: answer.usage.input,
            output_tokens: answer.usage.output,
            cost_micro_usd: prices.and_then(|prices| cost_micro_usd(&prices, &answer.usage)),
            finish: match answer.finish {
                Some(Finish::Stop) => "stop",
                Some(Finish::Calls) => "calls",
                Some(Finish::Length) => "length",
                Some(Finish::Filtered) => "filtered",
                None => "none",
            },
        })
    }
}

/// The class and the words of a failure.
fn failure(error: &RouteError) -> (Option<&'static str>, String) {
    match error {
        RouteError::Unanswered { tried } => {
            let last = tried.last().map(|tried| &tried.failure);
            let said = |failure: &Failure| chain(failure);
            (
                last.map(Failure::as_str),
                last.map_or_else(|| chain(error), said),
            )
        }
        RouteError::BrokeOff { source, .. } => (Some(source.class().as_str()), chain(error)),
        RouteError::Blocked { .. }
        | RouteError::Excluded { .. }
        | RouteError::Bound { .. }
        | RouteError::NotRedacted
        | RouteError::Rules
        | RouteError::Stopped { .. } => (Some("refused"), chain(error)),
    }
}

fn render(tested: &[Tested]) -> String {
    let mut text = String::new();
    for one in tested {
        let name = printable(&one.provider);
        match (&one.answer, &one.error) {
            (Some(heard), _) => {
                let tokens = match (heard.input_tokens, heard.output_tokens) {
                    (Some(input), Some(output)) => format!(", {input} tokens in and {output} out"),
                    _ => String::new(),
                };
                text.push_str(&format!(
                    "{name}  {} answers: first word after {} ms, all of it after {} ms{tokens}\n",
                    printable(&heard.model),
                    heard.first_word_ms,
                    heard.whole_ms
                ));
                if let Some(cost) = heard.cost_micro_usd {
                    text.push_str(&format!("  it cost {cost} millionths of a dollar\n"));
                }
            }
            (None, error) => {
                let error = error.as_deref().unwrap_or("it did not answer");
                text.push_str(&format!("{name}  does not answer: {}\n", printable(error)));
            }
        }
        if let Some(local) = &one.server {
            let context = match local.context {
                Some(tokens) => format!("{tokens} tokens of context"),
                None => "it does not say how much context".to_owned(),
            };
            text.push_str(&format!(
                "  {}; {context}; a turn that was broken off: {}\n",
                local.server, local.resumption
            ));
            if local.tools == Some(false) {
                text.push_str("  it cannot call tools\n");
            }
        }
    }
    text
}
