//! Every row of the risk matrix and every branch of the choice, as a table;
//! the faults of earlier routers, shown absent.

mod property;

use legation_core::{EntityId, EntityLabels};

use super::{ChoiceSource, Exclusion, ProviderDecision, ProviderInquiry, Whose, choose, may_still};
use crate::governance::{FileText, Governance, Sources, Template};
use crate::registry::{EventName, ReasonCode};

/// 2026-06-01.
const NOW_MS: i64 = 1_780_272_000_000;
const DAY_MS: i64 = 86_400_000;

const BAA: &str = r#""baa": { "reference": "agreement 17 in the safe", "expires": "2026-12-31" }"#;

/// The business template with `llm_provider.json` replaced.
fn governed(providers: &str, rest: &str) -> Governance {
    let text = format!("{{ \"providers\": {{ {providers} }}, {rest} }}");
    let mut sources = Template::Business.sources();
    sources.llm_provider = FileText::Text(text);
    let (governance, problems) = Governance::load(&sources, &[]);
    assert!(governance.providers.good().is_some(), "{problems:?}");
    governance
}

fn provider(name: &str, more: &str) -> String {
    format!("\"{name}\": {{ \"enabled\": true, \"endpoint\": \"https://{name}.example.com/v1\", {more} }}")
        .replace(&format!("https://{name}"), &format!("https://{}", name.replace('_', "-")))
}

fn cleared(name: &str) -> String {
    provider(name, &format!("\"hipaa_cleared\": true, {BAA}"))
}

fn uncleared(name: &str) -> String {
    provider(name, "\"hipaa_cleared\": false")
}

fn off(provider: &str) -> String {
    provider.replace("\"enabled\": true", "\"enabled\": false")
}

fn labels(names: &[&str]) -> EntityLabels {
    names.iter().map(|name| EntityId::new(*name)).collect()
}

fn ask(governance: &Governance, names: &[&str], job: Option<&str>) -> ProviderDecision {
    ask_with(governance, Whose::Labels(&labels(names)), job, true, NOW_MS)
}

fn ask_with(
    governance: &Governance,
    whose: Whose<'_>,
    job: Option<&str>,
    copilot_token: bool,
    now_ms: i64,
) -> ProviderDecision {
    choose(
        governance,
        &ProviderInquiry {
            whose,
            job,
            copilot_token,
            now_ms,
        },
    )
}

/// `provider via source`, or the reason code.
fn said(decision: &ProviderDecision) -> String {
    match &decision.outcome {
        Ok(selected) => format!("{} via {}", selected.provider, selected.source.as_str()),
        Err(blocked) => {
            assert!(!blocked.reason.is_empty() && !blocked.next_safe_step.is_empty());
            blocked.reason_code.to_string()
        }
    }
}

fn outs<'d>(decision: &'d ProviderDecision, name: &str) -> &'d [Exclusion] {
    let mut all = decision.considered.iter();
    &all.find(|one| one.provider == name).expect(name).out
}

#[test]
fn every_row_of_the_risk_matrix() {
    let local = |more: &str| provider("local_model", more).replace("https", "http");
    let sdk = provider(
        "copilot_sdk",
        "\"kind\": \"copilot_extension\", \"hipaa_cleared\": true",
    );
    // The provider; why it may not have health information.
    let rows = [
        (
            uncleared("openai_direct"),
            "openai_direct",
            vec![Exclusion::NotCleared],
        ),
        (cleared("openai_direct"), "openai_direct", vec![]),
        (cleared("azure_openai"), "azure_openai", vec![]),
        (
            provider("azure_openai", "\"hipaa_cleared\": true"),
            "azure_openai",
            vec![Exclusion::NoAgreement],
        ),
        (
            uncleared("copilot_extension"),
            "copilot_extension",
            vec![Exclusion::NeverCleared],
        ),
        (
            cleared("copilot_extension"),
            "copilot_extension",
            vec![Exclusion::NeverCleared],
        ),
        (sdk, "copilot_sdk", vec![Exclusion::NeverCleared]),
        (local("\"hipaa_cleared\": true"), "local_model", vec![]),
        // A loopback address proves nothing.
        (
            local("\"hipaa_cleared\": false"),
            "local_model",
            vec![Exclusion::NotCleared],
        ),
    ];
    for (entry, name, out) in rows {
        let governance = governed(&entry, &format!("\"default_provider\": \"{name}\""));
        let decision = ask(&governance, &["meadow"], None);
        assert_eq!(outs(&decision, name), out, "{entry}");
        let expected = if out.is_empty() {
            format!("{name} via default")
        } else {
            "LLM_PROVIDER_UNAVAILABLE".to_owned()
        };
        assert_eq!(said(&decision), expected, "{entry}");
        assert!(decision.needs_clearance);
        // Without health information any of them will do.
        let decision = ask(&governance, &["harbor"], None);
        assert_eq!(said(&decision), format!("{name} via default"), "{entry}");
        assert!(!decision.needs_clearance);
    }
}

