//! Sign-ins under way, and refresh tokens.

use serde::{Deserialize, Serialize};

use super::directory::{AppId, ObjectId};

/// A device code and what became of it.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct DeviceCode {
    pub(crate) device_code: String,
    pub(crate) user_code: String,
    /// What the client called the tenant: may be `common` or `organizations`.
    pub(crate) tenant: String,
    pub(crate) client: AppId,
    pub(crate) scope: String,
    pub(crate) expires_ms: i64,
    pub(crate) state: CodeState,
}

/// How far a sign-in by device code is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CodeState {
    Pending,
    Approved {
        tenant: String,
        user: ObjectId,
    },
    Declined,
    /// The token was given out.
    Spent,
}

/// A refresh token.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct RefreshToken {
    pub(crate) token: String,
    pub(crate) tenant: String,
    pub(crate) client: AppId,
    pub(crate) user: ObjectId,
    /// How many revocations its tenant had seen when it was issued.
    pub(crate) issued: u64,
    pub(crate) used_ms: i64,
    /// Whether an access token with it may be challenged by a claims request.
    pub(crate) cae: bool,
}
