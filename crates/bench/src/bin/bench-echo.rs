//! A small, fast MCP server that returns what it is given.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Parser, ValueEnum};
use legation_bench::answer::{Era, Server};
use legation_bench::journal::Journal;
use legation_bench::{serve, stdio};

/// A small, fast MCP server that returns what it is given.
#[derive(Debug, Parser)]
struct Args {
    /// What carries the messages.
    #[arg(long, value_enum, default_value = "stdio")]
    transport: Transport,
    /// The protocol eras it speaks.
    #[arg(long, value_enum, default_value = "both")]
    era: Era,
    /// How many tools it has besides `echo` and `kib`.
    #[arg(long, default_value_t = 0)]
    tools: usize,
    /// Where to listen, for `http`.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Write every call down in this file, on the disk, before it is answered.
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Transport {
    Stdio,
    Http,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let mut server = Server::new(args.era, args.tools);
    if let Some(path) = &args.journal {
        let journal =
            Journal::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        server = server.with_journal(journal);
    }
    match args.transport {
        Transport::Stdio => stdio::run(&server)?,
        Transport::Http => serve::run(server, args.listen)?,
    }
    Ok(())
}