/// One line a case: what it shows; the providers, `-` in front of one that is
/// off; who prefers which; whose data; what comes of it. `azure_openai` and
/// `local_model` are cleared.
const BRANCHES: &str = "
a job's wish                       | openai_direct azure_openai              | default=openai_direct job=azure_openai | harbor | azure_openai via per_job_override
a job's wish that is off           | openai_direct -azure_openai             | default=openai_direct job=azure_openai | harbor | openai_direct via default
a job's wish that is cleared       | openai_direct azure_openai local_model  | default=openai_direct meadow=azure_openai! job=local_model | meadow | local_model via per_job_override
a job's wish that is not cleared   | openai_direct azure_openai              | default=openai_direct meadow=azure_openai! job=openai_direct | meadow | azure_openai via entity_override
an entity's wish                   | openai_direct azure_openai              | default=openai_direct meadow=azure_openai! | meadow | azure_openai via entity_override
an entity's wish that is off       | openai_direct -azure_openai             | default=openai_direct meadow=azure_openai! | meadow | LLM_PROVIDER_UNAVAILABLE
it binds, whatever else is cleared | local_model -azure_openai               | default=local_model meadow=azure_openai! | meadow | LLM_PROVIDER_UNAVAILABLE
a wish that does not bind          | openai_direct -azure_openai             | default=openai_direct harbor=azure_openai | harbor | openai_direct via default
no wish of the entity              | openai_direct                           | default=openai_direct harbor= | harbor | openai_direct via default
the default is off                 | -openai_direct                          | default=openai_direct | harbor | LLM_PROVIDER_UNAVAILABLE
no default                         | openai_direct                           | default=disabled | harbor | LLM_PROVIDER_UNAVAILABLE
nobody's data                      | openai_direct                           | default=openai_direct | | openai_direct via default
an unknown default                 | openai_direct                           | default=open_ai | harbor | UNKNOWN_PROVIDER
an unknown wish of a job           | openai_direct                           | default=openai_direct job=nobody | harbor | UNKNOWN_PROVIDER
an unknown wish of an entity       | openai_direct                           | default=openai_direct meadow=nobody! | meadow | UNKNOWN_PROVIDER
a provider of no kind              | mystery                                 | default=mystery | harbor | UNKNOWN_PROVIDER
an entity there is none of         | openai_direct                           | default=openai_direct | medow | UNKNOWN_ENTITY
Copilot, with a token              | copilot_extension                       | default=copilot_extension | harbor | copilot_extension via default
Copilot, for health information    | copilot_extension                       | default=copilot_extension | meadow | LLM_PROVIDER_UNAVAILABLE
";

/// The files of one line of [`BRANCHES`].
fn branch(providers: &str, wishes: &str) -> Governance {
    let entry = |name: &str| {
        let (name, is_off) = name
            .strip_prefix('-')
            .map_or((name, false), |name| (name, true));
        let entry = match name {
            "azure_openai" => cleared(name),
            "local_model" => provider(name, "\"hipaa_cleared\": true"),
            _ => uncleared(name),
        };
        if is_off { off(&entry) } else { entry }
    };
    let providers: Vec<String> = providers.split_whitespace().map(entry).collect();
    let (mut default, mut overrides, mut jobs) = ("", Vec::new(), Vec::new());
    for wish in wishes.split_whitespace() {
        let (whose, wanted) = wish.split_once('=').expect("a wish");
        let (wanted, binds) = wanted
            .strip_suffix('!')
            .map_or((wanted, false), |name| (name, true));
        match whose {
            "default" => default = wanted,
            "job" => jobs.push(format!("\"nightly\": {{ \"provider\": \"{wanted}\" }}")),
            entity => {
                let named = if wanted.is_empty() {
                    "null".to_owned()
                } else {
                    format!("\"{wanted}\"")
                };
                overrides.push(format!(
                    "\"{entity}\": {{ \"provider\": {named}, \"required_hipaa_cleared\": {binds} }}"
                ));
            }
        }
    }
    let rest = format!(
        "\"default_provider\": \"{default}\", \"entity_overrides\": {{ {} }}, \"per_job_overrides\": {{ {} }}",
        overrides.join(", "),
        jobs.join(", ")
    );
    governed(&providers.join(", "), &rest)
}

