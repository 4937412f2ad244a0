//! Fifty clients, tokens of five seconds, and an authorization server that revokes a sign-in
//! whose refresh token is used twice.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::ensure;
use futures_util::future::try_join_all;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{Peer, PeerEra, everything, friendly};
use legation_tests::harness::process::{now, until};
use serde_json::{Value, json};

use super::{Outside, PATIENCE, is, sign_in};

const CLIENTS: usize = 50;
/// How long a token lives, and how long the hub uses it: it renews what is nearly over.
const LIFETIME_S: u64 = 5;
const USED: Duration = Duration::from_millis(4_750);
/// How long a client waits between calls: the server is one thread.
const PAUSE: Duration = Duration::from_millis(200);
/// Says how long the clients call, in seconds; `cargo xtask soak --only oauth` says 60.
const SECONDS: &str = "LEGATION_OAUTH_SECONDS";

/// How long the clients are to call, if somebody says it.
#[expect(
    clippy::disallowed_methods,
    reason = "how much is asked of it is the one who runs it's to say"
)]
fn asked() -> Option<u64> {
    std::env::var(SECONDS).ok()?.parse().ok()
}

/// Calls until the time is over; how often.
async fn call_on(peer: &Peer, audience: &str, end: std::time::Instant) -> anyhow::Result<usize> {
    let mut calls = 0;
    while now() < end {
        let answer = peer.call("guarded-whose", json!({})).await?;
        let seen: Value = serde_json::from_str(answer.first_text()).unwrap_or_default();
        ensure!(seen["aud"] == audience, "a call failed: {}", answer.text);
        calls += 1;
        // tidy: a client that does other things between its calls.
        tokio::time::sleep(PAUSE).await;
    }
    Ok(calls)
}

async fn peers(hub: &Hub, ids: &[String]) -> anyhow::Result<Vec<Peer>> {
    let mut peers = Vec::new();
    for (number, id) in ids.iter().enumerate() {
        let era = match number % 2 {
            0 => PeerEra::Legacy,
            _ => PeerEra::Modern,
        };
        peers.push(hub.http_as(id, era, everything(), friendly()).await?);
    }
    Ok(peers)
}

#[tokio::test]
async fn fifty_clients_renew_one_sign_in_and_a_forgotten_client_registers_anew()
-> anyhow::Result<()> {
    let seconds = asked();
    let length = Duration::from_secs(seconds.unwrap_or(12));
    let Some(outside) = Outside::start(LIFETIME_S).await? else {
        ensure!(seconds.is_none(), "`oidc-provider` is not installed");
        return Ok(());
    };
    let ids: Vec<String> = (0..CLIENTS)
        .map(|number| format!("agent-{number}"))
        .collect();
    let hub = Hub::start(HubOptions {
        servers: outside.servers(),
        clients: ids.clone(),
        ..HubOptions::default()
    })
    .await?;
    sign_in(&outside, &hub).await?;
    let peers = peers(&hub, &ids).await?;
    hub.wait_for_tool(&peers[0], "guarded-whose").await?;
    let before = outside.count("refresh_token");
    let begun = now();
    let calls = AtomicUsize::new(0);
    let calling = peers.iter().map(async |peer| {
        let made = call_on(peer, &outside.upstream, begun + length).await?;
        calls.fetch_add(made, Ordering::Relaxed);
        anyhow::Ok(())
    });
    try_join_all(calling).await?;
    let took = begun.elapsed();
    let refreshes = outside.count("refresh_token") - before;
    let calls = calls.load(Ordering::Relaxed);
    let said = format!("{calls} calls and {refreshes} refreshes in {took:?}");
    assert_eq!(
        outside.count("grant.revoked"),
        0,
        "a family was revoked; {said}"
    );
    assert_eq!(outside.count("grant.error"), 0, "{:?}", outside.happened);
    // One refresh for each token that was used up; a busy machine may use one for longer.
    let most = took.as_millis() / USED.as_millis() + 1;
    assert!(refreshes >= 1 && refreshes as u128 <= most, "{said}");
    assert!(calls >= CLIENTS, "{said}");
    if seconds == Some(60) {
        assert!((11..=13).contains(&refreshes), "{said}");
    }
    if seconds.is_some() {
        println!("{said}");
    }
    forgotten(&outside, &hub).await
}

/// The authorization server forgets the hub's client: it registers once more, and somebody has
/// to sign in.
async fn forgotten(outside: &Outside, hub: &Hub) -> anyhow::Result<()> {
    // One that cannot be sent to a page.
    let peer = hub.http(PeerEra::Legacy, json!({}), friendly()).await?;
    assert_eq!(outside.count("registered"), 1);
    outside.forget().await?;
    // Its token serves until it is over.
    let refused = until("a call that is refused", PATIENCE, async || {
        let answer = peer.call("guarded-whose", json!({})).await;
        answer.is_ok_and(|answer| !answer.first_text().contains(&outside.upstream))
    });
    refused.await?;
    is(hub, "needs-auth").await?;
    assert_eq!(
        outside.count("registered"),
        1,
        "nobody wants to sign in yet"
    );
    sign_in(outside, hub).await?;
    assert_eq!(outside.count("registered"), 2);
    call_on(&peer, &outside.upstream, now() + PAUSE).await?;
    Ok(())
}
