//! The programs that use an SDK, and how each reaches a hub.

use std::path::Path;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::e2e::tools::Tools;
use crate::harness::hub::Hub;
use crate::harness::process::{command, program};

/// A program that uses an SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sdk {
    /// `@modelcontextprotocol/sdk`, 1.x.
    TypeScript1,
    /// `@modelcontextprotocol/client`, 2.x.
    TypeScript2,
    /// `mcp` of PyPI.
    Python,
}

/// Which SDKs speak which eras.
pub const CLIENTS: [(Sdk, &str); 5] = [
    (Sdk::TypeScript1, "legacy"),
    (Sdk::TypeScript2, "legacy"),
    (Sdk::TypeScript2, "modern"),
    (Sdk::Python, "legacy"),
    (Sdk::Python, "modern"),
];

/// How a driver's transport reaches a hub by a road.
pub fn transport(hub: &Hub, road: &str) -> anyhow::Result<Value> {
    Ok(match road {
        "bridge" => {
            json!({"kind": "stdio", "command": program("legation")?, "args": ["bridge"], "env": hub.environment()})
        }
        "socket" => json!({"kind": "socket", "path": hub.socket()}),
        _ => json!({"kind": "http", "url": hub.url(), "token": hub.token()?}),
    })
}

// === impl Sdk ===

impl Sdk {
    /// Its driver, with a plan that is written into a file of this name.
    pub fn driver(
        self,
        tools: &Tools,
        folder: &Path,
        name: &str,
        mut plan: Value,
    ) -> anyhow::Result<Command> {
        let drivers = Path::new(env!("CARGO_MANIFEST_DIR")).join("drivers");
        let node = |script: &str| {
            let mut node = tools.node(folder);
            node.arg(drivers.join(script));
            node
        };
        let mut command = match self {
            Self::TypeScript1 => node("typescript1.mjs"),
            Self::TypeScript2 => node("typescript2.mjs"),
            Self::Python => {
                let mut python = command(tools.python("python"), &tools.environment(folder));
                python.arg("-B").arg(drivers.join("python_sdk.py"));
                python
            }
        };
        plan["sdk"] = json!(match self {
            Self::TypeScript1 => Some(tools.module("sdk1", "@modelcontextprotocol/sdk")),
            Self::TypeScript2 => Some(tools.module("sdk2", "@modelcontextprotocol/client")),
            Self::Python => None,
        });
        let file = folder.join(name);
        std::fs::write(&file, plan.to_string())?;
        command.arg(&file);
        Ok(command)
    }
}
