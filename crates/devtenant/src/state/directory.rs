//! Applications, service principals, users and what was consented.

use std::borrow::Borrow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::random;

/// Microsoft Graph, in every tenant.
pub(crate) const GRAPH: &str = "00000003-0000-0000-c000-000000000000";
/// The audience of federated credentials, in every tenant.
pub(crate) const TOKEN_EXCHANGE: &str = "fb60f99c-7a34-4190-8149-302f77469936";

macro_rules! guid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub(crate) struct $name(String);

        impl $name {
            pub(crate) fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            pub(crate) fn random() -> Self {
                Self(random::guid())
            }

            /// GUIDs are compared without case.
            pub(crate) fn is(&self, text: &str) -> bool {
                self.0.eq_ignore_ascii_case(text)
            }

            pub(crate) fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

guid_id! {
    /// An object of the directory. Not what a client shows: that is its [`AppId`].
    ObjectId
}
guid_id! {
    /// What a client calls itself.
    AppId
}

/// An application, or a blueprint of agent identities, which is a kind of application.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct App {
    pub(crate) id: ObjectId,
    pub(crate) app_id: AppId,
    pub(crate) name: String,
    pub(crate) blueprint: bool,
    /// Whether it may sign people in without proving itself.
    pub(crate) public: bool,
    pub(crate) enabled: bool,
    pub(crate) uris: Vec<String>,
    pub(crate) scopes: Vec<Scope>,
    /// The version of the tokens it wants to get, 1 or 2.
    pub(crate) token_version: u8,
    pub(crate) secrets: Vec<SecretCredential>,
    pub(crate) keys: Vec<KeyCredential>,
    pub(crate) federated: Vec<Value>,
    pub(crate) owners: Vec<ObjectId>,
    pub(crate) sponsors: Vec<ObjectId>,
    pub(crate) created_ms: i64,
}

/// A scope that an application offers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Scope {
    pub(crate) id: String,
    pub(crate) value: String,
    /// The whole entry as it was set, for reading back.
    #[serde(default)]
    pub(crate) shown: Value,
}

/// A password of an application.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct SecretCredential {
    pub(crate) key_id: String,
    pub(crate) name: Option<String>,
    pub(crate) value: String,
    pub(crate) start_ms: i64,
    pub(crate) end_ms: i64,
}

/// A certificate of an application.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct KeyCredential {
    pub(crate) key_id: String,
    pub(crate) name: Option<String>,
    /// PEM, or the base64 of DER.
    pub(crate) certificate: String,
    pub(crate) start_ms: i64,
    pub(crate) end_ms: i64,
}

/// A service principal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Principal {
    pub(crate) id: ObjectId,
    pub(crate) app_id: AppId,
    pub(crate) name: String,
    pub(crate) kind: PrincipalKind,
    pub(crate) enabled: bool,
    pub(crate) owners: Vec<ObjectId>,
    pub(crate) sponsors: Vec<ObjectId>,
    pub(crate) tags: Vec<String>,
    /// Application permissions at Graph that an administrator granted.
    pub(crate) roles: Vec<String>,
    pub(crate) created_ms: i64,
    /// Before this it exists, and nobody sees it yet.
    pub(crate) seen_from_ms: i64,
}

/// What a service principal stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PrincipalKind {
    /// An application of this tenant, or a service of Microsoft's.
    Application,
    /// A blueprint.
    Blueprint,
    /// An agent identity, made by a blueprint.
    Agent { blueprint: AppId },
}

/// Somebody who signs in, or an agent's user.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct User {
    pub(crate) id: ObjectId,
    pub(crate) upn: String,
    pub(crate) name: String,
    pub(crate) nickname: String,
    pub(crate) kind: UserKind,
    pub(crate) enabled: bool,
    /// Whether Teams and mail work for them.
    pub(crate) licensed: bool,
    /// Whether a sign-in needs a second factor that nobody has given.
    pub(crate) mfa_needed: bool,
    pub(crate) created_ms: i64,
    /// The revocation of the tenant's before which refresh tokens were issued that are void.
    pub(crate) sessions_from: u64,
    /// The one before which access tokens were issued that are challenged.
    pub(crate) tokens_from: u64,
    pub(crate) seen_from_ms: i64,
}

/// Whose user object it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum UserKind {
    Member,
    Guest,
    /// The user of an agent identity.
    Agent {
        parent: ObjectId,
    },
}

/// Delegated permissions that somebody consented to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Grant {
    pub(crate) id: String,
    /// The client's service principal.
    pub(crate) client: ObjectId,
    /// For one user, or for all.
    pub(crate) principal: Option<ObjectId>,
    pub(crate) resource: ObjectId,
    pub(crate) scope: String,
    /// Before this it is written, and nobody sees it yet.
    pub(crate) seen_from_ms: i64,
}

// === impl App ===

impl App {
    pub(crate) fn new(name: &str, now_ms: i64) -> Self {
        let app_id = AppId::random();
        Self {
            id: ObjectId::random(),
            uris: Vec::new(),
            app_id,
            name: name.to_owned(),
            blueprint: false,
            public: false,
            enabled: true,
            scopes: Vec::new(),
            token_version: 2,
            secrets: Vec::new(),
            keys: Vec::new(),
            federated: Vec::new(),
            owners: Vec::new(),
            sponsors: Vec::new(),
            created_ms: now_ms,
        }
    }

    /// Offers a scope under `api://<app id>`.
    pub(crate) fn offering(mut self, value: &str) -> Self {
        self.uris = vec![format!("api://{}", self.app_id)];
        self.scopes.push(Scope {
            id: random::guid(),
            value: value.to_owned(),
            shown: Value::Null,
        });
        self
    }
}

// === impl Principal ===

impl Principal {
    pub(crate) fn new(app_id: AppId, name: &str, kind: PrincipalKind, now_ms: i64) -> Self {
        Self {
            id: ObjectId::random(),
            app_id,
            name: name.to_owned(),
            kind,
            enabled: true,
            owners: Vec::new(),
            sponsors: Vec::new(),
            tags: Vec::new(),
            roles: Vec::new(),
            created_ms: now_ms,
            seen_from_ms: now_ms,
        }
    }

    /// The blueprint that made this agent identity; `None` for everything else.
    pub(crate) fn blueprint(&self) -> Option<&AppId> {
        match &self.kind {
            PrincipalKind::Agent { blueprint } => Some(blueprint),
            PrincipalKind::Application | PrincipalKind::Blueprint => None,
        }
    }
}

// === impl User ===

impl User {
    pub(crate) fn new(name: &str, domain: &str, kind: UserKind, now_ms: i64) -> Self {
        let nickname = name.to_lowercase().replace(' ', ".");
        Self {
            id: ObjectId::random(),
            upn: format!("{nickname}@{domain}"),
            name: name.to_owned(),
            nickname,
            kind,
            enabled: true,
            licensed: true,
            mfa_needed: false,
            created_ms: now_ms,
            sessions_from: 0,
            tokens_from: 0,
            seen_from_ms: now_ms,
        }
    }

    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.id.is(name) || self.upn.eq_ignore_ascii_case(name)
    }

    /// Whether this is a person.
    pub(crate) fn is_human(&self) -> bool {
        !matches!(self.kind, UserKind::Agent { .. })
    }
}

// === impl Grant ===

impl Grant {
    /// Whether it counts for a user now.
    pub(crate) fn covers(&self, client: &ObjectId, user: &ObjectId, resource: &ObjectId) -> bool {
        self.client == *client
            && self.resource == *resource
            && self.principal.as_ref().is_none_or(|one| one == user)
    }
}
