//! The worked example as an owner sets it up: the shipped files, a provider
//! with an agreement, a second Cedar policy, and rules for upstream servers.

use legation_core::ServerName;
use legation_policy::governance::{FileText, Sources, Template};
use legation_policy::{KnownTool, NativeTool, Policy, Verb};
use serde_json::{Value, json};

/// The folder whose rules hold beside the owner's.
pub(crate) const FOLDER: &str = "/home/jordan/ledger";

/// 2026-11-21, in milliseconds since 1970.
pub(crate) const NOW_MS: i64 = 1_795_219_200_000;

/// After the agreement of the example ended.
pub(crate) const LATER_MS: i64 = 1_840_000_000_000;

const MORE_CEDAR: &str = r#"
@id("no-mixed-work-by-delegates")
forbid(principal, action in Action::"execute", resource)
when { context.delegated && context.labels.contains("personal") };

@id("quarry-stays-in-drafts")
forbid(principal in Role::"assistant", action in Action::"execute", resource)
when { context.server == "desk" && context.labels.contains("quarry") };
"#;

const MORE_RULES: &str = r#"
[[rule]]
id = "files.tools"
rule = 'allow files/* because "the owner reviewed the server"'

[[rule]]
id = "files.looks"
rule = 'reads files/read_file verb tools/call because "it only reads"'
match = ["files/read_file"]
no_match = ["files/write_file"]

[[rule]]
id = "books.small"
rule = 'allow books/pay_invoice because "invoices are paid from here"'

[[rule]]
id = "books.large"
rule = 'deny books/pay_invoice where /amount >= 9000 client owner because "the bank wants a form for it"'

[[rule]]
id = "broker.looks"
rule = 'allow broker/* rung draft because "prices are looked at"'
"#;

const FOLDER_RULES: &str = r#"version = 2
[[rule]]
id = "folder.frozen"
rule = 'deny files/write_file because "this folder is frozen"'
"#;

/// One file of the example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum File {
    Profile,
    Roles,
    Bans,
    Ladder,
    Providers,
    Contracts,
    Cedar,
    Permissions,
    Folder,
    Roster,
}

/// Everything as it stands.
pub(crate) fn sources() -> Sources {
    let mut sources = Template::Business.sources();
    let providers = edit(&sources.llm_provider, |value| {
        let all = &mut value["providers"];
        all["azure_openai"]["enabled"] = json!(true);
        all["azure_openai"]["endpoint"] = json!("https://models.example.com/v1");
        all["azure_openai"]["baa"]["reference"] = json!("Agreement 7 of 2026");
        all["azure_openai"]["entities"] = json!(["harbor", "meadow"]);
        all["local_model"]["enabled"] = json!(true);
        all["local_model"]["hipaa_cleared"] = json!(true);
        value["entity_overrides"]["quarry"] = json!({ "provider": "local_model" });
        value["per_job_overrides"]["digest"] =
            json!({ "provider": "local_model", "model": "small" });
        value["per_job_overrides"]["hook"] = json!({ "provider": "copilot_extension" });
        let all = &mut value["providers"];
        all["copilot_extension"]["enabled"] = json!(true);
        // The models differ, so that it shows whose is taken.
        for (name, model) in [
            ("openai_direct", "direct"),
            ("azure_openai", "tenant"),
            ("copilot_extension", "copilot"),
        ] {
            all[name]["default_model"] = json!(model);
        }
    });
    sources.llm_provider = providers;
    // Accounts that their owner's domain does not say.
    sources.operator_profile = edit(&sources.operator_profile, |value| {
        for entity in ["harbor", "meadow", "personal"] {
            let mailbox = json!(format!("{entity}@shared.example.org"));
            let mailboxes = value["entities"][entity]["mailboxes"].as_array_mut();
            mailboxes.expect("mailboxes").push(mailbox);
        }
    });
    sources.role_cards = edit(&sources.role_cards, |value| {
        value["clients"]["visitor"] = json!("reader");
    });
    // Clients that no audience names read for one of their own.
    sources.output_contracts = edit(&sources.output_contracts, |value| {
        value["default_audience"] = json!("others");
        value["audiences"]["others"] = json!({ "clients": [] });
        let contract = json!({
            "id": "others.short",
            "tools": ["*"],
            "audiences": ["others"],
            "max_length": 8,
            "because": "nobody knows who reads it",
        });
        let contracts = value["contracts"].as_array_mut();
        contracts.expect("contracts").push(contract);
    });
    sources.cedar = FileText::Text(format!("{}{MORE_CEDAR}", text(&sources.cedar)));
    sources.permissions = FileText::Text(format!("{}{MORE_RULES}", text(&sources.permissions)));
    sources.workspaces = vec![(FOLDER.into(), FileText::Text(FOLDER_RULES.to_owned()))];
    sources
}

fn edit(file: &FileText, change: impl FnOnce(&mut Value)) -> FileText {
    let mut value: Value = serde_json::from_str(text(file)).expect("the example is JSON");
    change(&mut value);
    FileText::Text(value.to_string())
}

/// A file's text.
pub(crate) fn text(file: &FileText) -> &str {
    match file {
        FileText::Text(text) => text,
        FileText::Absent | FileText::Unusable(_) => panic!("the example has all its files"),
    }
}

/// Where a file's text stands.
pub(crate) fn part(sources: &mut Sources, file: File) -> &mut FileText {
    match file {
        File::Profile => &mut sources.operator_profile,
        File::Roles => &mut sources.role_cards,
        File::Bans => &mut sources.hard_bans,
        File::Ladder => &mut sources.autonomy_ladder,
        File::Providers => &mut sources.llm_provider,
        File::Contracts => &mut sources.output_contracts,
        File::Cedar => &mut sources.cedar,
        File::Permissions => &mut sources.permissions,
        File::Folder => &mut sources.workspaces[0].1,
        File::Roster => sources
            .rosters
            .get_mut("rosters/meadow.json")
            .expect("the example has a roster"),
    }
}

/// The tools that were ever seen.
pub(crate) fn tools() -> Vec<KnownTool> {
    let own = Some(NativeTool {
        changes: true,
        drafts: true,
    });
    [
        ("desk/draft_email", own),
        ("files/read_file", None),
        ("files/write_file", None),
        ("broker/quote", None),
        ("broker/execute_trade", None),
        ("broker/place_order", None),
        ("broker/wire_funds", None),
        ("books/pay_invoice", None),
    ]
    .into_iter()
    .map(|(name, native)| {
        let (server, item) = name.split_once('/').expect("server/tool");
        let schema = native.map(|_| r#"{"type":"object","properties":{"profile_id":{}}}"#.into());
        KnownTool {
            server: ServerName::parse(server).expect("a name"),
            item: Some(item.into()),
            verb: Verb::CallTool,
            schema,
            trusted: true,
            native,
        }
    })
    .collect()
}

/// What these files decide.
pub(crate) fn load(sources: &Sources) -> Policy {
    Policy::load(sources, &tools())
}
