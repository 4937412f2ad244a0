//! The fixture as a program: over stdio, or over HTTP on an address of its own.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::{Parser, ValueEnum};
use legation_tests::fixture::{self, Era, Files, Fixture};

/// How often somebody who waits looks.
const HELD: Duration = Duration::from_millis(20);

/// A Model Context Protocol server for tests.
#[derive(Debug, Parser)]
struct Args {
    /// How clients reach it.
    #[arg(long, default_value = "stdio")]
    transport: Transport,
    /// Where to listen over HTTP.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: String,
    /// Where to write the port once it listens.
    #[arg(long)]
    port_file: Option<PathBuf>,
    /// The protocol eras it speaks.
    #[arg(long, default_value = "both")]
    era: Era,
    /// Speak through the official Rust SDK instead of by hand; with tasks in the modern era alone.
    #[arg(long)]
    sdk: bool,
    /// The name it gives itself.
    #[arg(long, default_value = "fixture")]
    name: String,
    /// The features it declares, by comma; all if absent.
    #[arg(long, value_delimiter = ',')]
    caps: Vec<String>,
    /// A JSON file with an array of more tools, which answer like `echo`.
    #[arg(long)]
    script: Option<PathBuf>,
    /// A file in which tool calls are written down before anything is done about them.
    #[arg(long)]
    journal: Option<PathBuf>,
    /// A file that it waits for the end of before it says anything.
    #[arg(long)]
    hold: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Transport {
    Stdio,
    Http,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    while args.hold.as_ref().is_some_and(|hold| hold.exists()) {
        tokio::time::sleep(HELD).await;
    }
    let files = Files {
        script: args.script,
        journal: args.journal,
    };
    let fixture = Fixture::new(args.era, args.name, args.caps, files);
    match args.transport {
        Transport::Stdio if args.sdk => fixture::sdk::stdio(fixture).await?,
        Transport::Stdio => {
            fixture::stdio::serve(fixture, tokio::io::stdin(), tokio::io::stdout())
                .await
                .context("the stream broke")?;
        }
        Transport::Http => {
            let listener = tokio::net::TcpListener::bind(&args.listen)
                .await
                .with_context(|| format!("cannot listen on {}", args.listen))?;
            let port = listener.local_addr()?.port();
            if let Some(path) = args.port_file {
                write_port(&path, port)?;
            }
            if args.sdk {
                fixture::sdk::http(fixture, listener).await?;
            } else {
                fixture::http::serve(fixture, listener)
                    .await
                    .context("cannot accept")?;
            }
        }
    }
    Ok(())
}

/// Renamed into place so that a reader never sees half a number.
fn write_port(path: &std::path::Path, port: u16) -> anyhow::Result<()> {
    let partial = path.with_extension("partial");
    std::fs::write(&partial, port.to_string())?;
    std::fs::rename(&partial, path).context("cannot write the port")
}
