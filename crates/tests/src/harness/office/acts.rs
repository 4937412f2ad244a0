//! What somebody does at the desk of an office, and where letters are afterwards.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::{Method, Request, Uri};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use super::{OWNS, Office};
use crate::harness::http::whole;
use crate::harness::process::until;

/// The PIN that certifies.
const PIN: &str = "482913";
/// How long letters may take until they are in triage.
const TAKEN_UP: Duration = Duration::from_secs(120);

impl Office {
    /// A request of the owner's to the admin API, such as `POST /filing/suggest`: its status and its
    /// JSON. Without a body where that is null.
    pub async fn api(&self, line: &str, body: &Value) -> anyhow::Result<(u16, Value)> {
        let (method, path) = line.split_once(' ').context("a method and a path")?;
        let uri: Uri = format!("{}{path}", self.hub.base).parse()?;
        let mut request = Request::builder()
            .method(Method::from_bytes(method.as_bytes())?)
            .uri(path)
            .header("host", self.hub.base.trim_start_matches("http://"))
            .header("authorization", format!("Bearer {}", self.hub.token()?));
        let mut text = String::new();
        if !body.is_null() {
            request = request.header("content-type", "application/json");
            text = body.to_string();
        }
        let request = request.body(Full::new(Bytes::from(text)))?;
        let got = whole(&uri, request).await?;
        let read = serde_json::from_str(&got.body);
        Ok((
            got.status,
            read.with_context(|| format!("{line}: {}", got.body))?,
        ))
    }

    /// Sets the PIN; what it is.
    pub async fn set_pin(&self) -> anyhow::Result<&'static str> {
        self.piped(&["pin", "--stdin"], PIN).await?;
        Ok(PIN)
    }

    /// Certifies a proposal as the person who knows the PIN.
    pub async fn certify(&self, id: &str) -> anyhow::Result<()> {
        self.piped(&["approve", "--pin-stdin", id], PIN).await
    }

    /// Suggests folders for letters of a company that wait to be sorted, as a client of the owner's:
    /// the suggestions, each with the letter's `subject`.
    pub async fn suggest(&self, company: &str, folders: &[&str]) -> anyhow::Result<Vec<Value>> {
        let client = self.client(OWNS).await?;
        let mut items = Vec::new();
        let listed = until("letters to be taken up", TAKEN_UP, async || {
            let wanted = json!({"entity_context": company, "limit": 200});
            let Ok(answer) = client.call("desk-triage_list", wanted).await else {
                return false;
            };
            let found = &answer.value["result"]["structuredContent"]["items"];
            items = found.as_array().cloned().unwrap_or_default();
            items.retain(|item| {
                item["source"]
                    .as_str()
                    .is_some_and(|text| text.starts_with("mail/"))
            });
            items.len() >= folders.len()
        });
        listed.await?;
        let mut made = Vec::new();
        for (item, folder) in items.iter().zip(folders) {
            let wanted = json!({"item_id": item["item_id"], "path": folder});
            let answer = client.call("desk-filing_suggestion", wanted).await?;
            let mut suggestion = answer.value["result"]["structuredContent"].clone();
            ensure!(suggestion["state"] == "proposed", "{}", answer.value);
            suggestion["subject"] = item["subject"].clone();
            made.push(suggestion);
        }
        Ok(made)
    }

    /// The name of the folder of a tenant's first person that the letter with a subject lies in.
    pub async fn place(&self, tenant: &str, subject: &str) -> anyhow::Result<String> {
        let mailbox = self.kept(tenant, "mailbox").await?;
        let all = |name: &str| mailbox[name].as_array().map_or(&[][..], Vec::as_slice);
        let mut with_subject = all("mails")
            .iter()
            .filter(|mail| mail["shown"]["subject"] == subject);
        let mail = with_subject
            .next()
            .with_context(|| format!("no {subject:?}"))?;
        ensure!(
            with_subject.next().is_none(),
            "several letters are {subject:?}"
        );
        let folder = all("folders")
            .iter()
            .find(|one| one["id"] == mail["folder"]);
        let name = folder.and_then(|folder| folder["name"].as_str());
        Ok(name.context("it lies nowhere")?.to_owned())
    }

    /// Runs a command of the owner's that must succeed, with something on standard input.
    async fn piped(&self, arguments: &[&str], input: &str) -> anyhow::Result<()> {
        let mut child = self
            .hub
            .command(arguments)?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut to = child.stdin.take().context("no standard input")?;
        to.write_all(format!("{input}\n").as_bytes()).await?;
        drop(to);
        let output = child.wait_with_output().await?;
        ensure!(output.status.success(), "{arguments:?}: {output:?}");
        Ok(())
    }
}
