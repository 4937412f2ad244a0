//! The shapes of Graph's events (v1.0). What is not read is not here.

use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct WireEvents {
    #[serde(default)]
    pub(super) value: Vec<WireEvent>,
    #[serde(rename = "@odata.nextLink", default)]
    pub(super) next: Option<String>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireEvent {
    pub(super) id: String,
    #[serde(rename = "@removed")]
    pub(super) removed: Option<serde_json::Value>,
    #[serde(rename = "iCalUId")]
    pub(super) ical_uid: Option<String>,
    pub(super) series_master_id: Option<String>,
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) subject: Option<String>,
    pub(super) body_preview: Option<String>,
    pub(super) start: Option<WireTime>,
    pub(super) end: Option<WireTime>,
    pub(super) is_all_day: Option<bool>,
    pub(super) location: Option<WirePlace>,
    pub(super) organizer: Option<WirePerson>,
    pub(super) attendees: Option<Vec<WirePerson>>,
    pub(super) show_as: Option<String>,
    pub(super) sensitivity: Option<String>,
    pub(super) is_cancelled: Option<bool>,
    pub(super) is_organizer: Option<bool>,
    pub(super) response_status: Option<WireStatus>,
    pub(super) is_online_meeting: Option<bool>,
    pub(super) web_link: Option<String>,
    pub(super) last_modified_date_time: Option<String>,
    pub(super) categories: Option<Vec<String>>,
    pub(super) transaction_id: Option<String>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireTime {
    #[serde(default)]
    pub(super) date_time: String,
    #[serde(default)]
    pub(super) time_zone: Option<String>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WirePlace {
    #[serde(default)]
    pub(super) display_name: Option<String>,
}

/// Who organizes or attends.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WirePerson {
    #[serde(default)]
    pub(super) email_address: Option<WireAddress>,
    #[serde(default)]
    pub(super) status: Option<WireStatus>,
    #[serde(rename = "type", default)]
    pub(super) kind: Option<String>,
}

#[derive(Clone, Deserialize)]
pub(super) struct WireAddress {
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) address: Option<String>,
}

#[derive(Clone, Deserialize)]
pub(super) struct WireStatus {
    #[serde(default)]
    pub(super) response: Option<String>,
}
