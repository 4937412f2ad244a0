//! `legation permissions explain`.

use std::path::PathBuf;

use clap::Args;
use legation_config::servers::Source;
use legation_core::context::{Principal, Via};
use legation_core::{ClientId, EntityId, EntityLabels, SeatId, ServerName};
use legation_policy::governance::native_tools;
use legation_policy::{
    Arguments, GrantIndex, Inquiry, NativeTool, Origin, PinState, Target, Verb, Verdict,
};
use serde::Serialize;

use crate::table::Table;
use crate::{CliError, Context, Exit};

/// Arguments of `legation permissions explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The call, as server/tool.
    call: String,

    /// Its arguments, a JSON object.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    arguments: String,

    /// Who calls.
    #[arg(long, default_value = "owner")]
    client: String,

    /// Whose data the server holds [default: as its entry says].
    #[arg(long)]
    entity: Option<String>,

    /// The folder the client works in.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
struct Answer {
    outcome: &'static str,
    rule: String,
    rung: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason_code: Option<&'static str>,
    layers: Vec<Layer>,
}

#[derive(Debug, Serialize)]
struct Layer {
    layer: &'static str,
    verdict: &'static str,
    rule: String,
    reason: String,
}

pub(super) fn cmd_explain(context: &Context, args: &ExplainArgs) -> Result<(), CliError> {
    let target = target(context, args)?;
    if !serde_json::from_str::<serde_json::Value>(&args.arguments).is_ok_and(|one| one.is_object())
    {
        return Err(CliError::new(
            Exit::Usage,
            "the arguments are no JSON object",
        ));
    }
    let folders: Vec<PathBuf> = args
        .folder
        .clone()
        .or_else(|| std::env::current_dir().ok())
        .into_iter()
        .collect();
    let sources = crate::sources(&context.home, &context.environment, &folders);
    let policy = super::policy(context, &sources);
    let arguments = Arguments::new(&args.arguments);
    let explanation = policy.explain(
        &Inquiry {
            principal: &Principal {
                client: ClientId::new(args.client.as_str()),
                via: Via::Socket,
            },
            on_behalf_of: None,
            seat: &SeatId::new("explain"),
            workspace: folders.first().map(PathBuf::as_path),
            labels: &EntityLabels::none(),
            arguments: Some(&arguments),
            unredacted_phi: None,
            confidence: None,
            certified: false,
            grants: &GrantIndex::none(),
            now_ms: context.clock.wall().0,
        },
        &target,
    );
    let layers = explanation.steps.iter().map(|step| Layer {
        layer: step.layer.as_str(),
        verdict: step.verdict.as_str(),
        rule: step
            .rule
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        reason: step.reason.to_string(),
    });
    let answer = Answer {
        outcome: explanation.outcome.as_str(),
        rule: explanation.rule.to_string(),
        rung: explanation.rung.to_string(),
        reason_code: explanation.reason_code.map(|code| code.as_str()),
        layers: layers.collect(),
    };
    context.output.result(&answer, render)?;
    if explanation.outcome == Verdict::Denies {
        let mut error = CliError::new(Exit::Refused, "the call would be refused");
        error.rule = Some(answer.rule);
        return Err(error);
    }
    Ok(())
}

fn render(answer: &Answer) -> String {
    let mut table = Table::new(&["LAYER", "VERDICT", "RULE", "REASON"]);
    for one in &answer.layers {
        table.row([
            one.layer.to_owned(),
            one.verdict.to_owned(),
            one.rule.clone(),
            one.reason.clone(),
        ]);
    }
    format!(
        "{}{} by {} at rung {}\n",
        table.render(),
        answer.outcome,
        answer.rule,
        answer.rung
    )
}

/// The call as the files describe its server. Pins and agreements lie in the
/// store; a definition is taken to be approved and nobody to have agreed.
fn target(context: &Context, args: &ExplainArgs) -> Result<Target, CliError> {
    let wrong = || {
        let message = format!("{:?} is not of the form server/tool", args.call);
        CliError::new(Exit::Usage, message)
    };
    let (server, item) = args.call.split_once('/').ok_or_else(wrong)?;
    let server = ServerName::parse(server).map_err(|error| CliError::usage(&error))?;
    if item.is_empty() {
        return Err(wrong());
    }
    let servers = super::super::mcp::configured(context).servers;
    let spec = servers.iter().find(|spec| spec.name == server);
    let native = native_tools()
        .into_iter()
        .find(|tool| tool.server == server.as_str() && tool.tool == item);
    let builtin = native_tools()
        .into_iter()
        .any(|tool| tool.server == server.as_str());
    if spec.is_none() && !builtin {
        return Err(
            CliError::new(Exit::Usage, format!("there is no server {server}"))
                .with_hint("`legation mcp list` shows the servers"),
        );
    }
    let origin = match spec.map(|spec| &spec.source) {
        None => Origin::Builtin,
        Some(Source::Workspace { folder, .. }) => {
            Origin::Workspace(folder.display().to_string().into())
        }
        Some(Source::Additional { .. }) => Origin::Additional,
        Some(_) => Origin::User,
    };
    let entity = args.entity.as_deref().map(EntityId::new);
    Ok(Target {
        verb: Verb::CallTool,
        item: item.into(),
        definition: None,
        read_only_hint: false,
        trusted: spec.is_none_or(|spec| spec.trusted),
        origin,
        entity: entity.or_else(|| spec.and_then(|spec| spec.entity.clone())),
        pin: PinState::Approved,
        native: native.map(|tool| NativeTool {
            changes: tool.native_change,
            // None of the servers that this build has leaves drafts.
            drafts: false,
        }),
        fingerprint: None,
        server,
    })
}
