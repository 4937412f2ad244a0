use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use keyring_core::{CredentialStore, Error, mock};
use legation_core::{Clock as _, Secret, SystemClock};

use super::{KeepIn, KeptIn, SecretStore, SecretsError, SystemKeys};
use crate::Keystore;

struct Place {
    _folder: tempfile::TempDir,
    keys: Keystore,
    path: PathBuf,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let keys = Keystore::open(&folder.path().join("keys")).unwrap();
    let path = folder.path().join("secrets");
    Place {
        _folder: folder,
        keys,
        path,
    }
}

impl Place {
    fn open(&self, keep: KeepIn, system: &SystemKeys) -> Result<SecretStore, SecretsError> {
        SecretStore::open_with(&self.keys, &self.path, keep, system)
    }

    fn in_file(&self) -> SecretStore {
        self.open(KeepIn::File, &no_system()).unwrap()
    }
}

fn no_system() -> SystemKeys {
    SystemKeys::new("a keystore", || {
        Err(Error::NotSupportedByStore("no bus".to_owned()))
    })
}

fn mock_system() -> SystemKeys {
    let store: Arc<CredentialStore> = mock::Store::new().unwrap();
    SystemKeys::new("a keystore", move || Ok(Arc::clone(&store)))
}

fn reveal(store: &SecretStore, name: &str) -> Option<String> {
    let secret = store.get(name).unwrap();
    secret.map(|secret| secret.reveal().to_owned())
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn what_is_kept_is_found_again_and_lies_nowhere_in_clear() {
    for (keep, system) in [
        (KeepIn::File, no_system()),
        (KeepIn::System, mock_system()),
        (KeepIn::Auto, mock_system()),
    ] {
        let place = place();
        let store = place.open(keep, &system).unwrap();
        store
            .put("entra/desk/agent", &Secret::new("hunter2-token"))
            .unwrap();
        store
            .put("entra/desk/human", &Secret::new("other"))
            .unwrap();
        store
            .put("entra/desk/human", &Secret::new("newer"))
            .unwrap();
        let again = place.open(keep, &system).unwrap();
        assert_eq!(
            reveal(&again, "entra/desk/agent").as_deref(),
            Some("hunter2-token")
        );
        assert_eq!(reveal(&again, "entra/desk/human").as_deref(), Some("newer"));
        assert_eq!(again.list("entra/desk/a").unwrap(), ["entra/desk/agent"]);
        assert!(again.delete("entra/desk/agent").unwrap());
        assert!(!again.delete("entra/desk/agent").unwrap());
        assert_eq!(reveal(&store, "entra/desk/agent"), None, "{keep:?}");
        assert_eq!(mode(&place.path), 0o600);
        let bytes = fs::read(&place.path).unwrap();
        for clear in ["hunter2", "newer", "entra/"] {
            let found = bytes
                .windows(clear.len())
                .any(|part| part == clear.as_bytes());
            assert!(!found, "{clear}");
        }
        assert!(!format!("{store:?}").contains("newer"));
    }
}

#[test]
fn without_a_keystore_the_file_is_chosen_and_said_once() {
    let place = place();
    let store = place.open(KeepIn::Auto, &no_system()).unwrap();
    let said = store.announcement().unwrap();
    assert!(
        said.contains("secrets.key") && said.contains("no bus"),
        "{said}"
    );
    assert!(matches!(store.kept_in(), KeptIn::File { .. }));
    let again = place.open(KeepIn::Auto, &mock_system()).unwrap();
    assert_eq!(again.announcement(), None);
    assert!(
        matches!(again.kept_in(), KeptIn::File { .. }),
        "it stays where it is"
    );
    let system = mock_system();
    let other = self::place();
    let store = other.open(KeepIn::Auto, &system).unwrap();
    assert_eq!(store.announcement(), None);
    assert_eq!(store.kept_in(), &KeptIn::System { name: "a keystore" });
    assert!(!other.keys.folder().join("secrets.key").exists());
}

#[test]
fn a_keystore_that_is_wanted_and_missing_is_an_error() {
    let place = place();
    let error = place.open(KeepIn::System, &no_system()).unwrap_err();
    assert!(matches!(error, SecretsError::NoSystem { .. }), "{error}");
    assert!(!place.path.exists());
    let system = mock_system();
    drop(place.open(KeepIn::System, &system).unwrap());
    let error = place.open(KeepIn::Auto, &no_system()).unwrap_err();
    assert!(matches!(error, SecretsError::Unreachable { .. }), "{error}");
    let error = place.open(KeepIn::Auto, &mock_system()).unwrap_err();
    assert!(matches!(error, SecretsError::KeyLost { .. }), "{error}");
}

#[test]
fn a_keystore_that_never_answers_is_not_waited_for() {
    let place = place();
    let stuck = SystemKeys::new("a keystore", || {
        loop {
            std::thread::park();
        }
    });
    let before = SystemClock.now();
    let store = place
        .open(KeepIn::Auto, &stuck.waiting(Duration::from_millis(50)))
        .unwrap();
    assert!(SystemClock.now() - before < Duration::from_secs(30));
    assert!(store.announcement().unwrap().contains("did not answer"));
}

#[test]
fn this_machine_answers_one_way_or_the_other_without_hanging() {
    let place = place();
    let before = SystemClock.now();
    let keep = SystemKeys::platform().waiting(Duration::from_secs(3));
    let store = place.open(KeepIn::Auto, &keep).unwrap();
    assert!(SystemClock.now() - before < Duration::from_secs(20));
    store.put("one", &Secret::new("two")).unwrap();
    assert_eq!(reveal(&store, "one").as_deref(), Some("two"));
}

#[test]
fn a_damaged_file_is_refused_and_never_replaced() {
    let place = place();
    place.in_file().put("one", &Secret::new("two")).unwrap();
    let whole = fs::read(&place.path).unwrap();
    let mut changes: Vec<Vec<u8>> = (0..whole.len()).map(|end| whole[..end].to_vec()).collect();
    changes.extend((0..whole.len()).map(|at| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    }));
    changes.push([&whole[..], b"x"].concat());
    for bytes in changes {
        fs::write(&place.path, &bytes).unwrap();
        let error = place.open(KeepIn::File, &no_system()).unwrap_err();
        assert!(matches!(error, SecretsError::Damaged { .. }), "{error}");
        assert_eq!(fs::read(&place.path).unwrap(), bytes);
    }
    fs::write(&place.path, &whole).unwrap();
    let store = place.in_file();
    fs::write(&place.path, b"junk").unwrap();
    assert!(store.put("three", &Secret::new("four")).is_err());
    assert_eq!(fs::read(&place.path).unwrap(), b"junk");
    fs::write(&place.path, &whole).unwrap();
    place.keys.destroy("secrets").unwrap();
    let error = place.open(KeepIn::File, &no_system()).unwrap_err();
    assert!(matches!(error, SecretsError::KeyLost { .. }), "{error}");
}

