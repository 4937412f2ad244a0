//! `identity`: who the agent is. It signs in, says as whom it acts, and ends
//! that again; it never makes an identity.

mod bootstrap;
mod flow;

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_core::{EntityId, OpContext, Wall};
use legation_entra::account::{Revoked, WhoAmI};
use legation_entra::{Account, Accounts};
use legation_gate::policy::NativeTool;
use legation_gate::{Outcome, Peer, TaskWish, Unresolved};
use legation_wire::json::Object;
use serde::Serialize;

use crate::accounts::{self, Failure};
use crate::native::READS;
use crate::{Native, Tool, Unread};

use flow::Flows;

/// The server.
pub struct Identity {
    accounts: Arc<Accounts>,
    flows: Arc<Flows>,
    unread: Option<Arc<dyn Unread>>,
}

/// Who acts, as agents read it.
#[derive(Serialize)]
struct Who {
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
    expires_in_s: u64,
    /// Messages of the inbox that the client has not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<u64>,
}

/// What was ended.
#[derive(Serialize)]
struct Ended {
    account: String,
    /// The sign-ins that were kept and are no more.
    forgotten: Vec<&'static str>,
    /// Whether a sign-in that waited for a person was called off.
    called_off: bool,
    /// What became of the sessions of the agent's own user.
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<Sessions>,
}

/// What became of sessions at the tenant.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Sessions {
    Ended,
    NotEnded(Failure),
}

pub(crate) const NAME: &str = "identity";

const ONE_ACCOUNT: &str = r#"{"type":"object","properties":{"account":{"type":"string","minLength":1,"maxLength":32,"description":"The account; needed only where there are several"}},"additionalProperties":false}"#;

const CHANGES: NativeTool = NativeTool {
    changes: true,
    drafts: false,
};

pub(crate) const TOOLS: &[Tool] = &[
    Tool {
        name: "bootstrap",
        title: "Sign in",
        description: "Signs you in with your own identity and returns your agent id, sponsor, attribution, scopes and expiry. Call it once at the start. It asks Microsoft Graph for Chat.Create, Chat.ReadWrite and Presence.ReadWrite and nothing more. Where a person has to agree first, it asks them, or returns status `pending` with a code and a link: show both to your user, then call it again.",
        input: ONE_ACCOUNT,
        reads: false,
        facts: CHANGES,
    },
    Tool {
        name: "whoami",
        title: "Say who you are",
        description: "Returns as whom you act: agent id, sponsor, attribution, scopes and when the token expires.",
        input: ONE_ACCOUNT,
        reads: true,
        facts: READS,
    },
    Tool {
        name: "refresh",
        title: "Renew the token",
        description: "Renews your token before its time. Tokens are renewed by themselves when they are about to expire.",
        input: ONE_ACCOUNT,
        reads: false,
        facts: CHANGES,
    },
    Tool {
        name: "revoke",
        title: "Sign out",
        description: "Forgets your tokens and sign-ins, for when your user says stop. Sessions are ended at the tenant only for the agent's own user, never for a person.",
        input: ONE_ACCOUNT,
        reads: false,
        facts: CHANGES,
    },
];

// === impl Identity ===

impl Identity {
    /// The server of these accounts.
    #[must_use]
    pub fn new(accounts: Arc<Accounts>) -> Self {
        Self {
            accounts,
            flows: Arc::default(),
            unread: None,
        }
    }

    /// Has `whoami` say how many messages wait for the caller.
    #[must_use]
    pub fn with_unread(mut self, unread: Arc<dyn Unread>) -> Self {
        self.unread = Some(unread);
        self
    }
}

impl Native for Identity {
    fn name(&self) -> &'static str {
        NAME
    }

    fn instructions(&self) -> Option<&'static str> {
        Some(
            "bootstrap signs you in with an identity of your own; call it once before anything that acts as you. A pending sign-in returns a code and a link: show them to your user, then call bootstrap again.",
        )
    }

    fn tools(&self) -> &[Tool] {
        TOOLS
    }

    fn entity(&self, _tool: &str, arguments: &Object) -> Result<Option<EntityId>, Unresolved> {
        accounts::entity(&self.accounts, arguments)
    }

    fn call(
        &self,
        context: OpContext,
        tool: &'static str,
        arguments: Object,
        _wish: TaskWish,
        peer: Arc<dyn Peer>,
    ) -> BoxFuture<'static, Outcome> {
        let (all, flows) = (Arc::clone(&self.accounts), Arc::clone(&self.flows));
        let inbox = self.unread.clone();
        Box::pin(async move {
            let account = match accounts::pick(&all, &arguments).await {
                Ok(account) => account,
                Err(failure) => return failure.outcome(),
            };
            match tool {
                "bootstrap" => bootstrap::bootstrap(&context, &account, &flows, &peer).await,
                "refresh" => accounts::outcome(refresh(&context, &account).await),
                "revoke" => accounts::outcome(revoke(&context, &account, &flows).await),
                _ => {
                    let mut who = whoami(&context, &account).await;
                    if let (Ok(who), Some(inbox)) = (&mut who, inbox) {
                        who.unread = Some(inbox.unread(&context.caller));
                    }
                    accounts::outcome(who)
                }
            }
        })
    }

    fn read(&self, _context: OpContext, _uri: &'static str) -> BoxFuture<'static, Outcome> {
        // There is none to read.
        let outcome = crate::failed("this server has no resources");
        Box::pin(std::future::ready(outcome))
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Identity").field(&self.accounts).finish()
    }
}

async fn whoami(context: &OpContext, account: &Account) -> Result<Who, Failure> {
    accounts::ready(context, account).await?;
    let who = account.whoami(context).await;
    who.map(|who| Who::of(who, account.now()))
        .map_err(|error| Failure::from(&error))
}

async fn refresh(context: &OpContext, account: &Account) -> Result<Who, Failure> {
    // Without a token there is nothing to renew yet; the first is new.
    let known = account.known().is_some();
    accounts::ready(context, account).await?;
    let who = match known {
        true => account.refresh(context).await,
        false => account.whoami(context).await,
    };
    who.map(|who| Who::of(who, account.now()))
        .map_err(|error| Failure::from(&error))
}

async fn revoke(context: &OpContext, account: &Account, flows: &Flows) -> Result<Ended, Failure> {
    let called_off = flows.call_off(account.name()).await;
    let revoked = account.revoke(context, true).await;
    let Revoked {
        forgotten,
        sessions,
    } = revoked.map_err(|error| Failure::from(&error))?;
    Ok(Ended {
        account: account.name().to_owned(),
        forgotten,
        called_off,
        sessions: sessions.map(|sessions| match sessions {
            Ok(()) => Sessions::Ended,
            Err(error) => Sessions::NotEnded(Failure::from(&error)),
        }),
    })
}

// === impl Who ===

impl Who {
    fn of(who: WhoAmI, now: Wall) -> Self {
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
            expires_in_s: seconds_until(who.expires, now),
            unread: None,
        }
    }
}

fn seconds_until(then: Wall, now: Wall) -> u64 {
    u64::try_from(then.0 - now.0).map_or(0, |ms| ms / 1000)
}
