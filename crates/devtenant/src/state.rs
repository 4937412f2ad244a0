//! Everything the tenants know, in memory and on disk.
//!
//! The state is one value behind one lock, written whole to one file: a development tenant is
//! small, and a file that is whole or absent needs no recovery.

pub(crate) mod calendar;
pub(crate) mod chat;
pub(crate) mod directory;
pub(crate) mod fault;
pub(crate) mod mail;
pub(crate) mod seed;
pub(crate) mod session;
pub(crate) mod subscription;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use legation_core::Wall;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::calendar::Calendar;
use self::chat::{Chat, Presence};
use self::directory::{App, AppId, Grant, ObjectId, Principal, User};
use self::fault::Fault;
use self::mail::Mailbox;
use self::session::{DeviceCode, RefreshToken};
use self::subscription::{Notice, Subscription};

/// All tenants.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct World {
    pub(crate) tenants: Vec<Tenant>,
    pub(crate) device_codes: Vec<DeviceCode>,
    pub(crate) refresh_tokens: Vec<RefreshToken>,
    #[serde(default)]
    pub(crate) faults: Vec<Fault>,
    /// Grows with every change of a message, mail or event: the order that delta queries ask for.
    #[serde(default)]
    pub(crate) sequence: u64,
    /// Delta links from before this was raised are void.
    #[serde(default)]
    pub(crate) delta_epoch: u64,
    /// Change notifications that wait to be sent; not kept over a restart, as Graph's are not
    /// kept for ever either.
    #[serde(skip)]
    pub(crate) notices: Vec<Notice>,
}

/// One tenant.
#[derive(Serialize, Deserialize)]
pub(crate) struct Tenant {
    pub(crate) id: String,
    /// A short name for files and commands.
    pub(crate) name: String,
    pub(crate) domain: String,
    pub(crate) apps: Vec<App>,
    pub(crate) principals: Vec<Principal>,
    pub(crate) users: Vec<User>,
    pub(crate) grants: Vec<Grant>,
    #[serde(default)]
    pub(crate) chats: Vec<Chat>,
    #[serde(default)]
    pub(crate) presence: BTreeMap<ObjectId, Presence>,
    #[serde(default)]
    pub(crate) mail: BTreeMap<ObjectId, Mailbox>,
    #[serde(default)]
    pub(crate) calendars: BTreeMap<ObjectId, Calendar>,
    #[serde(default)]
    pub(crate) subscriptions: Vec<Subscription>,
    #[serde(default)]
    pub(crate) sign_ins: Vec<Value>,
    /// How often somebody's tokens, or everybody's, were revoked. A token holds what this was when it was issued: one of before
    /// a revocation and one of after it may be of the same millisecond.
    pub(crate) revocations: u64,
    /// The revocation before which access tokens were issued that are challenged.
    pub(crate) tokens_from: u64,
    /// How far the tenant's clock is from the machine's.
    #[serde(default)]
    pub(crate) skew_ms: i64,
    /// How long access tokens live, in seconds; 0 for Entra's own choice.
    #[serde(default)]
    pub(crate) lifetime_s: i64,
    /// How long a change of the directory takes to be seen.
    #[serde(default)]
    pub(crate) propagation_ms: i64,
    /// Whether it has agent identities at all.
    #[serde(default = "yes")]
    pub(crate) has_agents: bool,
    /// Whether it has the licence that the sign-in log needs.
    #[serde(default = "yes")]
    pub(crate) premium: bool,
    /// The names and secrets that the environment file shows.
    pub(crate) handed_out: HandedOut,
}

/// What a tenant's environment file names. Like everything that holds a secret in clear it cannot
/// be printed.
#[derive(Serialize, Deserialize)]
pub(crate) struct HandedOut {
    pub(crate) client: AppId,
    pub(crate) api: AppId,
    pub(crate) api_secret: String,
    pub(crate) blueprint: AppId,
    pub(crate) blueprint_secret: String,
    pub(crate) agent: ObjectId,
    pub(crate) agent_user: ObjectId,
    pub(crate) human: ObjectId,
}

/// What a tenant has unless its file says otherwise.
fn yes() -> bool {
    true
}

// === impl World ===

impl World {
    /// Reads the state file; `None` when there is none yet.
    pub(crate) fn load(path: &Path) -> Result<Option<Self>> {
        let text = match std::fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        let world = serde_json::from_slice(&text).with_context(|| {
            format!(
                "{} is not a state of this version; move it away to begin anew",
                path.display()
            )
        })?;
        Ok(Some(world))
    }

    /// The whole file.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        Ok(serde_json::to_vec(self)?)
    }

    /// A tenant by its id, its domain or its short name.
    pub(crate) fn tenant(&self, name: &str) -> Option<&Tenant> {
        self.tenants.iter().find(|tenant| tenant.is_named(name))
    }

    pub(crate) fn tenant_mut(&mut self, name: &str) -> Option<&mut Tenant> {
        self.tenants.iter_mut().find(|tenant| tenant.is_named(name))
    }

    /// The next number of a change.
    pub(crate) fn next(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }
}

// === impl Tenant ===

impl Tenant {
    fn is_named(&self, name: &str) -> bool {
        self.id.eq_ignore_ascii_case(name)
            || self.domain.eq_ignore_ascii_case(name)
            || self.name.eq_ignore_ascii_case(name)
    }

    /// Counts a revocation; what is issued from here on holds its number.
    pub(crate) fn count_revocation(&mut self) -> u64 {
        self.revocations += 1;
        self.revocations
    }

    /// The tenant's own time.
    pub(crate) fn now(&self, wall: Wall) -> Wall {
        Wall(wall.0 + self.skew_ms)
    }

    pub(crate) fn app(&self, id: &str) -> Option<&App> {
        self.apps.iter().find(|app| app.app_id.is(id))
    }

    pub(crate) fn app_mut(&mut self, object: &str) -> Option<&mut App> {
        self.apps
            .iter_mut()
            .find(|app| app.id.is(object) || app.app_id.is(object))
    }

    /// The app that answers to an identifier URI or an app id.
    pub(crate) fn app_by_uri(&self, uri: &str) -> Option<&App> {
        self.apps.iter().find(|app| {
            app.app_id.is(uri) || app.uris.iter().any(|own| own.eq_ignore_ascii_case(uri))
        })
    }

    /// A service principal by its app id.
    pub(crate) fn principal_of(&self, app: &str) -> Option<&Principal> {
        self.principals.iter().find(|p| p.app_id.is(app))
    }

    pub(crate) fn principal(&self, id: &str) -> Option<&Principal> {
        self.principals.iter().find(|p| p.id.is(id))
    }

    /// A user by object id or user principal name.
    pub(crate) fn user(&self, name: &str) -> Option<&User> {
        self.users.iter().find(|user| user.is_named(name))
    }

    pub(crate) fn user_mut(&mut self, name: &str) -> Option<&mut User> {
        self.users.iter_mut().find(|user| user.is_named(name))
    }
}
