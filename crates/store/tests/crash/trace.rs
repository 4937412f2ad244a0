//! What a run did to its files, from `strace`.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::drive::{DATABASE, FACTS};

/// System calls that change files or make changes durable.
const CALLS: &str = "openat,pwrite64,write,ftruncate,fsync,fdatasync,unlink,rename,fallocate";

/// One thing that was done. Files go by the last part of their name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A file was opened and made if there was none.
    Create {
        file: String,
    },
    /// The name of a file was removed.
    Unlink {
        file: String,
    },
    Write {
        file: String,
        offset: usize,
        bytes: Vec<u8>,
    },
    Truncate {
        file: String,
        size: usize,
    },
    /// Writes that were done before the sync began are durable once it is done.
    Sync {
        file: String,
        begun: usize,
    },
    /// The same for the names in the folder.
    SyncFolder {
        begun: usize,
    },
    /// The run says that something is done.
    Fact(String),
}

pub(crate) struct Trace {
    /// In the order in which they were done.
    pub(crate) operations: Vec<Operation>,
}

/// Runs the driver under `strace`.
pub(crate) fn record(folder: &Path, seed: u64, rounds: usize) -> Result<Trace, String> {
    let log = folder.join("trace");
    let place = folder.join("data");
    fs::create_dir(&place).map_err(|error| error.to_string())?;
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let told = strace()
        .args(["-f", "-y", "-xx", "-s", "16777216", "-e"])
        .arg(format!("trace={CALLS}"))
        .arg("-o")
        .arg(&log)
        .arg(this)
        .arg("drive")
        .arg(&place)
        .args([seed.to_string(), rounds.to_string()])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("strace cannot be started ({error}); `apt install strace`"))?;
    if !told.status.success() {
        let said = String::from_utf8_lossy(&told.stderr);
        return Err(format!("the traced run failed: {said}"));
    }
    let text = fs::read_to_string(&log).map_err(|error| error.to_string())?;
    if told.stdout != b"0 errors\n" {
        return Err("the store failed although nothing was done to it".to_owned());
    }
    let name = place.to_str().ok_or("the folder's name is not Unicode")?;
    let trace = Trace {
        operations: parse(&text, name)?,
    };
    trace.check()?;
    Ok(trace)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the test traces itself; strace ends with what it traces"
)]
pub(crate) fn strace() -> Command {
    Command::new("strace")
}

impl Operation {
    pub(crate) fn is_sync(&self) -> bool {
        matches!(self, Self::Sync { .. })
    }

    pub(crate) fn is_folder_sync(&self) -> bool {
        matches!(self, Self::SyncFolder { .. })
    }
}

impl Trace {
    /// The same run on a disk that does not do some of it. It stays as long as
    /// it was, so that the places of the others do not move.
    pub(crate) fn without(&self, what: fn(&Operation) -> bool) -> Self {
        let nothing = Operation::SyncFolder { begun: 0 };
        let operations = self.operations.iter().map(|one| match what(one) {
            true => nothing.clone(),
            false => one.clone(),
        });
        Self {
            operations: operations.collect(),
        }
    }

    /// A trace without syncs, restarts of the log or facts would prove nothing.
    fn check(&self) -> Result<(), String> {
        let count =
            |what: fn(&Operation) -> bool| self.operations.iter().filter(|one| what(one)).count();
        let syncs = count(|one| matches!(one, Operation::Sync { .. }));
        let facts = count(|one| matches!(one, Operation::Fact(_)));
        let cuts = count(|one| matches!(one, Operation::Truncate { .. }));
        let folders = count(|one| matches!(one, Operation::SyncFolder { .. }));
        let log = format!("{DATABASE}-wal");
        let starts = count(
            |one| matches!(one, Operation::Write { offset: 0, file, .. } if file.ends_with("-wal")),
        );
        let database = self
            .operations
            .iter()
            .any(|one| matches!(one, Operation::Write { file, .. } if file == DATABASE));
        if syncs < 10 || facts < 10 || folders == 0 || starts < 2 || !database {
            return Err(format!(
                "the trace is too poor: {syncs} syncs, {folders} of the folder, {facts} facts, \
                 {cuts} cuts, {log} started {starts} times"
            ));
        }
        Ok(())
    }
}

/// A call that has begun and not ended.
struct Begun {
    text: String,
    /// Operations done before it began.
    done: usize,
}

