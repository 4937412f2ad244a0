//! The matrix against its golden file, and what has to be in it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use expect_test::expect_file;
use legation_policy::Policy;
use serde_json::Value;

use super::ask::{Ask, Cell};
use super::{cells, world};

/// Lines that read the same, and what they say.
type Lines<'c> = Vec<(String, Vec<&'c str>)>;

/// Consecutive lines and columns with one answer are told once.
fn table(policy: &Policy, cells: &[Cell]) -> String {
    let mut parts: Vec<(&str, Lines<'_>)> = Vec::new();
    for line in cells.chunk_by(|one, other| one.part == other.part && one.line == other.line) {
        let first = &line[0];
        let said = columns(policy, line);
        let at = parts.iter().position(|(part, _)| *part == first.part);
        let at = at.unwrap_or_else(|| {
            parts.push((first.part, Vec::new()));
            parts.len() - 1
        });
        let lines = &mut parts[at].1;
        let actor = |line: &str| line.split(": ").next().map(str::to_owned);
        let same = lines
            .iter_mut()
            .find(|(answer, named)| *answer == said && actor(named[0]) == actor(&first.line));
        match same {
            Some((_, named)) => named.push(&first.line),
            None => lines.push((said, vec![&first.line])),
        }
    }
    let mut text = String::new();
    for (part, lines) in parts {
        writeln!(text, "== {part}").expect("a String takes all");
        for (said, named) in lines {
            let actor = named[0]
                .split_once(": ")
                .map(|(actor, _)| format!("{actor}: "));
            let rest = named[1..].iter().map(|line| match &actor {
                Some(actor) => line.strip_prefix(actor.as_str()).unwrap_or(line),
                None => line,
            });
            let names: Vec<&str> = std::iter::once(named[0]).chain(rest).collect();
            writeln!(text, "{}\n    {said}", names.join(", ")).expect("a String takes all");
        }
    }
    text
}

fn columns(policy: &Policy, line: &[Cell]) -> String {
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for cell in line {
        let answer = cell.answer(policy);
        match said.iter_mut().find(|(known, _)| *known == answer) {
            Some((_, columns)) => columns.push(&cell.column),
            None => said.push((answer, vec![&cell.column])),
        }
    }
    let said: Vec<String> = said
        .into_iter()
        .map(|(answer, columns)| match columns.join(", ") {
            none if none.is_empty() => answer,
            columns => format!("{columns} -> {answer}"),
        })
        .collect();
    said.join("\n    ")
}

#[test]
fn the_example_decides_as_it_is_written_down() {
    let policy = world::load(&world::sources());
    let problems: Vec<String> = policy.problems().iter().map(ToString::to_string).collect();
    let text = format!("{problems:#?}\n{}", table(&policy, &cells::all()));
    expect_file!["matrix.txt"].assert_eq(&text);
}

/// The words of the golden file, which the test above keeps true.
fn words() -> BTreeSet<&'static str> {
    include_str!("matrix.txt")
        .split(|letter: char| letter.is_whitespace() || "[]:,;".contains(letter))
        .collect()
}

#[test]
fn every_rule_ban_rung_and_category_decides_a_cell() {
    let sources = world::sources();
    let policy = world::load(&sources);
    let words = words();
    let mut wanted: Vec<String> = Vec::new();
    let rules = policy.permission_rules().expect("the rules are read");
    // What only reads is no rule's decision but a word of it; the mutants show
    // that each of those rules says it of a cell.
    let deciding = rules.filter(|(_, text, _)| !text.starts_with("reads "));
    wanted.extend(deciding.map(|(id, _, _)| id.to_string()));
    let governance = policy.governance();
    let bans = governance.bans.good().expect("the bans are read");
    wanted.extend(bans.bans.iter().map(|ban| format!("ban.{}", ban.id)));
    let roles = governance.roles.good().expect("the roles are read");
    wanted.extend(roles.roles.keys().map(|role| format!("role.{role}")));
    let contracts = governance.contracts.good().expect("the contracts are read");
    let contracts = contracts.contracts.iter();
    wanted.extend(contracts.map(|contract| format!("contract.{}", contract.id)));
    let ladder = governance.ladder.good().expect("the ladder is read");
    for category in &ladder.action_categories {
        let slug = category.action.to_lowercase().replace([' ', '\''], "-");
        wanted.push(format!("ladder.{slug}"));
    }
    wanted.extend(
        [
            "ladder.default",
            "default.deny",
            "role.none",
            "clearance.client",
        ]
        .map(str::to_owned),
    );
    wanted.extend(
        [
            "pin.new",
            "pin.changed",
            "pin.quarantined",
            "boundary.never-mix",
        ]
        .map(str::to_owned),
    );
    wanted.extend(["propose", "draft", "execute", "apply"].map(str::to_owned));
    wanted.extend(["cleared", "refused", "withheld"].map(str::to_owned));
    let missing: Vec<_> = wanted
        .iter()
        .filter(|word| !words.contains(word.as_str()))
        .collect();
    assert_eq!(missing, Vec::<&String>::new(), "decide no cell");
}

#[test]
fn every_operation_and_every_name_of_an_entity_is_asked_about() {
    let sources = world::sources();
    let cells = cells::all();
    let asked: String = cells.iter().map(|cell| cell.words() + "\n").collect();
    let json = |file| -> Value { serde_json::from_str(world::text(file)).expect("JSON") };
    let mut wanted = BTreeSet::new();
    for role in json(&sources.role_cards)["roles"]
        .as_object()
        .expect("roles")
        .values()
    {
        let operations = role["operations"].as_array().expect("operations");
        let literal = operations.iter().filter_map(Value::as_str);
        wanted.extend(
            literal
                .filter(|tool| !tool.contains('*'))
                .map(str::to_owned),
        );
    }
    let profile = json(&sources.operator_profile);
    for (id, entity) in profile["entities"].as_object().expect("entities") {
        wanted.insert(id.clone());
        for attribute in ["email_domains", "mailboxes", "keywords", "profile_ids"] {
            let names = entity[attribute].as_array().into_iter().flatten();
            wanted.extend(names.filter_map(Value::as_str).map(str::to_owned));
        }
    }
    let clients = profile["client_clearances"]
        .as_object()
        .expect("clearances");
    wanted.extend(clients.keys().cloned());
    let missing: Vec<_> = wanted
        .iter()
        .filter(|name| !asked.contains(*name))
        .collect();
    assert_eq!(missing, Vec::<&String>::new(), "no cell asks about them");
    assert!(cells.iter().any(|cell| matches!(cell.ask, Ask::Checklist)));
}
