//! Which operation a path is.
//!
//! Paths come in several spellings: `users('id')`, `delta()`, `microsoft.graph.delta()`, doubled
//! slashes. They are put into one before they are matched.

use http::Method;

use super::error::Failure;
use super::{Call, Outcome, batch, chats, directory, presence, sign_ins, subscriptions, users};

/// Finds the operation and runs it.
pub(super) fn route(call: Call<'_>) -> Outcome {
    if call.ask.route() == ["oidc", "userinfo"] {
        return users::info(&call);
    }
    let parts = normalised(&call.ask.parts[1..]);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let method = call.ask.method.clone();
    match (&method, parts.as_slice()) {
        (_, ["me" | "users", ..]) => users::route(call, &parts),
        (_, ["chats", rest @ ..]) => chats::route(call, rest),
        (_, ["subscriptions", rest @ ..]) => subscriptions::route(call, rest),
        (&Method::GET, ["subscribedSkus"]) => users::skus(&call),
        (&Method::POST, ["$batch"]) => batch::batch(call),
        (&Method::GET, ["auditLogs", "signIns"]) => sign_ins::list(&call),
        (&Method::POST, ["communications", "getPresencesByUserId"]) => presence::several(&call),
        (
            _,
            [
                "applications"
                | "servicePrincipals"
                | "oauth2PermissionGrants"
                | "organization"
                | "directoryObjects",
                ..,
            ],
        ) => directory::route(call, &parts),
        _ => Err(unknown(&call, &parts)),
    }
}

/// A path that this tenant does not know: reported, and refused as Graph refuses a path that it
/// does not know.
pub(super) fn unknown(call: &Call<'_>, parts: &[&str]) -> Failure {
    call.shared.report().unknown(&format!(
        "{} /{}/{}",
        call.ask.method,
        call.version(),
        parts.join("/")
    ));
    let segment = parts.last().copied().unwrap_or_default();
    if call.ask.method == Method::GET || parts.len() == 1 {
        Failure::bad_request(format!("Resource not found for the segment '{segment}'."))
    } else {
        Failure::new(
            405,
            "Request_BadRequest",
            "Specified HTTP method is not allowed for the request target.",
        )
    }
}

/// One spelling for every path.
fn normalised(parts: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    for part in parts {
        let part = part.strip_prefix("microsoft.graph.").map_or_else(
            || part.clone(),
            |rest| match rest {
                // A cast to a type keeps its name; a function does not.
                "agentIdentity"
                | "agentUser"
                | "agentIdentityBlueprint"
                | "agentIdentityBlueprintPrincipal" => part.clone(),
                _ => rest.to_owned(),
            },
        );
        match part.split_once('(') {
            Some((name, key)) if part.ends_with(')') => {
                out.push(name.to_owned());
                let key = key.trim_end_matches(')').trim_matches('\'');
                if !key.is_empty() {
                    out.push(key.to_owned());
                }
            }
            _ => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::normalised;

    #[test]
    fn spellings_become_one() {
        let one = |path: &str| {
            let parts: Vec<String> = path.split('/').map(str::to_owned).collect();
            normalised(&parts).join("/")
        };
        assert_eq!(
            one("users('a@b.example.com')/presence"),
            "users/a@b.example.com/presence"
        );
        assert_eq!(one("messages/delta()"), "messages/delta");
        assert_eq!(one("messages/microsoft.graph.delta()"), "messages/delta");
        assert_eq!(
            one("servicePrincipals/x/microsoft.graph.agentIdentity/sponsors"),
            "servicePrincipals/x/microsoft.graph.agentIdentity/sponsors"
        );
    }
}
