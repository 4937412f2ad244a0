//! `legation governance explain tool` and `client`.

use legation_api::governance::{ExplainAnswer, Says};
use legation_core::ClientId;
use legation_policy::governance::{Broken, Governance, ToolPattern, file};

use crate::table::printable;
use crate::{CliError, Context, Exit};

/// Operations of a role card that are told one by one.
const OPERATIONS_SHOWN: usize = 8;

pub(super) fn show(context: &Context, answer: &ExplainAnswer) -> Result<(), CliError> {
    context.output.result(answer, |answer| {
        let lines = answer.says.iter();
        lines
            .map(|one| format!("{:<27}{}\n", one.file, printable(&one.says)))
            .collect()
    })
}

/// What the files say of a tool.
///
/// # Errors
/// When it is not named as `server/tool`.
pub fn tool(all: &Governance, tool: &str) -> Result<ExplainAnswer, CliError> {
    let is_tool = ToolPattern::parse(tool).is_ok_and(|pattern| pattern.is_literal());
    if !is_tool {
        return Err(CliError::new(
            Exit::Usage,
            format!("`{}` is not of the form server/tool", printable(tool)),
        ));
    }
    let roles = all.roles.get().map(|cards| {
        let may = cards.roles.iter().filter(|(_, card)| card.may(tool));
        listed(
            may.map(|(name, _)| format!("the role {name} may call it")),
            "no role may call it",
        )
    });
    let ladder = all
        .ladder
        .get()
        .map(|ladder| match ladder.category_of(tool) {
            Some(category) => format!("{} ({})", category.mode.as_str(), category.action),
            None => format!("{} (no category lists it)", ladder.default_mode.as_str()),
        });
    let bans = all.bans.get().map(|bans| {
        let may_strike = bans.bans.iter().filter(|ban| {
            let tools = ban.when.tools.as_ref();
            tools.is_none_or(|tools| tools.iter().any(|pattern| pattern.matches(tool)))
        });
        let words = may_strike.map(|ban| format!("{} ({})", ban.id, ban.because));
        listed(words, "no ban is about it")
    });
    let contracts = all.contracts.get().map(|contracts| {
        let of = contracts
            .contracts
            .iter()
            .filter(|one| one.tools.iter().any(|pattern| pattern.matches(tool)));
        let words = of.map(|one| format!("{} ({})", one.id, one.because));
        listed(words, "no contract is about it")
    });
    let enterprise = all.enterprise.get().map(|policy| match policy.tool(tool) {
        Ok(()) => "allows it".to_owned(),
        Err(block) => block.to_string(),
    });
    let says = vec![
        said("role_cards.json", roles),
        said("autonomy_ladder.json", ladder),
        said("hard_bans.json", bans),
        said("output_contracts.json", contracts),
        said(super::shown(file::ENTERPRISE), enterprise),
    ];
    Ok(ExplainAnswer {
        subject: tool.to_owned(),
        says,
    })
}

/// What the files say of a client.
#[must_use]
pub fn client(all: &Governance, client: &str) -> ExplainAnswer {
    let id = ClientId::new(client);
    let role = all.roles.get().map(|cards| match cards.role_of(&id) {
        Some((name, card)) => {
            let entities = card.entities.as_ref().map(ToString::to_string);
            let entities = match entities.as_deref() {
                None | Some("all") => "every entity".to_owned(),
                Some(entities) => entities.to_owned(),
            };
            let operations: Vec<String> = card.operations.iter().map(ToString::to_string).collect();
            let operations = match operations.as_slice() {
                [all] if all == "*" => "may call every tool that other files allow".to_owned(),
                few if few.len() <= OPERATIONS_SHOWN => format!("may call {}", few.join(", ")),
                many => format!("may call {} tools, see the file", many.len()),
            };
            format!("has the role {name}: {operations}; for {entities}")
        }
        None => "has no role, so it may do nothing".to_owned(),
    });
    let clearance = all.profile.get().map(|profile| {
        let clearance = profile.clearance_of(&id);
        let phi = if clearance.phi {
            "health information included"
        } else {
            "names and numbers of patients redacted"
        };
        let entities = match clearance.entities.to_string().as_str() {
            "all" => "every entity".to_owned(),
            entities => entities.to_owned(),
        };
        format!("sees the data of {entities}, {phi}")
    });
    let audiences = all.contracts.get().map(|contracts| {
        let audiences = contracts.audiences_of(&id).join(", ");
        format!("what it reads is judged for the audience {audiences}")
    });
    let says = vec![
        said("role_cards.json", role),
        said("operator_profile.json", clearance),
        said("output_contracts.json", audiences),
    ];
    ExplainAnswer {
        subject: client.to_owned(),
        says,
    }
}

fn listed(words: impl Iterator<Item = String>, none: &str) -> String {
    let words: Vec<String> = words.collect();
    if words.is_empty() {
        none.to_owned()
    } else {
        words.join("; ")
    }
}

fn said(file: &'static str, says: Result<String, &Broken>) -> Says {
    Says {
        file: file.to_owned(),
        says: says.unwrap_or_else(|broken| format!("denies: {}", broken.reason)),
    }
}
