//! `[github]`: GitHub's own MCP server.

use super::layers::{Value, Values};

/// Longest name of a tool or toolset.
const NAME_MAX: usize = 64;

/// What GitHub's own server is to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GithubSettings {
    /// `builtin`.
    pub builtin: GithubChoice,
    /// `api_url`.
    pub api_url: Box<str>,
    /// `token_variables`.
    pub token_variables: Vec<Box<str>>,
    /// `gh`.
    pub gh: bool,
    /// `all_tools`.
    pub all_tools: bool,
    /// `toolsets`.
    pub toolsets: Vec<Box<str>>,
    /// `tools`.
    pub tools: Vec<Box<str>>,
    /// `insiders`.
    pub insiders: bool,
}

/// When GitHub's own server is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GithubChoice {
    /// Unless clients work in repositories of somewhere else.
    Auto,
    /// Always.
    On,
    /// Never.
    #[default]
    Off,
}

/// What flags add to `[github]` for one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GithubAdded {
    /// `--enable-all-github-mcp-tools`.
    pub all_tools: bool,
    /// `--add-github-mcp-toolset`.
    pub toolsets: Vec<Box<str>>,
    /// `--add-github-mcp-tool`.
    pub tools: Vec<Box<str>>,
}

// === impl GithubSettings ===

impl GithubSettings {
    /// The same with what flags add.
    #[must_use]
    pub fn with(mut self, added: &GithubAdded) -> Self {
        self.all_tools |= added.all_tools;
        self.toolsets.extend(added.toolsets.iter().cloned());
        self.tools.extend(added.tools.iter().cloned());
        self
    }
}

pub(super) fn read(values: &Values) -> GithubSettings {
    let text = |key: &str| match &values[key].value {
        Value::Text(text) => text.as_str(),
        _ => "",
    };
    let texts = |key: &str| match &values[key].value {
        Value::Texts(texts) => texts.iter().map(|text| text.as_str().into()).collect(),
        _ => Vec::new(),
    };
    let is_on = |key: &str| matches!(values[key].value, Value::Switch(true));
    GithubSettings {
        builtin: match text("github.builtin") {
            "auto" => GithubChoice::Auto,
            "on" => GithubChoice::On,
            _ => GithubChoice::Off,
        },
        api_url: text("github.api_url").into(),
        token_variables: texts("github.token_variables"),
        gh: is_on("github.gh"),
        all_tools: is_on("github.all_tools"),
        toolsets: texts("github.toolsets"),
        tools: texts("github.tools"),
        insiders: is_on("github.insiders"),
    }
}

/// Whether a tool or toolset may be called so: it stands in a header, between commas.
pub fn is_github_name(text: &str) -> bool {
    (1..=NAME_MAX).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}
