//! The models that are switched on: whether they can be asked at all, and what
//! is wrong with those on the owner's machine that nobody would notice.

use legation_core::error::chain;
use legation_models::{Failure, KeyError, Known, LocalKind, ModelClass, Resumption};
use legation_policy::governance::ProviderKind;

use super::{Check, State};
use crate::commands::models::{keys, router, run};
use crate::{CliError, Context};

const WHAT: &str = "models";

pub(super) fn check_models(context: &Context) -> Vec<Check> {
    let governed = crate::commands::governance::find(context);
    let governance = governed.governance();
    // A file that cannot be read has a line of its own.
    let Some(providers) = governance.providers.good() else {
        return Vec::new();
    };
    let enabled: Vec<&String> = providers
        .providers
        .iter()
        .filter(|(_, provider)| provider.enabled)
        .map(|(name, _)| name)
        .collect();
    if enabled.is_empty() {
        return Vec::new();
    }
    let checked = router(context).and_then(|router| {
        run(async |ctx| {
            let mut checks = Vec::new();
            for name in &enabled {
                let provider = &providers.providers[*name];
                if provider.kind_as(name) != Some(ProviderKind::LocalModel) {
                    continue;
                }
                checks.push(match router.known(ctx, governance, name).await {
                    Ok(Some(known)) => local(name, &known),
                    Ok(None) => continue,
                    Err(failure) => failed(name, &failure),
                });
            }
            Ok(checks)
        })
    });
    let mut checks = checked.unwrap_or_else(|error| vec![unasked(error)]);
    match keys(context) {
        Ok(keys) => checks.extend(enabled.into_iter().filter_map(|name| {
            let provider = &providers.providers[name];
            match provider.kind_as(name)? {
                ProviderKind::LocalModel | ProviderKind::CopilotExtension => None,
                ProviderKind::OpenaiDirect
                | ProviderKind::AzureOpenai
                | ProviderKind::AnthropicDirect
                | ProviderKind::OpenaiCompatible => {
                    Some(keyed(name, keys.get(name, provider, None).err()))
                }
            }
        })),
        Err(error) => checks.push(unasked(error)),
    }
    checks
}

fn unasked(error: CliError) -> Check {
    Check {
        what: WHAT,
        state: State::Bad,
        detail: error.message,
        hint: error.hint,
    }
}

/// A provider that has a key, or has none.
fn keyed(name: &str, error: Option<KeyError>) -> Check {
    match error {
        None => super::good(WHAT, format!("{name} has a key")),
        Some(error) => Check {
            what: WHAT,
            state: State::Warning,
            detail: chain(&error),
            hint: Some(error.hint()),
        },
    }
}

/// A local provider that does not say what it is.
fn failed(name: &str, failure: &Failure) -> Check {
    let is_untrue = matches!(failure, Failure::Model(error) if error.class() == ModelClass::Untrue);
    Check {
        what: WHAT,
        // That it is not running is nothing to repair.
        state: if is_untrue {
            State::Bad
        } else {
            State::Warning
        },
        detail: format!("{name}: {}", chain(failure)),
        hint: Some(failure.hint()),
    }
}

/// What is wrong with a local model, one thing at a time and the worst first.
fn local(name: &str, known: &Known) -> Check {
    let warning = |detail: String, hint: &str| Check {
        what: WHAT,
        state: State::Warning,
        detail: format!("{name}: {detail}"),
        hint: Some(hint.to_owned()),
    };
    let model = &known.model.name;
    if known.kind == LocalKind::Ollama && known.model.context.is_none() {
        return warning(
            format!(
                "Ollama cuts conversations with {model} at a length that it does not tell, and says nothing"
            ),
            "make the model with `PARAMETER num_ctx 32768` in a Modelfile",
        );
    }
    if known.model.tools == Some(false) {
        return warning(
            format!("{model} cannot call tools by itself; tasks describe them to it in words"),
            "choose a model that can, for fewer mistakes",
        );
    }
    let server = known.kind.as_str();
    if known.resumption == Resumption::Restart {
        return warning(
            format!("{server} cannot go on with a turn that was broken off"),
            "llama.cpp and vLLM can",
        );
    }
    let context = match known.model.context {
        Some(tokens) => format!(", {tokens} tokens"),
        None => String::new(),
    };
    super::good(WHAT, format!("{name}: {model} at {server}{context}"))
}

#[cfg(test)]
mod tests {
    use legation_models::{GoOn, LocalModel, ModelError};

    use super::*;

    fn known(kind: LocalKind, context: Option<u64>, tools: Option<bool>) -> Known {
        let can = matches!(kind, LocalKind::LlamaCpp | LocalKind::Vllm);
        Known {
            kind,
            model: LocalModel {
                name: "small".to_owned(),
                context,
                tools,
                elsewhere: None,
            },
            resumption: if can {
                Resumption::Exact
            } else {
                Resumption::Restart
            },
            go_on: if can { GoOn::Flag } else { GoOn::Never },
        }
    }

    #[test]
    fn what_nobody_would_notice_is_said() {
        let cases = [
            (
                known(LocalKind::LlamaCpp, Some(8192), Some(true)),
                State::Good,
                "8192 tokens",
            ),
            (
                known(LocalKind::LlamaCpp, Some(8192), None),
                State::Good,
                "llama.cpp",
            ),
            (
                known(LocalKind::LlamaCpp, Some(8192), Some(false)),
                State::Warning,
                "tools",
            ),
            (
                known(LocalKind::Ollama, None, Some(true)),
                State::Warning,
                "cuts",
            ),
            (
                known(LocalKind::Ollama, Some(32768), Some(true)),
                State::Warning,
                "broken off",
            ),
            (
                known(LocalKind::Vllm, Some(32768), None),
                State::Good,
                "vLLM",
            ),
        ];
        for (known, state, says) in cases {
            let check = local("mine", &known);
            assert_eq!(check.state, state, "{}", check.detail);
            assert!(check.detail.contains(says), "{}", check.detail);
            assert_eq!(check.hint.is_some(), state != State::Good);
        }
    }

    #[test]
    fn one_that_is_not_what_it_is_said_to_be_is_bad() {
        let proxied = ModelError::Proxied {
            evidence: "it lists models of a public service",
        };
        assert_eq!(failed("mine", &Failure::Model(proxied)).state, State::Bad);
        let cut = failed("mine", &Failure::Model(ModelError::CutOff));
        assert_eq!(cut.state, State::Warning);
        assert_eq!(failed("mine", &Failure::NoModel).state, State::Warning);
        assert_eq!(keyed("mine", None).state, State::Good);
    }
}
