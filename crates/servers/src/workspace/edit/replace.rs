//! Replacing exactly what was meant, or saying what does not fit.

use super::super::arguments::Edit;
use super::super::error::WorkspaceError;

/// Most places that are named.
const NAMED: usize = 5;

/// Makes every edit, one after another; all of them or none.
pub(super) fn all(shown: &str, old: &str, edits: &[Edit]) -> Result<String, WorkspaceError> {
    let mut text = old.to_owned();
    for (at, edit) in edits.iter().enumerate() {
        let which = if edits.len() > 1 {
            format!("edit {} of {}: ", at + 1, edits.len())
        } else {
            String::new()
        };
        text = one(shown, &text, edit).map_err(|(why, hint)| WorkspaceError::Edit {
            why: format!("{which}{why}"),
            hint,
        })?;
    }
    if text == old {
        return Err(WorkspaceError::Edit {
            why: format!("the edits leave {shown} as it is"),
            hint: "Make new_text differ from old_text.",
        });
    }
    Ok(text)
}

fn one(shown: &str, text: &str, edit: &Edit) -> Result<String, (String, &'static str)> {
    if edit.old_text.is_empty() {
        return Err((
            "old_text is empty".to_owned(),
            "Say which text is replaced; to make a file or replace all of it use write_file.",
        ));
    }
    let places: Vec<usize> = text
        .match_indices(&edit.old_text)
        .map(|(at, _)| at)
        .collect();
    match places.as_slice() {
        [] => Err(not_found(shown, text, &edit.old_text)),
        [_] => Ok(text.replacen(&edit.old_text, &edit.new_text, 1)),
        _ if edit.replace_all => Ok(text.replace(&edit.old_text, &edit.new_text)),
        several => {
            let lines: Vec<String> = several
                .iter()
                .take(NAMED)
                .map(|at| line_of(text, *at).to_string())
                .collect();
            let more = if several.len() > NAMED { ", …" } else { "" };
            let why = format!(
                "old_text is in {shown} {} times, at lines {}{more}",
                several.len(),
                lines.join(", "),
            );
            let hint = "Take in more lines around it so that it is there once, or set replace_all.";
            Err((why, hint))
        }
    }
}

/// What is there in place of what was looked for.
fn not_found(shown: &str, text: &str, wanted: &str) -> (String, &'static str) {
    let lines: Vec<&str> = text.lines().collect();
    let wanted: Vec<&str> = wanted.lines().collect();
    let same = |a: &str, b: &str| a.split_whitespace().eq(b.split_whitespace());
    let blank = |line: &&str| line.trim().is_empty();
    let wanted = wanted.as_slice();
    let skip = wanted.iter().take_while(|line| blank(line)).count();
    let wanted = &wanted[skip..];
    if !wanted.is_empty() && wanted.len() <= lines.len() {
        let mut windows = lines.windows(wanted.len()).enumerate();
        let near = windows.find(|(_, window)| {
            let mut pairs = window.iter().zip(wanted);
            pairs.all(|(line, wanted)| same(line, wanted))
        });
        if let Some((at, window)) = near {
            let there = window.join("\n");
            return (
                format!(
                    "old_text is not in {shown}, but from line {} there is the same with other \
                     white space:\n{there}\n",
                    at + 1
                ),
                "Copy old_text from the file exactly, with its indentation.",
            );
        }
    }
    if let Some(first) = wanted.iter().find(|line| line.trim().len() >= 3) {
        let mut all = lines.iter().enumerate();
        if let Some((at, line)) = all.find(|(_, line)| same(line, first)) {
            return (
                format!(
                    "old_text is not in {shown}; its first line is there as line {} ({:?}), but \
                     what follows differs",
                    at + 1,
                    line.trim_end(),
                ),
                "Read the lines around it again and copy them exactly.",
            );
        }
    }
    (
        format!("old_text is not in {shown}"),
        "Read the file again and copy old_text from it exactly.",
    )
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}
