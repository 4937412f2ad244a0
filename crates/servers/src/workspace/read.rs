//! `read_file`.

use legation_wire::json::{Object, Raw};

use super::answer::Answer;
use super::arguments::ReadArguments;
use super::error::WorkspaceError;
use super::root::Root;
use super::text;

/// Lines of one answer where nobody says how many.
const LINES: u64 = 2_000;
/// Most bytes of one answer.
const ANSWER_MAX: usize = 256 << 10;

pub(super) fn read(root: &Root, arguments: &ReadArguments) -> Result<Answer, WorkspaceError> {
    let path = root.relative(&arguments.path)?;
    let (bytes, seen) = root.bytes(&path)?;
    let shown = path.display().to_string();
    let Some((text, encoding)) = text::decode(&bytes) else {
        return Err(WorkspaceError::Binary {
            path: shown,
            bytes: seen.bytes,
        });
    };
    let total = text.lines().count() as u64;
    let first = arguments.offset.unwrap_or(1).max(1);
    if first > total && total > 0 {
        return Err(WorkspaceError::arguments(format!(
            "`{shown}` has {total} lines, so there is no line {first}"
        )));
    }
    let wanted = arguments.limit.unwrap_or(LINES).max(1);
    let mut kept = String::new();
    let mut lines = 0;
    let all = text.split_inclusive('\n');
    for line in all.skip(usize::try_from(first - 1).unwrap_or(usize::MAX)) {
        if lines == wanted || (lines > 0 && kept.len() + line.len() > ANSWER_MAX) {
            break;
        }
        kept.push_str(line);
        lines += 1;
    }
    let last = first + lines - u64::from(lines > 0);
    let part = lines < total;
    if part {
        if !kept.ends_with('\n') {
            kept.push('\n');
        }
        kept += &format!("[lines {first} to {last} of {total} of {shown}");
        if last < total {
            kept += &format!("; go on with offset {}", last + 1);
        }
        kept += "]";
    } else if total == 0 {
        kept = format!("[{shown} is empty]");
    }
    let facts = Object::new()
        .with("path", Raw::str(&shown))
        .with("lines", Raw::from_serialize(&lines))
        .with("start_line", Raw::from_serialize(&first))
        .with("total_lines", Raw::from_serialize(&total))
        .with("encoding", Raw::str(encoding.as_str()))
        .with("truncated", Raw::bool(last < total));
    Ok(Answer { text: kept, facts })
}
