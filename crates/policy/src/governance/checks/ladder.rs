//! `autonomy_ladder.json`.

use std::collections::BTreeMap;

use super::{Around, Findings};
use crate::governance::file;
use crate::governance::json;
use crate::governance::ladder::{AutonomyLadder, Mode};
use crate::governance::template::Template;

pub(super) fn check(ladder: &AutonomyLadder, around: &Around<'_>, found: &mut Findings<'_>) {
    let mut actions: BTreeMap<&str, usize> = BTreeMap::new();
    let mut literal: BTreeMap<&str, (Mode, &str)> = BTreeMap::new();
    for (index, category) in ladder.action_categories.iter().enumerate() {
        let number = index.to_string();
        let within = |step| ["action_categories", number.as_str(), step];
        if actions.insert(&category.action, index).is_some() {
            found.refuse(
                &within("action"),
                format!("there are two categories {:?}", category.action),
                "Give each a name of its own.",
            );
        }
        if category.tools.is_empty() {
            found.warn(
                &within("tools"),
                format!("the category {:?} has no tools", category.action),
                "List them as server/tool, or remove the category.",
            );
        }
        around.tools(&category.tools, &within("tools"), found);
        for tool in category.tools.iter().filter(|tool| tool.is_literal()) {
            let here = (category.mode, category.action.as_str());
            if let Some((mode, action)) = literal.insert(tool.as_str(), here)
                && mode != category.mode
            {
                found.warn(
                    &within("tools"),
                    format!("`{tool}` is in {action:?} too, with another mode"),
                    "The stricter one counts; keep it in one of them.",
                );
            }
        }
        thresholds(ladder, index, found);
    }
    for tool in around.tools.iter().filter(|tool| tool.native_change) {
        let name = format!("{}/{}", tool.server, tool.tool);
        if ladder.category_of(&name).is_none() {
            found.refuse(
                &["action_categories"],
                format!("`{name}` changes something and is in no category"),
                &belongs(ladder, &name),
            );
        }
    }
}

/// Where a tool of the hub's own belongs that came after the file was written: a ladder that does not
/// list it is broken, and whoever is told so wants to know what to write.
fn belongs(ladder: &AutonomyLadder, tool: &str) -> String {
    let shipped = Template::Business.file(file::AUTONOMY_LADDER);
    let shipped = shipped.and_then(|text| json::read::<AutonomyLadder>(text).ok());
    let shipped = shipped.as_ref();
    let category = shipped.and_then(|shipped| shipped.value.category_of(tool));
    let Some(category) = category else {
        return "Add it to the category it belongs to.".to_owned();
    };
    let action = &category.action;
    let mut own = ladder.action_categories.iter();
    if own.any(|own| own.action == *action) {
        return format!("Add \"{tool}\" to the tools of {action:?}.");
    }
    let written = serde_json::json!({
        "action": action, "mode": category.mode.as_str(), "tools": [tool],
    });
    format!("Add it to one of your categories, or this one to \"action_categories\": {written}")
}

fn thresholds(ladder: &AutonomyLadder, index: usize, found: &mut Findings<'_>) {
    let category = &ladder.action_categories[index];
    let number = index.to_string();
    let within = |step| ["action_categories", number.as_str(), step];
    let is_part = |value: f64| (0.0..=1.0).contains(&value);
    if let Some(threshold) = category.confidence_threshold {
        if !is_part(threshold) {
            found.refuse(
                &within("confidence_threshold"),
                "a confidence is between 0 and 1",
                "Correct it.",
            );
        }
        if category.mode != Mode::Autonomous {
            found.warn(
                &within("confidence_threshold"),
                "a confidence decides nothing in a mode that never runs by itself",
                "Remove it, or set the mode to autonomous.",
            );
        }
    }
    if let Some(promotion) = &category.promotion_threshold
        && !is_part(promotion.approval_rate)
    {
        found.refuse(
            &within("promotion_threshold"),
            "an approval rate is between 0 and 1",
            "Correct it.",
        );
    }
}
