//! Who is let in, over real sockets.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use legation_tests::harness::github::{self, Signer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{LOGIN, Stage, TOKEN, message};

const KEYS: &str = "/meta/public_keys/copilot_api";

#[tokio::test]
async fn what_is_not_github_s_is_refused_before_it_is_read() -> anyhow::Result<()> {
    let stage = Stage::set().await?;
    let foreign = Signer::new("key-1")?;
    let unknown = Signer::new("key-9")?;
    let body = message("status");
    let good = stage.signer.fields(&body, TOKEN)?;
    let without = |name: &str| {
        let kept = good.iter().filter(|(field, _)| field != name);
        kept.cloned().collect::<Vec<_>>()
    };
    let altered = body.replacen("status", "statuS", 1);
    for (what, body, fields) in [
        ("altered by one byte", &altered, good.clone()),
        (
            "a key that is not GitHub's",
            &body,
            foreign.fields(&body, TOKEN)?,
        ),
        (
            "a key that nobody lists",
            &body,
            unknown.fields(&body, TOKEN)?,
        ),
        (
            "no identifier",
            &body,
            without("github-public-key-identifier"),
        ),
        (
            "no signature",
            &body,
            without("github-public-key-signature"),
        ),
        ("no token", &body, without("x-github-token")),
        (
            "a token of nobody",
            &body,
            stage.signer.fields(&body, "ghu_nobody")?,
        ),
    ] {
        let answer = stage.send(body, &fields).await?;
        assert_eq!(answer.status, 401, "{what}: {}", answer.body);
        assert!(!answer.body.contains(LOGIN), "{what}");
    }
    assert!(stage.hub.recorded.lock().unwrap().is_empty());
    let answer = stage.send(&body, &good).await?;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    assert!(answer.body.ends_with("data: [DONE]\n\n"));
    let again = stage.send(&body, &good).await?;
    assert_eq!(again.status, 401, "a copy: {}", again.body);
    assert!(again.body.contains("answered before"));
    stage.github.knows("ghu_other", "somebody-else");
    let other = stage.signer.fields(&body, "ghu_other")?;
    let answer = stage.send(&body, &other).await?;
    assert_eq!(answer.status, 403, "{}", answer.body);
    let recorded = stage.hub.recorded.lock().unwrap().clone();
    assert_eq!(recorded.len(), 2);
    assert_eq!(recorded[1].login, "somebody-else");
    assert!(recorded[1].refused.is_some());
    stage.end().await;
    Ok(())
}

#[tokio::test]
async fn keys_change_and_the_old_ones_are_good_for_as_long_as_they_are_listed() -> anyhow::Result<()>
{
    let stage = Stage::set().await?;
    let (old, new) = (&stage.signer, Signer::new("key-2")?);
    assert_eq!(stage.signed(old, &message("status 1")).await?, 200);
    assert_eq!(stage.signed(old, &message("status 2")).await?, 200);
    assert_eq!(stage.github.asked(KEYS), (1, 0), "the list is kept");
    stage.clock.advance(Duration::from_secs(3 * 60));
    stage.github.list(&[&new, old]);
    assert_eq!(stage.signed(&new, &message("status 3")).await?, 200);
    assert_eq!(stage.signed(old, &message("status 4")).await?, 200);
    assert_eq!(
        stage.github.asked(KEYS),
        (2, 0),
        "an unknown name has it read again"
    );
    let unknown = Signer::new("key-3")?;
    for number in 5..9 {
        let body = message(&format!("status {number}"));
        assert_eq!(stage.signed(&unknown, &body).await?, 401);
    }
    assert_eq!(stage.github.asked(KEYS).0, 2, "but not for every name");
    stage.clock.advance(Duration::from_secs(11 * 60));
    assert_eq!(stage.signed(&new, &message("status 9")).await?, 200);
    assert_eq!(
        stage.github.asked(KEYS),
        (3, 1),
        "it is asked whether it changed"
    );
    stage.github.list(&[&new]);
    stage.clock.advance(Duration::from_secs(11 * 60));
    assert_eq!(
        stage.signed(old, &message("status 10")).await?,
        401,
        "an old key"
    );
    stage.end().await;
    Ok(())
}

