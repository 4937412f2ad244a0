//! The programs that take part: the hub, the echo server, the load generator.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Effort;
use crate::{dist, sys};

/// How much of a server's talk is kept.
const MAX_KEPT: usize = 1 << 20;

/// Paths of the programs.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    pub(crate) legation: PathBuf,
    pub(crate) echo: PathBuf,
    pub(crate) load: PathBuf,
}

/// A child that is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) child: Child,
    /// `HOST:PORT`.
    pub(crate) authority: String,
    said: Arc<Mutex<Vec<u8>>>,
}

/// What the load generator reports.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Report {
    /// Calls answered correctly, warm-up included.
    pub(crate) all_calls: u64,
    pub(crate) wrong: u64,
    pub(crate) first_wrong: Option<String>,
    pub(crate) per_second: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
}

/// One run of the load generator.
#[derive(Debug, Clone)]
pub(crate) struct Load<'a> {
    /// The endpoint, or none for the socket or a child given in `more`.
    pub(crate) url: Option<String>,
    pub(crate) era: &'a str,
    pub(crate) tool: String,
    pub(crate) connections: usize,
    pub(crate) token: Option<&'a Path>,
    /// More arguments.
    pub(crate) more: Vec<String>,
}

// === impl Load ===

impl<'a> Load<'a> {
    /// Calls over a hub's socket of the server `stdio`, whose tool says back what it is told.
    pub(crate) fn over_socket(socket: &Path, era: &'a str, connections: usize) -> Self {
        Self {
            url: None,
            era,
            tool: "stdio-echo".to_owned(),
            connections,
            token: None,
            more: vec!["--socket".to_owned(), socket.display().to_string()],
        }
    }
}

// === impl Programs ===

impl Programs {
    /// Builds them, the hub as it is shipped.
    pub(crate) fn shipped() -> Result<Self> {
        Self::around(dist::build(false)?)
    }

    /// Builds them, the hub as `cargo build --release` does.
    pub(crate) fn release() -> Result<Self> {
        sys::say("building the hub in release mode");
        let status = sys::cargo()
            .args(["build", "--release", "--locked", "-p", "legation"])
            .status()
            .context("cannot start cargo")?;
        ensure!(status.success(), "the build failed");
        Self::around(find(&sys::target_dir().join("release"), "legation")?)
    }

    /// Builds what goes with this hub.
    pub(crate) fn around(legation: PathBuf) -> Result<Self> {
        sys::say("building the echo server and the load generator in release mode");
        let status = sys::cargo()
            .args(["build", "--release", "--locked", "-p", "legation-bench"])
            .status()
            .context("cannot start cargo")?;
        ensure!(status.success(), "the build failed");
        let release = sys::target_dir().join("release");
        Ok(Self {
            legation,
            echo: find(&release, "bench-echo")?,
            load: find(&release, "bench-load")?,
        })
    }

    /// Takes them from a folder.
    pub(crate) fn in_folder(folder: &Path) -> Result<Self> {
        Ok(Self {
            legation: find(folder, "legation")?,
            echo: find(folder, "bench-echo")?,
            load: find(folder, "bench-load")?,
        })
    }

    /// Starts an echo server over HTTP.
    pub(crate) fn echo_http(&self, era: &str) -> Result<Running> {
        let mut command = sys::command(&self.echo);
        command.args(["--transport", "http", "--era", era]);
        Running::start(command)
    }

