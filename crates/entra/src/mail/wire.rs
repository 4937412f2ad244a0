//! The shapes of Graph's mail resources (v1.0). What is not read is not here.

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
pub(super) struct WireLetter {
    pub(super) id: String,
    #[serde(rename = "@odata.type")]
    pub(super) odata_type: Option<String>,
    #[serde(rename = "@removed")]
    pub(super) removed: Option<serde_json::Value>,
    pub(super) internet_message_id: Option<String>,
    pub(super) conversation_id: Option<String>,
    pub(super) subject: Option<String>,
    pub(super) from: Option<WireRecipient>,
    pub(super) sender: Option<WireRecipient>,
    pub(super) to_recipients: Option<Vec<WireRecipient>>,
    pub(super) cc_recipients: Option<Vec<WireRecipient>>,
    pub(super) reply_to: Option<Vec<WireRecipient>>,
    pub(super) received_date_time: Option<String>,
    pub(super) has_attachments: Option<bool>,
    pub(super) is_draft: Option<bool>,
    pub(super) internet_message_headers: Option<Vec<WireHeader>>,
}

/// What a letter says.
#[derive(Deserialize)]
pub(super) struct WireWords {
    #[serde(default)]
    pub(super) body: Option<WireBody>,
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
pub(super) struct WireRecipient {
    #[serde(default)]
    pub(super) email_address: Option<WireAddress>,
}

#[derive(Deserialize)]
pub(super) struct WireAddress {
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) address: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct WireHeader {
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) value: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireAttachment {
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) is_inline: bool,
}

/// A folder, or what lies in one.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireFolder {
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) parent_folder_id: Option<String>,
    #[serde(default)]
    pub(super) display_name: Option<String>,
}

/// A page of a list.
#[derive(Deserialize)]
pub(super) struct WireListing {
    #[serde(default)]
    pub(super) value: Vec<WireListed>,
    #[serde(rename = "@odata.count", default)]
    pub(super) count: Option<u64>,
    #[serde(rename = "@odata.nextLink", default)]
    pub(super) next: Option<String>,
}

/// A letter, with what its mailbox knows about it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireListed {
    #[serde(flatten)]
    pub(super) letter: WireLetter,
    #[serde(default)]
    pub(super) body_preview: Option<String>,
    #[serde(default)]
    pub(super) is_read: Option<bool>,
    #[serde(default)]
    pub(super) importance: Option<String>,
    #[serde(default)]
    pub(super) parent_folder_id: Option<String>,
    #[serde(default)]
    pub(super) web_link: Option<String>,
    #[serde(default)]
    pub(super) body: Option<WireBody>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireUser {
    #[serde(default)]
    mail: Option<String>,
    #[serde(default)]
    user_principal_name: Option<String>,
    #[serde(default)]
    proxy_addresses: Option<Vec<String>>,
}

// === impl WireUser ===

impl WireUser {
    /// Every address, in small letters.
    pub(super) fn addresses(self) -> impl Iterator<Item = String> {
        let proxies = self.proxy_addresses.unwrap_or_default().into_iter();
        // `SMTP:` for the first of them, `smtp:` for the others.
        let proxies = proxies.map(|one| one.to_lowercase());
        let proxies = proxies.filter_map(|one| one.strip_prefix("smtp:").map(str::to_owned));
        let own = self.mail.into_iter().chain(self.user_principal_name);
        own.map(|one| one.to_lowercase()).chain(proxies)
    }
}
