//! Making tokens, and remembering that they were made.

use legation_core::Wall;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use super::client::Client;
use super::scope::{Resource, Wanted};
use crate::random;
use crate::server::Shared;
use crate::state::Tenant;
use crate::state::directory::{Principal, PrincipalKind, TOKEN_EXCHANGE, User, UserKind};
use crate::web::{Ask, base64_url};

/// Marks of agents in tokens: what kind the actor and the subject are.
const FACET_AGENT: &str = "11";
const FACET_AGENT_USER: &str = "13";
/// Entra chooses between 60 and 90 minutes.
const SHORTEST_S: i64 = 3600;
const SPREAD_S: i64 = 1800;
/// A client that can be challenged keeps its token longer.
const CHALLENGEABLE_S: i64 = 24 * 3600;

/// Everything a token says beside its times.
pub(crate) struct Issue<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) ask: &'a Ask,
    pub(crate) tenant: &'a Tenant,
    pub(crate) client: &'a Client,
    pub(crate) wanted: &'a Wanted,
    pub(crate) subject: Subject<'a>,
    /// Scopes for a user, roles for an application.
    pub(crate) granted: Vec<String>,
    /// Whether the client said that it understands claims challenges.
    pub(crate) cae: bool,
    /// The agent that a federated token is for.
    pub(crate) fmi_path: Option<&'a str>,
}

/// Whose token it is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Subject<'a> {
    User(&'a User),
    Principal(&'a Principal),
}

/// A new access token.
pub(crate) struct Issued {
    pub(crate) token: String,
    pub(crate) expires_s: i64,
}

// === impl Issue ===

impl Issue<'_> {
    /// The access token, in the version that its resource wants.
    pub(crate) fn access(&self) -> anyhow::Result<Issued> {
        let now = self.tenant.now(self.shared.now());
        let expires_s = self.lifetime();
        let old = match &self.wanted.resource {
            Resource::Graph => true,
            Resource::TokenExchange => false,
            resource @ Resource::Own(_) => resource
                .app(self.tenant)
                .is_some_and(|app| app.token_version == 1),
        };
        let mut claims = self.common(now, expires_s);
        let acr = self.client.acr.to_string();
        if old {
            claims["iss"] = format!("https://sts.windows.net/{}/", self.tenant.id).into();
            claims["ver"] = "1.0".into();
            claims["appid"] = self.client.app_id.as_str().into();
            claims["appidacr"] = acr.into();
            claims["app_displayname"] = self.client.name.as_str().into();
        } else {
            claims["iss"] = format!("{}/{}/v2.0", self.ask.origin, self.tenant.id).into();
            claims["ver"] = "2.0".into();
            claims["azp"] = self.client.app_id.as_str().into();
            claims["azpacr"] = acr.into();
        }
        claims["aud"] = match &self.wanted.resource {
            Resource::Graph => "https://graph.microsoft.com".into(),
            Resource::TokenExchange => TOKEN_EXCHANGE.into(),
            Resource::Own(app) => app.as_str().into(),
        };
        self.describe_subject(&mut claims, old);
        if let Some(agent) = self.fmi_path {
            claims["sub"] = format!(
                "/eid1/c/pub/t/{}/a/{}/{agent}",
                self.tenant.id, self.client.app_id
            )
            .into();
        }
        self.describe_agent(&mut claims);
        let nonce = (self.wanted.resource == Resource::Graph).then(random::opaque);
        let token = self.shared.signer.sign(&claims, nonce.as_deref())?;
        Ok(Issued { token, expires_s })
    }

    /// The id token of a person.
    pub(crate) fn id(&self, user: &User) -> anyhow::Result<String> {
        let now = self.tenant.now(self.shared.now());
        let mut claims = self.common(now, 3600);
        claims["aud"] = self.client.app_id.as_str().into();
        claims["iss"] = format!("{}/{}/v2.0", self.ask.origin, self.tenant.id).into();
        claims["ver"] = "2.0".into();
        claims["oid"] = user.id.as_str().into();
        claims["sub"] = pairwise(self.client.app_id.as_str(), user.id.as_str()).into();
        if self.wanted.profile {
            claims["name"] = user.name.as_str().into();
            claims["preferred_username"] = user.upn.as_str().into();
        }
        self.shared.signer.sign(&claims, None)
    }

    fn lifetime(&self) -> i64 {
        if self.tenant.lifetime_s > 0 {
            return self.tenant.lifetime_s;
        }
        if self.cae && self.wanted.resource == Resource::Graph {
            return CHALLENGEABLE_S;
        }
        let [high, low] = random::bytes::<2>();
        SHORTEST_S + i64::from(u16::from_be_bytes([high, low])) % SPREAD_S
    }

    fn common(&self, now: Wall, lifetime_s: i64) -> Value {
        let seconds = now.0.div_euclid(1000);
        json!({
            "iat": seconds,
            "nbf": seconds,
            "exp": seconds + lifetime_s,
            "tid": self.tenant.id,
            // Time does not tell a token from before a revocation from one after it.
            "uti": format!("{:x}.{}", self.tenant.revocations, &random::opaque()[..12]),
            "rh": "0.AAAA.",
        })
    }

    fn describe_subject(&self, claims: &mut Value, old: bool) {
        let audience = claims["aud"].as_str().unwrap_or_default().to_owned();
        match self.subject {
            Subject::User(user) => {
                claims["oid"] = user.id.as_str().into();
                claims["sub"] = pairwise(&audience, user.id.as_str()).into();
                claims["idtyp"] = "user".into();
                claims["name"] = user.name.as_str().into();
                claims["scp"] = self.granted.join(" ").into();
                claims["acct"] = i64::from(user.kind == UserKind::Guest).into();
                claims[if old { "upn" } else { "preferred_username" }] = user.upn.as_str().into();
            }
            Subject::Principal(principal) => {
                claims["oid"] = principal.id.as_str().into();
                claims["sub"] = principal.id.as_str().into();
                claims["idtyp"] = "app".into();
                if !self.granted.is_empty() {
                    claims["roles"] = self.granted.clone().into();
                }
            }
        }
        if self.cae {
            claims["xms_cc"] = json!(["cp1"]);
        }
    }

    fn describe_agent(&self, claims: &mut Value) {
        let Some(blueprint) = &self.client.blueprint else {
            return;
        };
        claims["xms_act_fct"] = format!("3 {FACET_AGENT}").into();
        claims["xms_par_app_azp"] = blueprint.as_str().into();
        match self.subject {
            Subject::User(user) if user.is_human() => {
                claims["xms_idrel"] = "1 7".into();
            }
            Subject::User(_) => {
                claims["xms_sub_fct"] = format!("{FACET_AGENT_USER} 3").into();
                claims["xms_idrel"] = "1 7".into();
            }
            Subject::Principal(_) => {
                claims["xms_sub_fct"] = format!("3 {FACET_AGENT}").into();
                claims["xms_idrel"] = "7".into();
            }
        }
    }
}

