//! `legation connect` without an agent: what is connected, and whether it works.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::client::Client;
use super::file;
use crate::table::{Table, printable};
use crate::{CliError, Context};

#[derive(Debug, Serialize)]
struct Connected {
    client: &'static str,
    title: &'static str,
    file: Option<PathBuf>,
    connected: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

pub(super) fn cmd_list(context: &Context) -> Result<(), CliError> {
    let rows: Vec<Connected> = Client::ALL
        .into_iter()
        .map(|client| look(context, client))
        .collect();
    context.output.result(&rows, |rows| {
        let mut table = Table::new(&["CLIENT", "CONNECTED", "FILE"]);
        for row in rows {
            let file = row.file.as_ref().map(|path| path.display().to_string());
            let connected = if row.connected { "yes" } else { "no" };
            table.row([
                row.client.to_owned(),
                connected.to_owned(),
                file.unwrap_or_default(),
            ]);
        }
        let mut text = table.render();
        for row in rows {
            if let Some(problem) = &row.problem {
                text.push_str(&format!("\n{}: {}\n", row.client, printable(problem)));
            }
        }
        text + "\nconnect one with `legation connect CLIENT`\n"
    })
}

/// What is wrong with the connected agents, each with its name.
pub(crate) fn problems(context: &Context) -> (usize, Vec<(&'static str, String)>) {
    let rows: Vec<Connected> = Client::ALL
        .into_iter()
        .map(|client| look(context, client))
        .collect();
    let connected = rows.iter().filter(|row| row.connected).count();
    let problems = rows
        .into_iter()
        .filter_map(|row| Some((row.client, row.problem?)))
        .collect();
    (connected, problems)
}

fn look(context: &Context, client: Client) -> Connected {
    let path = client.file(&context.environment);
    let text = path.as_deref().map(super::read);
    let (connected, problem) = match text {
        Some(Ok(Some(text))) => match file::entry(client, &text) {
            Ok(Some(entry)) => (true, missing_program(&entry)),
            Ok(None) => (false, None),
            Err(error) => (false, Some(legation_core::error::chain(&error))),
        },
        Some(Err(error)) => (false, Some(error.message)),
        Some(Ok(None)) | None => (false, None),
    };
    Connected {
        client: client.name(),
        title: client.title(),
        file: path,
        connected,
        problem,
    }
}

/// The program of an entry moves when Legation is built or installed anew.
fn missing_program(entry: &Value) -> Option<String> {
    let command = match entry.get("command")? {
        Value::Array(words) => words.first()?.as_str()?,
        other => other.as_str()?,
    };
    let path = Path::new(command);
    (path.is_absolute() && !path.exists())
        .then(|| format!("it starts {command}, which does not exist any more; connect it again"))
}
