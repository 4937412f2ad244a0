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
            format!("the arguments are not JSON: {error}; nothing was called"),
        )
        .with_hint(r#"give an object, such as '{"path": "notes.txt"}'"#)
    })?;
    if !arguments.get().starts_with('{') {
        return Err(CliError::new(
            Exit::Usage,
            "the arguments are not a JSON object; nothing was called",
        )
        .with_hint(r#"give an object, such as '{"path": "notes.txt"}'"#));
    }
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
        context
            .output
            .foreign(&render(&result, answer.result.get()))
    })?;
    if result.is_error {
        return Err(CliError::new(
            Exit::Failed,
            format!("{} reported an error", args.name),
        ));
    }
    Ok(())
}

/// The texts of a result; the whole of it where it has none.
fn render(result: &ToolResult, whole: &str) -> String {
    if result.content.is_empty() {
        return whole.to_owned();
    }
    let parts = result.content.iter().map(|content| match &content.text {
        Some(text) => text.clone(),
        None => format!("[{}; see --json]", content.kind),
    });
    parts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_its_texts_or_itself() {
        let rendered = |json: &str| {
            let result: ToolResult = serde_json::from_str(json).expect("a result");
            render(&result, json)
        };
        let texts = r#"{"content": [{"type": "text", "text": "a"}, {"type": "image", "data": ""}, {"type": "text", "text": "b"}]}"#;
        assert_eq!(rendered(texts), "a\n[image; see --json]\nb");
        let structured = r#"{"content": [], "structuredContent": {"n": 1}}"#;
        assert_eq!(rendered(structured), structured);
    }
}
