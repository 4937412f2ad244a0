//! `write_file` and `edit`.

use legation_wire::json::{Object, Raw};

use super::answer::Answer;
use super::arguments::{Edit, EditArguments, WriteArguments};
use super::error::WorkspaceError;
use super::root::{FILE_MAX, Root};
use super::text::{self, Encoding};
use super::undo::{Keeping, Was};

mod replace;

/// Longest diff of an answer, in bytes.
const DIFF_MAX: usize = 8 << 10;
/// Longest text that is compared line by line.
const COMPARED_MAX: usize = 512 << 10;

/// Makes a file, or gives one a new content.
pub(super) fn write(
    root: &Root,
    arguments: &WriteArguments,
    keeping: &Keeping<'_>,
) -> Result<Answer, WorkspaceError> {
    let path = root.relative(&arguments.path)?;
    let shown = path.display().to_string();
    let new = arguments.content.as_bytes();
    if new.len() as u64 > FILE_MAX {
        return Err(WorkspaceError::TooLong {
            path: shown,
            bytes: new.len() as u64,
            max: FILE_MAX,
        });
    }
    let made = match root.place(&path) {
        // The folder above is not there yet.
        Err(WorkspaceError::Missing { .. }) => {
            keeping.folders(root, &path)?;
            root.make_above(&path)?
        }
        Err(error) => return Err(error),
        Ok(_) => Vec::new(),
    };
    let place = root.place(&path)?;
    let before = match &place.there {
        None => None,
        Some(_) => Some(root.bytes(&place.path)?),
    };
    let old = match &before {
        // A text keeps its byte order mark and its encoding where the new text fits in.
        Some((bytes, _)) => text::decode(bytes),
        None => None,
    };
    let encoding = old
        .as_ref()
        .map_or(Encoding::Utf8, |(_, encoding)| *encoding);
    let bytes = match encoding {
        Encoding::Latin1 => new.to_vec(),
        encoding => text::encode(&arguments.content, encoding).unwrap_or_else(|| new.to_vec()),
    };
    let was = before.as_ref().map(|(bytes, seen)| Was {
        bytes,
        mode: seen.mode,
    });
    keeping.before(root, &place.path, was)?;
    place.replace(&bytes, None)?;
    keeping.after(root, &place.path, Some(&bytes));
    let lines = arguments.content.lines().count();
    let what = if before.is_some() { "wrote" } else { "made" };
    let mut text = format!("{what} {shown} ({lines} lines)");
    let old = old.map(|(text, _)| text).unwrap_or_default();
    let diff = diff(&shown, &old, &arguments.content);
    if before.is_some() && !diff.is_empty() {
        text += &format!("\n{diff}");
    }
    let facts = Object::new()
        .with("path", Raw::str(&shown))
        .with("lines", Raw::from_serialize(&lines))
        .with("bytes", Raw::from_serialize(&bytes.len()))
        .with("created", Raw::bool(before.is_none()))
        .with("made_folders", Raw::from_serialize(&made.len()))
        .with("diff", Raw::str(&diff));
    Ok(Answer { text, facts })
}

/// Replaces parts of a text file.
pub(super) fn edit(
    root: &Root,
    arguments: &EditArguments,
    keeping: &Keeping<'_>,
) -> Result<Answer, WorkspaceError> {
    let path = root.relative(&arguments.path)?;
    let shown = path.display().to_string();
    let edits: Vec<Edit> = arguments
        .edits
        .iter()
        .chain(&arguments.one)
        .cloned()
        .collect();
    if edits.is_empty() {
        return Err(WorkspaceError::arguments(
            "there is nothing to edit: give old_text and new_text, or a list of them as edits",
        ));
    }
    let place = root.place(&path)?;
    let Some(there) = place.there else {
        return Err(WorkspaceError::Missing { path: shown });
    };
    let (bytes, seen) = root.bytes(&place.path)?;
    if seen != there {
        return Err(WorkspaceError::Changed { path: shown });
    }
    let Some((old, encoding)) = text::decode(&bytes) else {
        return Err(WorkspaceError::Binary {
            path: shown,
            bytes: seen.bytes,
        });
    };
    let new = replaced(&shown, &old, &edits)?;
    let Some(new_bytes) = text::encode(&new, encoding) else {
        return Err(WorkspaceError::Encoding { path: shown });
    };
    if new_bytes.len() as u64 > FILE_MAX {
        return Err(WorkspaceError::TooLong {
            path: shown,
            bytes: new_bytes.len() as u64,
            max: FILE_MAX,
        });
    }
    let was = Was {
        bytes: &bytes,
        mode: seen.mode,
    };
    keeping.before(root, &place.path, Some(was))?;
    place.replace(&new_bytes, None)?;
    keeping.after(root, &place.path, Some(&new_bytes));
    let diff = diff(&shown, &old, &new);
    let facts = Object::new()
        .with("path", Raw::str(&shown))
        .with("lines", Raw::from_serialize(&changed_lines(&diff)))
        .with("edits", Raw::from_serialize(&edits.len()))
        .with("diff", Raw::str(&diff));
    let text = format!("edited {shown}\n{diff}");
    Ok(Answer { text, facts })
}

/// The text after all edits. Where every line ends with CR LF, models need not
/// know.
fn replaced(shown: &str, old: &str, edits: &[Edit]) -> Result<String, WorkspaceError> {
    if !text::is_crlf(old) {
        return replace::all(shown, old, edits);
    }
    let edits: Vec<Edit> = edits
        .iter()
        .map(|edit| Edit {
            old_text: text::with_lf(&edit.old_text),
            new_text: text::with_lf(&edit.new_text),
            replace_all: edit.replace_all,
        })
        .collect();
    let new = replace::all(shown, &text::with_lf(old), &edits)?;
    Ok(text::with_crlf(&new))
}

/// What changed, for people and for a model that wants to see what it did.
fn diff(shown: &str, old: &str, new: &str) -> String {
    if old.len() + new.len() > COMPARED_MAX {
        return String::new();
    }
    let diff = similar::TextDiff::from_lines(old, new);
    let mut text = diff
        .unified_diff()
        .context_radius(2)
        .header(shown, shown)
        .to_string();
    if text.len() > DIFF_MAX {
        text.truncate(text.floor_char_boundary(DIFF_MAX));
        text += "\n[diff cut]\n";
    }
    text
}

fn changed_lines(diff: &str) -> usize {
    let body = diff.lines().skip(2);
    body.filter(|line| line.starts_with(['+', '-'])).count()
}
