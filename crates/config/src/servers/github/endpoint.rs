//! Where the MCP server of a GitHub is.

/// A GitHub, and its MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Endpoint {
    /// `https://HOST` of the server, in small letters.
    pub(super) origin: String,
    /// The host of its repositories.
    pub(super) site: String,
}

/// What everybody's GitHub is called.
const GITHUB: &str = "github.com";
/// What its hosts for such services end in.
const COPILOT: &str = "githubcopilot.com";
/// What the hosts of an enterprise whose data stays in a region end in.
const REGIONAL: &str = ".ghe.com";

// === impl Endpoint ===

impl Endpoint {
    /// That of the GitHub whose API has this address: everybody's and the regional ones have a host
    /// for it, and of any other host it is taken to be below the address itself.
    ///
    /// # Errors
    /// What is wrong with the address, in words that follow its name.
    pub(super) fn of(api_url: &str) -> Result<Self, &'static str> {
        let (scheme, rest) = api_url.split_once("://").ok_or("is no address")?;
        let authority = rest.split('/').next().unwrap_or_default();
        let authority = authority.to_ascii_lowercase();
        let host = host(&authority);
        if host.is_empty() {
            return Err("is no address");
        }
        // The token goes there.
        if scheme != "https" && !is_loopback(host) {
            return Err("is not encrypted: it has to begin with https://");
        }
        let at = |origin: String, site: &str| Self {
            origin,
            site: site.to_owned(),
        };
        let bare = ["api.", "copilot-api.", "www."]
            .iter()
            .find_map(|prefix| host.strip_prefix(prefix))
            .unwrap_or(host);
        Ok(match bare {
            GITHUB => at(format!("https://api.{COPILOT}"), GITHUB),
            _ if is_below(host, COPILOT) => at(format!("https://{authority}"), GITHUB),
            _ if bare.ends_with(REGIONAL) => at(format!("https://copilot-api.{bare}"), bare),
            _ => at(format!("{scheme}://{authority}"), bare),
        })
    }

    /// Whether an address of an entry leads to its MCP server.
    pub(super) fn leads_there(&self, url: &str) -> bool {
        let Some((scheme, rest)) = url.split_once("://") else {
            return false;
        };
        let end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let authority = authority.to_ascii_lowercase();
        let is_mcp = path.strip_prefix("/mcp");
        let is_mcp = is_mcp.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
        let origin = format!("{}://{authority}", scheme.to_ascii_lowercase());
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
        // Plans have hosts of their own.
        let is_sibling = self.site == GITHUB
            && scheme.eq_ignore_ascii_case("https")
            && authority.bytes().all(plain)
            && is_below(&authority, COPILOT);
        is_mcp && (origin == self.origin || is_sibling)
    }

    /// The hosts that links in issues may lead to: those of this GitHub, where nobody but it sees who
    /// follows them.
    pub(super) fn hosts(&self) -> Vec<String> {
        let mut hosts = vec![self.site.clone(), format!("*.{}", self.site)];
        if self.site == GITHUB {
            hosts.push("*.githubusercontent.com".to_owned());
        }
        hosts
    }
}

fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// An authority without its port.
fn host(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let address: Option<std::net::IpAddr> = address.parse().ok();
    host == "localhost" || address.is_some_and(|address| address.is_loopback())
}
