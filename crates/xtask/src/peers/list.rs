//! The peers: where they come from and how each is started.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail, ensure};

use super::{Hop, Peer, Place, Registry, install};
use crate::sys;

/// Every peer, once for each hop it can make.
pub(super) const PEERS: &[Peer] = &[
    Peer {
        name: "mcp-proxy (Rust)",
        registry: Registry::Cargo,
        package: "mcp-proxy",
        version: "0.6.0",
        hop: Hop::HttpToHttp,
        path: "/",
        tool: "up_echo",
        command: rust_http,
    },
    Peer {
        name: "mcp-proxy (Rust)",
        registry: Registry::Cargo,
        package: "mcp-proxy",
        version: "0.6.0",
        hop: Hop::HttpToStdio,
        path: "/",
        tool: "up_echo",
        command: rust_stdio,
    },
    Peer {
        name: "mcp-proxy (Python)",
        registry: Registry::PyPi,
        package: "mcp-proxy",
        version: "0.13.0",
        hop: Hop::HttpToStdio,
        path: "/mcp",
        tool: "echo",
        command: python_stdio,
    },
    Peer {
        name: "fastmcp",
        registry: Registry::PyPi,
        package: "fastmcp",
        version: "4.1.2",
        hop: Hop::HttpToHttp,
        path: "/mcp",
        tool: "echo",
        command: fastmcp_http,
    },
    Peer {
        name: "supergateway",
        registry: Registry::Npm,
        package: "supergateway",
        version: "4.0.0",
        hop: Hop::HttpToStdio,
        path: "/mcp",
        tool: "echo",
        command: supergateway_stdio,
    },
    Peer {
        name: "mcp-proxy (Node)",
        registry: Registry::Npm,
        package: "mcp-proxy",
        version: "6.7.19",
        hop: Hop::HttpToStdio,
        path: "/mcp",
        tool: "echo",
        command: node_stdio,
    },
    Peer {
        name: "nginx (bytes only)",
        registry: Registry::Debian,
        package: "nginx",
        version: "as installed",
        hop: Hop::HttpToHttp,
        path: "/mcp",
        tool: "echo",
        command: nginx_http,
    },
];

fn rust_http(place: &Place<'_>) -> Result<Command> {
    rust(
        place,
        &format!("transport = \"http\"\nurl = \"{}\"\n", place.url),
    )
}

fn rust_stdio(place: &Place<'_>) -> Result<Command> {
    let echo = place.echo.display();
    rust(
        place,
        &format!("transport = \"stdio\"\ncommand = \"{echo}\"\nargs = []\n"),
    )
}

fn rust(place: &Place<'_>, backend: &str) -> Result<Command> {
    let port = place.port;
    let text = format!(
        "[proxy]\nname = \"bench\"\nseparator = \"_\"\n\n[proxy.listen]\nhost = \"127.0.0.1\"\n\
         port = {port}\n\n[[backends]]\nname = \"up\"\n{backend}"
    );
    let path = place.folder.join(format!("bench-{port}.toml"));
    std::fs::write(&path, text)?;
    let mut command = sys::command(place.folder.join("bin/mcp-proxy"));
    command.arg("--config").arg(path);
    Ok(command)
}

fn python_stdio(place: &Place<'_>) -> Result<Command> {
    let mut command = sys::command(place.folder.join("bin/mcp-proxy"));
    command
        .args([
            "--port",
            &place.port.to_string(),
            "--log-level",
            "ERROR",
            "--",
        ])
        .arg(place.echo);
    Ok(command)
}

fn fastmcp_http(place: &Place<'_>) -> Result<Command> {
    let mut command = sys::command(place.folder.join("bin/fastmcp"));
    command.args([
        "run",
        place.url,
        "--transport",
        "http",
        "--port",
        &place.port.to_string(),
    ]);
    command.args(["--no-banner", "--log-level", "ERROR"]);
    Ok(command)
}

fn supergateway_stdio(place: &Place<'_>) -> Result<Command> {
    let mut command = node(place, "supergateway")?;
    command
        .arg("--stdio")
        .arg(place.echo)
        .args(["--port", &place.port.to_string()]);
    command.args([
        "--outputTransport",
        "streamableHttp",
        "--stateful",
        "--logLevel",
        "none",
    ]);
    Ok(command)
}

fn node_stdio(place: &Place<'_>) -> Result<Command> {
    let mut command = node(place, "mcp-proxy")?;
    command
        .args([
            "--host",
            "127.0.0.1",
            "--port",
            &place.port.to_string(),
            "--",
        ])
        .arg(place.echo);
    Ok(command)
}

fn nginx_http(place: &Place<'_>) -> Result<Command> {
    let folder = std::path::absolute(place.folder)?;
    let folder = folder.display();
    let upstream = place.url.trim_start_matches("http://");
    let (authority, _) = upstream.split_once('/').unwrap_or((upstream, ""));
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|what| format!("{what}_temp_path {folder}/{what};\n"))
        .concat();
    let text = format!(
        "daemon off;\nworker_processes 2;\npid {folder}/nginx.pid;\nerror_log stderr crit;\n\
         events {{ worker_connections 1024; }}\nhttp {{\naccess_log off;\n{temporary}\
         upstream echo {{ server {authority}; keepalive 64; }}\n\
         server {{\nlisten 127.0.0.1:{};\nkeepalive_requests 10000000;\n\
         location / {{ proxy_pass http://echo; proxy_http_version 1.1; \
         proxy_set_header Connection \"\"; proxy_buffering off; }}\n}}\n}}\n",
        place.port
    );
    let path = place.folder.join(format!("nginx-{}.conf", place.port));
    std::fs::write(&path, text)?;
    let mut command = sys::command(install::program("nginx")?);
    command.arg("-p").arg(place.folder).arg("-c");
    command.arg(std::path::absolute(path)?);
    Ok(command)
}

/// A program of an npm package, run by the pinned Node.
fn node(place: &Place<'_>, program: &str) -> Result<Command> {
    let program = place.folder.join("node_modules/.bin").join(program);
    let node: PathBuf = install::node()?;
    if !program.exists() {
        bail!("there is no {}", program.display());
    }
    ensure!(node.is_file(), "there is no {}", node.display());
    let mut command = sys::command(node);
    command.arg(program);
    Ok(command)
}