#[test]
fn two_who_write_at_once_lose_nothing() {
    let place = place();
    drop(place.in_file());
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let place = &place;
            scope.spawn(move || {
                // A store of its own, as another process would have.
                let store = place.in_file();
                for entry in 0..10 {
                    let name = format!("{writer}/{entry}");
                    store.put(&name, &Secret::new("x")).unwrap();
                }
            });
        }
    });
    assert_eq!(place.in_file().list("").unwrap().len(), 40);
}

#[test]
fn names_are_checked() {
    let place = place();
    let store = place.in_file();
    for name in ["", "a\nb", &"x".repeat(201)] {
        let error = store.put(name, &Secret::new("x")).unwrap_err();
        assert!(matches!(error, SecretsError::Name { .. }), "{error}");
    }
}

#[test]
fn only_what_is_still_there_is_replaced_or_forgotten() {
    let place = place();
    let store = place.in_file();
    let (old, new, other) = (Secret::new("old"), Secret::new("new"), Secret::new("other"));
    assert!(!store.replace("a", &old, &new).unwrap(), "there is none");
    assert_eq!(reveal(&store, "a"), None);
    store.put("a", &other).unwrap();
    assert!(!store.replace("a", &old, &new).unwrap());
    assert!(!store.delete_if("a", &old).unwrap());
    assert_eq!(reveal(&store, "a").as_deref(), Some("other"));
    assert!(store.replace("a", &other, &new).unwrap());
    assert_eq!(reveal(&store, "a").as_deref(), Some("new"));
    assert!(store.delete_if("a", &new).unwrap());
    assert_eq!(reveal(&store, "a"), None);
}
