//! Documents of a registry as they are written (`server.json` of 2025-12-11 and the list of API v0.1).
//! Members that are not known here are of no use and are let pass.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A list, or `null` for none.
fn or_none<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[derive(Debug, Deserialize)]
pub(crate) struct ServerList {
    pub(crate) servers: Vec<ServerResponse>,
    #[serde(default)]
    pub(crate) metadata: Option<Metadata>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metadata {
    #[serde(default)]
    pub(crate) next_cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ServerResponse {
    pub(crate) server: ServerDetail,
    #[serde(default, rename = "_meta")]
    pub(crate) meta: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerDetail {
    pub(crate) name: String,
    pub(crate) version: String,
    #[serde(default)]
    pub(crate) title: Option<String>,
    #[serde(default)]
    pub(crate) description: String,
    #[serde(default, deserialize_with = "or_none")]
    pub(crate) packages: Vec<Package>,
    #[serde(default, deserialize_with = "or_none")]
    pub(crate) remotes: Vec<Transport>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Package {
    pub(crate) registry_type: String,
    #[serde(default)]
    pub(crate) registry_base_url: Option<String>,
    pub(crate) identifier: String,
    #[serde(default)]
    pub(crate) version: Option<String>,
    #[serde(default)]
    pub(crate) file_sha256: Option<String>,
    #[serde(default)]
    pub(crate) runtime_hint: Option<String>,
    #[serde(default)]
    pub(crate) transport: Option<Transport>,
    #[serde(default, deserialize_with = "or_none")]
    pub(crate) runtime_arguments: Vec<Argument>,
    #[serde(default, deserialize_with = "or_none")]
    pub(crate) package_arguments: Vec<Argument>,
    #[serde(default, deserialize_with = "or_none")]
    pub(crate) environment_variables: Vec<Pair>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Transport {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) url: Option<String>,
    #[serde(default, deserialize_with = "or_none")]
    pub(crate) headers: Vec<Pair>,
    #[serde(default)]
    pub(crate) variables: BTreeMap<String, Field>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Argument {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) value_hint: Option<String>,
    #[serde(default)]
    pub(crate) is_repeated: bool,
    #[serde(flatten)]
    pub(crate) field: Field,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Pair {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) field: Field,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Field {
    pub(crate) description: Option<String>,
    pub(crate) is_required: bool,
    pub(crate) format: Option<String>,
    pub(crate) value: Option<String>,
    pub(crate) is_secret: bool,
    pub(crate) default: Option<String>,
    #[serde(deserialize_with = "or_none")]
    pub(crate) choices: Vec<String>,
    pub(crate) variables: BTreeMap<String, Self>,
}
