//! An answer of the authority that is no token.

use std::fmt;

use serde::Deserialize;

use super::{Class, Meaning};
use crate::base::plain;

const DESCRIPTION_MAX: usize = 600;

/// What was being done at the authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Reading the tenant's endpoints.
    Discovery,
    /// Asking for a code.
    DeviceCode,
    /// Waiting for the code to be entered.
    Poll,
    /// Renewing what a person signed in to.
    Refresh,
    /// A token for the application itself.
    ClientCredentials,
    /// A token to act on behalf of a person.
    OnBehalfOf,
    /// The agents' first hop: the blueprint's token for one agent.
    AgentApplication,
    /// The second: the agent's own token.
    AgentIdentity,
    /// The third: a token as the agent's own user.
    AgentUser,
    /// A token for an agent to act on behalf of a person.
    AgentOnBehalfOf,
    /// Renewing an agent's token.
    AgentRefresh,
}

/// An answer of the authority that is no token (RFC 6749 section 5.2, with
/// Entra ID's members).
#[derive(Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What was being done.
    pub step: Step,
    /// The HTTP status.
    pub status: u16,
    /// The protocol's word, such as `invalid_grant`.
    pub error: Box<str>,
    /// The number, such as 65001.
    pub code: Option<u32>,
    /// A second word, such as `consent_required`.
    pub suberror: Box<str>,
    /// The authority's sentence, without the ids it ends in.
    pub description: Box<str>,
    /// What a new sign-in must satisfy, as JSON.
    pub claims: Option<Box<str>>,
    /// For whoever runs the tenant.
    pub trace_id: Box<str>,
    /// For whoever runs the tenant.
    pub correlation_id: Box<str>,
    /// Where to agree, if that is what is missing.
    pub consent_url: Option<Box<str>>,
    meaning: Meaning,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    error: String,
    error_description: String,
    error_codes: Vec<u32>,
    suberror: String,
    claims: Option<String>,
    trace_id: String,
    correlation_id: String,
}

// === impl Step ===

impl Step {
    /// What failed, as the beginning of a sentence.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Discovery => "reading the tenant's endpoints",
            Self::DeviceCode => "asking for a sign-in code",
            Self::Poll => "signing in with the code",
            Self::Refresh => "renewing the sign-in",
            Self::ClientCredentials => "signing in as the application",
            Self::OnBehalfOf => "acting on behalf of the person",
            Self::AgentApplication => "getting the blueprint's token for the agent",
            Self::AgentIdentity => "getting the agent's own token",
            Self::AgentUser => "signing in as the agent's user",
            Self::AgentOnBehalfOf => "acting on behalf of the person as an agent",
            Self::AgentRefresh => "renewing the agent's sign-in",
        }
    }

    pub(super) fn is_agents(self) -> bool {
        matches!(
            self,
            Self::AgentApplication
                | Self::AgentIdentity
                | Self::AgentUser
                | Self::AgentOnBehalfOf
                | Self::AgentRefresh
        )
    }
}

// === impl Refusal ===

impl Refusal {
    /// Reads an answer; one that is not JSON is a refusal without words.
    #[must_use]
    pub fn parse(step: Step, status: u16, body: &[u8]) -> Self {
        let body: Body = serde_json::from_slice(body).unwrap_or_default();
        let code = number(&body.error_description);
        let codes: Vec<u32> = code.into_iter().chain(body.error_codes).collect();
        let meaning = Meaning::of(&codes, &body.error, &body.suberror, status);
        Self {
            step,
            status,
            error: plain(&body.error, 80).into(),
            code: codes.first().copied(),
            suberror: plain(&body.suberror, 80).into(),
            description: sentence(&body.error_description).into(),
            claims: body.claims.map(Into::into),
            trace_id: plain(&body.trace_id, 64).into(),
            correlation_id: plain(&body.correlation_id, 64).into(),
            consent_url: None,
            meaning,
        }
    }

    /// What it means.
    #[must_use]
    pub fn meaning(&self) -> Meaning {
        self.meaning
    }

    /// Its class.
    #[must_use]
    pub fn class(&self) -> Class {
        self.meaning.class(self.step)
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        let hint = self.meaning.hint();
        match &self.consent_url {
            Some(url) if self.meaning == Meaning::NoConsent => {
                format!("{hint} at {url}")
            }
            _ => hint.to_owned(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} was refused", self.step.as_str())?;
        match self.error.is_empty() {
            true => write!(f, " with status {}", self.status)?,
            false => write!(f, ": {}", self.error)?,
        }
        if !self.suberror.is_empty() {
            write!(f, " ({})", self.suberror)?;
        }
        if let Some(code) = self.code {
            write!(f, ", AADSTS{code}")?;
        }
        if !self.description.is_empty() {
            write!(f, ": {}", self.description)?;
        }
        if !self.correlation_id.is_empty() {
            write!(f, " [correlation id {}", self.correlation_id)?;
            if !self.trace_id.is_empty() {
                write!(f, ", trace id {}", self.trace_id)?;
            }
            f.write_str("]")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Refusal({self})")
    }
}

impl std::error::Error for Refusal {}

/// The number in `AADSTS65001: …`.
fn number(description: &str) -> Option<u32> {
    let rest = description.split_once("AADSTS")?.1;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// The sentence without its number and without the ids and the time after it.
fn sentence(description: &str) -> String {
    let text = match description.split_once("AADSTS") {
        Some((_, rest)) => rest.split_once(':').map_or(rest, |(_, text)| text),
        None => description,
    };
    let ids = text.find("Trace ID:").unwrap_or(text.len());
    plain(&text[..ids], DESCRIPTION_MAX)
}
