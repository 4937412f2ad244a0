//! `/token`: one function a grant.

mod agent;
mod application;
mod behalf;
mod delegated;

use serde_json::{Value, json};

use super::client::{Client, authenticate, client_id};
use super::error::Refusal;
use super::scope::{self, Wanted};
use super::token::{Issue, Subject, sign_in};
use super::{device, discovery};
use crate::random;
use crate::server::Shared;
use crate::state::directory::{ObjectId, User};
use crate::state::session::RefreshToken;
use crate::state::{Tenant, World};
use crate::web::{Ask, Pairs, base64_url};

/// Sign-ins kept in a tenant's log.
const LOG_MAX: usize = 2000;
/// Refresh tokens kept over all; the oldest go first.
const REFRESH_MAX: usize = 5000;

/// One request at `/token`.
struct Request<'a> {
    shared: &'a Shared,
    ask: &'a Ask,
    form: &'a Pairs,
    /// The tenant as the path has it; a person's tenant may be another name of it.
    tenant: &'a str,
}

/// Answers a token request.
pub(super) fn answer(
    shared: &Shared,
    world: &mut World,
    ask: &Ask,
    tenant: &str,
    form: &Pairs,
) -> Result<Value, Refusal> {
    let request = Request {
        shared,
        ask,
        form,
        tenant,
    };
    let grant = form
        .filled("grant_type")
        .ok_or_else(|| Refusal::missing("grant_type"))?;
    match grant {
        // msal-node sends the short name.
        "urn:ietf:params:oauth:grant-type:device_code" | "device_code" => {
            delegated::device_code(&request, world)
        }
        "refresh_token" => delegated::refresh_token(&request, world),
        "client_credentials" => application::client_credentials(&request, world),
        "urn:ietf:params:oauth:grant-type:jwt-bearer" => behalf::on_behalf_of(&request, world),
        "user_fic" => agent::user_fic(&request, world),
        other => {
            shared.report().unknown(&format!("grant {other}"));
            Err(Refusal::new(
                70_003,
                format!("The app requested an unsupported grant type '{other}'."),
            ))
        }
    }
}

// === impl Request ===

impl Request<'_> {
    /// The tenant of the path; a grant without a person needs one.
    fn one_tenant<'w>(&self, world: &'w World) -> Result<&'w Tenant, Refusal> {
        world.tenant(self.tenant).ok_or_else(|| {
            Refusal::new(
                50_059,
                "No tenant-identifying information found in either the request or implied by any \
                 provided credentials.",
            )
        })
    }

    fn client(&self, tenant: &Tenant) -> Result<Client, Refusal> {
        authenticate(self.shared, tenant, self.ask, self.form)
    }

    fn client_id(&self) -> Result<String, Refusal> {
        client_id(self.ask, self.form)
    }

    fn wanted(&self, tenant: &Tenant, text: &str) -> Result<Wanted, Refusal> {
        scope::parse(tenant, &self.ask.origin, text)
    }

    fn required(&self, name: &'static str) -> Result<&str, Refusal> {
        self.form.filled(name).ok_or_else(|| Refusal::missing(name))
    }

    /// Whether the client said, in its claims request, that it understands challenges.
    fn cae(&self) -> bool {
        let claims = self
            .form
            .filled("claims")
            .and_then(|text| serde_json::from_str::<Value>(text).ok())
            .unwrap_or_default();
        let values = &claims["access_token"]["xms_cc"]["values"];
        values.as_array().is_some_and(|values| {
            values.iter().any(|value| {
                value
                    .as_str()
                    .is_some_and(|v| v.eq_ignore_ascii_case("cp1"))
            })
        })
    }

    fn now_ms(&self, tenant: &Tenant) -> i64 {
        tenant.now(self.shared.now()).0
    }

    /// A delegated token and what comes with it.
    fn for_user(
        &self,
        world: &mut World,
        tenant_id: &str,
        client: &Client,
        user: &ObjectId,
        wanted: &Wanted,
        flow: Flow,
    ) -> Result<Value, Refusal> {
        let cae = self.cae();
        let tenant = world
            .tenant(tenant_id)
            .ok_or_else(|| Refusal::new(90_002, format!("Tenant '{tenant_id}' not found.")))?;
        let user = tenant.user(user.as_str()).ok_or_else(|| {
            Refusal::new(
                50_034,
                format!(
                    "The user account does not exist in the {} directory.",
                    tenant.name
                ),
            )
        })?;
        let granted = consented(tenant, client, user, wanted, self.now_ms(tenant))?;
        let issue = Issue {
            shared: self.shared,
            ask: self.ask,
            tenant,
            client,
            wanted,
            subject: Subject::User(user),
            granted,
            cae,
            fmi_path: None,
        };
        let issued = issue.access().map_err(|error| broken(&error))?;
        let mut answer = json!({
            "token_type": "Bearer",
            "scope": shown_scope(wanted, &issue.granted),
            "expires_in": issued.expires_s,
            "ext_expires_in": issued.expires_s,
            "access_token": issued.token,
        });
        if wanted.openid {
            answer["id_token"] = issue.id(user).map_err(|error| broken(&error))?.into();
        }
        if self.form.get("client_info").is_some() {
            let info = json!({"uid": user.id.as_str(), "utid": tenant.id});
            answer["client_info"] = base64_url(info.to_string().as_bytes()).into();
        }
        let record = sign_in(&issue, flow == Flow::Interactive);
        let refresh = wanted.offline.then(|| RefreshToken {
            token: format!("1.{}", random::opaque()),
            tenant: tenant.id.clone(),
            client: client.app_id.clone(),
            user: user.id.clone(),
            issued: tenant.revocations,
            used_ms: self.shared.now().0,
            cae,
        });
        if let Some(refresh) = refresh {
            answer["refresh_token"] = refresh.token.as_str().into();
            if world.refresh_tokens.len() >= REFRESH_MAX {
                world.refresh_tokens.remove(0);
            }
            world.refresh_tokens.push(refresh);
        }
        log(world, tenant_id, record);
        Ok(answer)
    }
}

