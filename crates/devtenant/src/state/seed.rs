//! The tenants of the first start: two, with different people, so that what must not be mixed can
//! be seen not to be.

pub(crate) mod desk;

use super::directory::{
    App, AppId, GRAPH, Grant, KeyCredential, ObjectId, Principal, PrincipalKind, SecretCredential,
    TOKEN_EXCHANGE, User, UserKind,
};
use super::{HandedOut, Tenant, World};
use crate::random;

/// A year.
const YEAR_MS: i64 = 365 * 24 * 3_600_000;

/// What the agent's user may do without being asked again.
const AGENT_SCOPES: &str = "Calendars.ReadWrite Chat.Create Chat.ReadWrite ChatMessage.Send \
     Mail.Read Mail.ReadWrite Mail.Send Presence.ReadWrite User.Read User.ReadBasic.All";

/// What a person has consented to for the API and the command-line client.
const HUMAN_SCOPES: &str = "AuditLog.Read.All Calendars.Read Calendars.ReadWrite Chat.Create \
     Chat.Read Chat.ReadBasic Chat.ReadWrite ChatMessage.Send Mail.Read Mail.ReadWrite Mail.Send \
     MailboxSettings.Read Mfa.Needed Presence.Read Presence.Read.All Presence.ReadWrite User.Read \
     User.ReadBasic.All";

/// What the client that provisions may do for an administrator.
const ADMIN_SCOPES: &str = "AgentIdentity.Create.All AgentIdentity.ReadWrite.All \
     AgentIdentityBlueprint.AddRemoveCreds.All AgentIdentityBlueprint.Create \
     AgentIdentityBlueprint.DeleteRestore.All AgentIdentityBlueprint.ReadWrite.All \
     AgentIdentityBlueprint.UpdateAuthProperties.All AgentIdentityBlueprintPrincipal.Create \
     AgentIdentityBlueprintPrincipal.ReadWrite.All AgentIdUser.ReadWrite.All Application.Read.All \
     AppRoleAssignment.ReadWrite.All DelegatedPermissionGrant.ReadWrite.All Directory.Read.All LicenseAssignment.ReadWrite.All \
     User.Read.All User.RevokeSessions.All";

/// The application permissions of the API.
const API_ROLES: [&str; 4] = [
    "AuditLog.Read.All",
    "User.Read.All",
    "Application.Read.All",
    "DelegatedPermissionGrant.ReadWrite.All",
];

/// The application permissions of the blueprint: it makes its own agents.
const BLUEPRINT_ROLES: [&str; 3] = [
    "AgentIdentity.CreateAsManager",
    "AgentIdUser.ReadWrite.IdentityParentedBy",
    "AgentIdentityBlueprintPrincipal.Create",
];

/// Who a tenant is made of.
#[derive(Debug)]
pub(crate) struct People<'a> {
    /// The tenant's short name.
    pub(crate) tenant: &'a str,
    pub(crate) domain: &'a str,
    pub(crate) human: &'a str,
    pub(crate) others: [&'a str; 2],
}

const TENANTS: [People<'static>; 2] = [
    People {
        tenant: "first",
        domain: "first.example.com",
        human: "Alex Sample",
        others: ["Blake Sample", "Casey Sample"],
    },
    People {
        tenant: "second",
        domain: "second.example.com",
        human: "Dana Placeholder",
        others: ["Ellis Placeholder", "Finley Placeholder"],
    },
];

/// The state of a first start. The certificate is given to both blueprints.
pub(crate) fn world(now_ms: i64, certificate: &str) -> World {
    World {
        tenants: TENANTS
            .iter()
            .map(|people| tenant(people, now_ms, certificate))
            .collect(),
        ..World::default()
    }
}

