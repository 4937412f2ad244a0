//! Web addresses as OAuth needs them: compared and sent as they were written,
//! because issuers and resources are names, and a name that was tidied up is
//! another one.

use std::fmt;
use std::net::IpAddr;

use http::uri::Uri;

/// Longest address that is taken, in bytes.
const LENGTH_MAX: usize = 2048;

/// An absolute `http` or `https` URL without user name and fragment.
#[derive(Clone, PartialEq, Eq)]
pub struct WebUrl {
    text: Box<str>,
    tls: bool,
    host: Box<str>,
    authority: Box<str>,
    port: u16,
    path: Box<str>,
    query: Option<Box<str>>,
}

/// A text that is no such URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadUrl {
    /// It is no absolute URL of a host.
    #[error("is no address of a host")]
    Syntax,
    /// It is of another kind, such as `javascript:` or `file:`.
    #[error("is neither https nor http")]
    Scheme,
    /// It holds a user name, a password or a fragment.
    #[error("holds a user name or a fragment")]
    Extra,
    /// It is too long.
    #[error("has more than {LENGTH_MAX} bytes")]
    Length,
    /// It is `http`, and not of this machine.
    #[error("is not https")]
    Plain,
}

// === impl WebUrl ===

impl WebUrl {
    /// Reads a URL.
    ///
    /// # Errors
    /// See [`BadUrl`].
    pub fn parse(text: &str) -> Result<Self, BadUrl> {
        if text.len() > LENGTH_MAX {
            return Err(BadUrl::Length);
        }
        let (scheme, _) = text.split_once(':').ok_or(BadUrl::Syntax)?;
        let tls = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(BadUrl::Scheme),
        };
        if text.contains('#') {
            return Err(BadUrl::Extra);
        }
        let uri: Uri = text.parse().map_err(|_| BadUrl::Syntax)?;
        let authority = uri.authority().ok_or(BadUrl::Syntax)?;
        if authority.as_str().contains('@') {
            return Err(BadUrl::Extra);
        }
        let host = authority.host();
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        if bare.is_empty() {
            return Err(BadUrl::Syntax);
        }
        Ok(Self {
            text: text.into(),
            tls,
            host: bare.to_ascii_lowercase().into(),
            authority: authority.as_str().into(),
            port: authority.port_u16().unwrap_or(if tls { 443 } else { 80 }),
            path: uri.path().into(),
            query: uri.query().map(Into::into),
        })
    }

    /// Reads a URL that a person or a token may be sent to: `https`, or `http` on
    /// this machine (OAuth 2.1, section 1.5).
    ///
    /// # Errors
    /// See [`BadUrl`].
    pub fn parse_safe(text: &str) -> Result<Self, BadUrl> {
        let url = Self::parse(text)?;
        if url.tls || url.is_loopback() {
            Ok(url)
        } else {
            Err(BadUrl::Plain)
        }
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it is `https`.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    /// The host in small letters, without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Host and port as they were written, for `Host`.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The path; `/` where there is none.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What a request line says: path and query.
    #[must_use]
    pub fn target(&self) -> String {
        match &self.query {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.to_string(),
        }
    }

    /// Scheme, host and port, as they were written.
    #[must_use]
    pub fn origin(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}", self.authority)
    }

    /// Without query, for proofs and records.
    #[must_use]
    pub fn without_query(&self) -> String {
        format!("{}{}", self.origin(), self.path)
    }

    /// Whether scheme, host and port are the same.
    #[must_use]
    pub fn has_origin_of(&self, other: &Self) -> bool {
        (self.tls, &self.host, self.port) == (other.tls, &other.host, other.port)
    }

    /// Whether its host is this machine by name.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self.host.parse::<IpAddr>() {
            Ok(address) => address.is_loopback(),
            Err(_) => &*self.host == "localhost",
        }
    }

    /// Another path at the same origin.
    #[must_use]
    pub fn at(&self, path: &str) -> Option<Self> {
        Self::parse(&format!("{}{path}", self.origin())).ok()
    }

    /// Where a redirect leads: an absolute URL or a path at the same origin.
    #[must_use]
    pub fn redirected(&self, location: &str) -> Option<Self> {
        let location = location.split('#').next().unwrap_or_default();
        if location.starts_with('/') && !location.starts_with("//") {
            self.at(location)
        } else {
            Self::parse(location).ok()
        }
    }
}

impl fmt::Debug for WebUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A query may hold a secret.
        f.write_str(&self.without_query())
    }
}

/// Appends `name=value` as `application/x-www-form-urlencoded`.
pub(crate) fn put(text: &mut String, name: &str, value: &str) {
    if !text.is_empty() && !text.ends_with('?') {
        text.push('&');
    }
    encode(name, text);
    text.push('=');
    encode(value, text);
}

/// Percent-encodes everything but unreserved letters.
pub fn encode(value: &str, into: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            into.push(char::from(byte));
        } else {
            into.push('%');
            into.push(char::from(HEX[usize::from(byte >> 4)]));
            into.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

/// The pairs of a query, decoded; `None` where one cannot be.
pub(crate) fn pairs(query: &str) -> Option<Vec<(String, String)>> {
    let decode = |text: &str| {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.bytes();
        while let Some(byte) = rest.next() {
            bytes.push(match byte {
                b'+' => b' ',
                b'%' => {
                    let digit = |byte: u8| char::from(byte).to_digit(16);
                    let high = digit(rest.next()?)?;
                    u8::try_from(high * 16 + digit(rest.next()?)?).ok()?
                }
                byte => byte,
            });
        }
        String::from_utf8(bytes).ok()
    };
    let parts = query.split('&').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            Some((decode(name)?, decode(value)?))
        })
        .collect()
}

#[cfg(test)]
mod tests;
