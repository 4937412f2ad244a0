//! Files that break, and what is said of them.

use super::super::{FileText, Governance, Template, ToolName};
use super::{broken, edited, errors, slot};

/// The category of the template for work on files.
const WORKING: &str = r#"
    {
      "action": "Work on the files of a folder",
      "mode": "autonomous",
      "tools": ["workspace/write_file", "workspace/edit"],
      "notes": "What a delegated task changed can be taken back with `legation task undo`."
    },"#;

/// Breaks exactly the edited file, and says this.
fn check(file: &'static str, from: &str, to: &str, says: &str) {
    let (governance, problems) = Governance::load(&edited(file, from, to), &[]);
    assert_eq!(
        broken(&governance),
        [file],
        "{from:?} -> {to:?}: {problems:?}"
    );
    assert_eq!(errors(&problems)[0], says);
}

#[test]
fn a_key_that_stands_twice_breaks_a_file_at_any_depth() {
    check(
        "operator_profile.json",
        "\"phi_auto_redact\": true",
        "\"phi_auto_redact\": true, \"phi_auto\\u005fredact\": false",
        r#"operator_profile.json, line 27: the key "phi_auto_redact" is there twice"#,
    );
    check(
        "autonomy_ladder.json",
        "{",
        "{ \"default_mode\": \"autonomous\",",
        r#"autonomy_ladder.json, line 4: the key "default_mode" is there twice"#,
    );
}

#[test]
fn a_key_that_nobody_knows_breaks_a_file() {
    check(
        "hard_bans.json",
        "\"because\"",
        "\"becuase\"",
        "hard_bans.json, line 12, at /bans/0/becuase: unknown field `becuase`, expected one of `id`, `kind`, `when`, `because`, `match`, `no_match`",
    );
    check(
        "llm_provider.json",
        "\"default_model\": \"gpt-4.1\",\n  \"timeout_ms\"",
        "\"timeout\"",
        "llm_provider.json, line 5, at /timeout: unknown field `timeout`, expected one of `$schema`, `default_provider`, `default_model`, `timeout_ms`, `providers`, `entity_overrides`, `per_job_overrides`, `fallbacks`, `savings_against`",
    );
}

#[test]
fn a_list_does_not_stand_for_an_object() {
    check(
        "operator_profile.json",
        "\"personal\": {\n      \"name\": \"Personal\",",
        "\"personal\": [\"Personal\"], \"other\": {\n      \"name\": \"Other\",",
        "operator_profile.json, line 38, at /entities/personal: invalid type: sequence, expected struct Entity",
    );
}

#[test]
fn a_word_outside_its_list_breaks_a_file() {
    check(
        "autonomy_ladder.json",
        "\"mode\": \"never\"",
        "\"mode\": \"Never\"",
        "autonomy_ladder.json, line 77, at /action_categories/9/mode: unknown variant `Never`, expected one of `autonomous`, `draft_only`, `propose_certify_apply`, `blocked`, `never`",
    );
    check(
        "hard_bans.json",
        "\"mixed_entities\"",
        "\"mixed\"",
        "hard_bans.json, line 40, at /bans/2/when/facts/0: unknown variant `mixed`, expected one of `foreign_recipient`, `external_recipient`, `mixed_entities`, `money_over`, `unredacted_phi`, `recipient_not_on`",
    );
}

