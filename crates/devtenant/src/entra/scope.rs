//! What a request wants to reach: one resource, and names in it.

use super::error::Refusal;
use crate::graph::permissions;
use crate::state::Tenant;
use crate::state::directory::{App, GRAPH, Principal, TOKEN_EXCHANGE};

/// A resource that tokens are for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resource {
    Graph,
    /// The audience of federated credentials.
    TokenExchange,
    /// An application of the tenant, by its app id.
    Own(String),
}

/// A request's `scope`, taken apart.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) resource: Resource,
    /// The resource as the client wrote it, with its slash; empty when it left it out.
    pub(crate) prefix: String,
    /// Names without the resource.
    pub(crate) names: Vec<String>,
    /// `.default`: whatever was consented.
    pub(crate) default: bool,
    pub(crate) openid: bool,
    pub(crate) profile: bool,
    pub(crate) offline: bool,
}

const OPENID: [&str; 4] = ["openid", "profile", "email", "offline_access"];

// === impl Resource ===

impl Resource {
    /// The app id of the service behind it.
    pub(crate) fn app_id(&self) -> &str {
        match self {
            Self::Graph => GRAPH,
            Self::TokenExchange => TOKEN_EXCHANGE,
            Self::Own(app) => app,
        }
    }

    /// Its service principal in the tenant.
    pub(crate) fn principal<'t>(&self, tenant: &'t Tenant) -> Option<&'t Principal> {
        tenant.principal_of(self.app_id())
    }

    /// The application behind it, when it is one of the tenant's.
    pub(crate) fn app<'t>(&self, tenant: &'t Tenant) -> Option<&'t App> {
        tenant.app(self.app_id())
    }
}

/// Reads `scope`. `origins` are the names under which this server is Graph.
pub(crate) fn parse(tenant: &Tenant, origin: &str, text: &str) -> Result<Wanted, Refusal> {
    let mut wanted = Wanted {
        resource: Resource::Graph,
        prefix: String::new(),
        names: Vec::new(),
        default: false,
        openid: false,
        profile: false,
        offline: false,
    };
    let mut first: Option<Resource> = None;
    for word in text.split_whitespace() {
        if OPENID.contains(&word) {
            wanted.openid |= word == "openid";
            wanted.profile |= word == "profile" || word == "openid";
            wanted.offline |= word == "offline_access";
            continue;
        }
        let (prefix, name) = word
            .rfind('/')
            .map_or(("", word), |at| word.split_at(at + 1));
        let resource = resource(tenant, origin, prefix, text)?;
        if first.as_ref().is_some_and(|first| *first != resource) {
            return Err(Refusal::new(
                700_022,
                format!(
                    "The provided value for the input parameter scope is not valid because it \
                     contains more than one resource. Scope {text} is not valid."
                ),
            ));
        }
        if name == ".default" {
            wanted.default = true;
        } else {
            known(tenant, &resource, name, text)?;
            wanted.names.push(name.to_owned());
        }
        prefix.clone_into(&mut wanted.prefix);
        first = Some(resource);
    }
    if wanted.default && !wanted.names.is_empty() {
        return Err(Refusal::new(
            70_011,
            format!(
                "The provided request must include a 'scope' input parameter. .default scope \
                 can't be combined with resource-specific scopes. The scope {text} is not valid."
            ),
        ));
    }
    wanted.resource = first.unwrap_or(Resource::Graph);
    Ok(wanted)
}

fn resource(tenant: &Tenant, origin: &str, prefix: &str, text: &str) -> Result<Resource, Refusal> {
    let bare = prefix.trim_end_matches('/');
    let graph = [
        "",
        "https://graph.microsoft.com",
        "https://graph.microsoft.com/v1.0",
        GRAPH,
    ];
    let served = bare == origin || bare.strip_prefix(origin) == Some("/v1.0");
    if served || graph.iter().any(|name| name.eq_ignore_ascii_case(bare)) {
        return Ok(Resource::Graph);
    }
    if bare.eq_ignore_ascii_case("api://AzureADTokenExchange") || bare == TOKEN_EXCHANGE {
        return Ok(Resource::TokenExchange);
    }
    if let Some(app) = tenant.app_by_uri(bare) {
        return Ok(Resource::Own(app.app_id.to_string()));
    }
    if bare.contains("://") || bare.len() == 36 {
        return Err(Refusal::new(
            500_011,
            format!(
                "The resource principal named {bare} was not found in the tenant named {}. This \
                 can happen if the application has not been installed by the administrator of \
                 the tenant or consented to by any user in the tenant.",
                tenant.name
            ),
        ));
    }
    Err(bad(text))
}

fn known(tenant: &Tenant, resource: &Resource, name: &str, text: &str) -> Result<(), Refusal> {
    let fine = match resource {
        Resource::Graph => permissions::is_delegated(name),
        Resource::TokenExchange => false,
        Resource::Own(_) => resource
            .app(tenant)
            .is_some_and(|app| app.scopes.iter().any(|scope| scope.value == name)),
    };
    if fine { Ok(()) } else { Err(bad(text)) }
}

fn bad(text: &str) -> Refusal {
    Refusal::new(
        70_011,
        format!(
            "The provided request must include a 'scope' input parameter. The provided value for \
             the input parameter 'scope' is not valid. The scope {text} is not valid."
        ),
    )
}
