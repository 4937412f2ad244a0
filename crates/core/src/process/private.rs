//! Keeping what this process knows from other processes of the same user.
//!
//! Memory: no core file, and on Linux no debugger and no reading of
//! `/proc/PID/mem` or `environ`. Environment: what a process was started with
//! can be read as long as it runs, whatever it does to its own copy; so a
//! process that was given secrets that way starts its program again in its own
//! place, without them, and hands them over through a pipe.

use std::ffi::{OsStr, OsString};
use std::io::{PipeReader, Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What was handed over waits on standard input where this is set.
pub const HANDED_OVER: &str = "LEGATION_HANDED_OVER";

/// Most bytes of names and values. What every system's pipe takes without a
/// reader, because there is none before the program has started again.
const HAND_OVER_MAX: usize = 8 * 1024;

/// Secrets stay where others can read them.
#[derive(Debug, thiserror::Error)]
pub enum HandOverError {
    /// They are longer than any secret is.
    #[error("the secrets in the environment are {bytes} bytes long; {HAND_OVER_MAX} can be taken")]
    TooLong {
        /// How long.
        bytes: usize,
    },
    /// The program cannot be started again.
    #[error("{} was not started again without the secrets in its environment", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The system's own words.
        #[source]
        source: std::io::Error,
    },
    /// There is no pipe.
    #[error("the secrets from the environment were not handed over")]
    Pipe {
        /// The system's own words.
        #[source]
        source: std::io::Error,
    },
}

/// Lets nobody read this process's memory: not from a core file, and on Linux
/// not through a debugger. Its children are not bound by it, but begin with no
/// core files too.
pub fn keep_memory_private() {
    let maximum = getrlimit(Resource::Core).maximum;
    let none = Rlimit {
        current: Some(0),
        maximum,
    };
    if let Err(error) = setrlimit(Resource::Core, none) {
        tracing::warn!(%error, "a crash could leave a core file");
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
            tracing::warn!(%error, "other processes of this user can read the memory of this one");
        }
    }
}

/// Starts this program again in this process's place, with the environment
/// `env`, and `secrets` on its standard input. Returns only where it fails.
#[expect(
    clippy::disallowed_methods,
    reason = "the program goes on in the same process: there is no child to guard"
)]
pub fn hand_over(
    secrets: &[(OsString, OsString)],
    env: impl IntoIterator<Item = (OsString, OsString)>,
) -> HandOverError {
    let pipe = match filled(secrets) {
        Ok(pipe) => pipe,
        Err(error) => return error,
    };
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(source) => {
            let program = PathBuf::from("this program");
            return HandOverError::Start { program, source };
        }
    };
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    let source = std::process::Command::new(&program)
        .arg0(name)
        .args(arguments)
        .env_clear()
        .envs(env)
        .env(HANDED_OVER, "stdin")
        .stdin(pipe)
        .exec();
    HandOverError::Start { program, source }
}

/// What [`hand_over`] handed over. Standard input is at its end afterwards.
///
/// # Errors
/// When standard input cannot be read.
pub fn take_handed_over() -> Result<Vec<(OsString, OsString)>, HandOverError> {
    let pipe = |source| HandOverError::Pipe { source };
    let own = rustix::io::dup(rustix::stdio::stdin()).map_err(|error| pipe(error.into()))?;
    let null = std::fs::File::open("/dev/null").map_err(pipe)?;
    rustix::stdio::dup2_stdin(null).map_err(|error| pipe(error.into()))?;
    let mut bytes = zeroize::Zeroizing::new(Vec::with_capacity(HAND_OVER_MAX + 1));
    let limit = HAND_OVER_MAX as u64 + 1;
    let file = std::fs::File::from(own);
    file.take(limit).read_to_end(&mut bytes).map_err(pipe)?;
    if bytes.len() > HAND_OVER_MAX {
        let bytes = bytes.len();
        return Err(HandOverError::TooLong { bytes });
    }
    let mut words = bytes.split(|byte| *byte == 0);
    let mut pairs = Vec::new();
    while let (Some(name), Some(value)) = (words.next(), words.next()) {
        let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        pairs.push((text(name), text(value)));
    }
    Ok(pairs)
}

/// A pipe that holds the secrets, and nobody writes to any more.
fn filled(secrets: &[(OsString, OsString)]) -> Result<PipeReader, HandOverError> {
    let mut bytes = zeroize::Zeroizing::new(Vec::with_capacity(HAND_OVER_MAX));
    for (name, value) in secrets {
        for word in [name, value].map(OsString::as_os_str).map(OsStr::as_bytes) {
            bytes.extend_from_slice(word);
            bytes.push(0);
        }
    }
    if bytes.len() > HAND_OVER_MAX {
        let bytes = bytes.len();
        return Err(HandOverError::TooLong { bytes });
    }
    let pipe = |source| HandOverError::Pipe { source };
    let (reader, mut writer) = std::io::pipe().map_err(pipe)?;
    writer.write_all(&bytes).map_err(pipe)?;
    Ok(reader)
}

// === impl HandOverError ===

impl HandOverError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::TooLong { .. } => {
                "Set LEGATION_…_CLIENT_SECRET, LEGATION_…_BLUEPRINT_SECRET and keys of model providers to nothing but the secrets."
            }
            Self::Start { .. } | Self::Pipe { .. } => {
                "Take the secrets out of the environment, and keep them in the keystore or behind a broker."
            }
        }
    }
}
