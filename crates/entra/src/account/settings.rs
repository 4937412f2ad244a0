//! The settings of an account, checked.

use std::path::PathBuf;

use legation_core::{EntityId, Secret};

use super::{AccountError, Acting, Cloud};
use crate::http::Url;

/// The settings of an account, as its owner wrote them.
#[derive(Clone, Debug)]
pub struct AccountSettings {
    /// Its name.
    pub name: Box<str>,
    /// Whose data it reads.
    pub entity: EntityId,
    /// The tenant, by id or domain.
    pub tenant_id: Box<str>,
    /// `global`, `us-gov`, `us-gov-dod` or `china`.
    pub cloud: Box<str>,
    /// The sign-in host, in place of the cloud's.
    pub authority: Option<Box<str>>,
    /// Graph's base, in place of the cloud's; without a version.
    pub graph: Option<Box<str>>,
    /// The public client that people sign in to.
    pub client_id: Option<Box<str>>,
    /// The middle tier.
    pub api_client_id: Option<Box<str>>,
    /// The scope people sign in for, where it is not the usual one.
    pub api_scope: Option<Box<str>>,
    /// The blueprint.
    pub blueprint_id: Option<Box<str>>,
    /// The agent.
    pub agent_id: Option<Box<str>>,
    /// The agent's own user, by id or sign-in name.
    pub agent_user: Option<Box<str>>,
    /// The person it works for, by id or sign-in name.
    pub human: Option<Box<str>>,
    /// Who proves that we are the application.
    pub broker: BrokerSettings,
    /// The certificate of a kept key, PEM.
    pub certificate: Option<PathBuf>,
    /// Certificates to trust besides the system's, PEM.
    pub ca_file: Option<PathBuf>,
    /// An HTTP proxy.
    pub proxy: Option<Box<str>>,
    /// The middle tier's secret.
    pub client_secret: Option<Secret>,
    /// The blueprint's secret.
    pub blueprint_secret: Option<Secret>,
}

/// Who proves that we are the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BrokerSettings {
    /// A secret or key kept here.
    Keystore,
    /// A program and its arguments.
    Command(Vec<String>),
    /// A service.
    Https(Box<str>),
}

/// A certificate file larger than this is none.
const CA_MAX: u64 = 4 << 20;

// === impl AccountSettings ===

impl AccountSettings {
    /// An account with nothing but what every account has.
    #[must_use]
    pub fn new(name: &str, entity: EntityId, tenant_id: &str) -> Self {
        Self {
            name: name.into(),
            entity,
            tenant_id: tenant_id.into(),
            cloud: Cloud::Global.as_str().into(),
            authority: None,
            graph: None,
            client_id: None,
            api_client_id: None,
            api_scope: None,
            blueprint_id: None,
            agent_id: None,
            agent_user: None,
            human: None,
            broker: BrokerSettings::Keystore,
            certificate: None,
            ca_file: None,
            proxy: None,
            client_secret: None,
            blueprint_secret: None,
        }
    }

    /// Whether they make an account.
    ///
    /// # Errors
    /// See [`AccountError`].
    pub fn check(&self) -> Result<(), AccountError> {
        let cloud = self.cloud()?;
        self.authority(cloud)?;
        self.graph(cloud)?;
        self.proxy()?;
        self.ca_pem()?;
        if let BrokerSettings::Https(url) = &self.broker {
            self.address("broker_url", url)?;
        }
        Ok(())
    }

    /// The middle tier; the public client where there is no other.
    pub(crate) fn middle_tier(&self) -> Option<&str> {
        let id = self.api_client_id.as_deref();
        id.or(self.client_id.as_deref())
    }

    /// The most an account can do with these settings.
    #[must_use]
    pub fn acting(&self) -> Acting {
        match (&self.blueprint_id, &self.agent_user) {
            (Some(_), Some(_)) => Acting::AgentUser,
            (Some(_), None) => Acting::AgentForHuman,
            (None, _) => Acting::ApplicationForHuman,
        }
    }

    pub(super) fn cloud(&self) -> Result<Cloud, AccountError> {
        Cloud::parse(&self.cloud).ok_or_else(|| AccountError::Cloud {
            account: self.name.clone(),
            word: self.cloud.clone(),
        })
    }

    /// `https://login.example.com/TENANT`.
    pub(super) fn authority(&self, cloud: Cloud) -> Result<Url, AccountError> {
        let text = self.authority.as_deref().unwrap_or(cloud.authority());
        let host = self.address("authority", text)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        let is_tenant = !self.tenant_id.is_empty() && self.tenant_id.chars().all(plain);
        // A host that was given with its tenant is taken as it is meant.
        let base = host.path().trim_matches('/');
        if base.eq_ignore_ascii_case(&self.tenant_id) && is_tenant {
            return Ok(host);
        }
        let joined = host.join(&format!("/{}", self.tenant_id)).ok();
        joined
            .filter(|_| is_tenant)
            .ok_or_else(|| AccountError::Tenant {
                account: self.name.clone(),
                tenant: crate::base::plain(&self.tenant_id, 80).into(),
            })
    }

    pub(super) fn graph(&self, cloud: Cloud) -> Result<Url, AccountError> {
        let text = self.graph.as_deref().unwrap_or(cloud.graph_resource());
        let text = text.trim_end_matches('/');
        let text = text.strip_suffix("/v1.0").unwrap_or(text);
        self.address("graph", text)
    }

    pub(super) fn proxy(&self) -> Result<Option<Url>, AccountError> {
        let proxy = self.proxy.as_deref().map(Url::proxy).transpose();
        proxy.map_err(|source| self.bad_address("proxy", source))
    }

    pub(super) fn address(&self, key: &'static str, text: &str) -> Result<Url, AccountError> {
        Url::parse(text.trim_end_matches('/')).map_err(|source| self.bad_address(key, source))
    }

    fn bad_address(&self, key: &'static str, source: crate::http::UrlError) -> AccountError {
        AccountError::Address {
            account: self.name.clone(),
            key,
            source,
        }
    }

    pub(super) fn ca_pem(&self) -> Result<Option<Vec<u8>>, AccountError> {
        let Some(path) = &self.ca_file else {
            return Ok(None);
        };
        let read = || {
            let metadata = std::fs::metadata(path)?;
            if !metadata.is_file() || metadata.len() > CA_MAX {
                return Err(std::io::Error::other("it is not a file of certificates"));
            }
            std::fs::read(path)
        };
        match read() {
            Ok(pem) => Ok(Some(pem)),
            Err(source) => Err(AccountError::CaFile {
                account: self.name.clone(),
                path: path.clone(),
                source,
            }),
        }
    }
}