#[test]
fn what_makes_a_file_mean_less_than_it_seems_breaks_it() {
    check(
        "operator_profile.json",
        "[\"meadow\", \"personal\"]",
        "[\"meadw\", \"personal\"]",
        "operator_profile.json, line 16, at /entities/harbor/never_mix_with: there is no entity `meadw`",
    );
    check(
        "operator_profile.json",
        "\"harbor.example.com\"]",
        "\"@harbor.example.com\"]",
        r#"operator_profile.json, line 13, at /entities/harbor/email_domains/0: "@harbor.example.com" is not a mail domain"#,
    );
    check(
        "operator_profile.json",
        "\"quarry\": {",
        "\"Quarry\": {",
        r#"operator_profile.json, line 32, at /entities/Quarry: "Quarry" cannot be the id of an entity: lower-case letters, digits, `-` and `_`, at most 64"#,
    );
    check(
        "operator_profile.json",
        "\"rosters/meadow.json\"",
        "\"../meadow.json\"",
        r#"operator_profile.json, line 29, at /entities/meadow/roster_files/0: "../meadow.json" is not a file below the governance folder"#,
    );
    check(
        "role_cards.json",
        "\"claude\": \"assistant\"",
        "\"claude\": \"asistant\"",
        "role_cards.json, line 61, at /clients/claude: there is no role `asistant`",
    );
    check(
        "llm_provider.json",
        "\"meadow\": {",
        "\"medow\": {",
        "llm_provider.json, line 42, at /entity_overrides/medow: there is no entity `medow`",
    );
    check(
        "llm_provider.json",
        "\"AZURE_OPENAI_API_KEY\"",
        "\"sk-example-0000\"",
        "llm_provider.json, line 19, at /providers/azure_openai/auth_env_var: this is not the name of an environment variable",
    );
    check(
        "llm_provider.json",
        "\"auth_env_var\": \"AZURE_OPENAI_API_KEY\"",
        "\"prices\": { \"input\": 2, \"output\": -8 }",
        "llm_provider.json, line 19, at /providers/azure_openai/prices: a price is a number of dollars and not below zero",
    );
    check(
        "llm_provider.json",
        "2027-12-31",
        "2027-02-29",
        r#"llm_provider.json, line 22, at /providers/azure_openai/baa/expires: "2027-02-29" is not a day of the form YYYY-MM-DD"#,
    );
}

#[test]
fn a_ban_that_bans_nothing_or_everything_breaks_the_bans() {
    check(
        "hard_bans.json",
        "{ \"facts\": [\"mixed_entities\"] }",
        "{}",
        "hard_bans.json, line 40, at /bans/2/when: a ban without a condition would stop everything",
    );
    check(
        "hard_bans.json",
        "\"attorney-client privileged\"",
        "\" \"",
        "hard_bans.json, line 90, at /bans/6/when/text: an empty text stands in everything",
    );
    check(
        "hard_bans.json",
        "\"data.never-mix\"",
        "\"mail.foreign-recipient\"",
        "hard_bans.json, line 38, at /bans/2/id: there are two bans `mail.foreign-recipient`",
    );
    check(
        "hard_bans.json",
        "\"list\": \"counsel\"",
        "\"list\": \"council\"",
        "hard_bans.json, line 91, at /bans/6/when/facts/0: there is no list `council` in privilege_approved_lists",
    );
    check(
        "hard_bans.json",
        "\"facts\": [\"unredacted_phi\"]",
        "\"arguments\": [{ \"pointer\": \"/amount\", \"op\": \">\", \"value\": \"much\" }]",
        "hard_bans.json, line 76, at /bans/5/when/arguments/0: `>` cannot be used with this value",
    );
    check(
        "hard_bans.json",
        "\"tool\": \"broker/execute_trade\"",
        "\"tool\": \"broker/*\"",
        r#"hard_bans.json, line 55, at /bans/3/match/0: "broker/*" is not the name of one tool"#,
    );
}

#[test]
fn a_contract_that_does_not_do_what_its_fixtures_say_breaks_the_contracts() {
    check(
        "output_contracts.json",
        "(?i)lorem",
        "lorem",
        "output_contracts.json, line 34, at /contracts/2/golden_fixtures/1: the contract does not treat this text as it should: nothing is wrong with it",
    );
    check(
        "output_contracts.json",
        "(?i)lorem ipsum",
        "(?=lorem)",
        "output_contracts.json, line 30, at /contracts/2/forbidden_patterns/0: regex parse error:
    (?=lorem)
    ^^^
error: look-around, including look-ahead and look-behind, is not supported",
    );
    check(
        "output_contracts.json",
        "\"allow_phi\": false",
        "\"allow_phi\": true",
        "output_contracts.json, line 11, at /contracts/0: the contract demands nothing",
    );
}

