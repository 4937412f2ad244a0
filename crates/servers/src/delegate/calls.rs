//! The tools that look after tasks and the conversation.

use legation_api::tasks::{Class, TaskView};
use legation_core::{Caller, OpContext};
use legation_engine::SessionError;
use legation_gate::Outcome;
use legation_wire::json::{Object, Raw};

use super::arguments::{self, text};
use super::shapes::{Capabilities, History, RateLimit, Reported, Status};
use super::{Delegate, asker, gone, refused};
use crate::{failed, json_result};

/// Entries of a history, where nobody says how many, and at most.
const HISTORY: usize = 20;
const HISTORY_MAX: usize = 200;

// === impl Delegate ===

impl Delegate {
    pub(super) async fn poll(self, caller: Caller, arguments: Object) -> Outcome {
        let id = match text(&arguments, "task_id") {
            Ok(id) => id,
            Err(why) => return failed(&why),
        };
        let Some(engine) = self.shared.view.engine() else {
            return gone();
        };
        match engine.task(&asker(&caller), &id).await {
            Ok(task) => self.shown(&caller, &task),
            Err(error) => refused(&error, error.hint()),
        }
    }

    pub(super) async fn cancel(self, caller: Caller, arguments: Object) -> Outcome {
        let id = match text(&arguments, "task_id") {
            Ok(id) => id,
            Err(why) => return failed(&why),
        };
        let reason = arguments.get("reason").and_then(Raw::to_str);
        let Some(engine) = self.shared.view.engine() else {
            return gone();
        };
        match engine.cancel(&asker(&caller), &id, reason.as_deref()).await {
            Ok(task) => self.shown(&caller, &task),
            Err(error) => refused(&error, error.hint()),
        }
    }

    pub(super) async fn history(self, caller: Caller, arguments: Object) -> Outcome {
        let limit = match arguments.get("limit") {
            None => Some(HISTORY),
            Some(raw) => raw.to_i64().and_then(|limit| usize::try_from(limit).ok()),
        };
        let Some(limit) = limit.filter(|limit| (1..=HISTORY_MAX).contains(limit)) else {
            return failed("`limit` must be a number from 1 to 200; nothing was read");
        };
        let with_tools = arguments.get("include_tool_results");
        let with_tools = with_tools.and_then(Raw::to_bool).unwrap_or(true);
        let Some(engine) = self.shared.view.engine() else {
            return gone();
        };
        let asker = asker(&caller);
        // Reading begins no conversation.
        let (client, folder) = (&caller.principal.client, caller.workspace.as_deref());
        let Some(session) = engine.session_of(client, folder) else {
            return json_result(&History::default());
        };
        let read = engine.history(&asker, &session, (limit, None), with_tools);
        let messages = match read.await {
            Ok(messages) => messages,
            // Nothing was said in no folder by this client.
            Err(SessionError::Unknown { .. }) => Vec::new(),
            Err(error) => return refused(&error, error.hint()),
        };
        let shown: Vec<_> = messages
            .iter()
            .filter(|message| self.holds(&caller, &message.entities))
            .collect();
        json_result(&History {
            session_id: Some(session.as_str()),
            withheld: messages.len() - shown.len(),
            messages: shown.into_iter().map(Into::into).collect(),
        })
    }

    pub(super) async fn capabilities(self, context: OpContext) -> Outcome {
        let Some(engine) = self.shared.view.engine() else {
            return gone();
        };
        let models = self.shared.view.models(&context).await;
        json_result(&Capabilities {
            models,
            tools: self.shared.view.tools(&context),
            max_concurrent_tasks: engine.settings().max_concurrent_tasks,
            rate_limit: RateLimit {
                requests_per_minute: Some(self.shared.limit).filter(|limit| *limit > 0),
            },
        })
    }

    pub(super) async fn report(self, caller: Caller, arguments: Object) -> Outcome {
        let report = match arguments::report(&arguments) {
            Ok(report) => report,
            Err(why) => return failed(&why),
        };
        let Some(engine) = self.shared.view.engine() else {
            return gone();
        };
        match engine.report(&asker(&caller), report).await {
            Ok(report) => json_result(&Reported {
                report_id: &report.id,
                recorded: true,
            }),
            Err(error) => refused(&error, error.hint()),
        }
    }

    pub(super) async fn status(self, context: OpContext) -> Outcome {
        let Some(engine) = self.shared.view.engine() else {
            return gone();
        };
        let mut status = engine.status();
        status.model_loaded = self.shared.view.answers(&context).await;
        let own = context.caller.principal.client.as_str();
        let is_own = |task: &TaskView| task.class == Class::Agent && task.source == own;
        json_result(&Status::of(&status, is_own))
    }
}
