//! A hub between clients and a server of the TypeScript SDK, both of which an authorization server
//! that others wrote signs people in for.

mod front;
mod renewed;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::{Request, header};
use http_body_util::Full;
use legation_tests::e2e::tools::Tools;
use legation_tests::fixture::lock;
use legation_tests::harness::http::whole;
use legation_tests::harness::hub::Hub;
use legation_tests::harness::process::{program, until};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::runtime::Handle;
use tokio::time::timeout;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
const SCOPES: [&str; 2] = ["mcp:read", "mcp:write"];

/// What is installed, where it is.
struct Installed {
    tools: Tools,
    home: tempfile::TempDir,
}

/// A program that says what happens, a line of JSON each.
struct Told {
    /// What it said first.
    first: Value,
    lines: Lines<BufReader<ChildStdout>>,
    child: Child,
}

/// An authorization server, and a server that it signs in for.
struct Outside {
    installed: Installed,
    issuer: String,
    upstream: String,
    happened: Arc<Mutex<Vec<Value>>>,
    _children: [Child; 2],
}

impl Installed {
    /// `None` where the suite has installed nothing; `cargo xtask test` has.
    fn find() -> anyhow::Result<Option<Self>> {
        let built = program("legation")?;
        let target = built.ancestors().nth(2).unwrap_or(Path::new("target"));
        let tools = Tools::new(target.join("tools"));
        let is_there = tools.module("oauth", "oidc-provider").exists()
            && tools.module("sdk1", "@modelcontextprotocol/sdk").exists();
        let home = tempfile::tempdir()?;
        Ok(is_there.then_some(Self { tools, home }))
    }

    fn node(&self, name: &str) -> Command {
        let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/oauth");
        let mut node = self.tools.node(self.home.path());
        node.arg(clients.join(name)).stdin(Stdio::null());
        node
    }

    async fn start(&self, name: &str, plan: &Value) -> anyhow::Result<Told> {
        let mut node = self.node(name);
        node.arg(plan.to_string()).stdout(Stdio::piped());
        let mut child = node
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let output = child.stdout.take().context("it says nothing")?;
        let mut told = Told {
            first: Value::Null,
            lines: BufReader::new(output).lines(),
            child,
        };
        told.first = told
            .next()
            .await?
            .with_context(|| format!("{name} ended"))?;
        Ok(told)
    }

    /// Has somebody go where a page leads; where they ended. With `--look` they stop before
    /// they leave the authorization server.
    async fn browse(&self, page: &str, looks: bool) -> anyhow::Result<String> {
        let mut person = self.node("person.mjs");
        person.arg(page).args(looks.then_some("--look"));
        let ended = timeout(PATIENCE, person.stderr(Stdio::piped()).output()).await??;
        let said = String::from_utf8(ended.stdout)?;
        let complained = String::from_utf8_lossy(&ended.stderr);
        ensure!(ended.status.success(), "nobody signed in: {complained}");
        Ok(said.trim().to_owned())
    }
}

impl Told {
    /// The next line; what a library prints besides is passed over.
    async fn next(&mut self) -> anyhow::Result<Option<Value>> {
        loop {
            let line = timeout(PATIENCE, self.lines.next_line()).await;
            let Some(line) = line.context("it says nothing more")?? else {
                return Ok(None);
            };
            if line.starts_with('{') {
                return Ok(Some(serde_json::from_str(&line)?));
            }
        }
    }
}

