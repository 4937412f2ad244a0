//! The mutator: one thing less in one file, and the matrix must change.

use std::sync::OnceLock;

use legation_policy::Policy;
use legation_policy::governance::{FileText, Sources};
use serde_json::Value;

use super::ask::Cell;
use super::cells;
use super::world::{self, File};

/// Attributes that are for people, other tools, or other parts of the hub: the
/// end of a pointer, and why no decision depends on it. `*` is one step.
const DOCUMENTATION: &[(File, &str, &str)] = &[
    (
        File::Profile,
        "/operator/*",
        "says who the owner is; nothing is decided by it",
    ),
    (
        File::Profile,
        "/default_classification_rule",
        "advice to whoever sorts mail",
    ),
    (File::Profile, "/entities/harbor/mailboxes/0", SAME_DOMAIN),
    (File::Profile, "/entities/meadow/mailboxes/0", SAME_DOMAIN),
    (File::Profile, "/entities/meadow/mailboxes/1", SAME_DOMAIN),
    (File::Profile, "/entities/personal/mailboxes/0", SAME_DOMAIN),
    (
        File::Ladder,
        "/approver",
        "says whom people may ask; who may answer is not said here",
    ),
    (
        File::Ladder,
        "/action_categories/*/notes",
        "the words of a refusal, not its reason",
    ),
    (
        File::Ladder,
        "/action_categories/*/promotion_threshold",
        "nothing climbs by itself",
    ),
    (File::Bans, "/bans/*/match/*", "a test of the ban"),
    (File::Bans, "/bans/*/no_match/*", "a test of the ban"),
    (
        File::Providers,
        "/timeout_ms",
        "read when a model is called, not when it is chosen",
    ),
    (
        File::Providers,
        "/providers/*/auth_env_var",
        "read when a model is called",
    ),
    (
        File::Providers,
        "/providers/*/auth_source",
        "read when a model is called",
    ),
    (File::Providers, "/providers/*/notes", "for people"),
    (File::Providers, "/entity_overrides/*/notes", "for people"),
    (
        File::Contracts,
        "/contracts/*/golden_fixtures",
        "tests of the contract",
    ),
    (
        File::Contracts,
        "/contracts/*/golden_fixtures/*",
        "tests of the contract",
    ),
];

const SAME_DOMAIN: &str = "the entity's domain says the same of it";

/// One change to one file.
struct Mutant {
    what: String,
    text: String,
    /// What the change is about.
    hints: Vec<String>,
}

/// The matrix of the example, answered as far as it was asked.
struct Bench {
    cells: Vec<(Cell, String)>,
    sources: Sources,
    policy: Policy,
    answers: Vec<OnceLock<String>>,
}

// === impl Bench ===

impl Bench {
    /// What a rule calls reading is none of the ladder's business, so the ladder
    /// is looked at without such rules.
    fn of(file: File) -> Self {
        let mut sources = world::sources();
        if file == File::Ladder {
            let rules = base(File::Permissions).replace("'reads ", "'allow ");
            sources.permissions = FileText::Text(rules);
        }
        let cells: Vec<_> = cells::all()
            .into_iter()
            .map(|cell| {
                let words = cell.words();
                (cell, words)
            })
            .collect();
        Self {
            answers: cells.iter().map(|_| OnceLock::new()).collect(),
            cells,
            policy: world::load(&sources),
            sources,
        }
    }

    /// The first cell that reads otherwise. Those that the change is about are
    /// tried first.
    fn difference(&self, mutated: &Policy, hints: &[String]) -> Option<&Cell> {
        let mut order: Vec<(usize, usize)> = self
            .cells
            .iter()
            .enumerate()
            .map(|(at, (_, words))| {
                let hit = hints.iter().filter(|hint| words.contains(hint.as_str()));
                (usize::MAX - hit.map(String::len).sum::<usize>(), at)
            })
            .collect();
        order.sort_unstable();
        let mut order = order.into_iter().map(|(_, at)| at);
        order
            .find(|at| {
                let (cell, _) = &self.cells[*at];
                let base = self.answers[*at].get_or_init(|| cell.answer(&self.policy));
                *base != cell.answer(mutated)
            })
            .map(|at| &self.cells[at].0)
    }

    /// The mutants that nothing shows.
    fn survivors(&self, file: File, mutants: Vec<Mutant>) -> Vec<String> {
        let known = self.policy.problems();
        mutants
            .into_iter()
            .filter(|mutant| {
                let mut sources = self.sources.clone();
                *world::part(&mut sources, file) = FileText::Text(mutant.text.clone());
                let mutated = world::load(&sources);
                let told = mutated
                    .problems()
                    .iter()
                    .any(|one| !known.iter().any(|other| other.message == one.message));
                !told && self.difference(&mutated, &mutant.hints).is_none()
            })
            .map(|mutant| mutant.what)
            .collect()
    }
}

