//! The real hub in a temporary home.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::governance;
use super::lines::LineWire;
use super::peer::{Answerer, Peer, PeerEra};
use super::process::{MARK, command, environment, new_mark, none_left, program};
use crate::fixture::lock;

/// How long a hub may take to listen, on a busy machine.
const START: Duration = Duration::from_secs(120);

/// What a hub is started with.
#[derive(Debug, Default, Clone)]
pub struct HubOptions {
    /// The servers, as in `mcpServers`.
    pub servers: Value,
    /// Serve without authentication (loopback tests only).
    pub no_auth: bool,
    /// More arguments of `serve`.
    pub arguments: Vec<&'static str>,
    /// The content of `legation.toml`.
    pub settings: String,
    /// The governance template to begin with; absent for a first start.
    pub template: Option<&'static str>,
    /// Members laid over the governance files before the start, by file: an
    /// object's members one by one, an array's are added, everything else is replaced; text for a TOML
    /// file is appended.
    pub governance: Vec<(&'static str, Value)>,
    /// A folder to put first on PATH.
    pub path_first: Option<PathBuf>,
    /// Clients with credentials of their own, by id; the token is `token-ID` in length enough.
    pub clients: Vec<String>,
    /// More environment.
    pub environment: HashMap<String, String>,
    /// A command that becomes the hub: the hub's own is appended to it.
    pub under: Vec<String>,
}

/// A running hub; killed when dropped.
#[derive(Debug)]
pub struct Hub {
    /// The temporary folder that holds the home.
    folder: tempfile::TempDir,
    child: Child,
    options: HubOptions,
    /// The mark of all its processes.
    pub mark: String,
    /// `http://127.0.0.1:PORT`.
    pub base: String,
    stderr: Arc<Mutex<Vec<String>>>,
}

// === impl Hub ===

impl Hub {
    /// Starts a hub and waits until it listens.
    pub async fn start(options: HubOptions) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        std::fs::create_dir_all(folder.path().join("legation"))?;
        Self::start_in(folder, new_mark(), options).await
    }