#[test]
fn every_branch_of_the_choice() {
    for line in BRANCHES.lines().filter(|line| !line.is_empty()) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [what, providers, wishes, whose, expected] = cells[..] else {
            panic!("{line}");
        };
        let whose: Vec<&str> = whose.split_whitespace().collect();
        let decision = ask(&branch(providers, wishes), &whose, Some("nightly"));
        assert_eq!(said(&decision), expected, "{what}");
    }
    let governance = branch("copilot_extension", "default=copilot_extension");
    let harbor = labels(&["harbor"]);
    let decision = ask_with(&governance, Whose::Labels(&harbor), None, false, NOW_MS);
    assert_eq!(said(&decision), "COPILOT_TOKEN_MISSING");
    assert_eq!(decision.event(), EventName::CopilotTokenMissing);
}

#[test]
fn an_override_never_comes_before_clearance() {
    let providers = format!(
        "{}, {}",
        uncleared("openai_direct"),
        cleared("azure_openai")
    );
    let rest = "\"default_provider\": \"openai_direct\", \
                \"entity_overrides\": { \"meadow\": { \"provider\": \"azure_openai\", \"required_hipaa_cleared\": true } }, \
                \"per_job_overrides\": { \"nightly\": { \"provider\": \"openai_direct\" } }";
    let decision = ask(&governed(&providers, rest), &["meadow"], Some("nightly"));
    assert_eq!(said(&decision), "azure_openai via entity_override");
    let asked: Vec<(&str, bool)> = decision
        .preferences
        .iter()
        .map(|wish| (wish.provider.as_str(), wish.is_in))
        .collect();
    assert_eq!(asked, [("openai_direct", false), ("azure_openai", true)]);
    // The entity's own override cannot lower it either.
    let lax = "\"default_provider\": \"openai_direct\", \
               \"entity_overrides\": { \"meadow\": { \"provider\": \"openai_direct\", \"required_hipaa_cleared\": false } }";
    let decision = ask(&governed(&providers, lax), &["meadow"], None);
    assert_eq!(said(&decision), "LLM_PROVIDER_UNAVAILABLE");
    assert_eq!(decision.event(), EventName::LlmProviderBlocked);
}

#[test]
fn nothing_that_is_missing_is_a_yes() {
    let missing = |edit: fn(&mut Sources)| {
        let mut sources = Template::Business.sources();
        edit(&mut sources);
        let (governance, _) = Governance::load(&sources, &[]);
        ask(&governance, &["harbor"], None)
    };
    let decision = missing(|sources| sources.llm_provider = FileText::Absent);
    assert_eq!(said(&decision), "LLM_PROVIDER_UNAVAILABLE");
    assert!(
        decision
            .outcome
            .expect_err("blocked")
            .reason
            .contains("llm_provider.json is missing or cannot")
    );
    // What is wrong with a file is the owner's business: it can name entities.
    let decision = missing(|sources| {
        let FileText::Text(text) = &mut sources.llm_provider else {
            panic!("a text");
        };
        *text = text.replace("\"meadow\"", "\"meadows\"");
    });
    let reason = decision.outcome.expect_err("blocked").reason;
    assert!(!reason.contains("meadow"), "{reason}");
    let decision = missing(|sources| sources.operator_profile = FileText::Absent);
    assert_eq!(said(&decision), "LLM_PROVIDER_UNAVAILABLE");
    assert!(decision.considered.is_empty());
    let decision = missing(|sources| {
        sources
            .enterprise
            .push(FileText::Text("nonsense".to_owned()))
    });
    assert_eq!(
        outs(&decision, "openai_direct"),
        [Exclusion::EnterpriseUnavailable]
    );
    // And where all is there, it is one.
    assert_eq!(said(&missing(|_| ())), "openai_direct via default");
    // An endpoint that is not there is no provider.
    let entry = uncleared("openai_direct").replace("https://openai-direct.example.com/v1", " ");
    let decision = ask(
        &governed(&entry, "\"default_provider\": \"openai_direct\""),
        &["harbor"],
        None,
    );
    assert_eq!(outs(&decision, "openai_direct"), [Exclusion::NoEndpoint]);
    assert_eq!(said(&decision), "LLM_PROVIDER_UNAVAILABLE");
}

