//! The templates and the schemas that are shipped.

use std::collections::BTreeSet;

use legation_core::{ClientId, EntityId};

use super::super::{
    AutonomyLadder, EnterprisePolicy, EntitySet, FileText, Governance, HardBans, LlmProviders,
    Mode, OperatorProfile, OutputContracts, RoleCards, Roster, Sources, Template, file,
    native_tools, schemas,
};
use super::broken;

#[test]
fn every_template_is_understood_without_a_word_about_it() {
    for template in Template::ALL {
        let (governance, problems) = Governance::load(&template.sources(), &[]);
        assert_eq!(broken(&governance), Vec::<&str>::new(), "{template}");
        assert_eq!(problems, [], "{template}");
        let policy = crate::Policy::load(&template.sources(), &[]);
        assert_eq!(policy.problems(), [], "{template}");
        assert_eq!(Template::parse(template.as_str()), Some(template));
    }
}

#[test]
fn a_folder_without_files_is_broken_from_end_to_end() {
    let (governance, problems) = Governance::load(&Sources::nothing(), &[]);
    assert_eq!(
        broken(&governance),
        [
            file::OPERATOR_PROFILE,
            file::ROLE_CARDS,
            file::HARD_BANS,
            file::AUTONOMY_LADDER,
            file::LLM_PROVIDER,
            file::OUTPUT_CONTRACTS,
            file::BRIEF,
            file::URGENCY,
            file::DRAFT_STYLE,
            file::PARA,
        ]
    );
    assert_eq!(problems.len(), 10);
    // No enterprise policy is no broken one.
    let enterprise = governance.enterprise.good().expect("good");
    assert!(enterprise.parts().is_empty() && enterprise.allows_bypass());
}

#[test]
fn the_business_template_speaks_of_every_tool_of_the_hub() {
    let (governance, _) = Governance::load(&Template::Business.sources(), &[]);
    let ladder = governance.ladder.good().expect("a ladder");
    let roles = governance.roles.good().expect("roles");
    let mut modes = BTreeSet::new();
    for tool in native_tools() {
        let name = format!("{}/{}", tool.server, tool.tool);
        let category = ladder.category_of(&name).expect(&name);
        modes.insert(category.mode);
        let named = |pattern: &super::super::ToolPattern| pattern.as_str() == name;
        assert!(
            category.tools.iter().any(named),
            "{name} is named in the ladder"
        );
        let mut others = roles.roles.iter().filter(|(role, _)| *role != "owner");
        assert!(
            others.any(|(_, card)| card.may(&name)),
            "{name} is on a card"
        );
    }
    assert_eq!(modes, Mode::ALL.into_iter().collect());
}

#[test]
fn the_business_template_is_the_example_it_says_it_is() {
    let (governance, _) = Governance::load(&Template::Business.sources(), &[]);
    let profile = governance.profile.good().expect("a profile");
    let ids: Vec<&str> = profile.entities.keys().map(EntityId::as_str).collect();
    assert_eq!(ids, ["harbor", "meadow", "personal", "quarry"]);
    let of = |id: &str| &profile.entities[&EntityId::new(id)];
    assert!(of("meadow").phi_auto_redact && !of("harbor").phi_auto_redact);
    assert!(of("quarry").mailboxes.is_empty() && !of("harbor").mailboxes.is_empty());
    assert_eq!(
        governance
            .people(&EntityId::new("meadow"))
            .expect("a roster")
            .len(),
        2
    );
    assert_eq!(
        governance
            .people(&EntityId::new("harbor"))
            .expect("none")
            .len(),
        0
    );
    let plan = governance
        .redaction(&EntityId::new("meadow"))
        .expect("a plan");
    assert_eq!(
        (
            plan.names.len(),
            plan.births.len(),
            plan.identifiers.len(),
            plan.fields.len()
        ),
        (3, 2, 3, 6)
    );
    assert_eq!(format!("{plan:?}"), "RedactionPlan(3 names, 6 fields)");
    let clearance = |client: &str| profile.clearance_of(&ClientId::new(client));
    assert_eq!(clearance("owner").entities, EntitySet::All);
    assert_eq!(clearance("stranger").entities, EntitySet::none());
    assert!(clearance("meadow-agent").phi && !clearance("claude").phi);
}

#[test]
fn what_is_written_beside_the_rules_is_kept() {
    let (governance, _) = Governance::load(&Template::Business.sources(), &[]);
    let notes = &governance.notes[file::OPERATOR_PROFILE];
    let pointers: Vec<&str> = notes.iter().map(|note| note.pointer.as_str()).collect();
    assert_eq!(
        pointers,
        [
            "/_about",
            "/entities/meadow/_about",
            "/entities/quarry/_about",
            "/_client_clearances"
        ]
    );
}

#[test]
fn the_schemas_in_docs_are_those_of_the_types() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schemas/");
    let mut names = BTreeSet::new();
    for (name, schema) in schemas() {
        expect_test::expect_file![format!("{folder}{name}")].assert_eq(&schema);
        names.insert(name.to_owned());
    }
    let there: BTreeSet<String> = std::fs::read_dir(folder)
        .expect("docs/schemas")
        .map(|entry| {
            entry
                .expect("read")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert_eq!(there, names, "no schema is left over");
}

#[test]
fn nothing_of_a_file_is_in_what_debug_shows() {
    let (governance, _) = Governance::load(&Template::Business.sources(), &[]);
    let shown = format!(
        "{:?} {:?}",
        Template::Business.sources(),
        governance.rosters
    );
    assert!(
        !shown.contains("Placeholder") && !shown.contains("MRN"),
        "{shown}"
    );
    assert_eq!(
        format!("{:?}", FileText::Text("abc".to_owned())),
        "Text(3 bytes)"
    );
}

/// The examples of docs/governance.md, each read as the file whose section it
/// stands in.
#[test]
fn the_examples_of_the_documentation_are_understood() {
    let text = include_str!("../../../../../docs/governance.md");
    let mut read = Vec::new();
    for section in text.split("\n##").skip(1) {
        let title = section.lines().next().unwrap_or_default();
        let title = title.trim_start_matches('#').trim();
        for fence in section.split("\n```").skip(1).step_by(2) {
            let (language, body) = fence.split_once('\n').expect("a block");
            let refused = match (title, language) {
                ("operator_profile.json", "json") => refusal::<OperatorProfile>(body),
                ("Rosters", "json") => refusal::<Roster>(body),
                ("role_cards.json", "json") => refusal::<RoleCards>(body),
                ("hard_bans.json", "json") => refusal::<HardBans>(body),
                ("autonomy_ladder.json", "json") => refusal::<AutonomyLadder>(body),
                ("llm_provider.json", "json") => refusal::<LlmProviders>(body),
                ("output_contracts.json", "json") => refusal::<OutputContracts>(body),
                ("The organisation's policy", "toml") => toml::from_str::<EnterprisePolicy>(body)
                    .err()
                    .map(|error| error.to_string()),
                other => panic!("{other:?} holds an example that nothing reads"),
            };
            assert_eq!(refused, None, "{title}");
            read.push(title);
        }
    }
    assert_eq!(read.len(), 8, "{read:?}");
}

fn refusal<T: serde::de::DeserializeOwned>(text: &str) -> Option<String> {
    let refused = super::super::json::read::<T>(text).err()?;
    Some(format!("{}: {}", refused.place, refused.message))
}
