//! `cargo xtask peers`: the proxies the benchmark compares with, from their registries.
//!
//! Each is installed under the target folder by its own ecosystem's client, at a pinned version. A
//! peer that cannot be installed or does not answer is skipped with its reason; nothing else fails.
//! They forward and do not govern: no policy, no ledger, and no authentication is switched on. The
//! hub, with all of that on, is measured in the same way between them, and a web server as a bare
//! proxy of bytes where one is installed.

mod install;
mod list;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::json;

use crate::bench::Effort;
use crate::bench::hub::Home;
use crate::bench::programs::{Load, Programs, Running, median, resident_kib};
use crate::bench::table::{Row, Table, Target};
use crate::sys;
use list::PEERS;

/// Options of `cargo xtask peers`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only peers whose name contains this.
    #[arg(long)]
    only: Option<String>,
}

/// One proxy.
#[derive(Debug, Clone, Copy)]
struct Peer {
    name: &'static str,
    registry: Registry,
    package: &'static str,
    version: &'static str,
    hop: Hop,
    /// The path of its endpoint.
    path: &'static str,
    /// The name under which it lists the echo server's `echo`.
    tool: &'static str,
    /// Makes the command that serves on a port.
    command: fn(&Place<'_>) -> Result<Command>,
}

/// Where a peer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Registry {
    Cargo,
    PyPi,
    Npm,
    /// The system's own package, used where it is installed.
    Debian,
}

/// What a peer carries calls from and to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hop {
    HttpToStdio,
    HttpToHttp,
}

/// What a peer's command is made from.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    /// The folder it is installed in; scratch files may be put there.
    folder: &'a Path,
    port: u16,
    /// The echo server's program.
    echo: &'a Path,
    /// The echo server's endpoint over HTTP.
    url: &'a str,
}

/// How long a peer may take until it answers.
const START: Duration = Duration::from_secs(30);

