//! Turns with the engine, through the product's own client.

use std::sync::Arc;

use anyhow::{Context, ensure};
use legation_core::{
    Caller, Cancel, ClientId, OpContext, Principal, SeatId, SharedClock, SystemClock, Via,
};
use legation_models::{
    Answer, AnswerSchema, CallResult, ChatRequest, Delta, Dialect, Endpoint, Finish, GoOn, Limits,
    Message, ModelClass, ModelClient, Probes, Resumption, Target, Timeouts, Tool, ToolChoice, Turn,
};
use serde_json::{Value, json};

use super::super::report::Report;

/// How often a turn is broken off and gone on with.
const BREAKS: usize = 25;

struct Talk {
    client: ModelClient,
    target: Target,
    ctx: OpContext,
}

/// Runs them all.
pub(super) async fn run(url: &str, report: &mut Report) -> anyhow::Result<()> {
    let mut talk = Talk::new(url)?;
    let known = Probes::default();
    let known = known
        .known(&talk.client, &talk.ctx, &talk.target, None)
        .await?;
    ensure!(known.resumption == Resumption::Exact, "{known:?}");
    talk.target.go_on = known.go_on;
    for dialect in [Dialect::Compatible, Dialect::Anthropic] {
        let name = format!("calls {dialect:?}");
        if report.wants(&name) {
            report.check(&name, talk.speaking(dialect)?.calls().await);
        }
    }
    for name in ["schema", "resumption", "too long", "dropped"] {
        if !report.wants(name) {
            continue;
        }
        let outcome = match name {
            "schema" => talk.schema().await,
            "resumption" => talk.resumption().await,
            "too long" => talk.too_long().await,
            _ => talk.dropped().await,
        };
        report.check(name, outcome);
    }
    Ok(())
}

// === impl Talk ===

impl Talk {
    fn new(url: &str) -> anyhow::Result<Self> {
        let clock: SharedClock = Arc::new(SystemClock);
        let caller = Caller {
            principal: Principal {
                client: ClientId::new("tester"),
                via: Via::Admin,
            },
            seat: SeatId::new("engine"),
            workspace: None,
        };
        Ok(Self {
            client: ModelClient::new(clock, Limits::default()),
            target: Target {
                provider: "engine".to_owned(),
                dialect: Dialect::Compatible,
                endpoint: Endpoint::parse(&format!("{url}/v1"))?,
                model: "tiny-echo".to_owned(),
                is_local: true,
                go_on: GoOn::Never,
                timeouts: Timeouts::local(),
            },
            ctx: OpContext::new(caller, Cancel::new()),
        })
    }

    /// The same in another interface of the engine's.
    fn speaking(&self, dialect: Dialect) -> anyhow::Result<Self> {
        let mut target = self.target.clone();
        if dialect == Dialect::Anthropic {
            target.endpoint = Endpoint::parse(&target.endpoint.origin())?;
        }
        target.dialect = dialect;
        Ok(Self {
            client: self.client.clone(),
            target,
            ctx: self.ctx.clone(),
        })
    }

    async fn answer(&self, request: &ChatRequest) -> anyhow::Result<(Answer, usize)> {
        let mut stream = self
            .client
            .stream(&self.ctx, &self.target, None, request)
            .await?;
        let (mut answer, mut pieces) = (Answer::default(), 0);
        while let Some(delta) = stream.next().await {
            let delta = delta?;
            pieces += usize::from(matches!(delta, Delta::Arguments { .. } | Delta::Text(_)));
            answer.push(delta);
        }
        Ok((answer, pieces))
    }

