//! `legation permissions explain`.

use std::path::PathBuf;

use clap::Args;
use legation_api::governance::{Decide, DecideAnswer, Layer};
use legation_config::clients::OWNER;
use legation_core::context::{Principal, Via};
use legation_core::{ClientId, EntityId, EntityLabels, SeatId};
use legation_policy::{Arguments, GrantIndex, Inquiry, Origin, PinState, Policy, Verdict};

use super::target::{Described, Targets};
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

pub(super) fn cmd_explain(context: &Context, args: &ExplainArgs) -> Result<(), CliError> {
    let folders: Vec<PathBuf> = args
        .folder
        .clone()
        .or_else(|| std::env::current_dir().ok())
        .into_iter()
        .collect();
    let request = Decide {
        call: args.call.clone(),
        arguments: args.arguments.clone(),
        client: Some(args.client.clone()),
        entity: args.entity.clone(),
    };
    let answer = decided(context, &request, &folders)?;
    context.output.result(&answer, render)?;
    if answer.outcome == Verdict::Denies.as_str() {
        let mut error = CliError::new(Exit::Refused, "the call would be refused");
        error.rule = Some(answer.rule);
        return Err(error);
    }
    Ok(())
}

/// What the rules of the files would answer to a call of a client in these folders.
///
/// # Errors
/// When there is no such server, or the arguments are no object.
pub fn decided(
    context: &Context,
    request: &Decide,
    folders: &[PathBuf],
) -> Result<DecideAnswer, CliError> {
    let targets = Targets::read(context);
    let mut described = targets.named(&request.call)?;
    if let Some(entity) = &request.entity {
        described.target.entity = Some(EntityId::new(entity.as_str()));
    }
    let arguments = match request.arguments.as_str() {
        "" => "{}",
        given => given,
    };
    if !serde_json::from_str::<serde_json::Value>(arguments).is_ok_and(|one| one.is_object()) {
        return Err(CliError::new(
            Exit::Usage,
            "the arguments are no JSON object",
        ));
    }
    let sources = crate::sources(&context.home, &context.environment, folders);
    let policy = Policy::load(&sources, &targets.seen.known(context));
    let arguments = Arguments::new(arguments);
    let explanation = policy.explain(
        &Inquiry {
            principal: &Principal {
                client: ClientId::new(request.client.as_deref().unwrap_or(OWNER)),
                via: Via::Socket,
            },
            on_behalf_of: None,
            seat: &SeatId::new("explain"),
            workspace: folders.first().map(PathBuf::as_path),
            labels: &EntityLabels::none(),
            arguments: Some(&arguments),
            sent_to: None,
            unredacted_phi: None,
            confidence: None,
            certified: false,
            grants: &GrantIndex::none(),
            now_ms: context.clock.wall().0,
        },
        &described.target,
    );
    let layers = explanation.steps.iter().map(|step| Layer {
        layer: step.layer.as_str().to_owned(),
        verdict: step.verdict.as_str().to_owned(),
        rule: step
            .rule
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        reason: step.reason.to_string(),
    });
    Ok(DecideAnswer {
        outcome: explanation.outcome.as_str().to_owned(),
        rule: explanation.rule.to_string(),
        rung: explanation.rung.to_string(),
        reason_code: explanation.reason_code.map(|code| code.as_str().to_owned()),
        definition: definition(&targets, &described).to_owned(),
        layers: layers.collect(),
    })
}

fn render(answer: &DecideAnswer) -> String {
    let mut table = Table::new(&["LAYER", "VERDICT", "RULE", "REASON"]);
    for one in &answer.layers {
        table.row([
            one.layer.clone(),
            one.verdict.clone(),
            one.rule.clone(),
            one.reason.clone(),
        ]);
    }
    let told = match answer.outcome.as_str() {
        "denies" => "refused",
        "asks" => "a person is asked",
        _ => "allowed",
    };
    let rung = match answer.outcome.as_str() {
        "denies" => String::new(),
        _ => format!(", as far as {}", answer.rung),
    };
    format!(
        "{}{} by the rule {}{rung}\ndefinition: {}\n",
        table.render(),
        told,
        answer.rule,
        answer.definition
    )
}

/// How the definition stands, in words; the pins' layer decides by it.
fn definition(targets: &Targets, described: &Described) -> &'static str {
    let target = &described.target;
    match target.pin {
        _ if target.origin == Origin::Builtin => "part of the hub",
        _ if targets.seen.unasked.is_some() => "not known: the hub cannot be asked",
        _ if !described.seen => "never seen; what is new is asked about",
        PinState::Approved => "approved",
        PinState::New => "new: nobody has looked at it",
        PinState::Changed => "changed since it was approved: not offered until it is reviewed",
        PinState::Quarantined => "quarantined: not offered until it is reviewed",
    }
}