/// Remembers a sign-in, in the shape of Graph's sign-in log.
pub(crate) fn sign_in(issue: &Issue<'_>, interactive: bool) -> Value {
    let now = issue.tenant.now(issue.shared.now());
    let (event, user) = match issue.subject {
        Subject::User(user) if interactive => ("interactiveUser", Some(user)),
        Subject::User(user) => ("nonInteractiveUser", Some(user)),
        Subject::Principal(_) => ("servicePrincipal", None),
    };
    let agent = issue.client.blueprint.as_ref().map(|blueprint| {
        let (kind, subject, parent) = match issue.subject {
            Subject::User(user) => match &user.kind {
                UserKind::Agent { parent } => {
                    ("agenticAppInstance", "agentIDuser", Some(parent.as_str()))
                }
                UserKind::Member | UserKind::Guest => ("agenticAppInstance", "notAgentic", None),
            },
            Subject::Principal(_) => ("agenticAppInstance", "notAgentic", None),
        };
        json!({
            "agentType": kind,
            "agentSubjectType": subject,
            "agentSubjectParentId": parent,
            "parentAppId": blueprint.as_str(),
        })
    });
    let agent = agent.unwrap_or_else(|| {
        let kind = match issue.subject {
            Subject::Principal(principal) if principal.kind == PrincipalKind::Blueprint => {
                "agenticApp"
            }
            Subject::Principal(_) | Subject::User(_) => "notAgentic",
        };
        json!({
            "agentType": kind,
            "agentSubjectType": "notAgentic",
            "agentSubjectParentId": null,
            "parentAppId": null,
        })
    });
    let principal = issue.client.principal.as_ref().map(|id| id.as_str());
    json!({
        "id": random::guid(),
        "createdDateTime": now.to_string(),
        "userDisplayName": user.map(|user| user.name.as_str()),
        "userPrincipalName": user.map(|user| user.upn.as_str()),
        "userId": user.map_or("", |user| user.id.as_str()),
        "appId": issue.client.app_id.as_str(),
        "appDisplayName": issue.client.name,
        "ipAddress": "127.0.0.1",
        "clientAppUsed": "Mobile Apps and Desktop clients",
        "correlationId": random::guid(),
        "isInteractive": interactive && user.is_some(),
        "resourceDisplayName": issue
            .wanted
            .resource
            .principal(issue.tenant)
            .map(|principal| principal.name.as_str()),
        "resourceId": issue.wanted.resource.app_id(),
        "servicePrincipalId": if user.is_none() { principal } else { Some("") },
        "servicePrincipalName": user.is_none().then_some(issue.client.name.as_str()),
        "signInEventTypes": [event],
        "status": {"errorCode": 0, "failureReason": "Other.", "additionalDetails": null},
        "agent": agent,
    })
}

/// A name for somebody that only one audience knows.
fn pairwise(audience: &str, id: &str) -> String {
    base64_url(digest(&SHA256, format!("{audience} {id}").as_bytes()).as_ref())
}
