//! JSON Schemas of the governance files, made from the types that read them.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use super::{
    AutonomyLadder, BriefConfig, DraftStyle, EnterprisePolicy, HardBans, LlmProviders,
    OperatorProfile, OutputContracts, ParaRules, RoleCards, Roster, UrgencyRules,
};

/// The schema of each file, by the file's name, pretty and ending in a new line.
pub fn schemas() -> Vec<(&'static str, String)> {
    vec![
        ("operator_profile.json", of::<OperatorProfile>()),
        ("role_cards.json", of::<RoleCards>()),
        ("hard_bans.json", of::<HardBans>()),
        ("autonomy_ladder.json", of::<AutonomyLadder>()),
        ("llm_provider.json", of::<LlmProviders>()),
        ("output_contracts.json", of::<OutputContracts>()),
        ("brief_config.json", of::<BriefConfig>()),
        ("urgency_rules.json", of::<UrgencyRules>()),
        ("draft_style.json", of::<DraftStyle>()),
        ("para_rules.json", of::<ParaRules>()),
        ("roster.json", of::<Roster>()),
        ("enterprise_policy.json", of::<EnterprisePolicy>()),
    ]
}

fn of<T: JsonSchema>() -> String {
    let mut schema = SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>();
    RecursiveTransform(allow_notes).transform(&mut schema);
    let mut text = serde_json::to_string_pretty(schema.as_value())
        .expect("a schema is made of texts, numbers and maps");
    text.push('\n');
    text
}

/// Keys that begin with `_` are the owner's own words wherever they stand.
fn allow_notes(schema: &mut Schema) {
    if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
        schema.insert("patternProperties".to_owned(), json!({ "^_": true }));
    }
}