    async fn start_in(
        folder: tempfile::TempDir,
        mark: String,
        options: HubOptions,
    ) -> anyhow::Result<Self> {
        let home = folder.path().join("legation");
        write_servers(&home, &mark, &options.servers)?;
        // A hub that a bridge starts reads its address here; the usual port may be taken.
        write_clients(&home, &options.clients)?;
        let settings = format!("listen = \"127.0.0.1:0\"\n{}", options.settings);
        std::fs::write(home.join("legation.toml"), settings)?;
        governance::write(folder.path(), &mark, &options).await?;
        let mut command = Self::hub_in(folder.path(), &mark, &options)?;
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        command.args(&options.arguments);
        if options.no_auth {
            command.arg("--no-auth");
        }
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start the hub")?;
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let mut lines =
            BufReader::new(child.stderr.take().context("the hub has no stderr")?).lines();
        let listening = async {
            while let Some(line) = lines.next_line().await? {
                let found = line
                    .split_once("listening on http://")
                    .map(|(_, address)| address.trim().to_owned());
                lock(&stderr).push(line);
                if let Some(address) = found {
                    return Ok(address);
                }
            }
            bail!("the hub ended: {:?}", lock(&stderr))
        };
        let address = timeout(START, listening)
            .await
            .context("the hub does not listen")??;
        let kept = Arc::clone(&stderr);
        Handle::current().spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                lock(&kept).push(line);
            }
        });
        Ok(Self {
            folder,
            child,
            options,
            mark,
            base: format!("http://{address}"),
            stderr,
        })
    }

    fn environment_in(folder: &Path, mark: &str, options: &HubOptions) -> HashMap<String, String> {
        let mut variables = environment(folder, options.path_first.as_deref());
        variables.insert(
            "LEGATION_HOME".to_owned(),
            folder.join("legation").display().to_string(),
        );
        variables.insert(MARK.to_owned(), mark.to_owned());
        // A test is of the servers it configures.
        variables.insert("LEGATION_GITHUB_BUILTIN".to_owned(), "off".to_owned());
        variables.extend(options.environment.clone());
        variables
    }

    /// The program that becomes the hub.
    fn hub_in(folder: &Path, mark: &str, options: &HubOptions) -> anyhow::Result<Command> {
        let Some((first, arguments)) = options.under.split_first() else {
            return Self::command_in(folder, mark, options);
        };
        let mut command = command(first, &Self::environment_in(folder, mark, options));
        command.args(arguments).arg(program("legation")?);
        Ok(command)
    }

    pub(super) fn command_in(
        folder: &Path,
        mark: &str,
        options: &HubOptions,
    ) -> anyhow::Result<Command> {
        Ok(command(
            program("legation")?,
            &Self::environment_in(folder, mark, options),
        ))
    }

    /// The environment of every command of this installation.
    #[must_use]
    pub fn environment(&self) -> HashMap<String, String> {
        Self::environment_in(self.folder.path(), &self.mark, &self.options)
    }

    /// A command of the same installation: same home, same environment.
    pub fn command(&self, arguments: &[&str]) -> anyhow::Result<Command> {
        let mut command = Self::command_in(self.folder.path(), &self.mark, &self.options)?;
        command.args(arguments);
        Ok(command)
    }

    /// Runs a command to its end: (exit code, stdout, stderr).
    pub async fn run(&self, arguments: &[&str]) -> anyhow::Result<(i32, String, String)> {
        let output = self
            .command(arguments)?
            .stdin(Stdio::null())
            .output()
            .await?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((
            output.status.code().unwrap_or(-1),
            text(&output.stdout),
            text(&output.stderr),
        ))
    }

    /// The data directory.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("legation")
    }

    /// The temporary folder around it, which is also HOME.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The endpoint of the whole catalogue.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}/mcp", self.base)
    }

    /// The socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.home().join("mcp.sock")
    }

    /// The owner's token.
    pub fn token(&self) -> anyhow::Result<String> {
        let token =
            std::fs::read_to_string(self.home().join("token")).context("there is no token")?;
        Ok(token.trim().to_owned())
    }

    /// The process id of the hub.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// What it has said on stderr.
    #[must_use]
    pub fn said(&self) -> Vec<String> {
        lock(&self.stderr).clone()
    }

    /// Replaces the configured servers; the hub reloads by itself.
    pub fn configure(&mut self, servers: Value) -> anyhow::Result<()> {
        write_servers(&self.home(), &self.mark, &servers)?;
        self.options.servers = servers;
        Ok(())
    }

    /// A client over HTTP.
    pub async fn http(
        &self,
        era: PeerEra,
        capabilities: Value,
        answerer: Answerer,
    ) -> anyhow::Result<Peer> {
        let token = if self.options.no_auth {
            None
        } else {
            Some(self.token()?)
        };
        Peer::http(&self.url(), token.as_deref(), era, capabilities, answerer).await
    }

    /// A client over HTTP with a credential of its own.
    pub async fn http_as(
        &self,
        client: &str,
        era: PeerEra,
        capabilities: Value,
        answerer: Answerer,
    ) -> anyhow::Result<Peer> {
        let token = client_token(client);
        Peer::http(&self.url(), Some(&token), era, capabilities, answerer).await
    }

    /// A client over the socket.
    pub async fn socket_peer(
        &self,
        era: PeerEra,
        capabilities: Value,
        answerer: Answerer,
    ) -> anyhow::Result<Peer> {
        let path = self.socket();
        Peer::lines(
            |shared| LineWire::socket(&path, shared),
            era,
            capabilities,
            answerer,
        )
        .await
    }

    /// A client over `legation bridge`.
    pub async fn bridge(
        &self,
        era: PeerEra,
        capabilities: Value,
        answerer: Answerer,
    ) -> anyhow::Result<Peer> {
        self.bridge_in(self.folder.path(), era, capabilities, answerer)
            .await
    }

    /// A client over `legation bridge`, working in a folder.
    pub async fn bridge_in(
        &self,
        folder: &Path,
        era: PeerEra,
        capabilities: Value,
        answerer: Answerer,
    ) -> anyhow::Result<Peer> {
        let mut command = self.command(&["bridge"])?;
        command.current_dir(folder);
        Peer::lines(
            |shared| LineWire::spawn(command, shared),
            era,
            capabilities,
            answerer,
        )
        .await
    }

    /// A client over `legation bridge` with a credential of its own, as
    /// `legation connect` lays it down.
    pub async fn bridge_as(
        &self,
        client: &str,
        era: PeerEra,
        capabilities: Value,
        answerer: Answerer,
    ) -> anyhow::Result<Peer> {
        self.lay_down(client)?;
        let command = self.command(&["bridge", "--client", client])?;
        Peer::lines(
            |shared| LineWire::spawn(command, shared),
            era,
            capabilities,
            answerer,
        )
        .await
    }

    /// Lays a client's credential down where its bridge finds it.
    pub fn lay_down(&self, client: &str) -> anyhow::Result<()> {
        let folder = self.home().join("clients");
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(format!("{client}.token")), client_token(client))?;
        Ok(())
    }

    /// Waits until the catalogue has a tool.
    pub async fn wait_for_tool(&self, peer: &Peer, tool: &str) -> anyhow::Result<()> {
        super::process::until(&format!("tool {tool}"), START, async || {
            let tools = peer.list("tools/list", "tools").await.unwrap_or_default();
            tools.iter().any(|listed| listed["name"] == tool)
        })
        .await
        .with_context(|| format!("the hub said {:?}", self.said()))
    }

    /// SIGKILL, and nothing else.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill().await.context("cannot kill the hub")
    }

    /// SIGTERM, and waits for the end; the exit code.
    pub async fn stop(&mut self) -> anyhow::Result<i32> {
        let pid = self.child.id().context("the hub has ended already")?;
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid)?).context("no process id")?;
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        let status = timeout(START, self.child.wait())
            .await
            .context("the hub does not stop")??;
        Ok(status.code().unwrap_or(-1))
    }

    /// What the next start runs under; see [`HubOptions::under`].
    pub fn put_under(&mut self, under: &[&str]) {
        self.options.under = under.iter().map(|&word| word.to_owned()).collect();
    }

    /// Starts it again in the same home, on another port.
    pub async fn restart(mut self) -> anyhow::Result<Self> {
        if self.child.id().is_some() {
            self.kill().await?;
        }
        Self::start_in(self.folder, self.mark, self.options).await
    }

    /// Whether every process of this hub is gone.
    pub async fn none_left(&self) -> anyhow::Result<()> {
        none_left(&self.mark, Duration::from_secs(10)).await
    }
}

