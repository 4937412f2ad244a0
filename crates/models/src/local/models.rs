//! Lists of models, as servers write them.

use serde_json::Value;

use super::{LocalModel, LocalServer};

/// More than any machine has; the rest of a longer list is not looked at.
const MODELS_MAX: usize = 1024;
/// Owners that no model on one's own machine has: a list that names them was
/// fetched from, or made for, their services.
const OWNERS: &[&str] = &[
    "openai",
    "openai-internal",
    "system",
    "anthropic",
    "google",
    "azure",
    "azure-openai",
    "github-copilot",
    "xai",
    "bedrock",
    "vertex_ai",
];

/// OpenAI's list, which all have; `None` where it is none.
pub(super) fn listed(list: &Value) -> Option<Vec<LocalModel>> {
    let all = list.get("data")?.as_array()?;
    let read = |entry: &Value| {
        let owner = entry.get("owned_by").and_then(Value::as_str);
        let by_owner = owner
            .is_some_and(|owner| OWNERS.contains(&owner))
            .then_some("it lists models of a public service");
        Some(LocalModel {
            name: entry.get("id")?.as_str()?.to_owned(),
            context: entry.get("max_model_len").and_then(Value::as_u64),
            tools: None,
            elsewhere: by_owner,
        })
    };
    Some(all.iter().take(MODELS_MAX).filter_map(read).collect())
}

/// Whether somebody is the owner of a listed model.
pub(super) fn is_owned_by(list: &Value, owner: &str) -> bool {
    let all = list.get("data").and_then(Value::as_array);
    all.is_some_and(|all| all.iter().any(|entry| entry["owned_by"] == owner))
}

/// LM Studio's own list; `None` where it is another's.
pub(super) fn lm_studio(list: &Value) -> Option<Vec<LocalModel>> {
    let all = list.get("data")?.as_array()?;
    let read = |entry: &Value| {
        let number = |name: &str| entry.get(name).and_then(Value::as_u64);
        let able = entry.get("capabilities").and_then(Value::as_array);
        Some(LocalModel {
            name: entry.get("id")?.as_str()?.to_owned(),
            context: number("loaded_context_length").or_else(|| number("max_context_length")),
            tools: able.map(|able| able.iter().any(|one| one == "tool_use")),
            elsewhere: None,
        })
    };
    let is_model = |entry: &&Value| entry["type"] != "embeddings";
    Some(
        all.iter()
            .take(MODELS_MAX)
            .filter(is_model)
            .filter_map(read)
            .collect(),
    )
}

/// Ollama's own list.
pub(super) fn ollama(tags: &Value) -> Vec<LocalModel> {
    let all = tags.get("models").and_then(Value::as_array);
    let read = |entry: &Value| {
        let name = entry.get("model").or_else(|| entry.get("name"))?.as_str()?;
        Some(LocalModel {
            name: name.to_owned(),
            elsewhere: at_ollama(name, entry),
            ..LocalModel::default()
        })
    };
    let all = all.into_iter().flatten().take(MODELS_MAX);
    all.filter_map(read).collect()
}

/// What Ollama says about one model.
pub(super) fn shown(show: &Value, model: &mut LocalModel) {
    model.elsewhere = model.elsewhere.or_else(|| at_ollama(&model.name, show));
    let able = show.get("capabilities").and_then(Value::as_array);
    model.tools = able.map(|able| able.iter().any(|one| one == "tools"));
    // What it is run with, not what it was made for: where nobody set it, it is
    // the server's default, which is not told.
    let parameters = show.get("parameters").and_then(Value::as_str);
    let set = parameters.unwrap_or_default().lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some("num_ctx")).then(|| words.next()?.parse().ok())?
    });
    model.context = set;
}

/// What Ollama runs a model with, if it runs just now.
pub(super) fn running(ps: &Value, name: &str) -> Option<u64> {
    let all = ps.get("models")?.as_array()?;
    let is_it = |entry: &&Value| is_same(entry["model"].as_str().unwrap_or_default(), name);
    all.iter().find(is_it)?.get("context_length")?.as_u64()
}

/// Whether a listed name is the one that is asked for.
fn is_same(listed: &str, name: &str) -> bool {
    listed == name || listed.strip_suffix(":latest") == Some(name)
}

fn at_ollama(name: &str, entry: &Value) -> Option<&'static str> {
    let says = |field: &str| {
        let text = entry.get(field).and_then(Value::as_str);
        text.is_some_and(|text| !text.is_empty())
    };
    let tag = name.rsplit_once(':').map_or("", |(_, tag)| tag);
    let is_named = tag == "cloud" || tag.ends_with("-cloud");
    (says("remote_host") || says("remote_model") || is_named)
        .then_some("Ollama has it run on another machine")
}

/// The entry of a model. One that is not listed may be an alias; if anything
/// there runs elsewhere, so may it.
pub(super) fn named(server: &LocalServer, name: &str) -> LocalModel {
    let mut all = server.models.iter();
    if let Some(model) = all.find(|model| is_same(&model.name, name)) {
        return model.clone();
    }
    let elsewhere = match server.kind {
        super::LocalKind::Ollama => at_ollama(name, &Value::Null),
        super::LocalKind::LlamaCpp
        | super::LocalKind::LmStudio
        | super::LocalKind::Vllm
        | super::LocalKind::Other => server.models.iter().find_map(|model| model.elsewhere),
    };
    // llama.cpp serves the one model it has under any name.
    let only = match server.models.as_slice() {
        [only] => only.clone(),
        _ => LocalModel::default(),
    };
    LocalModel {
        name: name.to_owned(),
        elsewhere,
        ..only
    }
}