#[test]
fn all_and_nobody_knows_are_the_strictest() {
    let providers = format!(
        "{}, {}",
        uncleared("openai_direct"),
        cleared("azure_openai")
    );
    let governance = governed(&providers, "\"default_provider\": \"openai_direct\"");
    let decision = ask_with(&governance, Whose::All, None, true, NOW_MS);
    assert_eq!(said(&decision), "LLM_PROVIDER_UNAVAILABLE");
    assert!(decision.needs_clearance);
    assert_eq!(decision.redact, labels(&["meadow"]));
    let governance = governed(&providers, "\"default_provider\": \"azure_openai\"");
    let decision = ask_with(&governance, Whose::All, None, true, NOW_MS);
    assert_eq!(said(&decision), "azure_openai via default");
    // One label is enough, whatever it is joined with.
    let governance = governed(&providers, "\"default_provider\": \"openai_direct\"");
    let decision = ask(&governance, &["meadow", "quarry"], None);
    assert_eq!(said(&decision), "LLM_PROVIDER_UNAVAILABLE");
    // A refusal goes to the one who asked and names nobody else's business.
    let reason = decision.outcome.expect_err("blocked").to_string();
    assert!(
        !reason.contains("meadow") && !reason.contains("quarry"),
        "{reason}"
    );
}

#[test]
fn an_entity_is_found_however_it_is_written() {
    // Earlier lookups were case-sensitive, and what they did not find was free.
    let (governance, _) = Governance::load(&Template::Business.sources(), &[]);
    let decision = ask(&governance, &["Meadow"], None);
    assert_eq!(said(&decision), "UNKNOWN_ENTITY");
    let profile = governance.profile.good().expect("a profile");
    assert_eq!(
        profile.meant("Meadow"),
        crate::governance::Meant::Entity(EntityId::new("meadow"))
    );
}

#[test]
fn redaction_is_asked_for_without_a_list_of_fields() {
    let mut sources = Template::Business.sources();
    let text = Template::Business
        .file("operator_profile.json")
        .expect("there");
    let start = text.find("\"redaction_fields\": [").expect("there");
    let end = start + text[start..].find("],").expect("an end");
    let text = format!("{}\"redaction_fields\": [{}", &text[..start], &text[end..]);
    sources.operator_profile = FileText::Text(text);
    let (governance, problems) = Governance::load(&sources, &[]);
    assert_eq!(problems, []);
    assert_eq!(
        ask(&governance, &["meadow"], None).redact,
        labels(&["meadow"])
    );
    assert_eq!(
        ask(&governance, &["harbor"], None).redact,
        EntityLabels::none()
    );
}

#[test]
fn an_agreement_ends_with_its_last_day() {
    let governance = governed(
        &cleared("azure_openai"),
        "\"default_provider\": \"azure_openai\"",
    );
    let meadow = labels(&["meadow"]);
    // The end of 2026-12-31.
    let end_ms = NOW_MS + 214 * DAY_MS;
    for (now_ms, expected) in [
        (end_ms - 1, "azure_openai via default"),
        (end_ms, "LLM_PROVIDER_UNAVAILABLE"),
        (end_ms + 400 * DAY_MS, "LLM_PROVIDER_UNAVAILABLE"),
    ] {
        let decision = ask_with(&governance, Whose::Labels(&meadow), None, true, now_ms);
        assert_eq!(said(&decision), expected, "{now_ms}");
    }
    let decision = ask_with(&governance, Whose::Labels(&meadow), None, true, end_ms);
    assert_eq!(
        outs(&decision, "azure_openai"),
        [Exclusion::AgreementExpired("2026-12-31".to_owned())]
    );
    // The text that a template holds in its place is no agreement.
    let entry = cleared("azure_openai").replace("agreement 17", "REPLACE with");
    let governance = governed(&entry, "\"default_provider\": \"azure_openai\"");
    let decision = ask(&governance, &["meadow"], None);
    assert_eq!(outs(&decision, "azure_openai"), [Exclusion::NoAgreement]);
}

#[test]
fn a_provider_is_for_whom_it_is_for() {
    let entry = provider(
        "openai_direct",
        "\"hipaa_cleared\": false, \"entities\": [\"harbor\"]",
    );
    let governance = governed(&entry, "\"default_provider\": \"openai_direct\"");
    assert_eq!(
        said(&ask(&governance, &["harbor"], None)),
        "openai_direct via default"
    );
    let decision = ask(&governance, &["harbor", "quarry"], None);
    assert_eq!(
        outs(&decision, "openai_direct"),
        [Exclusion::NotForEntity(EntityId::new("quarry"))]
    );
}