fn parse(text: &str, folder: &str) -> Result<Vec<Operation>, String> {
    let mut operations = Vec::new();
    let mut begun: HashMap<&str, Begun> = HashMap::new();
    for line in text.lines() {
        let Some((thread, call)) = line.split_once(char::is_whitespace) else {
            continue;
        };
        let call = call.trim_start();
        if let Some(start) = call.strip_suffix("<unfinished ...>") {
            let start = Begun {
                text: start.trim_end().to_owned(),
                done: operations.len(),
            };
            begun.insert(thread, start);
        } else if call.starts_with("<... ") {
            let Some(start) = begun.remove(thread) else {
                continue;
            };
            let (_, end) = call.split_once("resumed>").ok_or("a call ends strangely")?;
            let whole = start.text + end;
            operations.extend(operation(&whole, folder, start.done)?);
        } else {
            let done = operations.len();
            operations.extend(operation(call, folder, done)?);
        }
    }
    Ok(operations)
}

/// One call, if it succeeded and is about a file of the store.
fn operation(call: &str, folder: &str, begun: usize) -> Result<Option<Operation>, String> {
    let Some((name, rest)) = call.split_once('(') else {
        return Ok(None);
    };
    let Some((arguments, result)) = rest.rsplit_once(" = ") else {
        return Ok(None);
    };
    if result.starts_with('-') || result.starts_with('?') {
        return Ok(None);
    }
    let arguments = arguments.trim_end().trim_end_matches(')');
    let number = |text: &str| text.trim().parse::<usize>().map_err(|_| call.to_owned());
    let last = || arguments.rsplit(", ").next().unwrap_or_default();
    let path = match name {
        "openat" | "unlink" | "rename" => quoted(arguments)?.map(text_of),
        _ => described(arguments)?,
    };
    let Some(path) = path else { return Ok(None) };
    if path == folder {
        return Ok(matches!(name, "fsync" | "fdatasync").then_some(Operation::SyncFolder { begun }));
    }
    let Some(file) = path
        .strip_prefix(folder)
        .and_then(|rest| rest.strip_prefix('/'))
    else {
        return Ok(None);
    };
    // SQLite makes the shared memory anew when it is the first to open.
    if file.ends_with("-shm") {
        return Ok(None);
    }
    let file = file.to_owned();
    let done = match name {
        "openat" if arguments.contains("O_CREAT") => Operation::Create { file },
        "openat" => return Ok(None),
        "unlink" => Operation::Unlink { file },
        "write" if file == FACTS => {
            let bytes = quoted(arguments)?.ok_or("a fact without words")?;
            Operation::Fact(text_of(bytes).trim_end().to_owned())
        }
        "pwrite64" => {
            let bytes = quoted(arguments)?.ok_or("a write without bytes")?;
            // What is not traced whole is not known.
            if number(result)? != bytes.len() {
                return Err(format!("a short write to {file}"));
            }
            Operation::Write {
                file,
                offset: number(last())?,
                bytes,
            }
        }
        "ftruncate" => Operation::Truncate {
            file,
            size: number(last())?,
        },
        "fsync" | "fdatasync" => Operation::Sync { file, begun },
        other => return Err(format!("{other} on {file} is not understood")),
    };
    Ok(Some(done))
}

/// The first argument in quotes.
fn quoted(text: &str) -> Result<Option<Vec<u8>>, String> {
    let Some((_, rest)) = text.split_once('"') else {
        return Ok(None);
    };
    let (inner, after) = rest.split_once('"').ok_or("an open quote")?;
    if after.starts_with("...") {
        return Err("the trace leaves bytes out".to_owned());
    }
    hexadecimal(inner).map(Some)
}

/// The path that `-y` puts behind a number of a file.
fn described(text: &str) -> Result<Option<String>, String> {
    let Some((_, rest)) = text.split_once('<') else {
        return Ok(None);
    };
    let (inner, after) = rest.split_once('>').ok_or("an open bracket")?;
    if after.starts_with("(deleted)") {
        return Ok(None);
    }
    hexadecimal(inner).map(|bytes| Some(text_of(bytes)))
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `\x2f\x74…`
fn hexadecimal(text: &str) -> Result<Vec<u8>, String> {
    text.split("\\x")
        .skip(1)
        .map(|pair| u8::from_str_radix(pair, 16).map_err(|_| format!("{pair} is no byte")))
        .collect()
}
