//! GitHub's own MCP server, which is there without an entry.
//!
//! Its entry is made of `[github]` of the settings and read like any other, so that whatever holds for
//! servers holds for it. The token is the owner's and never looked for: it is the secret `github`, a
//! variable that the settings name, or what `gh` says where the settings have it asked. Entries of the
//! owner's that lead to the same address without a credential are given it too; entries that a folder or
//! a plugin brings along are not, because their author is not the owner.

mod endpoint;
mod repository;

use std::fmt;
use std::path::PathBuf;

use legation_core::Secret;
use serde_json::{Map, Value, json};

use super::{Loaded, OAuthEntry, Problem, ProblemKind, ServerSpec, Source, Transport, read_entry};
use crate::environment::{Environment, SecretTemplate, escaped};
use crate::settings::{GithubChoice, GithubSettings};

use endpoint::Endpoint;
use repository::Site;

pub use repository::config_file;

/// What the server is called.
pub const NAME: &str = "github";

/// The name under which others configure it: an entry of that name takes its place.
const OTHER_NAME: &str = "github-mcp-server";

/// The secret of the keystore that holds the token.
pub const SECRET: &str = "github";

/// Tools that read what anybody may have written, and what they were called before.
const READS_MARKDOWN: [&str; 19] = [
    "get_discussion",
    "get_discussion_comments",
    "get_issue",
    "get_issue_comments",
    "get_pull_request",
    "get_pull_request_comments",
    "get_pull_request_review_comments",
    "get_pull_request_reviews",
    "issue_read",
    "list_discussions",
    "list_issue_types",
    "list_issues",
    "list_pull_requests",
    "list_sub_issues",
    "pull_request_read",
    "search_issues",
    "search_pull_requests",
    "sub_issue_read",
    "get_notification_details",
];

/// Whether a server has the token that stands in for a credential of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GithubToken {
    /// It has it.
    Given,
    /// It waits for it and is not contacted, for this reason.
    Missing(Box<str>),
}

/// What `gh` says.
#[derive(Clone, Debug, Default)]
pub enum Gh {
    /// Nobody asked it.
    #[default]
    NotAsked,
    /// This token.
    Token(Secret),
    /// It has none, for this reason.
    Without(Box<str>),
}

/// Where the server is to be.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// What the owner wants.
    pub settings: &'a GithubSettings,
    /// Where tokens are found.
    pub environment: &'a Environment,
    /// The folders that clients work in.
    pub folders: &'a [PathBuf],
    /// What `gh` says.
    pub gh: &'a Gh,
}

/// A token that was found: the text of the header that brings it, where it leads to it or holds it.
struct Found(SecretTemplate);

/// Puts the server beneath those that are configured, and the token into those of the owner's that lack
/// it. To be called before servers of folders that not everybody works in are added.
pub fn add(loaded: &mut Loaded, around: &Around<'_>) {
    if around.settings.builtin == GithubChoice::Off {
        return;
    }
    let endpoint = match Endpoint::of(&around.settings.api_url) {
        Ok(endpoint) => endpoint,
        Err(why) => {
            loaded.problems.push(Problem {
                source: Source::Builtin,
                server: Some(NAME.into()),
                kind: ProblemKind::Entry,
                message: format!("github.api_url {why}"),
                hint: "Correct it: `legation config explain github.api_url`.".to_owned(),
            });
            return;
        }
    };
    let token = around.token(&endpoint);
    for server in &mut loaded.servers {
        if lacks_token(server, &endpoint) {
            give(server, &token);
        }
    }
    let written = entry(around.settings, &endpoint);
    let (spec, problems) = read_entry(NAME, &written, &Source::Builtin, true);
    loaded.problems.extend(problems);
    let Some(mut spec) = spec else { return };
    give(&mut spec, &token);
    spec.off_because = off_because(loaded, around, &endpoint);
    spec.disabled = spec.off_because.is_some();
    let builtin = Loaded {
        servers: vec![spec],
        ..Loaded::default()
    };
    *loaded = std::mem::take(loaded).over(builtin);
}

/// The host that `gh` is to be asked about; `None` where it is not to be asked, or something else
/// holds a token.
pub fn gh_host(settings: &GithubSettings, environment: &Environment) -> Option<String> {
    let wanted = settings.gh && settings.builtin != GithubChoice::Off;
    let endpoint = Endpoint::of(&settings.api_url).ok().filter(|_| wanted)?;
    given(settings, environment)
        .is_none()
        .then_some(endpoint.site)
}

