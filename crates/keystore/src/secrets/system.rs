//! The operating system's keystore, asked from a thread of its own.
//!
//! The libraries below block, and on a machine whose session is half there
//! they may block for good; so whoever asks waits for a bounded time, and the
//! thread of a question that nobody answers is left behind.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use keyring_core::{CredentialStore, Entry, Error};
use zeroize::Zeroizing;

use crate::Key;

/// How long the keystore may take to say that it is there.
const CONNECT: Duration = Duration::from_secs(3);
/// How long a person may take to unlock it.
const UNLOCK: Duration = Duration::from_secs(60);
/// The name under which all our keys are.
const SERVICE: &str = "legation";

type Connect = Arc<dyn Fn() -> Result<Arc<CredentialStore>, Error> + Send + Sync>;

/// The operating system's keystore, or what stands for it in a test.
#[derive(Clone)]
pub struct SystemKeys {
    name: &'static str,
    connect: Connect,
    connect_for: Duration,
    unlock_for: Duration,
}

// === impl SystemKeys ===

impl SystemKeys {
    /// This platform's: the Secret Service on Linux, the keychain on macOS, the
    /// Credential Manager on Windows.
    #[must_use]
    pub fn platform() -> Self {
        Self::new(platform::NAME, platform::connect)
    }

    /// Whatever `connect` opens.
    pub fn new(
        name: &'static str,
        connect: impl Fn() -> Result<Arc<CredentialStore>, Error> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            connect: Arc::new(connect),
            connect_for: CONNECT,
            unlock_for: UNLOCK,
        }
    }

    /// The same, waiting no longer than this for an answer.
    #[must_use]
    pub fn waiting(mut self, at_most: Duration) -> Self {
        self.connect_for = at_most;
        self.unlock_for = at_most;
        self
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// The key of that name, `None` when there is none.
    pub(super) fn get(&self, id: &str) -> Result<Option<Key>, String> {
        self.on_entry(id, |entry| {
            let bytes = match entry.get_secret() {
                Ok(bytes) => Zeroizing::new(bytes),
                Err(Error::NoEntry) => return Ok(None),
                Err(error) => return Err(words(&error)),
            };
            let bytes: Result<[u8; 32], _> = bytes.as_slice().try_into();
            match bytes {
                Ok(bytes) => Ok(Some(Key::from_bytes(bytes))),
                Err(_) => Err("the entry there is not a key of ours".to_owned()),
            }
        })
    }

    /// Keeps a key and reads it back: some keystores take what they then lose.
    pub(super) fn put(&self, id: &str, key: &Key) -> Result<(), String> {
        let key = key.clone();
        self.on_entry(id, move |entry| {
            let secret = key.reveal();
            entry.set_secret(secret).map_err(|error| words(&error))?;
            let kept = entry.get_secret().map_err(|error| words(&error))?;
            let kept = Zeroizing::new(kept);
            if kept.as_slice() == secret {
                Ok(())
            } else {
                Err("it did not keep what it was given".to_owned())
            }
        })
    }

    fn on_entry<T: Send + 'static>(
        &self,
        id: &str,
        work: impl FnOnce(&Entry) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let (connect, id) = (Arc::clone(&self.connect), id.to_owned());
        let (connected, is_connected) = mpsc::sync_channel(1);
        let (done, is_done) = mpsc::sync_channel(1);
        let thread = std::thread::Builder::new().name("keystore".to_owned());
        let spawned = thread.spawn(move || {
            let store = match connect() {
                Ok(store) => store,
                Err(error) => {
                    // Whoever asked may have stopped waiting.
                    let _gone = connected.send(Err(words(&error)));
                    return;
                }
            };
            if connected.send(Ok(())).is_err() {
                return;
            }
            let entry = store.build(SERVICE, &id, None);
            let result = entry
                .map_err(|error| words(&error))
                .and_then(|entry| work(&entry));
            let _gone = done.send(result);
        });
        spawned.map_err(|error| error.to_string())?;
        answer(&is_connected, self.connect_for)?;
        answer(&is_done, self.unlock_for)
    }
}

impl fmt::Debug for SystemKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemKeys")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

fn answer<T>(from: &mpsc::Receiver<Result<T, String>>, within: Duration) -> Result<T, String> {
    match from.recv_timeout(within) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Timeout) => Err(format!(
            "it did not answer within {} s",
            within.as_secs_f32()
        )),
        Err(mpsc::RecvTimeoutError::Disconnected) => Err("asking it failed".to_owned()),
    }
}

/// The library's words. Two of its errors hold what it read; their texts do
/// not, and a test says so.
fn words(error: &Error) -> String {
    match error {
        Error::BadEncoding(_) | Error::BadDataFormat(..) => {
            "the entry there is not a key of ours".to_owned()
        }
        other => other.to_string(),
    }
}

#[cfg(target_os = "linux")]
mod platform {
    use std::sync::Arc;

    use keyring_core::{CredentialStore, Error};

    pub(super) const NAME: &str = "the Secret Service";

    pub(super) fn connect() -> Result<Arc<CredentialStore>, Error> {
        let store = zbus_secret_service_keyring_store::Store::new()?;
        Ok(store)
    }
}

#[cfg(target_os = "macos")]
mod platform {
    use std::sync::Arc;

    use keyring_core::{CredentialStore, Error};

    pub(super) const NAME: &str = "the keychain";

    pub(super) fn connect() -> Result<Arc<CredentialStore>, Error> {
        let store = apple_native_keyring_store::keychain::Store::new()?;
        Ok(store)
    }
}

#[cfg(windows)]
mod platform {
    use std::sync::Arc;

    use keyring_core::{CredentialStore, Error};

    pub(super) const NAME: &str = "the Credential Manager";

    pub(super) fn connect() -> Result<Arc<CredentialStore>, Error> {
        let store = windows_native_keyring_store::Store::new()?;
        Ok(store)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
mod platform {
    use std::sync::Arc;

    use keyring_core::{CredentialStore, Error};

    pub(super) const NAME: &str = "the system's keystore";

    pub(super) fn connect() -> Result<Arc<CredentialStore>, Error> {
        Err(Error::NoDefaultStore)
    }
}
