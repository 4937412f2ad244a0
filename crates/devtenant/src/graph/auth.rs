//! Who calls, and what the token lets them.

use super::Call;
use super::error::Failure;
use super::permissions;
use crate::jwt::Parsed;
use crate::server::Shared;
use crate::state::World;
use crate::state::directory::{ObjectId, User};
use crate::state::fault::FaultKind;
use crate::web::Ask;

/// The holder of a good token.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) tenant: String,
    /// The user of a delegated token.
    pub(crate) user: Option<ObjectId>,
    /// The object id of the token's subject.
    pub(crate) oid: String,
    pub(crate) app_id: String,
    /// Scopes or roles.
    pub(crate) permissions: Vec<String>,
}

/// Checks the token.
pub(crate) fn caller(shared: &Shared, world: &mut World, ask: &Ask) -> Result<Caller, Failure> {
    let Some(text) = ask.bearer() else {
        return Err(Failure::token(ask, "Access token is empty.", None));
    };
    let token = Parsed::parse(text).ok_or_else(|| {
        Failure::token(
            ask,
            "IDX14100: JWT is not well formed, there are no dots (.).",
            Some("invalid_token"),
        )
    })?;
    if !shared.signer.signed(&token) {
        return Err(Failure::token(
            ask,
            "Access token validation failure. Invalid signature.",
            Some("invalid_token"),
        ));
    }
    if token.text("aud") != "https://graph.microsoft.com" {
        return Err(Failure::token(
            ask,
            "Access token validation failure. Invalid audience.",
            Some("invalid_token"),
        ));
    }
    let what = format!("{} {}", ask.method, ask.path);
    let wall = shared.now();
    let ordered = world.meet(&what, |kind| {
        matches!(kind, FaultKind::Expired | FaultKind::Challenge)
    });
    let tenant = world
        .tenant(token.text("tid"))
        .ok_or_else(|| Failure::token(ask, "The tenant is unknown.", Some("invalid_token")))?;
    let now = tenant.now(wall);
    let over = token.claims["exp"]
        .as_i64()
        .is_none_or(|until| until <= now.0.div_euclid(1000));
    if over || ordered == Some(FaultKind::Expired) {
        return Err(Failure::token(
            ask,
            "Lifetime validation failed, the token is expired.",
            Some("invalid_token"),
        ));
    }
    let user = (token.text("idtyp") == "user").then(|| tenant.user(token.text("oid")));
    let user = match user {
        Some(None) => {
            return Err(Failure::token(
                ask,
                "The user of the token does not exist.",
                Some("invalid_token"),
            ));
        }
        Some(Some(user)) => Some(user),
        None => None,
    };
    let from = user.map_or(0, |user| user.tokens_from);
    let revoked = issued(&token) < tenant.tokens_from.max(from);
    let disabled = user.is_some_and(|user| !user.enabled);
    if revoked || disabled || ordered == Some(FaultKind::Challenge) {
        return Err(Failure::challenge(ask, now));
    }
    let permissions = match token.text("scp") {
        "" => token.claims["roles"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|role| role.as_str().map(str::to_owned))
            .collect(),
        scopes => scopes.split(' ').map(str::to_owned).collect(),
    };
    Ok(Caller {
        tenant: tenant.id.clone(),
        user: user.map(|user| user.id.clone()),
        oid: token.text("oid").to_owned(),
        app_id: token.text("appid").to_owned(),
        permissions,
    })
}

/// After how many revocations a token was issued, which its unique id tells.
fn issued(token: &Parsed) -> u64 {
    token
        .text("uti")
        .split('.')
        .next()
        .and_then(|hex| u64::from_str_radix(hex, 16).ok())
        .unwrap_or(0)
}

// === impl Call ===

impl Call<'_> {
    /// Notes the call and refuses it unless the token has one of the permissions that do.
    ///
    /// The first of `delegated` or `application` is the least; an empty list means that this kind
    /// of token never does.
    pub(crate) fn permit(
        &self,
        operation: &str,
        delegated: &[&'static str],
        application: &[&'static str],
    ) -> Result<(), Failure> {
        let fitting = if self.caller.user.is_some() {
            delegated
        } else {
            application
        };
        self.shared.report().call(
            operation,
            &self.caller.permissions.join(" "),
            fitting.first().copied().unwrap_or_default(),
        );
        if fitting.is_empty() {
            let kind = if self.caller.user.is_some() {
                "delegated"
            } else {
                "application-only"
            };
            return Err(Failure::new(
                412,
                "PreconditionFailed",
                format!("Requested API is not supported in {kind} context"),
            ));
        }
        let has = self
            .caller
            .permissions
            .iter()
            .any(|own| fitting.contains(&own.as_str()));
        if has {
            return Ok(());
        }
        let (code, message) = permissions::denial(operation, &self.caller.permissions, fitting);
        Err(Failure::new(403, code, message))
    }

    /// The user whose token it is.
    pub(crate) fn me(&self) -> Result<User, Failure> {
        let id = self.caller.user.as_ref().ok_or_else(|| {
            Failure::new(
                400,
                "BadRequest",
                "/me request is only valid with delegated authentication flow.",
            )
        })?;
        let tenant = self.tenant()?;
        tenant
            .user(id.as_str())
            .cloned()
            .ok_or_else(|| Failure::no_resource(id.as_str()))
    }

    /// The user that a path names: `me`, or an id or principal name under `users`.
    pub(crate) fn named_user(&self, name: &str) -> Result<User, Failure> {
        if name == "me" {
            return self.me();
        }
        let now = self.now_ms();
        self.tenant()?
            .user(name)
            .filter(|user| user.seen_from_ms <= now)
            .cloned()
            .ok_or_else(|| Failure::no_resource(name))
    }

    /// Refuses a user without a licence for Teams and mail.
    pub(crate) fn licensed(&mut self, user: &User) -> Result<(), Failure> {
        let what = format!("{} {}", self.ask.method, self.ask.path);
        let ordered = self
            .world
            .meet(&what, |kind| *kind == FaultKind::Unlicensed);
        if user.licensed && ordered.is_none() {
            return Ok(());
        }
        Err(Failure::new(
            403,
            "Forbidden",
            "Failed to get license information for the user. Ensure user has a valid Office365 \
             license assigned to them.",
        ))
    }
}