    /// Loads a server.
    pub(crate) fn load(&self, load: &Load<'_>, effort: Effort) -> Result<Report> {
        let mut arguments = vec!["run".to_owned()];
        let mut pair = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
        pair("--era", load.era.to_owned());
        pair("--tool", load.tool.clone());
        pair("--connections", load.connections.to_string());
        pair("--seconds", effort.seconds.to_string());
        pair("--warm-up", effort.warm_up.to_string());
        if let Some(url) = &load.url {
            pair("--url", url.clone());
        }
        if let Some(token) = load.token {
            pair("--token-file", token.display().to_string());
        }
        arguments.extend(load.more.iter().cloned());
        let value = self.ask(&arguments)?;
        let report: Report = serde_json::from_value(value)?;
        ensure!(
            report.wrong == 0,
            "{} wrong answers, first {:?}",
            report.wrong,
            report.first_wrong
        );
        ensure!(
            report.per_second > 0.0,
            "no call was answered in the measured time"
        );
        Ok(report)
    }

    /// Runs the load generator with these arguments and returns what it prints.
    pub(crate) fn ask(&self, arguments: &[String]) -> Result<Value> {
        let mut command = sys::command(&self.load);
        command.args(arguments);
        output_of(command)
    }
}

/// The program of this name in a folder.
fn find(folder: &Path, name: &str) -> Result<PathBuf> {
    let path = folder
        .join(name)
        .with_extension(std::env::consts::EXE_EXTENSION);
    ensure!(path.is_file(), "there is no {}", path.display());
    std::path::absolute(&path).with_context(|| format!("cannot find {}", path.display()))
}

// === impl Running ===

impl Running {
    /// Starts a server and waits until it says where it listens.
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        let shown = format!("{:?}", command.get_program());
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {shown}"))?;
        let stderr = child.stderr.take().context("the server has no stderr")?;
        let mut running = Self {
            child,
            authority: String::new(),
            said: Arc::default(),
        };
        let mut talk = BufReader::new(stderr);
        let mut said = String::new();
        loop {
            let mut line = String::new();
            if talk.read_line(&mut line)? == 0 {
                bail!("{shown} ended before it listened: {said}");
            }
            let url = line.split_once("listening on ").map(|(_, url)| url);
            if let Some((_, authority)) = url.and_then(|url| url.split_once("://")) {
                running.authority = authority.trim().trim_end_matches('/').to_owned();
                break;
            }
            said.push_str(&line);
        }
        // Whoever is not read blocks once the pipe is full. The thread ends with the pipe.
        let kept = Arc::clone(&running.said);
        std::thread::spawn(move || {
            for line in talk.split(b'\n').map_while(Result::ok) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() < MAX_KEPT {
                    kept.extend_from_slice(&line);
                    kept.push(b'\n');
                }
            }
        });
        Ok(running)
    }

    /// What it said on standard error since it listened.
    pub(crate) fn said(&self) -> String {
        let kept = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }

    /// The endpoint at `path`.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.authority)
    }

    /// Its resident memory in KiB, its children not counted.
    pub(crate) fn resident_kib(&self) -> Result<u64> {
        resident_kib(self.child.id())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Whether it was still there does not matter.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The resident memory of a process in KiB, read once it has stopped moving.
pub(crate) fn resident_kib(pid: u32) -> Result<u64> {
    let read = || -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))
            .context("resident memory is read from /proc, which only Linux has")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|rest| rest.split_whitespace().next());
        number
            .context("the process is gone")?
            .parse()
            .context("VmRSS is no number")
    };
    let mut last = read()?;
    for _ in 0..20 {
        std::thread::sleep(std::time::Duration::from_millis(150));
        let next = read()?;
        if next.abs_diff(last) <= 16 {
            return Ok(next);
        }
        last = next;
    }
    Ok(last)
}

/// Runs a command that prints one JSON value, and returns it.
pub(crate) fn output_of(mut command: Command) -> Result<Value> {
    let shown = format!("{command:?}");
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot start {shown}"))?;
    let (out, talk) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    ensure!(
        output.status.success(),
        "{shown} failed: {} {}",
        talk.trim(),
        out.trim()
    );
    serde_json::from_str(out.trim()).with_context(|| format!("{shown} printed no JSON: {out}"))
}

/// The middle of some numbers; zero of none.
pub(crate) fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}
