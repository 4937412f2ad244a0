//! The end-to-end drivers as a program; `cargo xtask test` runs it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use legation_tests::e2e::report::Report;
use legation_tests::e2e::tools::Tools;
use legation_tests::e2e::{
    agents, approvals, conformance, conformance_client, console, delegate, engine, events, found,
    moving, openapi, sdk, servers, tenant, wake,
};

/// End-to-end drivers. The last line of standard output is the tally.
#[derive(Debug, Parser)]
struct Args {
    #[command(subcommand)]
    driver: Driver,
    /// Where the programs are installed.
    #[arg(long, global = true, default_value = "target/tools")]
    tools: PathBuf,
    /// Only checks whose name contains this.
    #[arg(long, global = true)]
    filter: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Driver {
    /// The official suite against the hub as a server.
    Conformance,
    /// The official suite against the fixture, without a hub.
    ConformanceDirect,
    /// The official suite against the hub as a client.
    ConformanceClient,
    /// What the suite starts as its client.
    #[command(name = "conformance-client-driver")]
    AsClient {
        /// The address of the suite's server.
        url: String,
    },
    /// The SDKs and the Inspector through the hub.
    Sdk,
    /// Real servers over the older transports, and one in a sandbox.
    Servers,
    /// Questions for tools of real servers.
    Found,
    /// The SDKs against the same servers, without a hub.
    SdkDirect,
    /// Calls that a person is asked about, made with the SDKs.
    Approvals,
    /// A client of webhooks that others wrote.
    Events,
    /// The admin API against its own description.
    Openapi,
    /// Microsoft's client libraries against the development tenant.
    Tenant,
    /// The console in a real browser.
    Console,
    /// A real engine behind the client and the commands for models.
    Engine,
    /// A person disturbs tasks on that engine; what was measured comes first, a line each.
    Preempt {
        /// How often.
        #[arg(long, default_value_t = 200)]
        rounds: u64,
        /// The seed of the moments.
        #[arg(long, default_value_t = 0)]
        seed: u64,
    },
    /// Whole turns of real agents.
    Agents,
    /// Claude Code hands work to a model on the machine.
    Delegate,
    /// Servers taken over from real programs and given back to them.
    Moving,
    /// The same turns without a hub.
    AgentsDirect,
    /// Idle sessions of real agents, woken by messages.
    Wake {
        /// How long the sessions are idle before, in seconds.
        #[arg(long, default_value_t = 3)]
        idle: u64,
    },
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "the tally is the program's result")]
async fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let tools = Tools::new(args.tools);
    let mut report = Report::new(args.filter);
    match args.driver {
        Driver::Conformance => conformance::run(&tools, &mut report).await?,
        Driver::ConformanceDirect => conformance::direct(&tools, &mut report).await?,
        Driver::ConformanceClient => conformance_client::run(&tools, &mut report).await?,
        Driver::AsClient { url } => {
            let (revision, context) = conformance_client::told();
            conformance_client::drive(&url, &revision, &context).await?;
            return Ok(ExitCode::SUCCESS);
        }
        Driver::Sdk => sdk::run(&tools, &mut report).await?,
        Driver::Servers => servers::run(&tools, &mut report).await?,
        Driver::Found => found::run(&tools, &mut report).await?,
        Driver::SdkDirect => sdk::direct(&tools, &mut report).await?,
        Driver::Approvals => approvals::run(&tools, &mut report).await?,
        Driver::Events => events::run(&tools, &mut report).await?,
        Driver::Openapi => openapi::run(&tools, &mut report).await?,
        Driver::Tenant => tenant::run(&tools, &mut report).await?,
        Driver::Console => console::run(&tools, &mut report).await?,
        Driver::Engine => engine::run(&tools, &mut report).await?,
        Driver::Preempt { rounds, seed } => {
            let plan = engine::preempt::Plan { rounds, seed };
            for line in engine::preempted(&tools, plan, &mut report).await? {
                println!("{line}");
            }
        }
        Driver::Agents => agents::run(&tools, &mut report).await?,
        Driver::Delegate => delegate::run(&tools, &mut report).await?,
        Driver::Moving => moving::run(&tools, &mut report).await?,
        Driver::AgentsDirect => agents::direct(&tools, &mut report).await?,
        Driver::Wake { idle } => {
            wake::run(&tools, &mut report, Duration::from_secs(idle)).await?;
        }
    }
    println!("{}", report.line());
    Ok(if report.good() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