/// Whether a person was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Interactive,
    Silent,
}

/// The names that a user's token may hold: each was asked for and consented to.
fn consented(
    tenant: &Tenant,
    client: &Client,
    user: &User,
    wanted: &Wanted,
    now_ms: i64,
) -> Result<Vec<String>, Refusal> {
    if !user.enabled {
        return Err(Refusal::new(50_057, "The user account is disabled."));
    }
    if user.mfa_needed || wanted.names.iter().any(|name| name == "Mfa.Needed") {
        return Err(Refusal::interaction(50_076));
    }
    let none = || {
        Refusal::new(
            65_001,
            format!(
                "The user or administrator has not consented to use the application with ID '{}' \
                 named '{}'. Send an interactive authorization request for this user and resource.",
                client.app_id, client.name
            ),
        )
    };
    let resource = wanted.resource.principal(tenant).ok_or_else(|| {
        Refusal::new(
            500_011,
            format!(
                "The resource principal named {} was not found in the tenant.",
                wanted.resource.app_id()
            ),
        )
    })?;
    let own = client.principal.as_ref().ok_or_else(none)?;
    let mut given: Vec<&str> = tenant
        .grants
        .iter()
        .filter(|grant| grant.seen_from_ms <= now_ms && grant.covers(own, &user.id, &resource.id))
        .flat_map(|grant| grant.scope.split_whitespace())
        .filter(|name| *name != "Mfa.Needed")
        .collect();
    given.sort_unstable();
    given.dedup();
    if wanted.default {
        if given.is_empty() {
            return Err(none());
        }
        return Ok(given.into_iter().map(str::to_owned).collect());
    }
    if wanted
        .names
        .iter()
        .any(|name| !given.contains(&name.as_str()))
    {
        return Err(none());
    }
    if wanted.names.is_empty() {
        // Only OpenID scopes: the token is for Graph's own user information.
        return Ok(vec!["User.Read".to_owned()]);
    }
    Ok(wanted.names.clone())
}

/// `scope` of an answer: as the client wrote the names, for it looks them up again.
fn shown_scope(wanted: &Wanted, granted: &[String]) -> String {
    let mut names: Vec<String> = granted
        .iter()
        .map(|name| format!("{}{name}", wanted.prefix))
        .collect();
    if wanted.default {
        names.push(format!("{}.default", wanted.prefix));
    }
    if wanted.openid {
        names.push("openid".to_owned());
    }
    if wanted.profile {
        names.push("profile".to_owned());
    }
    names.join(" ")
}

fn log(world: &mut World, tenant: &str, record: Value) {
    if let Some(tenant) = world.tenant_mut(tenant) {
        if tenant.sign_ins.len() >= LOG_MAX {
            tenant.sign_ins.remove(0);
        }
        tenant.sign_ins.push(record);
    }
}

/// The signer failed: nothing of the client's doing.
fn broken(error: &anyhow::Error) -> Refusal {
    crate::say::say(&format!("no token was made: {error:#}"));
    Refusal::new(90_033, "A transient error has occurred. Please try again.")
}
