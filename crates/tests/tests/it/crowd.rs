//! Many clients at once: every answer at its caller, nothing at anybody else.

use std::sync::Arc;
use std::time::Duration;

use legation_tests::fixture::Era;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{Answerer, Peer, PeerEra, everything, friendly};
use legation_tests::harness::process::marked;
use legation_tests::harness::servers::stdio_entry;
use serde_json::json;

const CLIENTS: usize = 20;
const CALLS: usize = 500;
/// Calls of one client under way at once.
const AT_ONCE: usize = 10;

/// What a client does besides calling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Habit {
    Plain,
    Cancels,
    Progress,
    Elicits,
}

async fn connect(hub: &Hub, number: usize) -> anyhow::Result<Peer> {
    let era = if number.is_multiple_of(2) {
        PeerEra::Legacy
    } else {
        PeerEra::Modern
    };
    match number % 4 {
        0 | 1 => {
            hub.http_as(
                &format!("c{number}"),
                era,
                everything(),
                own_questions(number),
            )
            .await
        }
        _ => {
            hub.socket_peer(era, everything(), own_questions(number))
                .await
        }
    }
}

/// Answers the client's own questions, and gives away whose others were.
fn own_questions(number: usize) -> Answerer {
    let (prefix, friendly) = (format!("c{number}-"), friendly());
    Arc::new(move |method, params| {
        let message = params["message"].as_str().unwrap_or_default();
        if method == "elicitation/create" && !message.starts_with(&prefix) {
            return json!({"action": "accept", "content": {"reply": format!("{prefix} was asked {message}")}});
        }
        friendly(method, params)
    })
}

/// One call; its answer must carry the caller's id.
async fn call(peer: &Peer, habit: Habit, id: String, index: usize) -> anyhow::Result<()> {
    if habit == Habit::Cancels && index.is_multiple_of(5) {
        let params = json!({"name": "crowd-wait", "arguments": {"id": id, "ms": 600_000}});
        let pending = peer.start("tools/call", params).await?;
        // tidy: the call may be anywhere on its way when it is cancelled; every outcome is checked
        tokio::time::sleep(Duration::from_millis(5)).await;
        peer.cancel(&pending).await?;
        // Nothing may come; were something to come, it would have to be an error.
        let answer = tokio::time::timeout(Duration::from_millis(50), pending.answer).await;
        if let Ok(Ok(answer)) = answer {
            anyhow::ensure!(
                answer.code().is_some(),
                "{id} was cancelled and answered: {}",
                answer.text
            );
        }
        return Ok(());
    }
    if habit == Habit::Elicits && index.is_multiple_of(2) {
        let answer = peer.call("crowd-elicit_echo", json!({"id": id})).await?;
        anyhow::ensure!(
            answer.first_text() == format!("{id}=re:{id}"),
            "{id}: {}",
            answer.text
        );
        return Ok(());
    }
    let mut params = json!({"name": "crowd-wait", "arguments": {"id": id, "ms": 3, "steps": 3}});
    if habit == Habit::Progress {
        params["_meta"]["progressToken"] = id.clone().into();
    }
    // A question on a pipe names no call: it may reach its client by way of any call of the
    // client's, this one too.
    let answer = peer.request("tools/call", params).await?;
    anyhow::ensure!(answer.first_text() == id, "{id}: {}", answer.text);
    Ok(())
}

async fn client(hub: &Hub, number: usize, habit: Habit) -> anyhow::Result<()> {
    let peer = connect(hub, number).await?;
    let prefix = format!("c{number}-");
    for begin in (0..CALLS).step_by(AT_ONCE) {
        let calls = (begin..begin + AT_ONCE)
            .map(|index| call(&peer, habit, format!("{prefix}{index}"), index));
        for outcome in futures_util::future::join_all(calls).await {
            outcome?;
        }
    }
    let progress = peer.heard_of("notifications/progress");
    for heard in &progress {
        let token = heard["params"]["progressToken"]
            .as_str()
            .unwrap_or_default();
        anyhow::ensure!(
            token.starts_with(&prefix),
            "client {number} heard somebody else's progress: {heard}"
        );
    }
    anyhow::ensure!(
        (habit == Habit::Progress) != progress.is_empty(),
        "{habit:?}: {} reports",
        progress.len()
    );
    for asked in peer.heard_of("elicitation/create") {
        let message = asked["params"]["message"].as_str().unwrap_or_default();
        anyhow::ensure!(
            message.starts_with(&prefix),
            "client {number} was asked somebody else's question: {asked}"
        );
    }
    Ok(())
}

async fn crowd(instance: &str, habits: &[Habit]) -> anyhow::Result<Hub> {
    let servers = json!({"crowd": stdio_entry(Era::Legacy, instance)?});
    let hub = Hub::start(HubOptions {
        servers,
        clients: (0..CLIENTS).map(|number| format!("c{number}")).collect(),
        ..HubOptions::default()
    })
    .await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    hub.wait_for_tool(&peer, "crowd-wait").await?;
    let clients = (0..CLIENTS).map(|number| client(&hub, number, habits[number % habits.len()]));
    let outcomes = futures_util::future::join_all(clients).await;
    for (number, outcome) in outcomes.into_iter().enumerate() {
        assert!(
            outcome.is_ok(),
            "client {number}: {:#}; the hub said {:?}",
            outcome.unwrap_err(),
            hub.said()
        );
    }
    Ok(hub)
}

fn servers_of(hub: &Hub) -> usize {
    marked(&hub.mark)
        .iter()
        .filter(|(_, line)| line.contains("fixture-server") && !line.contains("guard"))
        .count()
}

#[tokio::test]
async fn twenty_clients_share_one_server() -> anyhow::Result<()> {
    let hub = crowd(
        "shared",
        &[Habit::Plain, Habit::Cancels, Habit::Plain, Habit::Progress],
    )
    .await?;
    assert_eq!(servers_of(&hub), 1);
    Ok(())
}

#[tokio::test]
async fn twenty_clients_with_servers_of_their_own_are_asked_their_own_questions()
-> anyhow::Result<()> {
    crowd("client", &[Habit::Elicits]).await?;
    Ok(())
}
