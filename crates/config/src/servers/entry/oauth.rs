//! `oauthClientId`, `oauthPublicClient`, `oauthGrantType` and `oauth`.

use serde_json::Value;

use super::Fields;
use super::check::{Wrong, check_references, not_a, template, wrong};
use crate::environment::{SecretTemplate, Template};
use crate::servers::oauth::{GrantType, IdpEntry, OAuthEntry};

const GRANTS: [GrantType; 4] = [
    GrantType::AuthorizationCode,
    GrantType::ClientCredentials,
    GrantType::JwtBearer,
    GrantType::Enterprise,
];

impl Fields<'_> {
    /// How the hub signs in, as far as it is said.
    pub(super) fn oauth(&mut self) -> Result<OAuthEntry, Wrong> {
        let mut entry = OAuthEntry {
            client_id: self.maybe_template("oauthClientId")?,
            public_client: self.boolean("oauthPublicClient")?,
            grant: self
                .choice("oauthGrantType", &GRANTS, GrantType::as_str)?
                .unwrap_or_default(),
            ..OAuthEntry::default()
        };
        match self.rest.get("oauth") {
            Some(Value::Bool(on)) => {
                entry.off = !*on;
                self.rest.shift_remove("oauth");
            }
            Some(Value::Object(members)) => {
                let mut inner = Fields {
                    rest: members.clone(),
                    warnings: Vec::new(),
                    source: self.source,
                };
                inner.members(&mut entry).map_err(|inner| Wrong {
                    message: format!("oauth.{}", inner.message),
                    ..inner
                })?;
                self.rest.shift_remove("oauth");
                for name in inner.rest.keys() {
                    let name = name.escape_debug();
                    self.warn(
                        format!("without effect here: `oauth.{name}`"),
                        "Check the spelling.",
                    );
                }
            }
            Some(Value::Null) | None => {}
            Some(other) => return Err(not_a("oauth", "an object or false", other)),
        }
        check(&entry)?;
        if self.source.trusted_folder().is_some() {
            // It could open the owner's network to whoever wrote the folder's file.
            entry.allowed_hosts.clear();
        }
        Ok(entry)
    }

    fn members(&mut self, entry: &mut OAuthEntry) -> Result<(), Wrong> {
        entry.client_secret = self.maybe_secret("clientSecret")?;
        entry.private_key = self.maybe_secret("privateKey")?;
        entry.signing_alg = self.text("signingAlg")?;
        entry.key_id = self.text("keyId")?;
        entry.metadata_url = self.maybe_template("clientMetadataUrl")?;
        entry.issuer = self.maybe_template("issuer")?;
        entry.scopes = self.texts("scopes")?.unwrap_or_default();
        entry.allowed_hosts = self.texts("allowedHosts")?.unwrap_or_default();
        entry.assertion = self.maybe_secret("assertion")?;
        entry.redirect_port = match self.take("redirectPort") {
            None => None,
            Some(value) => {
                let port = value.as_u64().and_then(|port| u16::try_from(port).ok());
                let port = port.filter(|port| *port > 0);
                Some(port.ok_or_else(|| not_a("redirectPort", "a port", &value))?)
            }
        };
        entry.idp = match self.take("idp") {
            None => None,
            Some(Value::Object(members)) => {
                let mut idp = Fields {
                    rest: members,
                    warnings: Vec::new(),
                    source: self.source,
                };
                let id_token = idp.maybe_secret("idToken")?;
                Some(IdpEntry {
                    token_endpoint: idp.required("tokenEndpoint")?,
                    client_id: idp.required("clientId")?,
                    client_secret: idp.maybe_secret("clientSecret")?,
                    id_token: id_token.ok_or_else(|| wrong("idp.idToken is missing", "Add it."))?,
                })
            }
            Some(other) => return Err(not_a("idp", "an object", &other)),
        };
        Ok(())
    }

    pub(super) fn maybe_template(&mut self, key: &str) -> Result<Option<Template>, Wrong> {
        let text = self.text(key)?.filter(|text| !text.is_empty());
        text.map(|text| template(key, &text)).transpose()
    }

    pub(super) fn maybe_secret(&mut self, key: &str) -> Result<Option<SecretTemplate>, Wrong> {
        let Some(text) = self.text(key)?.filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        check_references(key, &text)?;
        Ok(Some(SecretTemplate::new(&text)))
    }
}

/// What belongs together is there together.
fn check(entry: &OAuthEntry) -> Result<(), Wrong> {
    let needs_client = matches!(
        entry.grant,
        GrantType::ClientCredentials | GrantType::Enterprise
    );
    let missing = if needs_client && entry.client_id.is_none() {
        "oauthClientId"
    } else if entry.grant == GrantType::JwtBearer && entry.assertion.is_none() {
        "oauth.assertion"
    } else if entry.grant == GrantType::Enterprise && entry.idp.is_none() {
        "oauth.idp"
    } else if entry.grant == GrantType::ClientCredentials
        && entry.client_secret.is_none()
        && entry.private_key.is_none()
    {
        "oauth.clientSecret or oauth.privateKey"
    } else {
        return Ok(());
    };
    let grant = entry.grant.as_str();
    Err(wrong(
        format!("oauthGrantType {grant} is given without {missing}"),
        format!("Add {missing}."),
    ))
}
