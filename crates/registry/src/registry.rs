//! Asking a registry (MCP registry API v0.1).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use legation_core::Secret;
use legation_core::net::{Lookup, SystemLookup};
use legation_net::proxy::Proxies;
use legation_oauth::fetch::{Ask, Fetch as _, Reach, Web};
use legation_oauth::{WebUrl, encode};
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::bundle::ARCHIVE_MAX;
use crate::error::RegistryError;
use crate::server::{BundleAt, Server, shortened, status};
use crate::wire;

/// Time for one answer, redirects included.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);
/// The longest answer, in bytes: a page of a hundred servers has some hundred kilobytes.
const ANSWER_MAX: usize = 4 << 20;
/// Time for a bundle.
const BUNDLE_LIMIT: Duration = Duration::from_secs(10 * 60);
/// Pages of one search, and time for all of them.
const PAGES_MAX: usize = 40;
const SEARCH_LIMIT: Duration = Duration::from_secs(60);
/// Servers of a page.
const PAGE: usize = 100;
/// Most servers that a search finds.
pub const SEARCH_MAX: usize = 500;
/// Longest name of a server, and longest version.
const NAME_MAX: usize = 255;

/// A registry.
#[derive(Debug, Clone)]
pub struct Registry {
    /// Where its API begins, without a slash at the end.
    url: String,
    reach: Reach,
    answers: Web,
    bundles: Web,
}

/// A server that a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its name.
    pub name: String,
    /// The newest version.
    pub version: String,
    /// What people read.
    pub title: Option<String>,
    /// What it is for, in its publisher's words.
    pub description: String,
    /// Whether its publisher advises against it.
    pub is_deprecated: bool,
    /// The kinds of its packages, and `remote`.
    pub kinds: Vec<String>,
}