#[tokio::test]
async fn without_github_its_last_keys_hold_for_some_hours() -> anyhow::Result<()> {
    let stage = Stage::set().await?;
    let state = |is_down| stage.github.state.lock().unwrap().is_down = is_down;
    state(true);
    assert_eq!(
        stage.signed(&stage.signer, &message("status 1")).await?,
        503
    );
    state(false);
    stage.clock.advance(Duration::from_secs(3 * 60));
    assert_eq!(
        stage.signed(&stage.signer, &message("status 2")).await?,
        200
    );
    state(true);
    stage.clock.advance(Duration::from_secs(60));
    assert_eq!(
        stage.signed(&stage.signer, &message("status 3")).await?,
        200,
        "whose the token is was asked a moment ago"
    );
    stage.clock.advance(Duration::from_secs(60 * 60));
    let answer = stage.signed(&stage.signer, &message("status 4")).await?;
    assert_eq!(
        answer, 503,
        "the key holds, but nobody says whose the token is"
    );
    stage.clock.advance(Duration::from_secs(6 * 60 * 60));
    assert_eq!(
        stage.signed(&stage.signer, &message("status 5")).await?,
        503
    );
    state(false);
    stage.clock.advance(Duration::from_secs(3 * 60));
    assert_eq!(
        stage.signed(&stage.signer, &message("status 6")).await?,
        200
    );
    *stage.hub.is_lost.lock().unwrap() = true;
    let answer = stage.signed(&stage.signer, &message("status 7")).await?;
    assert_eq!(answer, 503, "what cannot be remembered is not answered");
    stage.end().await;
    Ok(())
}

#[tokio::test]
async fn there_is_one_path_one_method_and_a_bound_on_everything() -> anyhow::Result<()> {
    let stage = Stage::set().await?;
    let send = async |method: &str, path: &str, body: String| {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "127.0.0.1")
            .body(Full::new(Bytes::from(body)))?;
        let answer = github::post(stage.port, &stage.authority, request).await?;
        anyhow::Ok(answer.status)
    };
    for path in [
        "/",
        "/mcp",
        "/metrics",
        "/healthz",
        "/copilot/webhook/",
        "/ops/llm-provider",
    ] {
        assert_eq!(send("POST", path, String::new()).await?, 404, "{path}");
    }
    for method in ["GET", "PUT", "DELETE", "OPTIONS"] {
        assert_eq!(
            send(method, "/copilot/webhook", String::new()).await?,
            405,
            "{method}"
        );
    }
    let large = "x".repeat(64 * 1024 + 1);
    assert_eq!(send("POST", "/copilot/webhook", large).await?, 413);
    assert_eq!(stage.signed(&stage.signer, "no JSON").await?, 400);
    // Without TLS nothing is said.
    let mut plain = TcpStream::connect(("127.0.0.1", stage.port)).await?;
    plain
        .write_all(b"POST /copilot/webhook HTTP/1.1\r\nhost: x\r\n\r\n")
        .await?;
    let mut said = Vec::new();
    drop(plain.read_to_end(&mut said).await);
    assert!(!said.starts_with(b"HTTP/"), "{said:?}");
    // Those who say nothing lose their place; more than there are places for are sent away.
    let mut silent = Vec::new();
    for _ in 0..4 {
        silent.push(TcpStream::connect(("127.0.0.1", stage.port)).await?);
    }
    for stream in &mut silent {
        assert_eq!(
            stream.read(&mut [0; 16]).await.unwrap_or(0),
            0,
            "it was heard out"
        );
    }
    assert_eq!(stage.signed(&stage.signer, &message("status")).await?, 200);
    stage.end().await;
    Ok(())
}

#[tokio::test]
async fn a_new_certificate_is_shown_and_a_broken_one_is_not() -> anyhow::Result<()> {
    let mut stage = Stage::set().await?;
    std::fs::write(stage.folder.path().join("webhook.pem"), "nothing")?;
    stage.clock.advance(Duration::from_secs(11));
    assert_eq!(
        stage.signed(&stage.signer, &message("status 1")).await?,
        200
    );
    let other = github::Authority::new()?;
    other.files(stage.folder.path())?;
    stage.clock.advance(Duration::from_secs(11));
    assert!(
        stage
            .signed(&stage.signer, &message("status 2"))
            .await
            .is_err()
    );
    stage.authority = other;
    assert_eq!(
        stage.signed(&stage.signer, &message("status 3")).await?,
        200
    );
    stage.end().await;
    Ok(())
}
