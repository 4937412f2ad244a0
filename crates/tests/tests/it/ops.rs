//! `/ops/llm-provider`: the owner's preferences of models over HTTP.

use bytes::Bytes;
use http::{Method, Request, Uri};
use http_body_util::Full;
use legation_tests::harness::http::{Whole, whole};
use legation_tests::harness::hub::{Hub, HubOptions, client_token};
use serde_json::{Value, json};

const PATH: &str = "/ops/llm-provider";

async fn ask(
    hub: &Hub,
    method: Method,
    token: Option<&str>,
    body: &str,
) -> anyhow::Result<(u16, Value)> {
    let uri: Uri = format!("{}{PATH}", hub.base).parse()?;
    let mut request = Request::builder()
        .method(method)
        .uri(PATH)
        .header("host", hub.base.trim_start_matches("http://"))
        .header("content-type", "application/json");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let body = Full::new(Bytes::from(body.to_owned()));
    let Whole { status, body, .. } = whole(&uri, request.body(body)?).await?;
    Ok((status, serde_json::from_str(&body).unwrap_or_default()))
}

async fn hub(no_auth: bool) -> anyhow::Result<Hub> {
    Hub::start(HubOptions {
        template: Some("business"),
        clients: vec!["claude".to_owned()],
        no_auth,
        ..HubOptions::default()
    })
    .await
}

#[tokio::test]
async fn the_owner_reads_and_changes_what_is_preferred() -> anyhow::Result<()> {
    let hub = hub(false).await?;
    let owner = hub.token()?;
    let token = Some(owner.as_str());
    let file = hub.home().join("governance/llm_provider.json");
    let before = std::fs::read_to_string(&file)?;
    let (status, told) = ask(&hub, Method::GET, token, "").await?;
    assert_eq!(status, 200, "{told}");
    assert_eq!(told["default_provider"], "openai_direct");
    assert_eq!(told["providers"]["openai_direct"]["key"], "environment");
    assert_eq!(
        told["entity_overrides"]["meadow"]["required_hipaa_cleared"],
        true
    );

    let job = json!({ "per_job_overrides": { "desk.draft": { "provider": "azure_openai" } } });
    let mut dry = job.clone();
    dry["dry_run"] = json!(true);
    let (status, told) = ask(&hub, Method::POST, token, &dry.to_string()).await?;
    assert_eq!(
        (status, &told["updated"], &told["changes"]),
        (200, &json!(false), &json!(true))
    );
    assert_eq!(
        told["preferences"]["per_job_overrides"]["desk.draft"]["provider"],
        "azure_openai"
    );
    assert_eq!(
        std::fs::read_to_string(&file)?,
        before,
        "a dry run writes nothing"
    );

    for (updated, repeated) in [(true, false), (false, true)] {
        let (status, told) = ask(&hub, Method::POST, token, &job.to_string()).await?;
        assert_eq!(status, 200, "{told}");
        assert_eq!(told["updated"], updated, "repeated: {repeated}");
    }
    let none = json!({ "per_job_overrides": { "desk.draft": null } }).to_string();
    let (status, _) = ask(&hub, Method::POST, token, &none).await?;
    assert_eq!(status, 200);

    let text = std::fs::read_to_string(&file)?;
    for (what, body) in [
        ("no JSON", "{"),
        ("nothing to do", "{}"),
        ("an unknown member", r#"{"providers":{}}"#),
        ("an unknown provider", r#"{"default_provider":"nobody"}"#),
        (
            "all or nothing",
            r#"{"default_provider":"disabled","per_job_overrides":{"desk.draft":{"provider":"nobody"}}}"#,
        ),
        (
            "an unknown member of a job",
            r#"{"per_job_overrides":{"desk.draft":{"provider":"azure_openai","hipaa_cleared":true}}}"#,
        ),
    ] {
        let (status, told) = ask(&hub, Method::POST, token, body).await?;
        assert_eq!(status, 400, "{what}: {told}");
        assert_eq!(std::fs::read_to_string(&file)?, text, "{what}");
    }
    let (code, out, complaint) = hub.run(&["models", "savings", "--json"]).await?;
    assert_eq!(code, 0, "{complaint}");
    let savings: Value = serde_json::from_str(&out)?;
    assert_eq!(savings["rows"], json!([]), "{savings}");
    Ok(())
}

#[tokio::test]
async fn nobody_else_does() -> anyhow::Result<()> {
    let hub = hub(false).await?;
    let claude = client_token("claude");
    let owner = hub.token()?;
    for method in [Method::GET, Method::POST] {
        for (token, expected) in [(None, 401), (Some("nonsense"), 401), (Some(&*claude), 403)] {
            let body = r#"{"default_provider":"disabled"}"#;
            let (status, told) = ask(&hub, method.clone(), token, body).await?;
            assert_eq!(status, expected, "{method}: {told}");
        }
    }
    let (status, _) = ask(&hub, Method::DELETE, Some(&owner), "").await?;
    assert_eq!(status, 405);
    let text = std::fs::read_to_string(hub.home().join("governance/llm_provider.json"))?;
    assert!(
        text.contains(r#""default_provider": "openai_direct""#),
        "{text}"
    );
    let open = self::hub(true).await?;
    let (status, _) = ask(&open, Method::GET, None, "").await?;
    assert_eq!(
        status, 401,
        "without authentication anybody could be the owner"
    );
    Ok(())
}