fn base(file: File) -> String {
    let mut sources: Sources = world::sources();
    world::text(world::part(&mut sources, file)).to_owned()
}

fn is_documentation(file: File, pointer: &str) -> bool {
    let fits = |pattern: &str| {
        let (mut wanted, mut steps) = (pattern.split('/'), pointer.split('/'));
        loop {
            match (wanted.next(), steps.next()) {
                (None, None) => return true,
                (Some(wanted), Some(step)) if wanted == "*" || wanted == step => {}
                // All that is inside belongs to it.
                (None, Some(_)) => return true,
                _ => return false,
            }
        }
    };
    let noted = |step: &str| step.starts_with('_') || step == "$schema";
    pointer.split('/').any(noted)
        || DOCUMENTATION
            .iter()
            .any(|(of, pattern, _)| *of == file && fits(pattern))
}

/// What stands at its default already: without it the file says the same.
fn is_default(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members
            .iter()
            .all(|(key, value)| key == "notes" || is_default(value)),
        _ => false,
    }
}

/// Every pointer of a document.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    let members: Vec<(String, &Value)> = match value {
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (key.replace('~', "~0").replace('/', "~1"), value))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, value)| (index.to_string(), value))
            .collect(),
        _ => return,
    };
    for (step, value) in members {
        let at = format!("{at}/{step}");
        found.push(at.clone());
        pointers(value, &at, found);
    }
}

fn without(document: &Value, pointer: &str) -> Value {
    let mut document = document.clone();
    let (parent, step) = pointer.rsplit_once('/').expect("a pointer has a step");
    let key = step.replace("~1", "/").replace("~0", "~");
    match document.pointer_mut(parent).expect("the pointer was found") {
        Value::Array(items) => {
            items.remove(key.parse().expect("an index"));
        }
        Value::Object(members) => {
            members.remove(&key);
        }
        _ => panic!("{pointer} is in nothing"),
    }
    document
}

fn leaves(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, found)),
        Value::Object(members) => {
            for (key, value) in members {
                found.push(key.clone());
                leaves(value, found);
            }
        }
        _ => {}
    }
}

/// Each member and item deleted, and each flag turned round.
fn of_json(file: File) -> Vec<Mutant> {
    let document: Value = serde_json::from_str(&base(file)).expect("JSON");
    let mut all = Vec::new();
    pointers(&document, "", &mut all);
    let mut mutants = Vec::new();
    for pointer in all {
        if is_documentation(file, &pointer) {
            continue;
        }
        let value = document.pointer(&pointer).expect("found above");
        let mut hints: Vec<String> = pointer.split('/').skip(1).map(str::to_owned).collect();
        leaves(value, &mut hints);
        if file == File::Contracts {
            hints.push("results".to_owned());
        }
        hints.retain(|hint| hint.len() > 3 && hint != "entities");
        if let Value::Bool(flag) = value {
            let mut turned = document.clone();
            *turned.pointer_mut(&pointer).expect("found above") = Value::Bool(!flag);
            mutants.push(Mutant {
                what: format!("{file:?} {pointer} turned"),
                text: turned.to_string(),
                hints: hints.clone(),
            });
        }
        if !is_default(value) {
            mutants.push(Mutant {
                what: format!("{file:?} {pointer}"),
                text: without(&document, &pointer).to_string(),
                hints,
            });
        }
    }
    mutants
}

fn all_die(file: File, least: usize, mutants: Vec<Mutant>) {
    assert!(
        mutants.len() >= least,
        "{} mutants of {file:?}",
        mutants.len()
    );
    let survivors = Bench::of(file).survivors(file, mutants);
    assert_eq!(
        survivors,
        Vec::<String>::new(),
        "nothing shows that these are gone"
    );
}

/// A part of a file's mutants, so that the parts can run side by side.
fn share(file: File, which: usize, of: usize) -> Vec<Mutant> {
    let all = of_json(file).into_iter().enumerate();
    all.filter(|(at, _)| at % of == which)
        .map(|(_, mutant)| mutant)
        .collect()
}

#[test]
fn nothing_can_go_from_the_profile_1() {
    all_die(File::Profile, 30, share(File::Profile, 0, 2));
}

#[test]
fn nothing_can_go_from_the_profile_2() {
    all_die(File::Profile, 30, share(File::Profile, 1, 2));
}

#[test]
fn nothing_can_go_from_the_role_cards_1() {
    all_die(File::Roles, 50, share(File::Roles, 0, 2));
}

#[test]
fn nothing_can_go_from_the_role_cards_2() {
    all_die(File::Roles, 50, share(File::Roles, 1, 2));
}

