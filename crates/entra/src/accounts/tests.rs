use std::sync::atomic::{AtomicUsize, Ordering};

use legation_keystore::{KeepIn, Keystore, SecretStore};

use super::*;
use crate::test_kit::clock;

/// What is opened, and how often it was.
struct Opened {
    folder: tempfile::TempDir,
    times: Arc<AtomicUsize>,
}

// === impl Opened ===

impl Opened {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            times: Arc::default(),
        }
    }

    /// Accounts of these names. The first opening of what is kept fails where
    /// a test says so.
    fn accounts(&self, names: &[&str], fails_first: bool) -> Accounts {
        let settings = names.iter().map(|name| {
            let entity = EntityId::new(format!("of-{name}"));
            let mut settings = AccountSettings::new(name, entity, "example.com");
            if *name == "broken" {
                settings.cloud = "none".into();
            }
            settings
        });
        let (path, times) = (self.folder.path().to_owned(), Arc::clone(&self.times));
        let open = move || {
            if times.fetch_add(1, Ordering::Relaxed) == 0 && fails_first {
                return Err(SecretsError::Random);
            }
            let keys = Keystore::open(&path.join("keys")).unwrap();
            let store = SecretStore::open(&keys, &path.join("secrets"), KeepIn::File)?;
            Ok(Parts {
                store: Arc::new(store),
                clock: clock(),
                tasks: legation_core::TaskSet::new(),
                env: Vec::new(),
                memory: None,
            })
        };
        Accounts::new(settings.collect(), Arc::new(open))
    }
}

#[tokio::test]
async fn the_named_one_or_the_only_one_is_picked() {
    let opened = Opened::new();
    for (names, name, found) in [
        (&["work"][..], None, Ok("work")),
        (&["work"], Some("work"), Ok("work")),
        (&["home", "work"], Some("home"), Ok("home")),
        (&["broken", "work"], Some("work"), Ok("work")),
        (&[], None, Err("no account is configured")),
        (&[], Some("work"), Err("no account is configured")),
        (&["home", "work"], None, Err("none was named")),
        (&["work"], Some("home"), Err("there is no account \"home\"")),
        (&["work"], Some("ho\u{1b}me"), Err("\"ho me\"")),
        (&["broken"], None, Err("`broken` cannot be used")),
    ] {
        let accounts = opened.accounts(names, false);
        let picked = accounts.pick(name).await;
        let entity = accounts.entity(name).map(EntityId::as_str);
        match found {
            Ok(found) => {
                assert_eq!(picked.unwrap().name(), found);
                assert_eq!(entity.unwrap(), format!("of-{found}"));
            }
            Err(why) => {
                let error = picked.unwrap_err();
                assert!(error.to_string().contains(why), "{error}");
                assert_eq!(error.class(), Class::Local);
                assert!(!error.hint().is_empty(), "{error}");
                // Whose a broken one is, is known all the same.
                assert_eq!(entity.is_ok(), names == ["broken"], "{names:?}");
            }
        }
    }
    let several = opened.accounts(&["home", "work"], false);
    let error = several.pick(None).await.unwrap_err();
    assert_eq!(error.hint(), "name one of home, work");
}

#[tokio::test]
async fn what_is_kept_is_opened_once_and_tried_again_after_a_failure() {
    let opened = Opened::new();
    let accounts = opened.accounts(&["home", "work"], true);
    assert_eq!(accounts.made().count(), 0);
    let error = accounts.pick(Some("home")).await.unwrap_err();
    assert!(matches!(error, NoAccount::Secrets { .. }), "{error}");
    for name in ["home", "work", "home"] {
        accounts.pick(Some(name)).await.unwrap();
    }
    assert_eq!(opened.times.load(Ordering::Relaxed), 2);
    assert_eq!(accounts.made().count(), 2);
    // Everybody gets the same sign-in.
    let (one, other) = (accounts.pick(Some("home")).await, accounts.made().next());
    assert_eq!(one.unwrap().name(), other.unwrap().name());
}