/// Whether a text is a SHA-256 in small hexadecimal digits.
#[must_use]
pub fn is_sha256(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Fetches a bundle that the owner named, and checks what it is.
///
/// # Errors
/// [`RegistryError`].
pub async fn fetch_bundle(at: &BundleAt, proxies: Proxies) -> Result<Bytes, RegistryError> {
    let reach = Reach::of(&at.url, &[]);
    download(&bundles(system(), proxies), at, reach).await
}

fn system() -> Arc<dyn Lookup> {
    Arc::new(SystemLookup::default())
}

fn bundles(lookup: Arc<dyn Lookup>, proxies: Proxies) -> Web {
    Web::with_bounds(lookup, proxies, BUNDLE_LIMIT, ARCHIVE_MAX)
}

async fn download(web: &Web, at: &BundleAt, reach: Reach) -> Result<Bytes, RegistryError> {
    let mut ask = Ask::get(at.url.clone());
    ask.headers.push(("accept", Secret::new("*/*")));
    let reply = web
        .fetch(ask, reach)
        .await
        .map_err(RegistryError::Download)?;
    if reply.status != 200 {
        return Err(RegistryError::Status {
            host: at.url.host().to_owned(),
            status: reply.status,
        });
    }
    let found = hex(&Sha256::digest(&reply.body));
    if found != at.sha256 {
        return Err(RegistryError::Hash {
            wanted: at.sha256.clone(),
            found,
        });
    }
    Ok(reply.body)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

// === impl Registry ===

impl Registry {
    /// The registry at `url`, the address before `/v0.1/`. Whatever it names must be on the Internet, or
    /// its own host: that one is the owner's word.
    ///
    /// # Errors
    /// [`RegistryError::Address`].
    pub fn new(url: &str, proxies: Proxies) -> Result<Self, RegistryError> {
        Self::with_lookup(url, proxies, system())
    }

    pub(crate) fn with_lookup(
        url: &str,
        proxies: Proxies,
        lookup: Arc<dyn Lookup>,
    ) -> Result<Self, RegistryError> {
        let parsed = WebUrl::parse_safe(url).map_err(|why| RegistryError::Address {
            what: "the registry's address".to_owned(),
            why,
        })?;
        let base = parsed.without_query();
        let base = base.trim_end_matches('/');
        Ok(Self {
            url: base.strip_suffix("/v0.1").unwrap_or(base).to_owned(),
            reach: Reach::of(&parsed, &[]),
            answers: Web::with_bounds(
                Arc::clone(&lookup),
                proxies.clone(),
                ANSWER_LIMIT,
                ANSWER_MAX,
            ),
            bundles: bundles(lookup, proxies),
        })
    }

    /// Its address, without `/v0.1`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The newest versions of at most `most` servers in whose name, title or description all of `words`
    /// stand; and whether there may be more.
    ///
    /// # Errors
    /// [`RegistryError`].
    pub async fn search(
        &self,
        words: &[String],
        most: usize,
    ) -> Result<(Vec<Found>, bool), RegistryError> {
        let search = Box::pin(self.pages(words, most));
        let searched = tokio::time::timeout(SEARCH_LIMIT, search).await;
        searched.unwrap_or(Err(RegistryError::Endless {
            why: "it took more than a minute",
        }))
    }

    async fn pages(
        &self,
        words: &[String],
        most: usize,
    ) -> Result<(Vec<Found>, bool), RegistryError> {
        // A registry looks for one text in names; the rest is looked for here.
        let longest = words.iter().max_by_key(|word| word.len());
        let mut found = Vec::new();
        let mut cursors = HashSet::new();
        let mut cursor: Option<String> = None;
        for _ in 0..PAGES_MAX {
            let mut path = format!("/v0.1/servers?version=latest&limit={PAGE}");
            for (name, value) in [("search", longest), ("cursor", cursor.as_ref())] {
                if let Some(value) = value {
                    path.push_str(&format!("&{name}="));
                    encode(value, &mut path);
                }
            }
            let page: wire::ServerList = self.ask(&path, "search").await?;
            let matching = page.servers.into_iter().filter_map(Found::from_wire);
            found.extend(matching.filter(|one| words.iter().all(|word| one.has(word))));
            if found.len() > most {
                found.truncate(most);
                return Ok((found, true));
            }
            let next = page.metadata.and_then(|metadata| metadata.next_cursor);
            let Some(next) = next.filter(|next| !next.is_empty()) else {
                return Ok((found, false));
            };
            if !cursors.insert(next.clone()) {
                return Err(RegistryError::Endless {
                    why: "it names a page that it gave before",
                });
            }
            cursor = Some(next);
        }
        Err(RegistryError::Endless {
            why: "it has more than forty pages for these words",
        })
    }

    /// One version of a server, the newest without one.
    ///
    /// # Errors
    /// [`RegistryError`]; [`RegistryError::Another`] where the answer is about another.
    pub async fn server(&self, name: &str, version: Option<&str>) -> Result<Server, RegistryError> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte);
        let parts: Vec<&str> = name.split('/').collect();
        let is_name =
            matches!(parts.as_slice(), [space, own] if !space.is_empty() && !own.is_empty());
        if !(is_name && name.len() <= NAME_MAX && name.bytes().all(fits)) {
            let name = shortened(name);
            return Err(RegistryError::Name { name });
        }
        let asked = match version {
            Some(version) => format!("{name}@{version}"),
            None => name.to_owned(),
        };
        let mut path = "/v0.1/servers/".to_owned();
        encode(name, &mut path);
        path.push_str("/versions/");
        encode(version.unwrap_or("latest"), &mut path);
        let answer: wire::ServerResponse = self.ask(&path, &asked).await?;
        let is_it = answer.server.name == name
            && version
                .is_none_or(|version| version == "latest" || answer.server.version == version);
        if !is_it {
            let server = &answer.server;
            return Err(RegistryError::Another {
                asked,
                answered: shortened(&format!("{}@{}", server.name, server.version)),
            });
        }
        Server::from_wire(answer, &self.reach)
    }

    /// A bundle that it named.
    ///
    /// # Errors
    /// [`RegistryError`].
    pub async fn bundle(&self, at: &BundleAt) -> Result<Bytes, RegistryError> {
        download(&self.bundles, at, self.reach.clone()).await
    }

    async fn ask<T: DeserializeOwned>(&self, path: &str, asked: &str) -> Result<T, RegistryError> {
        let url = WebUrl::parse(&format!("{}{path}", self.url)).map_err(|why| {
            RegistryError::Address {
                what: "the registry's address".to_owned(),
                why,
            }
        })?;
        let host = url.host().to_owned();
        let asking = self.answers.fetch(Ask::get(url), self.reach.clone());
        let reply = asking.await.map_err(RegistryError::Fetch)?;
        match reply.status {
            200 => {}
            404 => {
                let name = asked.to_owned();
                return Err(RegistryError::Unknown { name });
            }
            status => return Err(RegistryError::Status { host, status }),
        }
        serde_json::from_slice(&reply.body).map_err(|error| RegistryError::Unreadable {
            // The words of the parser may repeat what came.
            why: format!("line {}, column {}", error.line(), error.column()),
        })
    }
}

// === impl Found ===

impl Found {
    fn from_wire(answer: wire::ServerResponse) -> Option<Self> {
        let status = status(answer.meta.as_ref());
        if status.as_deref() == Some("deleted") {
            return None;
        }
        let server = answer.server;
        let packages = server.packages.into_iter();
        let mut kinds: Vec<String> = packages
            .map(|package| shortened(&package.registry_type))
            .chain(server.remotes.iter().map(|_| "remote".to_owned()))
            .collect();
        kinds.dedup();
        Some(Self {
            name: shortened(&server.name),
            version: shortened(&server.version),
            title: server.title.map(|text| shortened(&text)),
            description: shortened(&server.description),
            is_deprecated: status.as_deref() == Some("deprecated"),
            kinds,
        })
    }

    fn has(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        let title = self.title.as_deref().unwrap_or_default();
        [self.name.as_str(), title, &self.description]
            .iter()
            .any(|text| text.to_lowercase().contains(&word))
    }
}
