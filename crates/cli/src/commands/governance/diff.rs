//! `legation governance diff`.

use clap::Args;
use legation_config::governance::{self, Found};
use serde::Serialize;

use super::TemplateName;
use crate::{CliError, Context};

/// Arguments of `legation governance diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// Which template [default: the one the folder began with].
    #[arg(long, value_enum)]
    pub(super) template: Option<TemplateName>,
}

#[derive(Debug, Serialize)]
struct Answer {
    template: &'static str,
    files: Vec<Difference>,
}

#[derive(Debug, Serialize)]
struct Difference {
    file: String,
    /// `same`, `changed`, `missing` or `unusable`.
    state: &'static str,
    /// From the template to the file, as a unified diff.
    #[serde(skip_serializing_if = "String::is_empty")]
    diff: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

pub(super) fn cmd_diff(context: &Context, args: &DiffArgs) -> Result<(), CliError> {
    let answer = differences(context, args);
    let output = context.output;
    output.result(&answer, |answer| output.foreign(&render(answer)))
}

fn differences(context: &Context, args: &DiffArgs) -> Answer {
    let template = super::template(context, args.template);
    let folder = context.home.governance();
    let files = crate::template(template)
        .files
        .iter()
        .map(|(name, text)| compare(name, text, governance::read_one(&folder.join(&**name))))
        .collect();
    Answer {
        template: template.as_str(),
        files,
    }
}

fn compare(name: &str, template: &str, found: Found) -> Difference {
    let (state, diff, reason) = match found {
        Found::Text(text) if text == template => ("same", String::new(), None),
        Found::Text(text) => {
            let diff = similar::TextDiff::from_lines(template, &text)
                .unified_diff()
                .header(&format!("template/{name}"), &format!("governance/{name}"))
                .to_string();
            ("changed", diff, None)
        }
        Found::Absent => ("missing", String::new(), None),
        Found::Unusable(why) => ("unusable", String::new(), Some(why)),
    };
    Difference {
        file: name.to_owned(),
        state,
        diff,
        reason,
    }
}

fn render(answer: &Answer) -> String {
    let mut text = String::new();
    for file in &answer.files {
        match (&file.reason, file.diff.is_empty()) {
            (_, false) => text.push_str(&file.diff),
            (Some(why), _) => text.push_str(&format!("{}: {why}\n", file.file)),
            (None, true) if file.state != "same" => {
                text.push_str(&format!("{}: {}\n", file.file, file.state));
            }
            (None, true) => {}
        }
    }
    if text.is_empty() {
        text = format!("the files are those of the template {}\n", answer.template);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fs;

    use legation_config::environment::Environment;
    use legation_config::first_run;
    use legation_core::{Home, SystemClock};

    use super::*;
    use crate::Output;

    #[test]
    fn what_was_changed_is_shown_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let context = Context {
            home: Home::at(folder.path().join("home")),
            environment: Environment::default(),
            clock: SystemClock::shared(),
            version: "0",
            output: Output::new(true),
        };
        let args = DiffArgs { template: None };
        let business = crate::template(legation_policy::governance::Template::Business);
        first_run::init(&context.home, &business, false).expect("written");
        let same = differences(&context, &args);
        assert_eq!(same.template, "business", "the one the folder began with");
        assert!(
            same.files.iter().all(|file| file.state == "same"),
            "{same:?}"
        );
        assert_eq!(
            render(&same),
            "the files are those of the template business\n"
        );
        let ladder = context.home.governance().join("autonomy_ladder.json");
        let text = fs::read_to_string(&ladder).expect("there");
        let text = text.replace(
            "\"draft_only\",\n  \"approver\"",
            "\"blocked\",\n  \"approver\"",
        );
        fs::write(&ladder, text).expect("written");
        fs::remove_file(context.home.governance().join("role_cards.json")).expect("removed");
        let changed = render(&differences(&context, &args));
        assert!(
            changed.contains("-  \"default_mode\": \"draft_only\","),
            "{changed}"
        );
        assert!(
            changed.contains("+  \"default_mode\": \"blocked\","),
            "{changed}"
        );
        assert!(changed.contains("role_cards.json: missing"), "{changed}");
        assert!(!changed.contains("hard_bans"), "{changed}");
    }
}
