//! Where a PostgreSQL database is, and how its password is kept out of sight.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use legation_core::Secret;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);

/// How long the other side may be silent on the wire before the connection
/// counts as lost.
const SILENCE: Duration = Duration::from_secs(30);

/// A database's address: `postgres://user@host:port/name`, or with a Unix
/// socket `postgres://user@%2Ffolder/name`. Beyond this machine the connection
/// is encrypted and the server's certificate is checked, whatever `sslmode`
/// says, except `disable`, which is refused.
///
/// Prints without its password.
#[derive(Clone)]
pub struct DatabaseUrl {
    pub(crate) config: Arc<Config>,
    place: String,
}

/// The address cannot be used. It is never repeated: it may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// It does not start with `postgres://` or `postgresql://`.
    #[error("the store's address does not start with postgres://")]
    Scheme,
    /// It cannot be read.
    #[error("the store's address cannot be read")]
    Syntax,
    /// It names no host or no database.
    #[error("the store's address names no {missing}")]
    Missing {
        /// What it does not name.
        missing: &'static str,
    },
    /// The password is in a variable that is not set.
    #[error("the store's password is to come from the variable {variable}, which is not set")]
    Undefined {
        /// The variable.
        variable: String,
    },
    /// It asks for an open connection to another machine.
    #[error(
        "the store at {host} is on another machine, and sslmode=disable would send everything in the open"
    )]
    Open {
        /// The host.
        host: String,
    },
}

// === impl DatabaseUrl ===

impl DatabaseUrl {
    /// Reads an address. A password that is `${NAME}` is what `variable` says
    /// of NAME, and one that is not there at all what it says of PGPASSWORD.
    ///
    /// # Errors
    /// See [`UrlError`].
    pub fn parse(text: &str, variable: impl Fn(&str) -> Option<Secret>) -> Result<Self, UrlError> {
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(UrlError::Scheme);
        }
        let mut config: Config = text.parse().map_err(|_| UrlError::Syntax)?;
        if config.get_hosts().is_empty() {
            return Err(UrlError::Missing { missing: "host" });
        }
        let Some(name) = config.get_dbname().map(str::to_owned) else {
            return Err(UrlError::Missing {
                missing: "database",
            });
        };
        if let Some(password) = password(&config, variable)? {
            config.password(password.reveal());
        }
        match config.get_hosts().iter().find(|host| !is_here(host)) {
            Some(host) if config.get_ssl_mode() == SslMode::Disable => {
                return Err(UrlError::Open { host: shown(host) });
            }
            Some(_) => config.ssl_mode(SslMode::Require),
            None if config.get_ssl_mode() == SslMode::Require => &mut config,
            None => config.ssl_mode(SslMode::Disable),
        };
        let patience = config.get_connect_timeout().copied().unwrap_or(CONNECT);
        config
            .application_name("legation")
            .connect_timeout(patience)
            .tcp_user_timeout(SILENCE)
            .keepalives_idle(SILENCE);
        let hosts: Vec<_> = config.get_hosts().iter().map(shown).collect();
        let place = format!("the database {name} at {}", hosts.join(","));
        Ok(Self {
            config: Arc::new(config),
            place,
        })
    }

    /// Where it is, in words, without user and password.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DatabaseUrl").field(&self.place).finish()
    }
}

// === impl UrlError ===

impl UrlError {
    /// What the owner can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Scheme | Self::Syntax | Self::Missing { .. } => {
                "write it like postgres://legation@db.example.com/legation"
            }
            Self::Undefined { .. } => "set the variable for the hub, or take the password out",
            Self::Open { .. } => "take sslmode out: TLS is then used",
        }
    }
}

fn password(
    config: &Config,
    variable: impl Fn(&str) -> Option<Secret>,
) -> Result<Option<Secret>, UrlError> {
    let Some(text) = config.get_password() else {
        return Ok(variable("PGPASSWORD"));
    };
    let name = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.strip_prefix("${")?.strip_suffix('}'));
    let Some(name) = name else {
        return Ok(None);
    };
    match variable(name) {
        Some(password) => Ok(Some(password)),
        None => Err(UrlError::Undefined {
            variable: name.to_owned(),
        }),
    }
}

/// Whether a host is this machine for certain.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
        }
        Host::Unix(_) => true,
    }
}

fn shown(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(folder) => folder.display().to_string(),
    }
}
