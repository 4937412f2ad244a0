//! Configurations as data, good ones and bad ones.

mod entries;
mod oauth;
mod reach;
mod resolving;
mod sandbox;
mod sources;
mod workspaces;

use std::fmt::Write as _;
use std::path::Path;

use super::{Loaded, ServerSpec, Transport, additional};

fn load(text: &str) -> Loaded {
    additional(&[text], Path::new("/nowhere"))
}

/// Servers and problems as a reader would want to compare them.
fn print(loaded: &Loaded) -> String {
    let mut text = String::new();
    for server in &loaded.servers {
        writeln!(text, "{}", line(server)).expect("strings take all text");
    }
    for problem in &loaded.problems {
        writeln!(
            text,
            "{} {problem} -> {}",
            problem.kind.as_str(),
            problem.hint
        )
        .expect("strings take all text");
    }
    text
}

fn line(server: &ServerSpec) -> String {
    let mut line = format!("{} = {} ", server.name, server.transport.as_str());
    line += &server.transport.shown();
    let pairs = match &server.transport {
        Transport::Stdio { env: pairs, .. } | Transport::Http { headers: pairs, .. } => {
            pairs.as_slice()
        }
        Transport::Memory { .. } => &[],
    };
    for (name, value) in pairs {
        write!(line, " {name}={value}").expect("strings take all text");
    }
    if let Transport::Stdio { cwd: Some(cwd), .. } = &server.transport {
        write!(line, " in {cwd}").expect("strings take all text");
    }
    write!(
        line,
        " | tools {:?} timeout {:?} title {:?} default {} era {} instance {} prefix {:?} disabled {} env {:?}",
        server.tools,
        server.timeout,
        server.title(),
        server.is_default,
        server.era.as_str(),
        server.instance.as_str(),
        server.flat_prefix(),
        server.disabled,
        server.env_mode,
    )
    .expect("strings take all text");
    if let Some(mapping) = &server.filter_mapping {
        write!(line, " filter {mapping}").expect("strings take all text");
    }
    if !server.unknown.is_empty() {
        let unknown = serde_json::Value::Object(server.unknown.clone());
        write!(line, " unknown {unknown}").expect("strings take all text");
    }
    line
}