/// Whether a text can be a token: a refresh token is none, and what has white space in it is something
/// else that was kept under the name.
pub fn is_token(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with("ghr_")
        && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether an entry is the owner's, leads there and has no credential.
fn lacks_token(server: &ServerSpec, endpoint: &Endpoint) -> bool {
    let is_owners = matches!(
        server.source,
        Source::Default { .. } | Source::User { .. } | Source::Additional { .. }
    );
    let Transport::Http { url, headers, .. } = &server.transport else {
        return false;
    };
    let has_credential = headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    let signs_in = !server.oauth.off && server.oauth != OAuthEntry::default();
    is_owners
        && !has_credential
        && !signs_in
        && !url.has_references()
        && endpoint.leads_there(url.as_str())
}

fn give(server: &mut ServerSpec, token: &Result<Found, Box<str>>) {
    let Transport::Http { headers, .. } = &mut server.transport else {
        return;
    };
    match token {
        Ok(Found(header)) => {
            headers.push(("Authorization".into(), header.clone()));
            if !headers
                .iter()
                .any(|(name, _)| name.eq_ignore_ascii_case(HOST_HEADER))
            {
                headers.push((HOST_HEADER.into(), SecretTemplate::new(HOST)));
            }
            server.github = Some(GithubToken::Given);
        }
        Err(why) => server.github = Some(GithubToken::Missing(why.clone())),
    }
}

/// Says to GitHub who asks.
const HOST_HEADER: &str = "X-MCP-Host";
const HOST: &str = "legation";

/// The entry, without the token.
fn entry(settings: &GithubSettings, endpoint: &Endpoint) -> Value {
    let mut headers = Map::new();
    let mut header = |name: &str, value: &str| {
        headers.insert(name.to_owned(), value.into());
    };
    header(HOST_HEADER, HOST);
    if settings.all_tools {
        header("X-MCP-Toolsets", "all");
    } else {
        header("X-MCP-Readonly", "true");
        if let Some(toolsets) = toolsets(settings) {
            header("X-MCP-Toolsets", &toolsets);
        }
        if !settings.tools.is_empty() {
            header("X-MCP-Tools", &each_once(settings.tools.iter()).join(","));
        }
    }
    if settings.insiders {
        header("X-MCP-Insiders", "true");
    }
    let path = if settings.all_tools {
        "/mcp/"
    } else {
        "/mcp/readonly"
    };
    let markdown = json!({"mode": "markdown", "allowedHosts": endpoint.hosts()});
    let filters: Map<String, Value> = READS_MARKDOWN
        .iter()
        .map(|tool| ((*tool).to_owned(), markdown.clone()))
        .collect();
    json!({
        "type": "http",
        "url": format!("{}{path}", endpoint.origin),
        "headers": headers,
        "displayName": "GitHub",
        "isDefaultServer": true,
        "filterMapping": filters,
    })
}

/// What is wanted beside the usual ones: naming any, or any tool, would leave those out.
fn toolsets(settings: &GithubSettings) -> Option<String> {
    if settings.toolsets.is_empty() && settings.tools.is_empty() {
        return None;
    }
    if settings.toolsets.iter().any(|toolset| **toolset == *"all") {
        return Some("all".to_owned());
    }
    let usual: Box<str> = "default".into();
    let all = std::iter::once(&usual).chain(&settings.toolsets);
    Some(each_once(all).join(","))
}

fn each_once<'a>(names: impl Iterator<Item = &'a Box<str>>) -> Vec<&'a str> {
    let mut each: Vec<&str> = Vec::new();
    for name in names {
        if !each.contains(&&**name) {
            each.push(name);
        }
    }
    each
}

/// Why it is off though nobody switched it off. Another entry of its own name hides it instead.
fn off_because(loaded: &Loaded, around: &Around<'_>, endpoint: &Endpoint) -> Option<Box<str>> {
    let is_other = |one: &&ServerSpec| {
        one.name.as_str() == OTHER_NAME && !matches!(one.source, Source::Workspace { .. })
    };
    if let Some(other) = loaded.servers.iter().find(is_other) {
        return Some(format!("{OTHER_NAME} of {} takes its place", other.source).into());
    }
    if around.settings.builtin == GithubChoice::On {
        return None;
    }
    let mut elsewhere = None;
    for folder in around.folders {
        match repository::site(folder, &endpoint.site) {
            Site::There => return None,
            Site::Elsewhere(host) => {
                elsewhere.get_or_insert_with(|| {
                    format!("the repository of {} is at {host}", folder.display()).into()
                });
            }
            Site::Unknown => {}
        }
    }
    elsewhere
}

/// The first reference that leads to anything, and whether that can be a token.
fn given(settings: &GithubSettings, environment: &Environment) -> Option<(bool, String)> {
    let kept = std::iter::once(format!("keyring:{SECRET}"));
    let named = settings.token_variables.iter();
    let mut names = kept.chain(named.map(|name| name.to_string()));
    names.find_map(|name| {
        let value = environment.lookup(&name)?;
        (!value.is_empty()).then(|| (is_token(&value), name))
    })
}

// === impl Around ===

impl Around<'_> {
    /// The first token there is, or why there is none.
    fn token(&self, endpoint: &Endpoint) -> Result<Found, Box<str>> {
        if let Some((usable, name)) = given(self.settings, self.environment) {
            let shown = match name.strip_prefix("keyring:") {
                Some(secret) => format!("the secret {secret}"),
                None => format!("the variable {name}"),
            };
            return if usable {
                Ok(Found(SecretTemplate::new(&format!("Bearer ${{{name}}}"))))
            } else {
                Err(format!("{shown} holds no token of GitHub's that opens anything").into())
            };
        }
        match self.gh {
            Gh::Token(token) if is_token(token.reveal()) => {
                let header = format!("Bearer {}", escaped(token.reveal()));
                Ok(Found(SecretTemplate::new(&header)))
            }
            Gh::Token(_) => Err("what `gh` says is no token".into()),
            Gh::Without(why) => Err(why.clone()),
            Gh::NotAsked => Err(format!("it was given no token of {}", endpoint.site).into()),
        }
    }
}

impl fmt::Debug for Around<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Around")
            .field("settings", self.settings)
            .field("folders", &self.folders)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
