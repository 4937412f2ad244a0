//! Files in, governance and problems out.

mod cross;
mod desk;
mod names;
mod refused;
mod shipped;

use super::{FileText, Governance, Problem, Severity, Sources, Template};

/// The business template with the first occurrence of a text replaced in one
/// file.
fn edited(file: &'static str, from: &str, to: &str) -> Sources {
    let mut sources = Template::Business.sources();
    let slot = slot(&mut sources, file);
    let FileText::Text(text) = slot else {
        panic!("{file} is a text");
    };
    assert!(text.contains(from), "{file} has no {from:?}");
    *text = text.replacen(from, to, 1);
    sources
}

fn slot<'s>(sources: &'s mut Sources, file: &str) -> &'s mut FileText {
    match file {
        "operator_profile.json" => &mut sources.operator_profile,
        "role_cards.json" => &mut sources.role_cards,
        "hard_bans.json" => &mut sources.hard_bans,
        "autonomy_ladder.json" => &mut sources.autonomy_ladder,
        "llm_provider.json" => &mut sources.llm_provider,
        "output_contracts.json" => &mut sources.output_contracts,
        other => panic!("no file {other}"),
    }
}

/// Which files are broken, by name.
fn broken(governance: &Governance) -> Vec<&'static str> {
    let all = [
        governance.profile.get().err(),
        governance.roles.get().err(),
        governance.bans.get().err(),
        governance.ladder.get().err(),
        governance.providers.get().err(),
        governance.contracts.get().err(),
        governance.brief.get().err(),
        governance.urgency.get().err(),
        governance.draft_style.get().err(),
        governance.para.get().err(),
        governance.enterprise.get().err(),
    ];
    all.into_iter()
        .flatten()
        .map(|broken| broken.file)
        .collect()
}

fn errors(problems: &[Problem]) -> Vec<String> {
    with(problems, Severity::Error)
}

fn warnings(problems: &[Problem]) -> Vec<String> {
    with(problems, Severity::Warning)
}

fn with(problems: &[Problem], severity: Severity) -> Vec<String> {
    let these = problems.iter().filter(|one| one.severity == severity);
    these.map(ToString::to_string).collect()
}