impl Outside {
    /// Starts both; tokens for the server live for so many seconds. `None` where they are not
    /// installed.
    async fn start(lifetime_s: u64) -> anyhow::Result<Option<Self>> {
        let Some(installed) = Installed::find()? else {
            return Ok(None);
        };
        let plan = json!({
            "modules": installed.tools.group("oauth"), "scopes": SCOPES,
            "lifetimes": {"/upstream": lifetime_s},
        });
        let issuer = installed.start("issuer.mjs", &plan).await?;
        let at = issuer.first["issuer"]
            .as_str()
            .context("no issuer")?
            .to_owned();
        let plan = json!({
            "modules": installed.tools.group("sdk1"), "issuer": at, "scopes": SCOPES,
        });
        let server = installed.start("server.mjs", &plan).await?;
        let url = server.first["url"]
            .as_str()
            .context("no server")?
            .to_owned();
        let happened = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&happened);
        Handle::current().spawn(async move {
            let mut lines = issuer.lines;
            while let Ok(Some(line)) = lines.next_line().await {
                if let Ok(line) = serde_json::from_str(&line) {
                    lock(&kept).push(line);
                }
            }
        });
        Ok(Some(Self {
            installed,
            issuer: at,
            upstream: url,
            happened,
            _children: [issuer.child, server.child],
        }))
    }

    /// How often something happened at the authorization server.
    fn count(&self, what: &str) -> usize {
        let happened = lock(&self.happened);
        happened
            .iter()
            .filter(|one| one["happened"] == what)
            .count()
    }

    /// Has the authorization server forget every client that registered itself.
    async fn forget(&self) -> anyhow::Result<()> {
        let uri = format!("{}/control/forget", self.issuer).parse()?;
        let body = Full::<Bytes>::default();
        let request = Request::get("/control/forget").header(header::HOST, "127.0.0.1");
        let answer = whole(&uri, request.body(body)?).await?;
        ensure!(answer.status == 200, "{answer:?}");
        Ok(())
    }

    /// The server's entry in `mcp.json`.
    fn servers(&self) -> Value {
        json!({"guarded": {"type": "http", "url": self.upstream, "prefix": "guarded"}})
    }
}

/// Waits until the server is as it should be.
async fn is(hub: &Hub, status: &str) -> anyhow::Result<()> {
    let mut last = String::new();
    let waited = until(status, PATIENCE, async || {
        let shown = hub.run(&["--json", "mcp", "show", "guarded"]).await;
        let (_, said, complained) = shown.unwrap_or_default();
        let shown: Value = serde_json::from_str(&said).unwrap_or_default();
        last = format!("{said}{complained}");
        shown["server"]["status"] == status
    });
    waited.await.context(last)
}

/// Signs in with a browser of this machine.
async fn sign_in(outside: &Outside, hub: &Hub) -> anyhow::Result<()> {
    is(hub, "needs-auth").await?;
    let (code, said, complained) = hub
        .run(&["--json", "mcp", "auth", "guarded", "--no-wait"])
        .await?;
    ensure!(code == 0, "no address: {complained}");
    let answer: Value = serde_json::from_str(&said)?;
    let page = answer["url"].as_str().context("no address")?;
    outside.installed.browse(page, false).await?;
    is(hub, "connected").await
}

/// Signs in with a browser of another machine, whose last address is pasted.
async fn sign_in_elsewhere(outside: &Outside, hub: &Hub) -> anyhow::Result<()> {
    is(hub, "needs-auth").await?;
    let mut command = hub.command(&["mcp", "auth", "guarded", "--paste"])?;
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let mut lines = BufReader::new(child.stderr.take().context("no stderr")?).lines();
    let page = loop {
        let line = timeout(PATIENCE, lines.next_line()).await??;
        let line = line.context("it printed no address")?;
        if let Some(found) = line.trim().strip_prefix(&outside.issuer) {
            break format!("{}{found}", outside.issuer);
        }
    };
    let end = outside.installed.browse(&page, true).await?;
    let mut input = child.stdin.take().context("no stdin")?;
    input.write_all(format!("\n{end}\n").as_bytes()).await?;
    drop(input);
    // What else it says is read, so that the pipe does not fill up.
    let rest = async { while let Ok(Some(_)) = lines.next_line().await {} };
    let (ended, ()) = tokio::join!(timeout(PATIENCE, child.wait_with_output()), rest);
    let ended = ended??;
    let said = String::from_utf8_lossy(&ended.stdout);
    ensure!(
        ended.status.success() && said.contains("signed in"),
        "{said}"
    );
    is(hub, "connected").await
}

/// The folder of a group of packages, for programs that load them.
fn group(outside: &Outside, name: &str) -> PathBuf {
    outside.installed.tools.group(name)
}
