//! The hostile server as a program.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use legation_tests::hostile::{self, Fault};

/// A server that misbehaves in one way.
#[derive(Debug, Parser)]
struct Args {
    /// The way.
    #[arg(long, default_value = "none")]
    fault: Fault,
    /// Listen over HTTP on a port of its own instead of serving standard input.
    #[arg(long)]
    http: bool,
    /// Where to write the port.
    #[arg(long)]
    port_file: Option<PathBuf>,
}

#[tokio::main(flavor = "current_thread")]
#[expect(
    clippy::print_stderr,
    reason = "the complaint of a server that cannot start"
)]
async fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    if args.fault == Fault::ExitEarly {
        eprintln!("hostile: cannot find my configuration");
        return Ok(ExitCode::from(3));
    }
    if args.fault == Fault::Drown {
        for line in 0..10_000 {
            eprintln!("noise {line}");
        }
        return Ok(ExitCode::from(3));
    }
    if args.http {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        if let Some(path) = args.port_file {
            let partial = path.with_extension("partial");
            std::fs::write(&partial, listener.local_addr()?.port().to_string())?;
            std::fs::rename(&partial, &path)?;
        }
        hostile::http::serve(args.fault, listener).await?;
    } else {
        hostile::stdio::serve(args.fault).await?;
    }
    Ok(ExitCode::SUCCESS)
}