/// Installs the peers.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let wanted = |peer: &&Peer| {
        args.only
            .as_deref()
            .is_none_or(|only| peer.name.contains(only))
    };
    let mut code = ExitCode::SUCCESS;
    for peer in PEERS.iter().filter(wanted) {
        match install::ensure(peer.registry, peer.package, peer.version) {
            Ok(folder) => sys::put(&format!("{}: {}", peer.title(), folder.display())),
            Err(error) => {
                sys::put(&format!("{}: {error:#}", peer.title()));
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

/// Loads the hub, and every peer that can be had, in the same way.
pub(crate) fn measure(programs: &Programs, effort: Effort, table: &mut Table) -> Result<()> {
    // Some need most of a second for one answer under load.
    let effort = Effort {
        seconds: effort.seconds.max(3.0),
        rounds: effort.rounds.min(3),
        ..effort
    };
    let echo = programs.echo_http("both")?;
    hub(programs, &echo, effort, table)?;
    for peer in PEERS {
        sys::say(&format!("peer {}", peer.title()));
        if let Err(error) = peer.measure(programs, &echo, effort, table) {
            table.skip(format!("{}: {error:#}", peer.title()));
        }
    }
    Ok(())
}

/// The hub with authentication, rules and ledger on.
fn hub(programs: &Programs, echo: &Running, effort: Effort, table: &mut Table) -> Result<()> {
    let servers = json!({
        "http": { "type": "http", "url": echo.url("/mcp") },
        "stdio": { "type": "stdio", "command": programs.echo.display().to_string() },
    });
    let home = Home::new(programs, &servers)?;
    let hub = home.serve()?;
    home.connected(2)?;
    let token = home.token();
    for (hop, tool) in [
        (Hop::HttpToHttp, "http-echo"),
        (Hop::HttpToStdio, "stdio-echo"),
    ] {
        let title = format!("legation, {}", hop.words());
        sys::say(&title);
        let through = Load {
            token: Some(&token),
            ..load(&hub.url("/mcp"), tool)
        };
        let compared = Compared::run(programs, &load(&echo.url("/mcp"), "echo"), &through, effort)?;
        compared.report(&title, hub.child.id(), table)?;
    }
    Ok(())
}

// === impl Peer ===

impl Peer {
    fn title(&self) -> String {
        format!("{} {}, {}", self.name, self.version, self.hop.words())
    }

    /// Installs, starts and loads it.
    fn measure(
        &self,
        programs: &Programs,
        echo: &Running,
        effort: Effort,
        table: &mut Table,
    ) -> Result<()> {
        let folder = install::ensure(self.registry, self.package, self.version)?;
        let port = free_port()?;
        let upstream = echo.url("/mcp");
        let place = Place {
            folder: &folder,
            port,
            echo: &programs.echo,
            url: &upstream,
        };
        let proxy = Proxy::start((self.command)(&place)?)?;
        let direct = load(&upstream, "echo");
        let through = load(&format!("http://127.0.0.1:{port}{}", self.path), self.tool);
        proxy.ready(programs, &through, effort)?;
        let compared = Compared::run(programs, &direct, &through, effort)?;
        compared.report(&format!("peer {}", self.title()), proxy.child.id(), table)
    }
}

/// What came of rounds through something, beside direct ones.
#[derive(Debug, Default)]
struct Compared {
    share: Vec<f64>,
    per_second: Vec<f64>,
    added_p50_us: Vec<f64>,
    added_p99_us: Vec<f64>,
}

// === impl Compared ===

impl Compared {
    /// Alternates direct rounds with those through it.
    fn run(
        programs: &Programs,
        direct: &Load<'_>,
        through: &Load<'_>,
        effort: Effort,
    ) -> Result<Self> {
        let crowd = |load: &Load<'_>| {
            let load = Load {
                connections: 32,
                ..load.clone()
            };
            programs.load(&load, effort)
        };
        let mut all = Self::default();
        for _ in 0..effort.rounds {
            let (bare, many) = (crowd(direct)?, crowd(through)?);
            let (one, alone) = (
                programs.load(direct, effort)?,
                programs.load(through, effort)?,
            );
            all.share.push(100.0 * many.per_second / bare.per_second);
            all.per_second.push(many.per_second / 1000.0);
            all.added_p50_us.push(alone.p50_us - one.p50_us);
            all.added_p99_us.push(alone.p99_us - one.p99_us);
        }
        Ok(all)
    }

    fn report(&self, title: &str, pid: u32, table: &mut Table) -> Result<()> {
        let resident = resident_kib(pid)? as f64 / 1024.0;
        for (what, value, unit) in [
            ("32 clients", median(&self.per_second), "k/s"),
            ("share of direct", median(&self.share), "%"),
            ("added p50", median(&self.added_p50_us), "µs"),
            ("added p99", median(&self.added_p99_us), "µs"),
            ("resident after", resident, "MiB"),
        ] {
            let name = format!("{title}: {what}");
            table.push(Row::new(name, value, unit, Target::None));
        }
        Ok(())
    }
}

// === impl Hop ===

impl Hop {
    fn words(self) -> &'static str {
        match self {
            Self::HttpToStdio => "HTTP → stdio",
            Self::HttpToHttp => "HTTP → HTTP",
        }
    }
}

/// A started peer; its whole process group ends when this is dropped.
#[derive(Debug)]
struct Proxy {
    child: std::process::Child,
}

// === impl Proxy ===

impl Proxy {
    fn start(mut command: Command) -> Result<Self> {
        use std::os::unix::process::CommandExt as _;
        command.process_group(0);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        Ok(Self { child })
    }

    /// Waits until a call through it is answered.
    fn ready(&self, programs: &Programs, through: &Load<'_>, effort: Effort) -> Result<()> {
        let quick = Effort {
            rounds: 1,
            // On a busy machine some take so long for their first answer.
            seconds: 0.5,
            warm_up: 0.0,
            ..effort
        };
        let deadline = sys::now() + START;
        loop {
            match programs.load(through, quick) {
                Ok(_) => return Ok(()),
                Err(error) if sys::now() > deadline => {
                    return Err(error.context(format!("it does not answer within {START:?}")));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(200)),
            }
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        // Whether it was still there does not matter.
        rustix::process::kill_process_group(pid, rustix::process::Signal::KILL).ok();
        drop(self.child.wait());
    }
}

/// One client of a server in the legacy era, which every peer speaks.
fn load(url: &str, tool: &str) -> Load<'static> {
    Load {
        url: Some(url.to_owned()),
        era: "legacy",
        tool: tool.to_owned(),
        connections: 1,
        token: None,
        more: Vec::new(),
    }
}

/// A port that is free now; the peers cannot say which one they chose.
fn free_port() -> Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?
        .local_addr()?
        .port())
}
