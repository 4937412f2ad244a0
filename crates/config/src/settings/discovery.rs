//! `[discovery]` and `[instructions]`: how much of the catalogue a client reads before it asks.

use super::layers::{Value, Values};

/// Who looks for tools, and what everybody reads at once. Patterns may use `*` and `?`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscoverySettings {
    /// `clients`: whose list of tools is the hub's few.
    pub clients: Vec<Box<str>>,
    /// `always`: tools, as `server/tool`, that stay in those lists.
    pub always: Vec<Box<str>>,
    /// `embeddings`: the provider and the model that are asked what texts mean.
    pub embeddings: Option<(Box<str>, Box<str>)>,
    /// `instructions.included`: servers whose instructions are forwarded.
    pub instructions: Vec<Box<str>>,
}

pub(super) fn read(values: &Values) -> DiscoverySettings {
    let patterns = |key: &str| match &values[key].value {
        Value::Texts(patterns) => patterns.iter().map(|one| one.as_str().into()).collect(),
        _ => Vec::new(),
    };
    DiscoverySettings {
        clients: patterns("discovery.clients"),
        always: patterns("discovery.always"),
        embeddings: match &values["discovery.embeddings"].value {
            Value::Text(text) => text
                .split_once('/')
                .map(|(provider, model)| (provider.into(), model.into())),
            _ => None,
        },
        instructions: patterns("instructions.included"),
    }
}
