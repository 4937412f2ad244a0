//! `output_contracts.json`.

use std::collections::BTreeSet;

use legation_core::EntityLabels;

use super::{Around, Findings, is_rule_id};
use crate::governance::contracts::{OutputContract, OutputContracts};

pub(super) fn check(all: &OutputContracts, around: &Around<'_>, found: &mut Findings<'_>) {
    if !all.audiences.contains_key(&all.default_audience) {
        found.refuse(
            &["default_audience"],
            format!("there is no audience `{}`", all.default_audience),
            "Correct the name, or add the audience.",
        );
    }
    let mut ids = BTreeSet::new();
    for (index, contract) in all.contracts.iter().enumerate() {
        let index = index.to_string();
        let at = ["contracts", index.as_str()];
        if !is_rule_id(&contract.id) || !ids.insert(contract.id.as_str()) {
            found.refuse(
                &[at[0], at[1], "id"],
                format!("{:?} is no name of its own for a contract", contract.id),
                "Use letters, digits, `.`, `-` and `_`, and each name once.",
            );
        }
        for audience in contract.audiences.iter().flatten() {
            if !all.audiences.contains_key(audience) {
                found.refuse(
                    &[at[0], at[1], "audiences"],
                    format!("there is no audience `{audience}`"),
                    "Correct the name, or add the audience.",
                );
            }
        }
        one(contract, at, around, found);
    }
}

fn one(contract: &OutputContract, at: [&str; 2], around: &Around<'_>, found: &mut Findings<'_>) {
    if contract.demands_nothing() {
        found.refuse(
            &at,
            "the contract demands nothing",
            "Say what a result must hold, or must not.",
        );
    }
    if contract.tools.is_empty() {
        found.refuse(
            &[at[0], at[1], "tools"],
            "a contract for no tool holds for nothing",
            "List tools as server/tool, or `*`.",
        );
    }
    around.literal_tools(&contract.tools, &[at[0], at[1], "tools"], found);
    if let Some(entities) = &contract.entities {
        around.entities(entities.named(), &[at[0], at[1], "entities"], found);
    }
    for (index, fixture) in contract.golden_fixtures.iter().enumerate() {
        let breach = contract.breach(&fixture.text, &EntityLabels::none(), false);
        if breach.is_none() != fixture.passes {
            let said = breach.map_or_else(
                || "nothing is wrong with it".to_owned(),
                |why| why.to_string(),
            );
            found.refuse(
                &[at[0], at[1], "golden_fixtures", &index.to_string()],
                format!("the contract does not treat this text as it should: {said}"),
                "Correct the contract or the fixture.",
            );
        }
    }
}
