//! Which records: the flags that `query`, `export` and `tail` share.

use clap::Args;
use legation_api::audit::Filter;
use legation_core::Wall;

use crate::{CliError, Context, Exit};

/// Which records are wanted.
#[derive(Debug, Default, Args)]
pub(super) struct FilterArgs {
    /// Recorded since then: a time, a date, or so long ago, like 15m, 2h or 7d.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Recorded before then.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// In the chain of this entity.
    #[arg(long)]
    entity: Option<String>,
    /// By this client.
    #[arg(long)]
    client: Option<String>,
    /// To this server.
    #[arg(long)]
    server: Option<String>,
    /// Of this tool, resource or prompt; SERVER/NAME names both.
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Under the identity of this agent, by its id.
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// With this attribution: `agent_user`, `agent_for_human`, `application_for_human` or none.
    #[arg(long, value_name = "WORD")]
    attribution: Option<String>,
    /// That ended so: ok, `tool_error`, error, refused, cancelled, timeout, unknown, …
    #[arg(long)]
    status: Option<String>,
    /// Refused for this reason, by its code.
    #[arg(long, value_name = "CODE")]
    reason: Option<String>,
    /// Decided by this rule.
    #[arg(long, value_name = "ID")]
    rule: Option<String>,
    /// About this call.
    #[arg(long, value_name = "ID")]
    call: Option<String>,
    /// Of this kind: intent, outcome, refused or note.
    #[arg(long)]
    kind: Option<String>,
    /// Of this event, for what is no call: `APPROVAL_DENIED`, …
    #[arg(long, value_name = "EVENT")]
    topic: Option<String>,
}

// === impl FilterArgs ===

impl FilterArgs {
    pub(super) fn to_filter(&self, context: &Context) -> Result<Filter, CliError> {
        let now = context.clock.wall();
        let time = |text: &Option<String>| {
            let text = text.as_deref();
            text.map(|text| time(text, now)).transpose()
        };
        let tool = self.tool.as_deref();
        let (server, item) = match tool.and_then(|tool| tool.split_once('/')) {
            // A resource's URI has slashes of its own.
            Some((server, item)) if !server.is_empty() && !server.contains(':') => {
                (Some(server), Some(item))
            }
            _ => (None, tool),
        };
        Ok(Filter {
            from_ms: time(&self.since)?,
            until_ms: time(&self.until)?,
            entity: self.entity.clone(),
            seq: None,
            kind: self.kind.clone(),
            call: self.call.clone(),
            client: self.client.clone(),
            server: self.server.clone().or(server.map(str::to_owned)),
            agent_id: self.agent.clone(),
            attribution: self.attribution.clone(),
            item: item.map(str::to_owned),
            rule: self.rule.clone(),
            status: self.status.clone(),
            reason_code: self.reason.clone(),
            topic: self.topic.clone(),
        })
    }
}

/// A time in milliseconds since 1970.
pub(super) fn time(text: &str, now: Wall) -> Result<i64, CliError> {
    let ago = text.len().checked_sub(1).and_then(|end| {
        let (number, unit) = text.split_at_checked(end)?;
        let unit_ms = match unit {
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        number.parse::<i64>().ok()?.checked_mul(unit_ms)
    });
    let at = match ago {
        Some(ago) if ago >= 0 => Some(now.0.saturating_sub(ago)),
        _ => Wall::parse(text).map(|wall| wall.0),
    };
    at.ok_or_else(|| {
        CliError::new(
            Exit::Usage,
            format!("{text:?} is no time; nothing was read"),
        )
        .with_hint("write 2026-11-21, 2026-11-21T10:00:00Z, or so long ago: 15m, 2h, 7d")
    })
}
