//! The load generator of `cargo xtask bench`: one thread, answers checked, results as JSON.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::{Parser, Subcommand, ValueEnum};
use legation_bench::client::{Dialect, Target};
use legation_bench::http::Url;
use legation_bench::load::Plan;
use legation_bench::{idle, listing, load, startup, sys};

/// Loads an MCP server and prints what came of it as JSON.
#[derive(Debug, Parser)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Call one tool over and over.
    Run(RunArgs),
    /// Hold clients that have called once, until standard input ends.
    Idle(IdleArgs),
    /// List all tools.
    List(ListArgs),
    /// Start a stdio server and wait for its first list of tools.
    Bridge(BridgeArgs),
    /// Start an HTTP server and wait for its first list of tools.
    Start(StartArgs),
}

#[derive(Debug, clap::Args)]
struct Place {
    /// A Streamable HTTP endpoint.
    #[arg(long, conflicts_with = "socket")]
    url: Option<Url>,
    /// The hub's Unix socket.
    #[arg(long)]
    socket: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct Speech {
    /// The protocol era to speak.
    #[arg(long, value_enum, default_value = "legacy")]
    era: Era,
    /// The file whose first line is the bearer token.
    #[arg(long)]
    token_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Era {
    Legacy,
    Modern,
}

#[derive(Debug, clap::Args)]
struct RunArgs {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    speech: Speech,
    /// How many connections, each with one call in flight.
    #[arg(long, default_value_t = 1)]
    connections: usize,
    /// How long calls are counted, in seconds.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// How long they are not yet, in seconds.
    #[arg(long, default_value_t = 0.3)]
    warm_up: f64,
    /// The tool's name.
    #[arg(long, default_value = "echo")]
    tool: String,
    /// What to say to it.
    #[arg(long, default_value = "hello")]
    text: String,
    /// End quietly where the server goes away, and report the calls answered until then.
    #[arg(long)]
    tolerant: bool,
    /// A stdio server to start and load instead.
    #[arg(last = true)]
    command: Vec<String>,
}

#[derive(Debug, clap::Args)]
struct IdleArgs {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    speech: Speech,
    /// How many clients.
    #[arg(long, default_value_t = 100)]
    count: usize,
    /// The tool each calls once.
    #[arg(long, default_value = "echo")]
    tool: String,
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    speech: Speech,
    /// How often.
    #[arg(long, default_value_t = 5)]
    times: usize,
}

#[derive(Debug, clap::Args)]
struct BridgeArgs {
    /// How often.
    #[arg(long, default_value_t = 20)]
    times: usize,
    /// The server.
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

#[derive(Debug, clap::Args)]
struct StartArgs {
    #[command(flatten)]
    speech: Speech,
    /// How often.
    #[arg(long, default_value_t = 5)]
    times: usize,
    /// The endpoint's path.
    #[arg(long, default_value = "/mcp")]
    path: String,
    /// The server; it says `listening on http://ADDR` on standard error.
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

fn main() -> Result<()> {
    match Args::parse().command {
        Command::Run(args) => {
            let plan = Plan {
                connections: args.connections.max(1),
                warm_up: Duration::try_from_secs_f64(args.warm_up)?,
                measured: Duration::try_from_secs_f64(args.seconds)?,
                tool: args.tool.clone(),
                text: args.text.clone(),
                tolerant: args.tolerant,
            };
            let dialect = args.speech.dialect()?;
            let report = if args.command.is_empty() {
                load::run(&args.place.target()?, &dialect, &plan)?
            } else {
                load::run_child(&args.command, &dialect, &plan)?
            };
            sys::put(&serde_json::to_string(&report)?);
        }
        Command::Idle(args) => {
            idle::run(
                &args.place.target()?,
                &args.speech.dialect()?,
                args.count,
                &args.tool,
            )?;
        }
        Command::List(args) => {
            let listing = listing::run(&args.place.target()?, &args.speech.dialect()?, args.times)?;
            sys::put(&serde_json::to_string(&listing)?);
        }
        Command::Bridge(args) => {
            sys::put(&serde_json::to_string(&startup::bridge(
                &args.command,
                args.times,
            )?)?);
        }
        Command::Start(args) => {
            let dialect = args.speech.dialect()?;
            let starts = startup::server(&args.command, &dialect, &args.path, args.times)?;
            sys::put(&serde_json::to_string(&starts)?);
        }
    }
    Ok(())
}

// === impl Place ===

impl Place {
    fn target(&self) -> Result<Target> {
        match (&self.url, &self.socket) {
            (Some(url), _) => Ok(Target::Http(url.clone())),
            (None, Some(path)) => Ok(Target::Socket(path.clone())),
            (None, None) => bail!("give --url or --socket"),
        }
    }
}

// === impl Speech ===

impl Speech {
    fn dialect(&self) -> Result<Dialect> {
        let token = match &self.token_file {
            None => None,
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("cannot read {}", path.display()))?;
                text.lines().next().map(|line| line.trim().to_owned())
            }
        };
        Ok(Dialect {
            modern: self.era == Era::Modern,
            token,
        })
    }
}