/// One tenant with everything that its environment file names.
pub(crate) fn tenant(people: &People<'_>, now: i64, certificate: &str) -> Tenant {
    let member = |name: &str| User::new(name, people.domain, UserKind::Member, now);
    let human = member(people.human);
    let mut client = App::new("Legation command line", now);
    client.public = true;
    let mut api = App::new("Legation API", now).offering("access_as_user");
    let api_secret = random::opaque();
    api.secrets.push(secret(&api_secret, now));
    let (blueprint, blueprint_secret) = self::blueprint(&human, now, certificate);

    let graph = well_known(GRAPH, "Microsoft Graph", now);
    let exchange = well_known(TOKEN_EXCHANGE, "AAD Token Exchange", now);
    let principal_of = |app: &App, kind| Principal::new(app.app_id.clone(), &app.name, kind, now);
    let client_principal = principal_of(&client, PrincipalKind::Application);
    let mut api_principal = principal_of(&api, PrincipalKind::Application);
    api_principal.roles = API_ROLES.map(str::to_owned).to_vec();
    let mut blueprint_principal = principal_of(&blueprint, PrincipalKind::Blueprint);
    blueprint_principal.roles = BLUEPRINT_ROLES.map(str::to_owned).to_vec();
    let mut agent = agent(&blueprint.app_id, now);
    agent.sponsors = vec![human.id.clone()];
    let kind = UserKind::Agent {
        parent: agent.id.clone(),
    };
    let agent_user = User::new("Legation Agent", people.domain, kind, now);

    let all = |from: &Principal, to: &Principal, scope| grant(from, None, to, scope, now);
    let others: Vec<User> = people.others.iter().map(|name| member(name)).collect();
    let mut grants = vec![
        all(&client_principal, &api_principal, "access_as_user"),
        all(&client_principal, &blueprint_principal, "access_agent"),
        all(
            &client_principal,
            &graph,
            &format!("{HUMAN_SCOPES} {ADMIN_SCOPES}"),
        ),
        all(&api_principal, &graph, HUMAN_SCOPES),
        grant(&agent, Some(&agent_user), &graph, AGENT_SCOPES, now),
    ];
    // On behalf of a person an agent may do what the person may; as its own user only its part.
    for person in std::iter::once(&human).chain(&others) {
        grants.push(grant(&agent, Some(person), &graph, HUMAN_SCOPES, now));
    }
    let handed_out = HandedOut {
        client: client.app_id.clone(),
        api: api.app_id.clone(),
        api_secret,
        blueprint: blueprint.app_id.clone(),
        blueprint_secret,
        agent: agent.id.clone(),
        agent_user: agent_user.id.clone(),
        human: human.id.clone(),
    };
    let users = [vec![human], others, vec![agent_user]].concat();
    Tenant {
        id: random::guid(),
        name: people.tenant.to_owned(),
        domain: people.domain.to_owned(),
        apps: vec![client, api, blueprint],
        principals: vec![
            graph,
            exchange,
            client_principal,
            api_principal,
            blueprint_principal,
            agent,
        ],
        users,
        grants,
        chats: Vec::new(),
        presence: std::collections::BTreeMap::new(),
        mail: std::collections::BTreeMap::new(),
        calendars: std::collections::BTreeMap::new(),
        subscriptions: Vec::new(),
        sign_ins: Vec::new(),
        revocations: 0,
        tokens_from: 0,
        skew_ms: 0,
        lifetime_s: 0,
        propagation_ms: 0,
        has_agents: true,
        premium: true,
        handed_out,
    }
}

/// A blueprint that proves itself by a secret or by the certificate, and the secret.
fn blueprint(human: &User, now: i64, certificate: &str) -> (App, String) {
    let mut blueprint = App::new("Legation agent blueprint", now).offering("access_agent");
    blueprint.blueprint = true;
    blueprint.owners = vec![human.id.clone()];
    blueprint.sponsors = vec![human.id.clone()];
    let blueprint_secret = random::opaque();
    blueprint.secrets.push(secret(&blueprint_secret, now));
    blueprint.keys.push(KeyCredential {
        key_id: random::guid(),
        name: Some("CN=blueprint".to_owned()),
        certificate: certificate.to_owned(),
        start_ms: now,
        end_ms: now + YEAR_MS,
    });
    (blueprint, blueprint_secret)
}

/// A new agent identity: its object id is also what it calls itself.
fn agent(blueprint: &AppId, now: i64) -> Principal {
    let id = ObjectId::random();
    let kind = PrincipalKind::Agent {
        blueprint: blueprint.clone(),
    };
    let mut agent = Principal::new(AppId::new(id.as_str()), "Legation agent", kind, now);
    agent.id = id;
    agent
}

fn well_known(app: &str, name: &str, now: i64) -> Principal {
    Principal::new(AppId::new(app), name, PrincipalKind::Application, now)
}

fn secret(value: &str, now: i64) -> SecretCredential {
    SecretCredential {
        key_id: random::guid(),
        name: Some("development".to_owned()),
        value: value.to_owned(),
        start_ms: now,
        end_ms: now + YEAR_MS,
    }
}

fn grant(
    client: &Principal,
    user: Option<&User>,
    resource: &Principal,
    scope: &str,
    now: i64,
) -> Grant {
    Grant {
        id: random::opaque(),
        client: client.id.clone(),
        principal: user.map(|user| user.id.clone()),
        resource: resource.id.clone(),
        scope: scope.split_whitespace().collect::<Vec<_>>().join(" "),
        seen_from_ms: now,
    }
}
