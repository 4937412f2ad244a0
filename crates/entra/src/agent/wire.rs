//! The shapes of Graph's agent resources (v1.0, sign-ins beta).

use serde::Deserialize;

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireApp {
    pub(super) id: String,
    pub(super) app_id: String,
    #[serde(default)]
    pub(super) api: Option<WireApi>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireApi {
    #[serde(default)]
    pub(super) oauth2_permission_scopes: Vec<WireScope>,
}

#[derive(Clone, Deserialize)]
pub(super) struct WireScope {
    #[serde(default)]
    pub(super) value: Option<String>,
}

#[derive(Clone, Deserialize)]
pub(super) struct WireId {
    pub(super) id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireGrant {
    pub(super) id: String,
    #[serde(default)]
    pub(super) principal_id: Option<String>,
    #[serde(default)]
    pub(super) resource_id: Option<String>,
    #[serde(default)]
    pub(super) scope: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WirePassword {
    pub(super) secret_text: String,
}

#[derive(Deserialize)]
pub(super) struct WireList<T> {
    #[serde(default = "Vec::new")]
    pub(super) value: Vec<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireSignIn {
    #[serde(default)]
    pub(super) created_date_time: Option<String>,
    #[serde(default)]
    pub(super) resource_display_name: Option<String>,
    #[serde(default)]
    pub(super) app_id: Option<String>,
    #[serde(default)]
    pub(super) service_principal_id: Option<String>,
    #[serde(default)]
    pub(super) agent: Option<WireAgent>,
    #[serde(default)]
    pub(super) status: Option<WireStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireAgent {
    #[serde(default)]
    pub(super) agent_type: Option<String>,
    #[serde(default)]
    pub(super) agent_subject_type: Option<String>,
    #[serde(default)]
    pub(super) parent_app_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireStatus {
    #[serde(default)]
    pub(super) error_code: Option<i64>,
}
