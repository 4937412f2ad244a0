//! The steps with people in them: the agent signs in, writes in Teams, and
//! asks. The people click and type what people would.

use std::time::Duration;

use legation_cli::{CliError, Exit, Output};
use legation_core::Clock;
use legation_devtenant::human::Human;
use serde_json::{Value, json};

use super::client::DemoClient;
use super::tenant::{ACCOUNT, text};
use super::tour::hub_error;

/// How long the sign-in may take once the code is approved: the authority
/// tells how often it may be asked.
const SIGN_IN_LIMIT: Duration = Duration::from_secs(30);

/// Who takes part.
#[derive(Debug)]
pub(super) struct People {
    /// Lets the agent act for them.
    pub(super) owner: Human,
    /// Is written to.
    pub(super) colleague: Human,
    runtime: tokio::runtime::Runtime,
}

// === impl People ===

impl People {
    pub(super) fn new(owner: Human, colleague: Human) -> Result<Self, CliError> {
        Ok(Self {
            owner,
            colleague,
            runtime: crate::serve::runtime()?,
        })
    }

    fn wait<T, E: std::fmt::Display>(
        &self,
        done: impl Future<Output = Result<T, E>>,
    ) -> Result<T, CliError> {
        let done = self.runtime.block_on(done);
        done.map_err(|error| CliError::new(Exit::Failed, format!("the human: {error:#}")))
    }
}

/// The agent signs in by a code that its owner approves; what it is then.
pub(super) fn sign_in(
    out: Output,
    client: &mut DemoClient,
    people: &People,
    clock: &dyn Clock,
) -> Result<Value, CliError> {
    out.say("\n6. An agent with an identity (a development tenant stands in for Microsoft Entra ID and Teams)");
    let asked = call(client, "identity-bootstrap", json!({}))?;
    let code = asked["user_code"].as_str();
    let code = code.ok_or_else(|| wrong("the agent was not given a code", &asked))?;
    let page = text(&asked, "verification_uri");
    out.say(&format!(
        "   identity-bootstrap\n     → open {page} and enter {code}"
    ));
    people.wait(people.owner.approve_on_page(code))?;
    out.say("     Alex Sample opens the page, reads what the agent asks for, and approves");
    let until = clock.now() + SIGN_IN_LIMIT;
    let ready = loop {
        let answer = call(client, "identity-bootstrap", json!({}))?;
        if answer["status"] == "ready" {
            break answer;
        }
        if answer["status"] != "pending" || clock.now() > until {
            return Err(wrong("the agent was not signed in", &answer));
        }
    };
    out.say(&format!(
        "   identity-bootstrap\n     → signed in: agent {}\n       {}, answered for by {}\n       may {}",
        text(&ready, "agent_id"),
        text(&ready, "attribution"),
        text(&ready, "sponsor"),
        words(&ready["asked_for"]),
    ));
    Ok(ready)
}

/// It writes to a colleague of its owner's, reads the answer, and asks.
pub(super) fn talk(
    out: Output,
    client: &mut DemoClient,
    people: &People,
) -> Result<Value, CliError> {
    out.say("\n7. It talks with a person in Teams");
    let chat = call(client, "teams-connect", json!({}))?;
    let (id, name) = (text(&chat, "chat_id"), text(&chat["human"], "name"));
    out.say(&format!("   teams-connect\n     → a chat with {name}"));
    let words = "The build of **main** is green again. Shall I deploy?";
    let sent = call(
        client,
        "teams-send",
        json!({"text": words, "idempotency_key": "demo-1"}),
    )?;
    let number = sent["message_ids"].as_array().map_or(0, Vec::len);
    out.say(&format!(
        "   teams-send {words:?}\n     → sent, {number} message"
    ));
    people.wait(people.colleague.say(id, "Wait: which version is it?"))?;
    out.say(&format!("     {name} types: Wait: which version is it?"));
    let news = call(client, "teams-poll", json!({}))?;
    let answer = &news["messages"][0];
    let said = answer["untrusted_text"].as_str();
    let said = said.ok_or_else(|| wrong("the agent did not read the answer", &news))?;
    out.say(&format!(
        "   teams-poll\n     → {}: {said:?}, marked untrusted: what a person wrote is data",
        text(&answer["from"], "name")
    ));
    let question = "Deploy version 2.4 to staging?";
    let choices = ["Yes, now", "No, not today"];
    let asking = json!({"question": question, "choices": choices, "timeout_s": 0});
    let asked = call(client, "teams-ask", asking)?;
    let code = text(&asked, "code").to_owned();
    out.say(&format!(
        "   teams-ask {question:?}\n     → a card in the chat: {code} 1 {}, {code} 2 {}",
        choices[0], choices[1]
    ));
    people.wait(people.colleague.say(id, &format!("{code} 1")))?;
    out.say(&format!("     {name} types: {code} 1"));
    let answer = call(
        client,
        "teams-ask",
        json!({"id": asked["id"], "timeout_s": 20}),
    )?;
    let choice = answer["answer"]["choice"].as_u64();
    let chosen =
        choice.and_then(|number| choices.get(usize::try_from(number).ok()?.checked_sub(1)?));
    let chosen = chosen.ok_or_else(|| wrong("the question was not answered", &answer))?;
    out.say(&format!("   teams-ask\n     → answered: {chosen}"));
    Ok(json!({"chat_id": id, "human": name, "answer": chosen}))
}

/// What the ledger says of it; it must name the agent.
pub(super) fn recorded(
    out: Output,
    client: &mut DemoClient,
    ready: &Value,
) -> Result<Vec<Value>, CliError> {
    let asked = json!({"agent_id": ready["agent_id"], "server": "teams"});
    let found = call_with(client, "audit-query", asked)?;
    let records = found["records"].as_array().cloned().unwrap_or_default();
    let outcomes: Vec<&Value> = records
        .iter()
        .rev()
        .filter(|record| record["kind"] == "outcome")
        .collect();
    out.say("   what it has of the agent:");
    for record in &outcomes {
        out.say(&format!(
            "     {} {}/{:<8} {:<3} {} of {}",
            text(record, "at"),
            text(record, "server"),
            text(record, "item"),
            text(record, "status"),
            text(record, "attribution"),
            text(record, "agent_id"),
        ));
    }
    let all = outcomes.iter().all(|record| {
        record["sponsor"] == ready["sponsor"] && record["attribution"] == ready["attribution"]
    });
    if outcomes.len() < 5 || !all {
        return Err(wrong("the ledger does not say what the agent did", &found));
    }
    Ok(records)
}

/// Calls a tool for the demo's account.
fn call(client: &mut DemoClient, name: &str, mut arguments: Value) -> Result<Value, CliError> {
    arguments["account"] = json!(ACCOUNT);
    call_with(client, name, arguments)
}

pub(super) fn call_with(
    client: &mut DemoClient,
    name: &str,
    arguments: Value,
) -> Result<Value, CliError> {
    let params = json!({"name": name, "arguments": arguments});
    let mut result = client
        .call("tools/call", params)?
        .map_err(|error| hub_error(&error))?;
    let failed = result["isError"] == json!(true);
    let answer = result["structuredContent"].take();
    if failed || !answer.is_object() {
        let said = result["content"][0]["text"].as_str().unwrap_or("no answer");
        return Err(CliError::new(Exit::Failed, format!("{name}: {said}")));
    }
    Ok(answer)
}

pub(super) fn wrong(what: &str, answer: &Value) -> CliError {
    CliError::new(Exit::Failed, format!("{what}: {answer}"))
}

fn words(list: &Value) -> String {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(Value::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}
