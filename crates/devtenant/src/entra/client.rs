//! How a client proves which one it is.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::error::Refusal;
use crate::jwt::{Certificate, Parsed};
use crate::server::Shared;
use crate::state::Tenant;
use crate::state::directory::{App, AppId, ObjectId, Principal, TOKEN_EXCHANGE};
use crate::web::{Ask, Pairs, decoded};

/// The only kind of assertion.
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// How far a client's clock may be off.
const SKEW_S: f64 = 300.0;

/// A client that is who it says.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) app_id: AppId,
    pub(crate) name: String,
    /// Its service principal; an application may have none in this tenant.
    pub(crate) principal: Option<ObjectId>,
    /// 0 for a public client, 1 for a secret, 2 for an assertion.
    pub(crate) acr: u8,
    /// The blueprint behind it, when it is an agent identity.
    pub(crate) blueprint: Option<AppId>,
    /// Whether it is a blueprint.
    pub(crate) is_blueprint: bool,
}

/// The `client_id` of a request: in the form, or as the user of Basic authentication.
pub(super) fn client_id(ask: &Ask, form: &Pairs) -> Result<String, Refusal> {
    form.filled("client_id")
        .map(str::to_owned)
        .or_else(|| basic(ask).map(|(id, _)| id))
        .ok_or_else(|| Refusal::missing("client_id"))
}

/// Finds the client and checks its proof.
pub(super) fn authenticate(
    shared: &Shared,
    tenant: &Tenant,
    ask: &Ask,
    form: &Pairs,
) -> Result<Client, Refusal> {
    let id = client_id(ask, form)?;
    let now = tenant.now(shared.now()).0;
    if let Some(app) = tenant.app(&id) {
        return application(shared, tenant, app, ask, form, now);
    }
    let agent = tenant
        .principal_of(&id)
        .filter(|principal| principal.blueprint().is_some() && principal.seen_from_ms <= now);
    match agent {
        Some(agent) => agent_identity(shared, tenant, agent, form, now),
        None => Err(Refusal::new(
            700_016,
            format!(
                "Application with identifier '{id}' was not found in the directory '{}'. This can \
                 happen if the application has not been installed by the administrator of the \
                 tenant or consented to by any user in the tenant. You may have sent your \
                 authentication request to the wrong tenant.",
                tenant.name
            ),
        )),
    }
}

fn application(
    shared: &Shared,
    tenant: &Tenant,
    app: &App,
    ask: &Ask,
    form: &Pairs,
    now: i64,
) -> Result<Client, Refusal> {
    if !app.enabled {
        return Err(Refusal::new(
            7_000_112,
            format!("Application '{}'({}) is disabled.", app.app_id, app.name),
        ));
    }
    let secret = form
        .filled("client_secret")
        .map(str::to_owned)
        .or_else(|| basic(ask).map(|(_, secret)| secret));
    let acr = match (assertion(form)?, secret) {
        (Some(_), _) | (None, Some(_)) if app.public => {
            return Err(Refusal::new(
                700_025,
                "Client is public so neither 'client_assertion' nor 'client_secret' should be \
                 presented.",
            ));
        }
        (Some(token), _) => {
            signed_by_app(shared, tenant, app, &token, now)?;
            2
        }
        (None, Some(secret)) => {
            check_secret(app, &secret, now)?;
            1
        }
        (None, None) if app.public => 0,
        (None, None) => return Err(no_proof()),
    };
    let principal = tenant
        .principal_of(app.app_id.as_str())
        .map(|principal| principal.id.clone());
    Ok(Client {
        app_id: app.app_id.clone(),
        name: app.name.clone(),
        principal,
        acr,
        blueprint: None,
        is_blueprint: app.blueprint,
    })
}

fn no_proof() -> Refusal {
    Refusal::new(
        7_000_218,
        "The request body must contain the following parameter: 'client_assertion' or \
         'client_secret'.",
    )
}

fn check_secret(app: &App, secret: &str, now: i64) -> Result<(), Refusal> {
    match app.secrets.iter().find(|known| known.value == secret) {
        None => Err(Refusal::new(
            7_000_215,
            format!(
                "Invalid client secret provided. Ensure the secret being sent in the request is \
                 the client secret value, not the client secret ID, for a secret added to app \
                 '{}'.",
                app.app_id
            ),
        )),
        Some(known) if known.end_ms <= now => Err(Refusal::new(
            7_000_222,
            format!(
                "The provided client secret keys for app '{}' are expired.",
                app.app_id
            ),
        )),
        Some(_) => Ok(()),
    }
}

/// An assertion signed with a certificate of the application, or a token of somebody it trusts.
fn signed_by_app(
    shared: &Shared,
    tenant: &Tenant,
    app: &App,
    token: &Parsed,
    now: i64,
) -> Result<(), Refusal> {
    let issuer = token.text("iss");
    if !app.app_id.is(issuer) {
        return federated(shared, app, token, now);
    }
    let certificate = app
        .keys
        .iter()
        .filter(|key| key.end_ms > now)
        .filter_map(|key| Certificate::parse(&key.certificate))
        .find(|certificate| certificate.named_by(&token.header));
    let Some(certificate) = certificate else {
        return Err(Refusal::new(
            700_027,
            format!(
                "The certificate with identifier used to sign the client assertion is not \
                 registered on application. [Reason - The key was not found., Please visit the \
                 Azure Portal for the application '{}']",
                app.app_id
            ),
        ));
    };
    if !certificate.verifies(token) {
        return Err(Refusal::new(
            700_027,
            "Client assertion failed signature validation. [Reason - The key was found, but the \
             signature did not match.]",
        ));
    }
    if !app.app_id.is(token.text("sub")) {
        return Err(Refusal::new(
            700_021,
            "Client assertion application identifier doesn't match 'client_id' parameter.",
        ));
    }
    let audience = token.text("aud");
    let path = audience
        .strip_prefix("https://")
        .and_then(|rest| rest.split_once('/'))
        .map_or("", |(_, path)| path);
    let fits = [&tenant.id, &tenant.domain].iter().any(|name| {
        path == format!("{name}/oauth2/v2.0/token")
            || path == format!("{name}/v2.0")
            || path == format!("{name}/")
    });
    if !fits {
        return Err(Refusal::new(
            700_024,
            format!("Client assertion audience claim does not match Realm issuer. '{audience}'"),
        ));
    }
    in_time(token, now)
}

