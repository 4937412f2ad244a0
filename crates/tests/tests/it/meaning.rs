//! Tools that are found by what is meant, with vectors of a model on this machine.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use legation_tests::fixture::Era;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{Peer, PeerEra, friendly};
use legation_tests::harness::process::until;
use legation_tests::harness::served::{Served, json_answer};
use legation_tests::harness::servers::stdio_entry;
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(120);
/// A word that no description has, and what it means to the model.
const WORD: &str = "zorblax";
const MEANT: &str = "test_image_content : Answers with a picture";
const SIZE: usize = 64;

/// What came to the model, and whether it still answers.
#[derive(Debug, Default)]
struct Model {
    texts: Mutex<Vec<String>>,
    broken: AtomicBool,
}

/// How often each three letters are in a text, by a digest of theirs.
fn vector(text: &str) -> Vec<f64> {
    let text = if text == WORD { MEANT } else { text };
    let mut vector = vec![0.0; SIZE];
    for letters in text.to_lowercase().as_bytes().windows(3) {
        let digest = letters
            .iter()
            .fold(7_usize, |sum, byte| sum * 31 + usize::from(*byte));
        vector[digest % SIZE] += 1.0;
    }
    vector
}

impl Model {
    async fn serve(self: &Arc<Self>) -> anyhow::Result<Served> {
        let model = Arc::clone(self);
        Served::start(None, move |parts, body| match parts.uri.path() {
            "/v1/models" => json_answer(200, &json!({"data": [{"id": "tiny"}]})),
            "/v1/embeddings" if !model.broken.load(Ordering::SeqCst) => {
                let asked: Value = serde_json::from_slice(body).unwrap_or_default();
                let texts = asked["input"].as_array().cloned().unwrap_or_default();
                let texts: Vec<String> = texts
                    .iter()
                    .filter_map(|text| Some(text.as_str()?.to_owned()))
                    .collect();
                let data: Vec<Value> = texts
                    .iter()
                    .enumerate()
                    .map(|(index, text)| json!({"index": index, "embedding": vector(text)}))
                    .collect();
                model.texts.lock().unwrap().extend(texts);
                json_answer(200, &json!({"data": data}))
            }
            _ => json_answer(404, &json!({})),
        })
        .await
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.texts.lock().unwrap())
    }
}

async fn start(url: &str, kind: &str) -> anyhow::Result<Hub> {
    let provider = json!({"enabled": true, "kind": kind, "endpoint": url, "hipaa_cleared": false});
    Hub::start(HubOptions {
        servers: json!({"kept": stdio_entry(Era::Both, "shared")?}),
        template: Some("personal"),
        governance: vec![(
            "llm_provider.json",
            json!({"providers": {"near": provider}}),
        )],
        settings: "[discovery]\nembeddings = \"near/tiny\"\n".to_owned(),
        ..HubOptions::default()
    })
    .await
}

async fn client(hub: &Hub) -> anyhow::Result<Peer> {
    let peer = hub.http(PeerEra::Modern, json!({}), friendly()).await?;
    hub.wait_for_tool(&peer, "kept-echo").await?;
    Ok(peer)
}

async fn best(peer: &Peer, query: &str) -> anyhow::Result<String> {
    let found = peer.call("hub-find_tools", json!({"query": query})).await?;
    let best = &found.result()?["structuredContent"]["tools"][0]["name"];
    Ok(best.as_str().unwrap_or_default().to_owned())
}

async fn problems(hub: &Hub) -> anyhow::Result<String> {
    let (_, status, _) = hub.run(&["status", "--json"]).await?;
    let status: Value = serde_json::from_str(&status)?;
    Ok(status["problems"].to_string())
}

#[tokio::test]
async fn what_is_meant_is_found_once_it_is_known_and_words_without_it() -> anyhow::Result<()> {
    let model = Arc::new(Model::default());
    let served = model.serve().await?;
    let hub = start(&served.base, "local_model").await?;
    let peer = client(&hub).await?;
    until("the meaning to be known", PATIENCE, async || {
        let best = best(&peer, WORD).await;
        best.is_ok_and(|best| best == "kept-test_image_content")
    })
    .await?;
    // It was shown names and descriptions, each once, and the question.
    let shown = model.take();
    let texts: BTreeSet<&String> = shown.iter().filter(|text| *text != WORD).collect();
    assert_eq!(
        texts.len(),
        shown.iter().filter(|text| *text != WORD).count()
    );
    assert!(shown.iter().any(|text| text == MEANT), "{shown:?}");
    assert!(!shown.iter().any(|text| text.contains("inputSchema")));
    // What the words say counts as before.
    assert_eq!(best(&peer, "echo").await?, "kept-echo");
    // The next hub knows it, and asks for what is new alone.
    let hub = hub.restart().await?;
    let peer = client(&hub).await?;
    model.take();
    until("the meaning to be known again", PATIENCE, async || {
        let best = best(&peer, WORD).await;
        best.is_ok_and(|best| best == "kept-test_image_content")
    })
    .await?;
    let asked: BTreeSet<String> = model.take().into_iter().collect();
    assert_eq!(asked, BTreeSet::from([WORD.to_owned()]));
    assert!(!problems(&hub).await?.contains("embeddings"));
    // Without it the words answer, and the owner is told.
    model.broken.store(true, Ordering::SeqCst);
    assert_eq!(best(&peer, WORD).await?, "");
    assert_eq!(best(&peer, "echo").await?, "kept-echo");
    let problems = problems(&hub).await?;
    assert!(
        problems.contains("embeddings of near/tiny") && problems.contains("words alone"),
        "{problems}"
    );
    let (_, doctor, _) = hub.run(&["doctor"]).await?;
    assert!(doctor.contains("embeddings of near/tiny"), "{doctor}");
    Ok(())
}

#[tokio::test]
async fn nobody_but_a_machine_of_the_owners_is_shown_anything() -> anyhow::Result<()> {
    let model = Arc::new(Model::default());
    let served = model.serve().await?;
    let hub = start(&served.base, "openai_compatible").await?;
    let peer = client(&hub).await?;
    assert_eq!(best(&peer, "echo").await?, "kept-echo");
    until("the owner to be told", PATIENCE, async || {
        let problems = problems(&hub).await;
        problems.is_ok_and(|problems| problems.contains("nothing was sent"))
    })
    .await?;
    assert_eq!(model.take(), [""; 0]);
    Ok(())
}
