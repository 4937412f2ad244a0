//! What the files say of each other.

use legation_core::{EntityId, ServerName};

use super::super::{EnterpriseBlock, FileText, Fingerprint, Governance, Severity, Template};
use super::{broken, edited, errors, warnings};

/// Reports exactly this, and breaks nothing.
fn check(file: &'static str, from: &str, to: &str, severity: Severity, says: &str) {
    let (governance, problems) = Governance::load(&edited(file, from, to), &[]);
    assert_eq!(broken(&governance), Vec::<&str>::new(), "{problems:?}");
    let (these, others) = match severity {
        Severity::Error => (errors(&problems), warnings(&problems)),
        Severity::Warning => (warnings(&problems), errors(&problems)),
    };
    assert_eq!(others, Vec::<String>::new());
    assert_eq!(these.join("\n"), says);
    assert!(problems.iter().all(|problem| !problem.hint().is_empty()));
}

#[test]
fn one_side_of_never_mix_is_enough_and_said() {
    let file = "operator_profile.json";
    let (from, to) = (
        "\"never_mix_with\": [\"meadow\", \"personal\"]",
        "\"never_mix_with\": [\"personal\"]",
    );
    check(
        file,
        from,
        to,
        Severity::Warning,
        "operator_profile.json, line 26, at /entities/meadow/never_mix_with: `meadow` never mixes with `harbor`, and `harbor` does not say so",
    );
    let (governance, _) = Governance::load(&edited(file, from, to), &[]);
    let profile = governance.profile.good().expect("a profile");
    let (harbor, meadow) = (EntityId::new("harbor"), EntityId::new("meadow"));
    assert!(profile.never_mix(&harbor, &meadow) && profile.never_mix(&meadow, &harbor));
    let both = [meadow, harbor].into_iter().collect();
    assert!(profile.mixed(&both).is_some());
    let fine = [EntityId::new("quarry"), EntityId::new("harbor")]
        .into_iter()
        .collect();
    assert_eq!(profile.mixed(&fine), None);
}

#[test]
fn what_two_entities_call_their_own_is_said() {
    check(
        "operator_profile.json",
        "\"email_domains\": [\"meadow.example.com\"]",
        "\"email_domains\": [\"meadow.example.com\", \"Harbor.Example.COM\"]",
        Severity::Error,
        "operator_profile.json, line 23, at /entities/meadow/email_domains/1: `Harbor.Example.COM` is of `harbor` too",
    );
    check(
        "operator_profile.json",
        "\"keywords\": [\"Quarry Holdings\"]",
        "\"keywords\": [\"Quarry Holdings\", \"data room\"]",
        Severity::Warning,
        "operator_profile.json, line 35, at /entities/quarry/keywords/1: `data room` is of `harbor` too",
    );
}

#[test]
fn an_entity_that_no_client_may_see_is_said() {
    let mut sources = Template::Personal.sources();
    let text = Template::Personal
        .file("operator_profile.json")
        .expect("there");
    sources.operator_profile = FileText::Text(text.replace("\"all\"", "[]"));
    let (_, problems) = Governance::load(&sources, &[]);
    assert_eq!(
        warnings(&problems),
        [
            "operator_profile.json, line 6, at /entities/personal: no client is cleared for `personal`"
        ]
    );
}

#[test]
fn redaction_without_names_or_fields_is_said_and_still_redacts() {
    let mut sources = edited(
        "operator_profile.json",
        "\"roster_files\": [\"rosters/meadow.json\"],",
        "",
    );
    let FileText::Text(text) = &mut sources.operator_profile else {
        panic!("a text");
    };
    let start = text.find("\"redaction_fields\"").expect("there");
    let end = start + text[start..].find('\n').expect("a line");
    text.replace_range(start..end, "");
    let (governance, problems) = Governance::load(&sources, &[]);
    assert_eq!(errors(&problems), Vec::<String>::new());
    assert!(
        warnings(&problems)[0].contains("by patterns and name lists alone"),
        "{problems:?}"
    );
    assert!(
        governance.profile.good().expect("good").entities[&EntityId::new("meadow")].phi_auto_redact
    );
}

#[test]
fn a_roster_that_is_gone_or_broken_leaves_nobody_to_redact() {
    for (text, says) in [
        (None, "the roster rosters/meadow.json is missing"),
        (
            Some(FileText::Unusable("is a symbolic link".to_owned())),
            "rosters/meadow.json: is a symbolic link",
        ),
        (
            Some(FileText::Text("{}".to_owned())),
            "missing field `people`",
        ),
    ] {
        let mut sources = Template::Business.sources();
        sources.rosters.clear();
        sources
            .rosters
            .extend(text.map(|text| ("rosters/meadow.json".into(), text)));
        let (governance, problems) = Governance::load(&sources, &[]);
        assert!(
            errors(&problems).iter().any(|error| error.contains(says)),
            "{says}: {problems:?}"
        );
        assert!(governance.people(&EntityId::new("meadow")).is_err());
        assert!(governance.people(&EntityId::new("harbor")).is_ok());
    }
}

