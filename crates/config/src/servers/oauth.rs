//! How the hub signs in at a server behind a URL.

use legation_core::Secret;

use super::resolve::{ResolveError, Resolver};
use crate::environment::{SecretTemplate, Template, expand};

/// `oauthClientId`, `oauthPublicClient`, `oauthGrantType` and `oauth` of an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OAuthEntry {
    /// `"oauth": false`: nobody signs in, whatever the server says.
    pub off: bool,
    /// `oauthClientId`: the client that was registered beforehand.
    pub client_id: Option<Template>,
    /// `oauthPublicClient`: it has no secret.
    pub public_client: bool,
    /// `oauthGrantType`.
    pub grant: GrantType,
    /// `oauth.clientSecret`.
    pub client_secret: Option<SecretTemplate>,
    /// `oauth.privateKey`, in PEM.
    pub private_key: Option<SecretTemplate>,
    /// `oauth.signingAlg`.
    pub signing_alg: Option<Box<str>>,
    /// `oauth.keyId`.
    pub key_id: Option<Box<str>>,
    /// `oauth.clientMetadataUrl`.
    pub metadata_url: Option<Template>,
    /// `oauth.issuer`.
    pub issuer: Option<Template>,
    /// `oauth.scopes`.
    pub scopes: Vec<Box<str>>,
    /// `oauth.redirectPort`.
    pub redirect_port: Option<u16>,
    /// `oauth.allowedHosts`; none of a folder's entry.
    pub allowed_hosts: Vec<Box<str>>,
    /// `oauth.assertion`: a statement about this program.
    pub assertion: Option<SecretTemplate>,
    /// `oauth.idp`.
    pub idp: Option<IdpEntry>,
}

/// `oauth.idp`: the organisation's identity provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdpEntry {
    /// `tokenEndpoint`.
    pub token_endpoint: Template,
    /// `clientId`.
    pub client_id: Template,
    /// `clientSecret`.
    pub client_secret: Option<SecretTemplate>,
    /// `idToken`.
    pub id_token: SecretTemplate,
}

/// How tokens are come by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GrantType {
    /// A person signs in with a browser.
    #[default]
    AuthorizationCode,
    /// The client itself does.
    ClientCredentials,
    /// With `oauth.assertion`.
    JwtBearer,
    /// With what `oauth.idp` says.
    Enterprise,
}

/// The same, with references followed.
#[derive(Clone, Debug)]
pub struct ResolvedOAuth {
    /// As configured.
    pub entry: OAuthEntry,
    /// `oauthClientId`.
    pub client_id: Option<String>,
    /// `oauth.clientSecret`.
    pub client_secret: Option<Secret>,
    /// `oauth.privateKey`.
    pub private_key: Option<Secret>,
    /// `oauth.clientMetadataUrl`.
    pub metadata_url: Option<String>,
    /// `oauth.issuer`.
    pub issuer: Option<String>,
    /// `oauth.assertion`.
    pub assertion: Option<Secret>,
    /// `oauth.idp`.
    pub idp: Option<ResolvedIdp>,
}

/// The same, with references followed.
#[derive(Clone, Debug)]
pub struct ResolvedIdp {
    /// `tokenEndpoint`.
    pub token_endpoint: String,
    /// `clientId`.
    pub client_id: String,
    /// `clientSecret`.
    pub client_secret: Option<Secret>,
    /// `idToken`.
    pub id_token: Secret,
}

// === impl OAuthEntry ===

impl OAuthEntry {
    /// The texts that may be secrets, with the names they stand under.
    pub(super) fn secrets(&self) -> impl Iterator<Item = (&'static str, &SecretTemplate)> {
        let idp = self.idp.as_ref();
        [
            ("client_secret", self.client_secret.as_ref()),
            ("private_key", self.private_key.as_ref()),
            ("auth_assertion", self.assertion.as_ref()),
            ("idp_secret", idp.and_then(|idp| idp.client_secret.as_ref())),
            ("id_token", idp.map(|idp| &idp.id_token)),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
    }
}

// === impl GrantType ===

impl GrantType {
    /// The word of the `oauthGrantType` field.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AuthorizationCode => "authorization_code",
            Self::ClientCredentials => "client_credentials",
            Self::JwtBearer => "jwt_bearer",
            Self::Enterprise => "enterprise",
        }
    }
}

// === impl Resolver ===

impl Resolver<'_> {
    /// Follows the references of a sign-in.
    pub(super) fn oauth(&self, entry: &OAuthEntry) -> Result<ResolvedOAuth, ResolveError> {
        let follow = |field: &str, text: &str| {
            let lookup = |name: &str| self.variable(name);
            expand(text, lookup).map_err(|source| self.reference(field, source))
        };
        let plain = |field: &str, text: &Option<Template>| {
            let text = text.as_ref();
            text.map(|text| follow(field, text.as_str())).transpose()
        };
        let secret = |field: &str, text: &Option<SecretTemplate>| {
            let text = text.as_ref();
            let text = text.map(|text| follow(field, text.reveal())).transpose();
            text.map(|text| text.map(Secret::new))
        };
        let idp = entry.idp.as_ref().map(|idp| {
            let id_token = follow("oauth.idp.idToken", idp.id_token.reveal())?;
            Ok(ResolvedIdp {
                token_endpoint: follow("oauth.idp.tokenEndpoint", idp.token_endpoint.as_str())?,
                client_id: follow("oauth.idp.clientId", idp.client_id.as_str())?,
                client_secret: secret("oauth.idp.clientSecret", &idp.client_secret)?,
                id_token: Secret::new(id_token),
            })
        });
        Ok(ResolvedOAuth {
            client_id: plain("oauthClientId", &entry.client_id)?,
            client_secret: secret("oauth.clientSecret", &entry.client_secret)?,
            private_key: secret("oauth.privateKey", &entry.private_key)?,
            metadata_url: plain("oauth.clientMetadataUrl", &entry.metadata_url)?,
            issuer: plain("oauth.issuer", &entry.issuer)?,
            assertion: secret("oauth.assertion", &entry.assertion)?,
            idp: idp.transpose()?,
            entry: entry.clone(),
        })
    }
}
