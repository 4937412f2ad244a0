//! The hub's sign-ins at servers.

use std::sync::Arc;

use legation_cli::Output;
use legation_cli::accounts::{keep_in, secrets};
use legation_config::Environment;
use legation_core::net::SystemLookup;
use legation_core::{SharedClock, TaskSet};
use legation_net::proxy::Proxies;
use legation_oauth::fetch::Web;
use legation_oauth::{News, OAuth, OAuthParts};
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::sync::broadcast::error::RecvError;

use super::HubOptions;
use super::console::EventLog;
use super::hub::Inner;

/// Sign-ins that are kept with the other secrets of the data directory.
pub(super) fn of(options: &HubOptions, clock: &SharedClock) -> Arc<OAuth> {
    let (home, keep) = (options.home.clone(), keep_in(&options.settings));
    let place = home.secrets();
    let open = move || {
        let store = secrets(&home, keep)?;
        if let Some(text) = store.announcement() {
            // Whoever started the hub hears it; a detached hub has only its log.
            Output::new(false).say(&text);
            tracing::warn!("{text}");
        }
        Ok(Arc::new(store))
    };
    OAuth::new(OAuthParts {
        fetch: Arc::new(web(&options.environment)),
        open: Box::new(open),
        is_there: Box::new(move || place.exists()),
        clock: clock.clone(),
        runtime: Handle::current(),
    })
}

/// What asks for documents and tokens, by way of the environment's proxies.
pub(super) fn web(environment: &Environment) -> Web {
    let proxies = Proxies::of_environment(|name| environment.get(name));
    Web::new(Arc::new(SystemLookup::default()), proxies)
}

/// `mcp.oauth_required`, for those who look on.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Required<'a> {
    server_name: &'a str,
    server_url: &'a str,
}

/// `mcp.oauth_completed`, for those who look on.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Completed<'a> {
    server_name: &'a str,
    success: bool,
}

/// Tells the log and those who look on what happens to sign-ins.
pub(super) fn watch(tasks: &TaskSet, inner: &Inner) {
    let mut news = inner.oauth.news();
    let happened = Arc::clone(&inner.happened);
    tasks.spawn("sign-ins", async move {
        loop {
            match news.recv().await {
                Ok(news) => tell(&happened, &news),
                Err(RecvError::Lagged(missed)) => {
                    happened.note_gap("sign-ins moved on faster than they were told", missed);
                }
                Err(RecvError::Closed) => return,
            }
        }
    });
}

/// Why somebody could not sign in may be an authorization server's words, so only the log has it.
fn tell(happened: &EventLog, news: &News) {
    match news {
        News::Required {
            server,
            url,
            client_id,
        } => {
            tracing::info!(event = "mcp.oauth_required", %server, url, client_id, "somebody has to sign in: `legation mcp auth {server}`");
            let required = Required {
                server_name: server.as_str(),
                server_url: url,
            };
            happened.note("mcp.oauth_required", &required);
        }
        News::Completed { server, failure } => {
            match failure {
                None => {
                    tracing::info!(event = "mcp.oauth_completed", %server, "somebody signed in");
                }
                Some(why) => {
                    tracing::warn!(event = "mcp.oauth_completed", %server, why, "nobody signed in");
                }
            }
            let completed = Completed {
                server_name: server.as_str(),
                success: failure.is_none(),
            };
            happened.note("mcp.oauth_completed", &completed);
        }
    }
}

#[cfg(test)]
mod tests;
