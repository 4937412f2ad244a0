//! What the commands print.

use std::fmt::Write as _;

use legation_core::error::chain;
use legation_entra::account::{Revoked, WhoAmI};
use legation_entra::{Account, Acting};
use serde::Serialize;

/// Who acts.
#[derive(Serialize)]
pub(super) struct Who {
    account: String,
    entity: String,
    tenant: String,
    agent_id: Option<String>,
    blueprint: Option<String>,
    attribution: &'static str,
    user_id: Option<String>,
    user_name: Option<String>,
    sponsor: Option<String>,
    scopes: Vec<String>,
    expires: String,
    /// Why the agent does not act itself, where it was wanted to.
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback: Option<String>,
}

/// What was forgotten and ended.
#[derive(Serialize)]
pub(super) struct Ended {
    account: String,
    dry_run: bool,
    forgotten: Vec<&'static str>,
    /// `ended`, `would_end`, or what went wrong; absent where there is none to
    /// end from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<String>,
}

// === impl Who ===

impl Who {
    pub(super) fn of(who: WhoAmI, fallback: Option<String>) -> Self {
        Self {
            account: who.account,
            entity: who.entity.to_string(),
            tenant: who.tenant,
            agent_id: who.agent_id,
            blueprint: who.blueprint,
            attribution: who.acting.as_str(),
            user_id: who.user_id,
            user_name: who.user_name,
            sponsor: who.sponsor,
            scopes: who.scopes,
            expires: who.expires.to_string(),
            fallback,
        }
    }

    pub(super) fn text(&self) -> String {
        let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
        let user = match (&self.user_name, &self.user_id) {
            (Some(name), Some(id)) => format!("{name} ({id})"),
            (name, id) => or_none(if name.is_some() { name } else { id }),
        };
        let mut text = String::new();
        for (what, value) in [
            ("account", self.account.clone()),
            ("entity", self.entity.clone()),
            ("tenant", self.tenant.clone()),
            ("agent", or_none(&self.agent_id)),
            ("blueprint", or_none(&self.blueprint)),
            ("acts as", self.attribution.to_owned()),
            ("user", user),
            ("sponsor", or_none(&self.sponsor)),
            ("scopes", self.scopes.join(" ")),
            ("until", self.expires.clone()),
        ] {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{what:<10} {}", crate::table::printable(&value));
        }
        text
    }
}

// === impl Ended ===

impl Ended {
    pub(super) fn of(account: &Account, revoked: Revoked) -> Self {
        Self {
            account: account.name().to_owned(),
            dry_run: false,
            forgotten: revoked.forgotten,
            sessions: revoked.sessions.map(|sessions| match sessions {
                Ok(()) => "ended".to_owned(),
                Err(error) => format!("{}: {}", error.class(), chain(&error)),
            }),
        }
    }

    pub(super) fn planned(account: &Account, kept: Vec<&'static str>) -> Self {
        Self {
            account: account.name().to_owned(),
            dry_run: true,
            forgotten: kept,
            sessions: (account.acting() == Acting::AgentUser).then(|| "would_end".to_owned()),
        }
    }

    pub(super) fn text(&self) -> String {
        let (forgotten, sessions) = match self.dry_run {
            true => (
                "would forget",
                "would end the sessions of the agent's own user\n",
            ),
            false => ("forgot", "ended the sessions of the agent's own user\n"),
        };
        let what = match &self.forgotten[..] {
            [] => "the tokens in memory; no sign-in was kept".to_owned(),
            some => format!("the tokens and the sign-in of: {}", some.join(", ")),
        };
        let mut text = format!("{}: {forgotten} {what}\n", self.account);
        match self.sessions.as_deref() {
            Some("ended" | "would_end") => text.push_str(sessions),
            Some(failed) => {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "the agent's sessions were not ended: {failed}");
            }
            None => {}
        }
        text
    }
}
