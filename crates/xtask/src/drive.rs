//! A hub that does what hubs do most, for whoever wants to know which code that is.

use std::process::Command;

use anyhow::Result;
use serde_json::json;

use crate::bench::Effort;
use crate::bench::hub::{Home, stop};
use crate::bench::programs::{Load, Programs, Running};
use crate::sys;

/// Servers that do nothing most of the time, as in the measurement of memory.
const IDLE: usize = 10;

/// Starts a hub with servers of this era by the command that `serve` makes, has clients call them over HTTP and over the
/// socket, first so many as the first number of `clients` says, and stops it. What it left is in the home.
pub(crate) fn drive(
    programs: &Programs,
    era: &str,
    effort: Effort,
    clients: &[usize],
    serve: impl FnOnce(&Home) -> Command,
) -> Result<Home> {
    sys::say(&format!("running the hub, {era}"));
    let echo = programs.echo_http(era)?;
    let mut servers = json!({
        "http": { "type": "http", "url": echo.url("/mcp") },
    });
    for index in 0..IDLE {
        let name = if index == 0 {
            "stdio".to_owned()
        } else {
            format!("s{index}")
        };
        servers[name] = json!({
            "type": "stdio",
            "command": programs.echo.display().to_string(),
            "args": ["--transport", "stdio", "--era", era],
        });
    }
    let home = Home::new(programs, &servers)?;
    let mut hub = Running::start(serve(&home))?;
    home.connected(IDLE + 1)?;
    let token = home.token();
    for &connections in clients {
        for tool in ["echo", "kib", "change"] {
            for upstream in ["http", "stdio"] {
                let over_http = Load {
                    url: Some(hub.url("/mcp")),
                    era,
                    tool: format!("{upstream}-{tool}"),
                    connections,
                    token: Some(&token),
                    more: Vec::new(),
                };
                programs.load(&over_http, effort)?;
            }
        }
        programs.load(&Load::over_socket(&home.socket(), era, connections), effort)?;
    }
    stop(&mut hub)?;
    Ok(home)
}
