//! Clients that have called once and then hold their connection: what a hub keeps for each is
//! measured from outside while they wait.

use std::io::Read as _;

use anyhow::Result;

use crate::client::{Client, Dialect, Target};
use crate::sys;

/// Opens `count` clients, each of which calls `tool` once; says `ready`, and holds them until
/// standard input ends.
///
/// # Errors
/// A client cannot connect or its call fails.
pub fn run(target: &Target, dialect: &Dialect, count: usize, tool: &str) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut clients = Vec::with_capacity(count);
        for number in 0..count {
            let mut client = Client::open(target, dialect).await?;
            let body = dialect.call(number as u64 + 1, tool, "idle");
            client.request("tools/call", Some(tool), &body).await?;
            clients.push(client);
        }
        sys::put("ready");
        let mut rest = Vec::new();
        // Nothing else is to happen meanwhile, so the runtime may be blocked.
        std::io::stdin().lock().read_to_end(&mut rest)?;
        for client in clients {
            client.close().await;
        }
        Ok(())
    })
}