/// Writes `mcp.json`, every stdio entry with the mark in its environment, in
/// one step: a hub that watches the file must never read half of it.
fn write_servers(home: &Path, mark: &str, servers: &Value) -> anyhow::Result<()> {
    let mut servers = servers.clone();
    for server in servers
        .as_object_mut()
        .into_iter()
        .flat_map(|all| all.values_mut())
    {
        if server.get("command").is_some() {
            server["env"][MARK] = mark.into();
        }
    }
    let file = home.join("mcp.json");
    let partial = home.join("mcp.json.partial");
    std::fs::write(&partial, json!({"mcpServers": servers}).to_string())?;
    std::fs::rename(partial, file).context("cannot write mcp.json")
}

/// The credential of a configured client: long enough to be one.
pub fn client_token(id: &str) -> String {
    format!("lgn_{id:x<43}")
}

/// Writes `clients.json` as `legation connect` would.
fn write_clients(home: &Path, ids: &[String]) -> anyhow::Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let clients: Vec<_> = ids
        .iter()
        .map(|id| {
            let digest = Sha256::digest(client_token(id).as_bytes());
            let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({"id": id, "name": id, "kind": "test", "token_sha256": hash, "created": "2026-01-01T00:00:00Z"})
        })
        .collect();
    let file = home.join("clients.json");
    std::fs::write(&file, json!({"version": 1, "clients": clients}).to_string())?;
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&file, private).context("cannot make clients.json private")
}
