//! The shapes of Graph's chat resources (v1.0). What is not read is not here.

use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct WireChat {
    pub(super) id: String,
}

#[derive(Deserialize)]
pub(super) struct WireUser {
    pub(super) id: String,
}

#[derive(Deserialize)]
pub(super) struct Members {
    pub(super) value: Vec<WireMember>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireMember {
    #[serde(default)]
    pub(super) user_id: Option<String>,
    #[serde(default)]
    pub(super) display_name: Option<String>,
    #[serde(default)]
    pub(super) email: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct WireListed {
    pub(super) id: String,
    #[serde(default)]
    pub(super) topic: Option<String>,
    #[serde(default)]
    pub(super) members: Option<Vec<WireMember>>,
}

#[derive(Deserialize)]
pub(super) struct List {
    pub(super) value: Vec<WireMessage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireMessage {
    pub(super) id: String,
    #[serde(default)]
    pub(super) etag: Option<String>,
    #[serde(default)]
    pub(super) message_type: Option<String>,
    #[serde(default)]
    pub(super) created_date_time: Option<String>,
    #[serde(default)]
    pub(super) last_modified_date_time: Option<String>,
    #[serde(default)]
    pub(super) last_edited_date_time: Option<String>,
    #[serde(default)]
    pub(super) deleted_date_time: Option<String>,
    #[serde(default)]
    pub(super) from: Option<WireFrom>,
    #[serde(default)]
    pub(super) body: Option<WireBody>,
    #[serde(default)]
    pub(super) attachments: Option<Vec<WireAttachment>>,
    #[serde(default)]
    pub(super) mentions: Option<Vec<WireMention>>,
}

#[derive(Deserialize)]
pub(super) struct WireFrom {
    #[serde(default)]
    pub(super) user: Option<WireIdentity>,
    #[serde(default)]
    pub(super) application: Option<WireIdentity>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireIdentity {
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) display_name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireBody {
    #[serde(default)]
    pub(super) content_type: Option<String>,
    #[serde(default)]
    pub(super) content: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireAttachment {
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) content_type: Option<String>,
    #[serde(default)]
    pub(super) name: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct WireMention {
    #[serde(default)]
    pub(super) mentioned: Option<WireFrom>,
}