/// A token of another issuer that the application trusts for one subject.
fn federated(shared: &Shared, app: &App, token: &Parsed, now: i64) -> Result<(), Refusal> {
    let same_issuer: Vec<_> = app
        .federated
        .iter()
        .filter(|trust| trust["issuer"].as_str() == Some(token.text("iss")))
        .collect();
    if same_issuer.is_empty() {
        return Err(wrong_issuer(token.text("iss")));
    }
    let subject = token.text("sub");
    if !same_issuer
        .iter()
        .any(|trust| trust["subject"].as_str() == Some(subject))
    {
        return Err(wrong_subject(subject));
    }
    // Keys of other issuers would have to be fetched; only this server's own are known.
    if !shared.signer.signed(token) {
        return Err(Refusal::new(
            700_027,
            "Client assertion failed signature validation.",
        ));
    }
    in_time(token, now)
}

/// An agent identity has no credential of its own: it shows the token that its blueprint got
/// for it.
fn agent_identity(
    shared: &Shared,
    tenant: &Tenant,
    agent: &Principal,
    form: &Pairs,
    now: i64,
) -> Result<Client, Refusal> {
    if !agent.enabled {
        return Err(Refusal::new(
            7_000_112,
            format!(
                "Application '{}'({}) is disabled.",
                agent.app_id, agent.name
            ),
        ));
    }
    let Some(token) = assertion(form)? else {
        return Err(no_proof());
    };
    if !shared.signer.signed(&token) {
        return Err(Refusal::new(
            700_027,
            "Client assertion failed signature validation.",
        ));
    }
    if token.text("tid") != tenant.id {
        return Err(wrong_issuer(token.text("iss")));
    }
    if token.text("aud") != TOKEN_EXCHANGE {
        return Err(Refusal::new(
            700_212,
            format!(
                "No matching federated identity record found for presented assertion audience \
                 '{}'.",
                token.text("aud")
            ),
        ));
    }
    let parent = agent
        .blueprint()
        .is_some_and(|own| own.is(token.text("azp")));
    if !parent || !agent.app_id.is(fmi_path(token.text("sub"))) {
        return Err(wrong_subject(token.text("sub")));
    }
    in_time(&token, now)?;
    Ok(Client {
        app_id: agent.app_id.clone(),
        name: agent.name.clone(),
        principal: Some(agent.id.clone()),
        acr: 2,
        blueprint: agent.blueprint().cloned(),
        is_blueprint: false,
    })
}

/// The agent that a blueprint's token was made for: the last part of its subject.
fn fmi_path(subject: &str) -> &str {
    subject.rsplit('/').next().unwrap_or_default()
}

fn wrong_issuer(issuer: &str) -> Refusal {
    Refusal::new(
        700_211,
        format!(
            "No matching federated identity record found for presented assertion issuer \
             '{issuer}'."
        ),
    )
}

pub(super) fn wrong_subject(subject: &str) -> Refusal {
    Refusal::new(
        700_213,
        format!(
            "No matching federated identity record found for presented assertion subject \
             '{subject}'."
        ),
    )
}

/// Neither over nor not yet begun.
pub(super) fn in_time(token: &Parsed, now_ms: i64) -> Result<(), Refusal> {
    let now = std::time::Duration::from_millis(now_ms.unsigned_abs()).as_secs_f64();
    let begun = token.seconds("nbf").is_none_or(|from| from <= now + SKEW_S);
    let open = token
        .seconds("exp")
        .is_some_and(|until| until > now - SKEW_S);
    if begun && open {
        return Ok(());
    }
    Err(Refusal::new(
        700_024,
        "Client assertion is not within its valid time range.",
    ))
}

/// The client assertion of a request, if it has one.
fn assertion(form: &Pairs) -> Result<Option<Parsed>, Refusal> {
    let Some(text) = form.filled("client_assertion") else {
        return Ok(None);
    };
    match form.get("client_assertion_type") {
        Some(ASSERTION_TYPE) => {}
        None => return Err(Refusal::missing("client_assertion_type")),
        Some(_) => {
            return Err(Refusal::new(
                900_144,
                "The value of 'client_assertion_type' is not valid.",
            ));
        }
    }
    match Parsed::parse(text) {
        Some(token) => Ok(Some(token)),
        None => Err(Refusal::new(50_027, "JWT token is invalid or malformed.")),
    }
}

/// Basic authentication; RFC 6749 has both halves form-encoded.
fn basic(ask: &Ask) -> Option<(String, String)> {
    let value = ask.header("authorization")?;
    let encoded = value
        .strip_prefix("Basic ")
        .or_else(|| value.strip_prefix("basic "))?;
    let text = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (id, secret) = text.split_once(':')?;
    Some((decoded(id, true), decoded(secret, true)))
}
