//! `legation permissions list`.

use legation_policy::governance::file;
use serde::Serialize;

use crate::table::Table;
use crate::{CliError, Context, Exit};

#[derive(Debug, Serialize)]
struct Answer {
    rules: Vec<Shown>,
}

#[derive(Debug, Serialize)]
struct Shown {
    id: String,
    rule: String,
    /// The file it stands in.
    file: String,
    /// The folder it holds in, where it holds in one only.
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
}

pub(super) fn cmd_list(context: &Context) -> Result<(), CliError> {
    let policy = super::policy(context, &super::sources(context));
    let own = context.home.governance().join(file::PERMISSIONS);
    let rules = policy.permission_rules().map_err(|broken| {
        CliError::new(
            Exit::Failed,
            format!("{broken}; everything is refused until it is repaired"),
        )
        .with_hint("`legation governance check` says where")
    })?;
    let rules = rules
        .map(|(id, rule, folder)| {
            let brought = folder.filter(|_| id.as_str().starts_with("workspace."));
            let file = brought.map_or_else(
                || own.clone(),
                |folder| folder.join(".legation/permissions.toml"),
            );
            Shown {
                id: id.to_string(),
                rule: rule.to_owned(),
                file: file.display().to_string(),
                folder: folder.map(|folder| folder.display().to_string()),
            }
        })
        .collect();
    context.output.result(&Answer { rules }, |answer| {
        let mut table = Table::new(&["ID", "RULE", "FILE"]);
        for one in &answer.rules {
            table.row([one.id.clone(), one.rule.clone(), one.file.clone()]);
        }
        table.render()
    })
}
