//! What a run did to the files of a folder, from `strace`.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::disk::Disk;

mod call;

use call::{Call, number, quoted, text_of};

/// System calls that change files or make changes durable.
const CALLS: &str = "openat,pwrite64,write,writev,pwritev,lseek,ftruncate,fsync,fdatasync,unlink,unlinkat,\
    rename,renameat,mkdir,mkdirat,rmdir,fallocate,copy_file_range,sendfile";

/// One thing that was done. Names are those below the recorded folder, which itself is "".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// A file was opened and made if there was none.
    Create {
        /// Which one.
        file: String,
    },
    /// A folder was made.
    Folder {
        /// Which one.
        name: String,
    },
    /// The name of a file or folder was removed.
    Remove {
        /// Which one.
        name: String,
    },
    /// A file was given another name in its folder.
    Rename {
        /// The old one.
        from: String,
        /// The new one.
        to: String,
    },
    /// Bytes were written.
    Write {
        /// Where to.
        file: String,
        /// From which byte on.
        offset: usize,
        /// What.
        bytes: Vec<u8>,
    },
    /// A file was cut or made longer.
    Truncate {
        /// Which one.
        file: String,
        /// How long it is now, in bytes.
        size: usize,
    },
    /// What was done to a file, or to the names in a folder, before the sync began
    /// is durable once it is done.
    Sync {
        /// Which one.
        name: String,
        /// Operations done before it began.
        begun: usize,
    },
    /// The run says that something is done.
    Fact(String),
}

/// A run that is to be recorded.
#[derive(Debug, Clone)]
pub struct Recording<'a> {
    /// The program, and what it is started with.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: &'a [String],
    /// The folder whose files are recorded.
    pub folder: &'a Path,
    /// The file in it into which the run writes its facts, a line each and a
    /// write each.
    pub facts: &'a str,
    /// Files whose contents mean nothing after a crash.
    pub ignored: fn(&str) -> bool,
}

/// What a run did, in the order in which it was done.
#[derive(Debug, Clone)]
pub struct Trace {
    /// Everything.
    pub operations: Vec<Operation>,
    /// What the run said on its standard output.
    pub said: Vec<u8>,
}

// === impl Recording ===

impl Recording<'_> {
    /// Runs it under `strace`, which writes to `log`.
    ///
    /// # Errors
    /// When it cannot be run, or did something that is not understood, in words.
    pub fn record(&self, log: &Path) -> Result<Trace, String> {
        let told = strace()
            .args(["-f", "-y", "-xx", "-s", "16777216", "-e"])
            .arg(format!("trace={CALLS}"))
            .arg("-o")
            .arg(log)
            .arg(self.program)
            .args(self.arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("strace cannot be started ({error}); `apt install strace`"))?;
        if !told.status.success() {
            let said = String::from_utf8_lossy(&told.stderr);
            return Err(format!("the traced run failed: {said}"));
        }
        let text = fs::read_to_string(log).map_err(|error| error.to_string())?;
        let folder = fs::canonicalize(self.folder).map_err(|error| error.to_string())?;
        let folder = folder.to_str().ok_or("the folder's name is not Unicode")?;
        Ok(Trace {
            operations: self.parse(&text, folder)?,
            said: told.stdout,
        })
    }

    fn parse(&self, text: &str, folder: &str) -> Result<Vec<Operation>, String> {
        let mut reading = Reading {
            recording: self,
            folder,
            operations: Vec::new(),
            places: HashMap::new(),
            disk: Disk::default(),
        };
        let mut begun: HashMap<&str, Begun> = HashMap::new();
        for line in text.lines() {
            let Some((thread, call)) = line.split_once(char::is_whitespace) else {
                continue;
            };
            let call = call.trim_start();
            if let Some(start) = call.strip_suffix("<unfinished ...>") {
                let start = Begun {
                    text: start.trim_end().to_owned(),
                    done: reading.operations.len(),
                };
                begun.insert(thread, start);
            } else if call.starts_with("<... ") {
                let Some(start) = begun.remove(thread) else {
                    continue;
                };
                let (_, end) = call.split_once("resumed>").ok_or("a call ends strangely")?;
                let whole = start.text + end;
                reading.take(&whole, start.done)?;
            } else {
                let done = reading.operations.len();
                reading.take(call, done)?;
            }
        }
        Ok(reading.operations)
    }
}

/// The tracer, with nothing told to it.
#[expect(
    clippy::disallowed_methods,
    reason = "a test traces itself; strace ends with what it traces"
)]
#[must_use]
pub fn strace() -> Command {
    Command::new("strace")
}

// === impl Operation ===

impl Operation {
    /// Whether it makes the contents of a file durable.
    #[must_use]
    pub fn is_file_sync(&self, folders: &[&str]) -> bool {
        matches!(self, Self::Sync { name, .. } if !folders.contains(&name.as_str()))
    }

