//! The model that the demo delegates to: one that runs on this machine, else a stand-in that
//! knows one task by heart and says that it is none.

mod stand_in;

use std::fmt;

use legation_cli::{CliError, Exit, Output};
use legation_core::error::chain;
use legation_core::{Caller, Cancel, ClientId, OpContext, Principal, SeatId, SharedClock, Via};
use legation_models::{Endpoint, Limits, LocalServer, ModelClient};
use serde_json::{Value, json};

use self::stand_in::StandIn;
use super::client::DemoClient;
use super::tour::hub_error;

/// How often the demo looks after its task, and the pause before each look.
const LOOKS: usize = 40;
const LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(250);

/// Where tasks go.
pub(super) struct DemoModel {
    /// What people are told.
    pub(super) about: String,
    pub(super) endpoint: String,
    /// The model, where the server has several.
    pub(super) model: Option<String>,
    is_stand_in: bool,
    /// Until the demo ends.
    _stand_in: Option<StandIn>,
}

// === impl DemoModel ===

impl DemoModel {
    /// The model server at a place, else one of this machine that can call tools, else the stand-in.
    pub(super) async fn find_or_stand_in(
        clock: SharedClock,
        place: Option<&str>,
    ) -> Result<Self, CliError> {
        let client = ModelClient::new(clock, Limits::default());
        let caller = Caller {
            principal: Principal {
                client: ClientId::new("owner"),
                via: Via::Admin,
            },
            seat: SeatId::new("demo"),
            workspace: None,
        };
        let context = OpContext::new(caller, Cancel::new());
        if let Some(place) = place {
            let server = named(&client, &context, place).await?;
            let at = format!("{}, {}", server.kind.as_str(), server.endpoint);
            return Self::of(&server, &at).ok_or_else(|| {
                let message = format!("{place} has no model of its own that can call tools");
                CliError::new(Exit::Failed, message)
                    .with_hint("leave --model-server away, and the demo's stand-in does the work")
            });
        }
        for server in LocalServer::find(&client, &context).await {
            let at = format!("{} on this machine", server.kind.as_str());
            if let Some(found) = Self::of(&server, &at) {
                return Ok(found);
            }
        }
        let stand_in = StandIn::start()
            .await
            .map_err(|error| CliError::new(Exit::Failed, format!("the stand-in: {error}")))?;
        Ok(Self {
            about: "the demo's built-in stand-in, which is no model and knows this one task"
                .to_owned(),
            endpoint: stand_in.endpoint(),
            model: None,
            is_stand_in: true,
            _stand_in: Some(stand_in),
        })
    }

    /// The first model of a server that can be used; what is handed on to another machine is not the
    /// demo's to use.
    fn of(server: &LocalServer, at: &str) -> Option<Self> {
        let mut models = server.models.iter();
        let model = models.find(|one| one.tools != Some(false) && one.elsewhere.is_none())?;
        Some(Self {
            about: format!("{} at {at}", model.name),
            endpoint: server.endpoint.to_string(),
            model: Some(model.name.clone()),
            is_stand_in: false,
            _stand_in: None,
        })
    }

    /// What of it stands in the governance file of models.
    pub(super) fn configure(&self, file: &str) -> Result<String, CliError> {
        let mut models: Value =
            serde_json::from_str(file).map_err(|error| CliError::failed(&error))?;
        models["default_provider"] = json!("local_model");
        let local = &mut models["providers"]["local_model"];
        local["enabled"] = json!(true);
        local["endpoint"] = json!(self.endpoint);
        if let Some(model) = &self.model {
            local["default_model"] = json!(model);
        }
        serde_json::to_string_pretty(&models).map_err(|error| CliError::failed(&error))
    }

    /// What the tour says of it.
    pub(super) fn story(&self) -> ModelStory {
        ModelStory {
            about: self.about.clone(),
            is_stand_in: self.is_stand_in,
        }
    }
}

impl fmt::Debug for DemoModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DemoModel")
            .field("about", &self.about)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

/// The server that the owner named.
async fn named(
    client: &ModelClient,
    context: &OpContext,
    place: &str,
) -> Result<LocalServer, CliError> {
    let endpoint = Endpoint::parse(place).map_err(|error| CliError::usage(&error))?;
    let server = LocalServer::at(client, context, &endpoint, None).await;
    let server = server.map_err(|error| {
        let message = format!("{place}: {}", chain(&error));
        CliError::new(Exit::NotReachable, message).with_hint(error.hint())
    })?;
    server.ok_or_else(|| {
        let message = format!("what answers at {place} is no model server");
        CliError::new(Exit::NotReachable, message)
    })
}

/// Which model it is, for the tour.
#[derive(Debug, Clone)]
pub(super) struct ModelStory {
    pub(super) about: String,
    is_stand_in: bool,
}

/// An agent hands work to the model and looks after it.
pub(super) fn delegate(
    out: Output,
    client: &mut DemoClient,
    folder: &std::path::Path,
    model: &ModelStory,
) -> Result<Value, CliError> {
    out.say("\n9. It hands work to a model on this machine");
    out.say(&format!("   the model: {}", model.about));
    let message = stand_in::TASK;
    let handed = call(
        client,
        "delegate-chat",
        json!({"message": message, "hint": "general"}),
    )?;
    let id = handed["task_id"].as_str().unwrap_or_default().to_owned();
    out.say(&format!(
        "   delegate-chat {message:?}\n     → {id}, {}",
        handed["status"]
    ));
    let mut last = handed;
    for _ in 0..LOOKS {
        let status = last["status"].as_str().unwrap_or_default();
        if !matches!(status, "queued" | "in_progress" | "preempted") {
            break;
        }
        std::thread::sleep(LOOK_EVERY);
        last = call(client, "delegate-poll_task", json!({"task_id": id}))?;
    }
    for made in last["tool_calls"].as_array().into_iter().flatten() {
        let about = made["path"].as_str().or(made["command"].as_str());
        out.say(&format!(
            "     it calls {} {}: {}",
            made["tool"].as_str().unwrap_or("?"),
            about.unwrap_or_default(),
            made["status"].as_str().unwrap_or("?"),
        ));
    }
    let said = last["response"].as_str().or(last["error"].as_str());
    out.say(&format!(
        "   delegate-poll_task\n     → {}: {}",
        last["status"].as_str().unwrap_or("?"),
        said.unwrap_or("it goes on"),
    ));
    let written = std::fs::read_to_string(folder.join(stand_in::FILE)).ok();
    if let Some(written) = &written {
        out.say(&format!(
            "     {} holds {:?}",
            stand_in::FILE,
            written.trim()
        ));
    }
    // Of a real model anything may come; the stand-in has one way.
    if model.is_stand_in && (last["status"] != "completed" || written.is_none()) {
        return Err(CliError::new(
            Exit::Failed,
            format!("the task was not done: {last}"),
        ));
    }
    Ok(json!({
        "model": model.about,
        "stand_in": model.is_stand_in,
        "status": last["status"],
        "task_id": id,
    }))
}

fn call(client: &mut DemoClient, name: &str, arguments: Value) -> Result<Value, CliError> {
    let params = json!({"name": name, "arguments": arguments});
    let mut result = client
        .call("tools/call", params)?
        .map_err(|error| hub_error(&error))?;
    let answer = result["structuredContent"].take();
    if result["isError"] == json!(true) || !answer.is_object() {
        let said = result["content"][0]["text"].as_str().unwrap_or("no answer");
        return Err(CliError::new(Exit::Failed, format!("{name}: {said}")));
    }
    Ok(answer)
}