#[test]
fn nothing_can_go_from_the_bans() {
    all_die(File::Bans, 40, of_json(File::Bans));
}

#[test]
fn nothing_can_go_from_the_ladder() {
    all_die(File::Ladder, 60, of_json(File::Ladder));
}

#[test]
fn nothing_can_go_from_the_providers() {
    all_die(File::Providers, 30, of_json(File::Providers));
}

#[test]
fn nothing_can_go_from_the_contracts() {
    all_die(File::Contracts, 20, of_json(File::Contracts));
}

#[test]
fn nothing_can_go_from_the_roster() {
    all_die(File::Roster, 8, of_json(File::Roster));
}

/// Each policy, each condition of one, and each scope.
#[test]
fn nothing_can_go_from_the_cedar_policies() {
    let whole = base(File::Cedar);
    let plain: String = whole
        .lines()
        .filter(|line| !line.starts_with("//"))
        .map(|line| format!("{line}\n"))
        .collect();
    let policies: Vec<&str> = plain
        .split_inclusive(";\n")
        .filter(|one| one.contains("@id"))
        .collect();
    let mut mutants = Vec::new();
    let mut push = |what: String, text: String| {
        mutants.push(Mutant {
            what,
            text,
            hints: vec!["claude".to_owned(), "desk/".to_owned()],
        });
    };
    for (at, gone) in policies.iter().enumerate() {
        let left = policies
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != at);
        push(format!("policy {at}"), left.map(|(_, one)| *one).collect());
        for part in [
            "context.delegated && ",
            " && context.labels.contains(\"personal\")",
            "context.server == \"desk\" && ",
            " && context.labels.contains(\"quarry\")",
            " in Action::\"execute\"",
            " in Role::\"assistant\"",
        ] {
            if gone.contains(part) {
                push(
                    format!("policy {at} without {part}"),
                    plain.replace(gone, &gone.replace(part, "")),
                );
            }
        }
    }
    all_die(File::Cedar, 10, mutants);
}

fn of_rules(file: File) -> Vec<Mutant> {
    let whole = base(file);
    let document: toml::Table = whole.parse().expect("TOML");
    let rules = document["rule"].as_array().expect("rules").clone();
    let mut mutants = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        let id = rule["id"].as_str().expect("an id").to_owned();
        let line = rule["rule"].as_str().expect("a rule").to_owned();
        let hints: Vec<String> = line
            .split_whitespace()
            .map(|word| word.trim_end_matches('*').to_owned())
            .filter(|word| word.len() > 3)
            .collect();
        let mut push = |what: String, rules: Vec<toml::Value>| {
            let mut mutated = document.clone();
            mutated.insert("rule".to_owned(), toml::Value::Array(rules));
            mutants.push(Mutant {
                what: format!("{id} {what}"),
                text: mutated.to_string(),
                hints: hints.clone(),
            });
        };
        let mut fewer = rules.clone();
        fewer.remove(at);
        push("gone".to_owned(), fewer);
        for clause in [" verb ", " where ", " entity ", " client ", " rung "] {
            let Some((before, after)) = line.split_once(clause) else {
                continue;
            };
            let words = if clause == " where " { 3 } else { 1 };
            let after: Vec<&str> = after.split(' ').skip(words).collect();
            let mut changed = rules.clone();
            changed[at]["rule"] = toml::Value::String(format!("{before} {}", after.join(" ")));
            push(format!("without{clause}"), changed);
        }
    }
    mutants
}

#[test]
fn nothing_can_go_from_the_permission_rules() {
    all_die(File::Permissions, 20, of_rules(File::Permissions));
}

#[test]
fn nothing_can_go_from_a_folders_rules() {
    all_die(File::Folder, 1, of_rules(File::Folder));
}

/// What is called documentation changes nothing, or it is none.
#[test]
fn documentation_decides_nothing() {
    let bench = Bench::of(File::Profile);
    for file in [
        File::Profile,
        File::Ladder,
        File::Providers,
        File::Contracts,
    ] {
        let mut document: Value = serde_json::from_str(&base(file)).expect("JSON");
        let mut all = Vec::new();
        pointers(&document, "", &mut all);
        // From the last, so that the places of the others stay theirs.
        for pointer in all
            .iter()
            .rev()
            .filter(|pointer| is_documentation(file, pointer))
        {
            // The owner's name has to stand somewhere.
            if pointer != "/operator/name" && document.pointer(pointer).is_some() {
                document = without(&document, pointer);
            }
        }
        let mut sources = world::sources();
        *world::part(&mut sources, file) = FileText::Text(document.to_string());
        let found = bench.difference(&world::load(&sources), &[]);
        assert!(found.is_none(), "{file:?}: {found:?}");
    }
}
