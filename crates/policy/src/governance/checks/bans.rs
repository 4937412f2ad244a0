//! `hard_bans.json`.

use std::collections::BTreeSet;

use legation_core::EntityId;
use serde_json::Value;

use super::{Around, Findings, is_rule_id};
use crate::governance::bans::{ArgumentTest, BanExample, Fact, HardBan, HardBans, Operator};
use crate::governance::pattern::ToolPattern;

pub(super) fn check(bans: &HardBans, around: &Around<'_>, found: &mut Findings<'_>) {
    let mut ids = BTreeSet::new();
    for (index, ban) in bans.bans.iter().enumerate() {
        let index = index.to_string();
        let at = ["bans", index.as_str()];
        if !is_rule_id(&ban.id) {
            found.refuse(
                &[at[0], at[1], "id"],
                format!("{:?} cannot be the id of a ban", ban.id),
                "Use letters, digits, `.`, `-` and `_`.",
            );
        }
        if !ids.insert(ban.id.as_str()) {
            found.refuse(
                &[at[0], at[1], "id"],
                format!("there are two bans `{}`", ban.id),
                "Give each a name of its own.",
            );
        }
        one(ban, at, around, found);
    }
}

fn one(ban: &HardBan, at: [&str; 2], around: &Around<'_>, found: &mut Findings<'_>) {
    let within = |step| [at[0], at[1], step];
    if ban.because.trim().is_empty() {
        found.refuse(
            &within("because"),
            "a ban without a reason helps nobody it stops",
            "Say why, in one sentence.",
        );
    }
    if ban.when.is_empty() {
        found.refuse(
            &within("when"),
            "a ban without a condition would stop everything",
            "Say when it strikes: tools, arguments, facts or text.",
        );
    }
    if ban.matches.is_empty() {
        found.refuse(
            &at,
            "there is no example of what it stops",
            "Add at least one call to `match`.",
        );
    }
    if ban.no_match.is_empty() {
        found.warn(
            &at,
            "there is no example of what it lets pass",
            "Add a call to `no_match` that is nearly one it stops.",
        );
    }
    conditions(ban, at, around, found);
    for (field, examples) in [("match", &ban.matches), ("no_match", &ban.no_match)] {
        for (index, example) in examples.iter().enumerate() {
            check_example(
                example,
                ban,
                &[at[0], at[1], field, &index.to_string()],
                around,
                found,
            );
        }
    }
}

fn conditions(ban: &HardBan, at: [&str; 2], around: &Around<'_>, found: &mut Findings<'_>) {
    let within = |step| [at[0], at[1], "when", step];
    if let Some(tools) = &ban.when.tools {
        if tools.is_empty() {
            found.refuse(
                &within("tools"),
                "a ban on no tool bans nothing",
                "Leave `tools` out to mean every tool.",
            );
        }
        around.literal_tools(tools, &within("tools"), found);
    }
    for (index, test) in ban.when.arguments.iter().enumerate() {
        if let Err((message, hint)) = argument(test) {
            let [a, b, c, d] = within("arguments");
            found.refuse(&[a, b, c, d, &index.to_string()], message, hint);
        }
    }
    for text in &ban.when.text {
        if text.trim().is_empty() {
            found.refuse(
                &within("text"),
                "an empty text stands in everything",
                "Remove it.",
            );
        }
    }
    for (index, fact) in ban.when.facts.iter().enumerate() {
        let [a, b, c, d] = within("facts");
        check_fact(fact, &[a, b, c, d, &index.to_string()], around, found);
    }
}

fn argument(test: &ArgumentTest) -> Result<(), (String, &'static str)> {
    if !test.pointer.starts_with('/') {
        return Err((
            format!("{:?} is not a JSON pointer", test.pointer),
            "Begin with a slash, as in /to or /items/*/amount.",
        ));
    }
    let op = test.op;
    let Some(value) = &test.value else {
        return if op.takes_value() {
            Err((format!("`{op}` needs a value"), "Add `value`."))
        } else {
            Ok(())
        };
    };
    let fits = match op {
        Operator::Exists | Operator::Absent => false,
        Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge => value.is_number(),
        Operator::In => value.as_array().is_some_and(|list| !list.is_empty()),
        Operator::StartsWith | Operator::EndsWith | Operator::Like => {
            value.as_str().is_some_and(|text| !text.is_empty())
        }
        Operator::Contains => value != &Value::String(String::new()),
        Operator::Eq | Operator::Ne => true,
    };
    if fits {
        Ok(())
    } else {
        Err((
            format!("`{op}` cannot be used with this value"),
            "Numbers for < <= > >=, a list for `in`, a text for starts_with, ends_with and like, \
             and no value for exists and absent.",
        ))
    }
}

fn check_fact(fact: &Fact, place: &[&str], around: &Around<'_>, found: &mut Findings<'_>) {
    match fact {
        Fact::MoneyOver(limit) => {
            if !limit.amount.is_finite() || limit.amount < 0.0 {
                found.refuse(place, "an amount of money is not below zero", "Correct it.");
            }
            if limit
                .pointers
                .iter()
                .any(|pointer| !pointer.starts_with('/'))
            {
                found.refuse(
                    place,
                    "a JSON pointer begins with a slash",
                    "Write /amount, or /items/*/amount.",
                );
            }
        }
        Fact::RecipientNotOn(named) => {
            if let Some(profile) = around.profile
                && !profile.privilege_approved_lists.contains_key(&named.list)
            {
                found.refuse(
                    place,
                    format!(
                        "there is no list `{}` in privilege_approved_lists",
                        named.list
                    ),
                    "Correct the name, or add the list to operator_profile.json.",
                );
            }
        }
        Fact::ForeignRecipient
        | Fact::ExternalRecipient
        | Fact::MixedEntities
        | Fact::UnredactedPhi => {}
    }
}

fn check_example(
    example: &BanExample,
    ban: &HardBan,
    place: &[&str],
    around: &Around<'_>,
    found: &mut Findings<'_>,
) {
    let is_literal = ToolPattern::parse(&example.tool).is_ok_and(|tool| tool.is_literal());
    if !is_literal {
        found.refuse(
            place,
            format!("{:?} is not the name of one tool", example.tool),
            "Write server/tool.",
        );
    }
    if ban.when.output && example.output.is_none() {
        found.refuse(
            place,
            "the ban judges results, and this example has none",
            "Add `output`.",
        );
    }
    let holds: Vec<EntityId> = example
        .holds
        .iter()
        .map(|id| EntityId::new(id.as_str()))
        .collect();
    around.entities(&holds, place, found);
}