    /// Two calls at once in pieces, and the turn after their results.
    async fn calls(&self) -> anyhow::Result<()> {
        let call = |path: &str| {
            format!(
                "<tool_call>\n{{\"name\": \"read_file\", \"arguments\": {{\"path\": \"{path}\"}}}}\n</tool_call>"
            )
        };
        let script = format!("{}\n{}||Both are read.", call("a.txt"), call("b.txt"));
        let mut request = ChatRequest {
            tools: vec![Tool {
                name: "read_file".to_owned(),
                description: "Reads a file.".to_owned(),
                parameters: json!({
                    "type": "object", "required": ["path"],
                    "properties": { "path": { "type": "string" } },
                }),
            }],
            tool_choice: ToolChoice::Auto,
            parallel_calls: true,
            tokens_max: Some(400),
            ..ChatRequest::ask(format!("SCRIPT[[{script}]]SCRIPT"))
        };
        let (answer, pieces) = self.answer(&request).await?;
        let paths: Result<Vec<Value>, _> = answer
            .turn
            .calls
            .iter()
            .map(|call| serde_json::from_str(&call.arguments))
            .collect();
        let paths = paths.with_context(|| format!("{:?}", answer.turn.calls))?;
        ensure!(
            paths == [json!({ "path": "a.txt" }), json!({ "path": "b.txt" })],
            "{paths:?}"
        );
        ensure!(answer.finish == Some(Finish::Calls), "{:?}", answer.finish);
        ensure!(pieces > 2, "they come in {pieces} pieces");
        ensure!(answer.usage.output.is_some(), "{:?}", answer.usage);
        request
            .messages
            .push(Message::Assistant(answer.turn.clone()));
        for call in &answer.turn.calls {
            request.messages.push(Message::Result(CallResult {
                call_id: call.id.clone(),
                text: "read".to_owned(),
                is_error: false,
            }));
        }
        let (answer, _) = self.answer(&request).await?;
        ensure!(
            answer.turn.text.trim() == "Both are read.",
            "{}",
            answer.turn.text
        );
        ensure!(answer.finish == Some(Finish::Stop), "{:?}", answer.finish);
        Ok(())
    }

    /// An answer keeps to its schema, whatever the model would say.
    async fn schema(&self) -> anyhow::Result<()> {
        let request = ChatRequest {
            answer: Some(AnswerSchema {
                name: "verdict".to_owned(),
                schema: json!({
                    "type": "object", "required": ["good"], "additionalProperties": false,
                    "properties": { "good": { "type": "boolean" } },
                }),
            }),
            tokens_max: Some(200),
            seed: Some(1),
            ..ChatRequest::ask("SCRIPT[[no JSON at all]]SCRIPT")
        };
        let (answer, _) = self.answer(&request).await?;
        let value: Value =
            serde_json::from_str(&answer.turn.text).with_context(|| answer.turn.text.clone())?;
        ensure!(value["good"].is_boolean(), "{value}");
        Ok(())
    }

    /// Broken off anywhere and gone on with, a turn says what it would have said.
    async fn resumption(&self) -> anyhow::Result<()> {
        for round in 0..BREAKS {
            let words: Vec<String> = (0..90).map(|word| format!("w{round}x{word}")).collect();
            let whole = words.join(" ");
            let asked = Message::User(format!("SCRIPT[[{whole}]]SCRIPT"));
            let request = ChatRequest {
                messages: vec![asked.clone()],
                ..ChatRequest::default()
            };
            let mut stream = self
                .client
                .stream(&self.ctx, &self.target, None, &request)
                .await?;
            // Every round breaks off somewhere else.
            let steps = 3 + round * 19 % 300;
            let mut begun = Answer::default();
            for _ in 0..steps {
                match stream.next().await {
                    Some(delta) => begun.push(delta?),
                    None => break,
                }
            }
            ensure!(begun.finish.is_none(), "round {round} was over already");
            drop(stream);
            let text = begun.turn.text;
            let begun = Turn {
                text: text.clone(),
                ..Turn::default()
            };
            let request = ChatRequest {
                messages: vec![asked, Message::Assistant(begun)],
                ..ChatRequest::default()
            };
            let (rest, _) = self.answer(&request).await?;
            // Some versions say what was begun once more.
            let said = rest.turn.text.strip_prefix(&text);
            let said = format!("{text}{}", said.unwrap_or(&rest.turn.text));
            ensure!(said == whole, "round {round} after {steps}: {said}");
        }
        Ok(())
    }

    async fn too_long(&self) -> anyhow::Result<()> {
        let request = ChatRequest::ask("word ".repeat(4000));
        let refused = self
            .client
            .stream(&self.ctx, &self.target, None, &request)
            .await;
        let error = refused.err().context("it is taken")?;
        ensure!(error.class() == ModelClass::TooLong, "{error}");
        Ok(())
    }

    /// Two slots, and many more answers that nobody wants any more: if they were
    /// not given up, the last question would wait for all of them.
    async fn dropped(&self) -> anyhow::Result<()> {
        let long = "x".repeat(900);
        for _ in 0..8 {
            let request = ChatRequest::ask(format!("SCRIPT[[{long}]]SCRIPT"));
            let mut stream = self
                .client
                .stream(&self.ctx, &self.target, None, &request)
                .await?;
            let first = stream.next().await.context("an answer")??;
            drop((first, stream));
        }
        let (answer, _) = self
            .answer(&ChatRequest::ask("SCRIPT[[still here]]SCRIPT"))
            .await?;
        ensure!(answer.turn.text == "still here", "{}", answer.turn.text);
        Ok(())
    }
}
