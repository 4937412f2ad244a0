//! Claims: what is asked of a token, and what one says.
//!
//! A token is not verified here. It came over TLS from the authority and is
//! shown to Graph, which verifies it; what it says is read for people and
//! records.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::CP1;
use crate::base::from_base64;

/// What a token says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenClaims {
    /// The user or application it is for.
    pub oid: Option<String>,
    /// The tenant.
    pub tid: Option<String>,
    /// The application that acts.
    pub azp: Option<String>,
    /// `user` or `app`.
    pub idtyp: Option<String>,
    /// The user's name, as people write it.
    pub name: Option<String>,
    /// The user's sign-in name.
    pub upn: Option<String>,
    /// Scopes, for a user.
    pub scopes: Vec<String>,
    /// Roles, for an application.
    pub roles: Vec<String>,
    /// The agent's blueprint. For records only; nothing is decided by it.
    pub blueprint: Option<String>,
    /// Whether an agent acts (11 among `xms_act_fct`).
    pub is_agent: bool,
    /// Whether it is for an agent's own user (13 among `xms_sub_fct`).
    pub is_agent_user: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Payload {
    oid: Option<String>,
    tid: Option<String>,
    azp: Option<String>,
    appid: Option<String>,
    idtyp: Option<String>,
    name: Option<String>,
    upn: Option<String>,
    preferred_username: Option<String>,
    scp: Option<String>,
    roles: Vec<String>,
    xms_act_fct: Option<String>,
    xms_sub_fct: Option<String>,
    xms_par_app_azp: Option<String>,
}

// === impl TokenClaims ===

impl TokenClaims {
    /// Reads a JWT (RFC 7519); a token that is none says nothing.
    #[must_use]
    pub fn of(token: &str) -> Self {
        let payload = token.split('.').nth(1).and_then(from_base64);
        let payload: Payload = payload
            .and_then(|json| serde_json::from_slice(&json).ok())
            .unwrap_or_default();
        let has = |facts: &Option<String>, fact: &str| {
            let facts = facts.as_deref().unwrap_or_default();
            facts.split_ascii_whitespace().any(|one| one == fact)
        };
        let scp = payload.scp.as_deref().unwrap_or_default();
        Self {
            is_agent: has(&payload.xms_act_fct, "11"),
            is_agent_user: has(&payload.xms_sub_fct, "13"),
            scopes: scp.split_ascii_whitespace().map(str::to_owned).collect(),
            oid: payload.oid,
            tid: payload.tid,
            azp: payload.azp.or(payload.appid),
            idtyp: payload.idtyp,
            name: payload.name,
            upn: payload.upn.or(payload.preferred_username),
            roles: payload.roles,
            blueprint: payload.xms_par_app_azp,
        }
    }
}

/// What we always declare, with what a challenge asks for.
pub(crate) fn merge(challenge: Option<&str>) -> String {
    let Some(Value::Object(asked)) = challenge.and_then(|text| serde_json::from_str(text).ok())
    else {
        return CP1.to_owned();
    };
    let mut all: Map<String, Value> = serde_json::from_str(CP1).unwrap_or_default();
    merge_into(&mut all, asked);
    Value::Object(all).to_string()
}

fn merge_into(all: &mut Map<String, Value>, more: Map<String, Value>) {
    for (name, value) in more {
        match (all.get_mut(&name), value) {
            (Some(Value::Object(inner)), Value::Object(value)) => merge_into(inner, value),
            (_, value) => {
                all.insert(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::base64url;

    #[test]
    fn a_challenge_is_merged_with_what_is_declared() {
        let cp1 = r#""xms_cc":{"values":["cp1"]}"#;
        for (challenge, merged) in [
            (None, format!(r#"{{"access_token":{{{cp1}}}}}"#)),
            (Some("not json"), format!(r#"{{"access_token":{{{cp1}}}}}"#)),
            (
                Some(r#"{"access_token":{"nbf":{"essential":true,"value":"1700"}}}"#),
                format!(
                    r#"{{"access_token":{{{cp1},"nbf":{{"essential":true,"value":"1700"}}}}}}"#
                ),
            ),
            (
                Some(r#"{"id_token":{"acrs":{"value":"c1"}}}"#),
                format!(r#"{{"access_token":{{{cp1}}},"id_token":{{"acrs":{{"value":"c1"}}}}}}"#),
            ),
        ] {
            assert_eq!(merge(challenge), merged);
        }
    }

    #[test]
    fn a_token_says_who_acts() {
        let payload = r#"{"oid":"o","appid":"a","scp":"Chat.Create Chat.ReadWrite","xms_act_fct":"9 11 3","xms_sub_fct":"13","xms_par_app_azp":"b","new":1}"#;
        let token = format!("e30.{}.sig", base64url(payload.as_bytes()));
        let claims = TokenClaims::of(&token);
        assert_eq!(claims.oid.as_deref(), Some("o"));
        assert_eq!(claims.azp.as_deref(), Some("a"));
        assert_eq!(claims.scopes, ["Chat.Create", "Chat.ReadWrite"]);
        assert!(claims.is_agent && claims.is_agent_user);
        assert_eq!(TokenClaims::of("opaque"), TokenClaims::default());
    }
}
