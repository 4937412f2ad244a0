//! `[oauth]`: an authorization server whose tokens open the HTTP front.

use legation_core::COPILOT;

use super::layers::{Value, Values};
use crate::clients;

/// Longest scope, and longest name of somebody.
const WORD_MAX: usize = 256;

/// Whose tokens open the HTTP front, and as whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontOAuth {
    /// `issuer`.
    pub issuer: Box<str>,
    /// `audience`; `None` for the address that is listened on.
    pub audience: Option<Box<str>>,
    /// `jwks_uri`; `None` for where the issuer says.
    pub jwks_uri: Option<Box<str>>,
    /// `scopes`, each with the client whose rules hold; the first that a token has counts.
    pub scopes: Vec<(Box<str>, Box<str>)>,
    /// `subjects`; everybody where nobody is named.
    pub subjects: Vec<Box<str>>,
}

pub(super) fn read(values: &Values) -> Option<FrontOAuth> {
    let text = |key: &str| match &values[key].value {
        Value::Text(text) if !text.is_empty() => Some(text.as_str()),
        _ => None,
    };
    let texts = |key: &str| match &values[key].value {
        Value::Texts(texts) => texts.as_slice(),
        _ => &[],
    };
    let scopes = texts("oauth.scopes").iter().filter_map(|text| scope(text));
    Some(FrontOAuth {
        issuer: text("oauth.issuer")?.into(),
        audience: text("oauth.audience").map(Into::into),
        jwks_uri: text("oauth.jwks_uri").map(Into::into),
        scopes: scopes
            .map(|(scope, client)| (scope.into(), client.into()))
            .collect(),
        subjects: texts("oauth.subjects")
            .iter()
            .map(|name| name.as_str().into())
            .collect(),
    })
}

/// A scope (RFC 6749, section 3.3) and a client. Nobody who signs in elsewhere is one of the
/// hub's own, or one of those that GitHub vouches for.
pub(super) fn scope(text: &str) -> Option<(&str, &str)> {
    let (scope, client) = text.split_once(": ")?;
    let client = client.trim();
    let is_scope = (1..=WORD_MAX).contains(&scope.len())
        && scope
            .bytes()
            .all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e));
    let is_client = clients::is_id(client) && client != COPILOT;
    (is_scope && is_client).then_some((scope, client))
}

pub(super) fn is_subject(text: &str) -> bool {
    (1..=WORD_MAX).contains(&text.len())
        && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}