#[test]
fn the_organisation_has_the_last_word() {
    let mut sources = Template::Business.sources();
    let policy = "version = 1\n[models]\nallowed = [\"azure_*\"]\n";
    sources.enterprise.push(FileText::Text(policy.to_owned()));
    let (governance, _) = Governance::load(&sources, &[]);
    let decision = ask(&governance, &["harbor"], None);
    assert_eq!(outs(&decision, "openai_direct"), [Exclusion::Enterprise]);
    assert_eq!(said(&decision), "LLM_PROVIDER_UNAVAILABLE");
}

#[test]
fn clearance_that_is_lost_while_an_answer_streams_stops_it() {
    let default = "\"default_provider\": \"azure_openai\"";
    let before = governed(&cleared("azure_openai"), default);
    let after = governed(&uncleared("azure_openai"), default);
    let meadow = labels(&["meadow"]);
    let inquiry = ProviderInquiry {
        whose: Whose::Labels(&meadow),
        job: None,
        copilot_token: false,
        now_ms: NOW_MS,
    };
    assert_eq!(may_still(&before, "azure_openai", &inquiry), Ok(()));
    let blocked = may_still(&after, "azure_openai", &inquiry).expect_err("lost");
    assert_eq!(blocked.reason_code, ReasonCode::LlmProviderUnavailable);
    assert!(may_still(&before, "openai_direct", &inquiry).is_err());
}

#[test]
fn a_model_is_the_jobs_else_the_providers_else_the_files() {
    let entry = provider(
        "openai_direct",
        "\"hipaa_cleared\": false, \"default_model\": \"small\"",
    );
    let rest = "\"default_provider\": \"openai_direct\", \"default_model\": \"any\", \
                \"per_job_overrides\": { \"nightly\": { \"provider\": \"openai_direct\", \"model\": \"large\" } }";
    let governance = governed(&entry, rest);
    let model = |job| {
        ask(&governance, &["harbor"], job)
            .outcome
            .expect("chosen")
            .model
    };
    assert_eq!(model(Some("nightly")).as_deref(), Some("large"));
    assert_eq!(model(Some("other")).as_deref(), Some("small"));
    let governance = governed(&uncleared("openai_direct"), rest);
    let selected = ask(&governance, &["harbor"], None).outcome.expect("chosen");
    assert_eq!(selected.model.as_deref(), Some("any"));
    assert_eq!(selected.source, ChoiceSource::Default);
}

#[test]
fn a_fallback_may_have_what_the_chosen_one_may() {
    let all = |second: &str| {
        let copilot = provider("copilot_extension", "\"hipaa_cleared\": true");
        let providers = format!("{}, {second}, {copilot}", cleared("azure_openai"));
        let rest = "\"default_provider\": \"azure_openai\", \"default_model\": \"any\", \"fallbacks\": \
                    [\"copilot_extension\", \"azure_openai\", \"openai_direct\", \"openai_direct\"]";
        governed(&providers, rest)
    };
    let names = |decision: &ProviderDecision| -> Vec<String> {
        let each = decision.fallbacks.iter();
        each.map(|one| {
            assert_eq!(one.source.as_str(), "fallback");
            format!("{} {}", one.provider, one.model.as_deref().unwrap_or("-"))
        })
        .collect()
    };
    let open = all(&uncleared("openai_direct"));
    let both = ["copilot_extension any", "openai_direct any"];
    assert_eq!(names(&ask(&open, &["harbor"], None)), both);
    // Without a Copilot user's token there is nothing to ask Copilot with.
    let harbor = labels(&["harbor"]);
    let without = ask_with(&open, Whose::Labels(&harbor), None, false, NOW_MS);
    assert_eq!(names(&without), ["openai_direct any"]);
    for names_of in [&["meadow"][..], &["harbor", "meadow"]] {
        let decision = ask(&open, names_of, None);
        assert_eq!(said(&decision), "azure_openai via default");
        assert_eq!(decision.fallbacks, []);
    }
    let both_cleared = all(&cleared("openai_direct"));
    assert_eq!(
        names(&ask(&both_cleared, &["meadow"], None)),
        ["openai_direct any"]
    );
    let everybody = ask_with(&both_cleared, Whose::All, None, true, NOW_MS);
    assert_eq!(names(&everybody), ["openai_direct any"]);
    // Nobody was chosen, so nobody stands in.
    let off = governed(
        &off(&cleared("azure_openai")),
        "\"default_provider\": \"azure_openai\", \"fallbacks\": [\"azure_openai\"]",
    );
    assert_eq!(ask(&off, &["harbor"], None).fallbacks, []);
}
