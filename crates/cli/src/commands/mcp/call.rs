//! `legation mcp call`.

use clap::Args;
use legation_api::mcp::Call;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::commands::{running_hub, workspace};
use crate::{CliError, Context, Exit};

/// Arguments of `legation mcp call`.
#[derive(Debug, Args)]
pub struct CallArgs {
    /// The tool: its flat name, or server/tool.
    name: String,
    /// The arguments, a JSON object; `-` reads it from standard input.
    #[arg(default_value = "{}")]
    arguments: String,
}

#[derive(Deserialize)]
struct ToolResult {
    #[serde(default)]
    content: Vec<Content>,
    #[serde(default, rename = "isError")]
    is_error: bool,
}

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    text: Option<String>,
    #[serde(default, rename = "type")]
    kind: String,
}

pub(crate) fn cmd_call(context: &Context, args: &CallArgs) -> Result<(), CliError> {
    let text = if args.arguments == "-" {
        std::io::read_to_string(std::io::stdin()).map_err(|error| CliError::failed(&error))?
    } else {
        args.arguments.clone()
    };
    let arguments = RawValue::from_string(text.trim().to_owned()).map_err(|error| {
        CliError::new(
            Exit::Usage,
            format!("the arguments are no JSON: {error}; nothing was called"),
        )
        .with_hint(r#"give an object, such as '{"path": "notes.txt"}'"#)
    })?;
    let request = Call {
        name: args.name.clone(),
        arguments,
        workspace: workspace(),
    };
    let answer = running_hub(context)?.call(&request)?;
    let result: ToolResult = serde_json::from_str(answer.result.get()).unwrap_or(ToolResult {
        content: Vec::new(),
        is_error: false,
    });
    context.output.result(&answer, |answer| {
        if result.content.is_empty() {
            return answer.result.get().to_owned();
        }
        let parts = result.content.iter().map(|content| match &content.text {
            Some(text) => text.clone(),
            None => format!("[{}; see --json]", content.kind),
        });
        parts.collect::<Vec<_>>().join("\n")
    })?;
    if result.is_error {
        return Err(CliError::new(
            Exit::Failed,
            format!("{} reported an error", args.name),
        ));
    }
    Ok(())
}