#[test]
fn an_override_that_names_no_provider_is_said() {
    check(
        "llm_provider.json",
        "\"per_job_overrides\": {}",
        "\"per_job_overrides\": { \"nightly\": { \"provider\": \"nobody\" } }",
        Severity::Error,
        "llm_provider.json, line 48, at /per_job_overrides/nightly: there is no provider `nobody`",
    );
    check(
        "llm_provider.json",
        "\"default_provider\": \"openai_direct\"",
        "\"default_provider\": \"open_ai\"",
        Severity::Error,
        "llm_provider.json, line 4, at /default_provider: there is no provider `open_ai`",
    );
    check(
        "llm_provider.json",
        "\"per_job_overrides\": {}",
        "\"per_job_overrides\": {}, \"fallbacks\": [\"local_model\", \"nobody\"]",
        Severity::Error,
        "llm_provider.json, line 48, at /fallbacks: there is no provider `nobody`",
    );
}

#[test]
fn a_hipaa_entity_whose_provider_is_not_cleared_is_said() {
    check(
        "llm_provider.json",
        "\"provider\": \"azure_openai\"",
        "\"provider\": \"openai_direct\"",
        Severity::Error,
        "llm_provider.json, line 42, at /entity_overrides/meadow: `meadow` has health information and its provider `openai_direct` is not cleared for it, so no model gets anything of it",
    );
    check(
        "llm_provider.json",
        "\"hipaa_cleared\": false,\n      \"notes\": \"No agreement is in place.\"",
        "\"hipaa_cleared\": true",
        Severity::Warning,
        "llm_provider.json, line 13, at /providers/openai_direct/hipaa_cleared: `openai_direct` counts as not cleared: it names no business associate agreement",
    );
}

#[test]
fn a_tool_that_nobody_has_is_said() {
    check(
        "autonomy_ladder.json",
        "\"desk/status\"",
        "\"desk/statuz\", \"desk/status\"",
        Severity::Error,
        "autonomy_ladder.json, line 16, at /action_categories/0/tools/11: `desk` has no tool like `desk/statuz`",
    );
    check(
        "role_cards.json",
        "\"hub/*\"",
        "\"hub/*\", \"books/*\"",
        Severity::Warning,
        "role_cards.json, line 55, at /roles/administrator/operations/6: no tool that was ever seen is called `books/*`",
    );
    check(
        "autonomy_ladder.json",
        "\"tools\": [\"teams/update\"]",
        "\"tools\": [\"teams/update\", \"teams/send\"]",
        Severity::Warning,
        r#"autonomy_ladder.json, line 78, at /action_categories/9/tools: `teams/send` is in "Speak in chats" too, with another mode"#,
    );
}

#[test]
fn an_enterprise_policy_only_takes_away() {
    let command = ["npx", "-y", "notes"];
    let text = format!(
        "version = 1\ndisabled_servers = [\"old-*\"]\ndisabled_tools = [\"files/delete_*\"]\n\
         [[allow]]\ncommand = [\"npx\", \"-y\", \"notes\"]\n[[allow]]\nfingerprint = \"{}\"\n\
         [models]\ndisabled = [\"openai*\"]\n",
        Fingerprint::of_url("https://mcp.example.com/")
    );
    let mut sources = Template::Personal.sources();
    sources.enterprise = vec![FileText::Text(text), FileText::Absent];
    let (governance, problems) = Governance::load(&sources, &[]);
    assert_eq!(problems, []);
    let policy = governance.enterprise.good().expect("good");
    let server = |name: &str, print: Option<Fingerprint>| {
        policy.server(&ServerName::parse(name).expect("a name"), print)
    };
    let listed = Some(Fingerprint::of_command(&command));
    assert_eq!(server("notes", listed), Ok(()));
    assert_eq!(
        server(
            "site",
            Some(Fingerprint::of_url("https://mcp.example.com/"))
        ),
        Ok(())
    );
    assert_eq!(server("hub", None), Ok(()));
    assert_eq!(
        server("old-notes", listed),
        Err(EnterpriseBlock::ServerDisabled)
    );
    let joined = Some(Fingerprint::of_command(&["npx -y", "notes"]));
    assert_eq!(server("notes", joined), Err(EnterpriseBlock::NotAllowed));
    assert_eq!(
        policy.tool("files/delete_all"),
        Err(EnterpriseBlock::ToolDisabled)
    );
    assert_eq!(policy.tool("files/read"), Ok(()));
    assert_eq!(
        policy.provider("openai_direct"),
        Err(EnterpriseBlock::Provider)
    );
    assert_eq!(policy.provider("local_model"), Ok(()));
    assert!(!policy.allows_bypass());
    sources.enterprise.push(FileText::Text(
        "version = 1\nthird_party_servers = false\n".to_owned(),
    ));
    let (governance, _) = Governance::load(&sources, &[]);
    let policy = governance.enterprise.good().expect("good");
    let name = ServerName::parse("notes").expect("a name");
    assert_eq!(
        policy.server(&name, listed),
        Err(EnterpriseBlock::ThirdParty)
    );
    assert_eq!(policy.server(&name, None), Ok(()));
}