#[test]
fn a_native_tool_that_changes_something_must_stand_in_the_ladder() {
    check(
        "autonomy_ladder.json",
        ", \"desk/filing_suggestion\"",
        "",
        "autonomy_ladder.json, line 6, at /action_categories: `desk/filing_suggestion` changes something and is in no category",
    );
    // What is to be written is said: a file of before the hub had such tools lists none of them.
    let hints = [
        (
            ", \"desk/filing_suggestion\"",
            "Add \"desk/filing_suggestion\" to the tools of ",
        ),
        (
            WORKING,
            r#"Add it to one of your categories, or this one to "action_categories": {"action":"Work on the files of a folder","mode":"autonomous","tools":["workspace/edit"]}"#,
        ),
    ];
    for (cut, hint) in hints {
        let sources = edited("autonomy_ladder.json", cut, "");
        let (_, problems) = Governance::load(&sources, &[]);
        assert!(
            problems
                .iter()
                .any(|problem| problem.hint.starts_with(hint)),
            "{problems:#?}"
        );
    }
    let new = ToolName {
        server: "desk",
        tool: "shred_everything",
        native_change: true,
    };
    let (governance, _) = Governance::load(&Template::Business.sources(), &[new]);
    assert_eq!(broken(&governance), ["autonomy_ladder.json"]);
    // The personal template lists whole servers, so a new tool is no surprise.
    let (governance, _) = Governance::load(&Template::Personal.sources(), &[new]);
    assert_eq!(broken(&governance), Vec::<&str>::new());
    let reads = ToolName {
        native_change: false,
        ..new
    };
    let (governance, _) = Governance::load(&Template::Business.sources(), &[reads]);
    assert_eq!(broken(&governance), Vec::<&str>::new());
}

#[test]
fn what_cannot_be_believed_is_broken_and_the_rest_holds_on() {
    for file in [
        "operator_profile.json",
        "role_cards.json",
        "hard_bans.json",
        "autonomy_ladder.json",
        "llm_provider.json",
        "output_contracts.json",
    ] {
        for (text, says) in [
            (FileText::Absent, "is missing"),
            (
                FileText::Unusable("may be changed by others".to_owned()),
                "may be changed by others",
            ),
            (FileText::Text(String::new()), "EOF while parsing"),
            (FileText::Text("\u{feff}{}".to_owned()), "byte-order mark"),
            (FileText::Text("[]".to_owned()), "invalid type: sequence"),
            (FileText::Text("{} {}".to_owned()), "trailing characters"),
            (FileText::Text("[".repeat(100_000)), "recursion limit"),
        ] {
            let mut sources = Template::Business.sources();
            *slot(&mut sources, file) = text;
            let (governance, problems) = Governance::load(&sources, &[]);
            assert_eq!(broken(&governance), [file]);
            assert!(errors(&problems)[0].contains(says), "{file}: {problems:?}");
        }
    }
}

#[test]
fn an_enterprise_policy_that_is_not_understood_forbids_everything() {
    for (text, says) in [
        ("version = 2\n", "version 2 of this format"),
        ("third_party_servers = false\n", "missing field `version`"),
        ("version = 1\nalow = []\n", "unknown field `alow`"),
        ("version = 1\nversion = 1\n", "duplicate key"),
        ("version = 1\n[[allow]]\n", "exactly one of"),
        (
            "version = 1\n[[allow]]\nfingerprint = \"sha256:12\"\n",
            "exactly one of",
        ),
    ] {
        let mut sources = Template::Personal.sources();
        sources
            .enterprise
            .push(FileText::Text("version = 1\n".to_owned()));
        sources.enterprise.push(FileText::Text(text.to_owned()));
        let (governance, problems) = Governance::load(&sources, &[]);
        assert_eq!(broken(&governance), ["policy.toml"], "{text}");
        assert!(errors(&problems)[0].contains(says), "{text}: {problems:?}");
    }
}