    /// Whether it makes the names in a folder durable.
    #[must_use]
    pub fn is_folder_sync(&self, folders: &[&str]) -> bool {
        matches!(self, Self::Sync { name, .. } if folders.contains(&name.as_str()))
    }
}

// === impl Trace ===

impl Trace {
    /// The same run on a disk that does not do some of it. It stays as long as
    /// it was, so that the places of the others do not move.
    #[must_use]
    pub fn without(&self, what: impl Fn(&Operation) -> bool) -> Self {
        let nothing = Operation::Sync {
            name: String::new(),
            begun: 0,
        };
        let operations = self.operations.iter().map(|one| match what(one) {
            true => nothing.clone(),
            false => one.clone(),
        });
        Self {
            operations: operations.collect(),
            said: self.said.clone(),
        }
    }

    /// How many of its operations are such.
    #[must_use]
    pub fn count(&self, what: impl Fn(&Operation) -> bool) -> usize {
        self.operations.iter().filter(|one| what(one)).count()
    }
}

/// A call that has begun and not ended.
struct Begun {
    text: String,
    /// Operations done before it began.
    done: usize,
}

/// A trace that is being read.
struct Reading<'a> {
    recording: &'a Recording<'a>,
    folder: &'a str,
    operations: Vec<Operation>,
    /// Where files are written next that are written without saying where, by the
    /// number under which they are open.
    places: HashMap<String, usize>,
    /// What there is so far, for lengths and names.
    disk: Disk,
}

// === impl Reading ===

impl Reading<'_> {
    fn take(&mut self, text: &str, begun: usize) -> Result<(), String> {
        let Some((name, rest)) = text.split_once('(') else {
            return Ok(());
        };
        let Some((arguments, result)) = rest.rsplit_once(" = ") else {
            return Ok(());
        };
        if result.starts_with('-') || result.starts_with('?') {
            return Ok(());
        }
        let call = Call {
            name,
            arguments: arguments.trim_end().trim_end_matches(')'),
            result,
            begun,
        };
        let Some(path) = call.path()? else {
            return Ok(());
        };
        let Some(file) = self.inside(&path) else {
            return Ok(());
        };
        if (self.recording.ignored)(&file) {
            return Ok(());
        }
        if let Some(operation) = self.operation(&call, file)? {
            self.disk.apply(self.operations.len(), &operation);
            self.operations.push(operation);
        }
        Ok(())
    }

    /// The name below the folder.
    fn inside(&self, path: &str) -> Option<String> {
        let rest = path.strip_prefix(self.folder)?;
        match rest.strip_prefix('/') {
            Some(file) => Some(file.to_owned()),
            None => rest.is_empty().then(String::new),
        }
    }

    fn operation(&mut self, call: &Call<'_>, file: String) -> Result<Option<Operation>, String> {
        let done = match call.name {
            "openat" => return Ok(self.opened(call, file)),
            "lseek" => {
                self.places
                    .insert(call.number_of_file(), number(call.result)?);
                return Ok(None);
            }
            "mkdir" | "mkdirat" => Operation::Folder { name: file },
            "unlink" | "unlinkat" | "rmdir" => Operation::Remove { name: file },
            "rename" | "renameat" => {
                let second = call.second_path()?;
                let to = self.inside(&second).ok_or("a file left the folder")?;
                Operation::Rename { from: file, to }
            }
            "write" if file == self.recording.facts => {
                let bytes = quoted(call.arguments)?.ok_or("a fact without words")?;
                Operation::Fact(text_of(bytes).trim_end().to_owned())
            }
            "write" => {
                let bytes = call.bytes()?;
                let place = self.places.entry(call.number_of_file()).or_default();
                let offset = *place;
                *place += bytes.len();
                Operation::Write {
                    file,
                    offset,
                    bytes,
                }
            }
            "pwrite64" => Operation::Write {
                offset: number(call.last())?,
                bytes: call.bytes()?,
                file,
            },
            "ftruncate" => Operation::Truncate {
                size: number(call.last())?,
                file,
            },
            "fsync" | "fdatasync" => Operation::Sync {
                name: file,
                begun: call.begun,
            },
            other => return Err(format!("{other} on {file} is not understood")),
        };
        Ok(Some(done))
    }

    fn opened(&mut self, call: &Call<'_>, file: String) -> Option<Operation> {
        let number = call.result.split('<').next().unwrap_or_default();
        let size = self.disk.size(&file);
        let cut = call.arguments.contains("O_TRUNC") && size > 0;
        let place = match call.arguments.contains("O_APPEND") && !cut {
            true => size,
            false => 0,
        };
        self.places.insert(number.to_owned(), place);
        if file == self.recording.facts {
            return None;
        }
        if cut {
            return Some(Operation::Truncate { file, size: 0 });
        }
        let makes = call.arguments.contains("O_CREAT");
        makes.then_some(Operation::Create { file })
    }
}
