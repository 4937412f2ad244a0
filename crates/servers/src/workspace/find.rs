//! `glob` and `grep`.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use legation_core::Cancel;
use legation_wire::json::{Object, Raw};
use regex::{Regex, RegexBuilder};
use rustix::fs::FileType;

use super::answer::Answer;
use super::arguments::{GlobArguments, GrepArguments, GrepOutput};
use super::error::WorkspaceError;
use super::root::Root;
use super::text;
use super::walk::{Next, Walk};

const FILES: usize = 200;
const FILES_MAX: usize = 2_000;
const MATCHES: usize = 200;
const MATCHES_MAX: usize = 2_000;
const CONTEXT_MAX: usize = 20;
/// Longest line that is shown whole, in bytes.
const LINE_MAX: usize = 500;
/// Longest file that is searched.
const SEARCHED_MAX: u64 = 8 << 20;
/// Longest pattern of names, in bytes: compiling one that is far too long panics.
const GLOB_MAX: usize = 1_000;
/// Most memory of a compiled pattern.
const PATTERN_MAX: usize = 1 << 20;

/// Lists files by their names.
pub(super) fn glob(
    root: &Root,
    arguments: &GlobArguments,
    cancel: &Cancel,
) -> Result<Answer, WorkspaceError> {
    let start = root.relative(arguments.path.as_deref().unwrap_or("."))?;
    let matcher = matcher(root, &arguments.pattern)?;
    let limit = arguments.limit.unwrap_or(FILES).clamp(1, FILES_MAX);
    let mut found = Vec::new();
    let mut more = 0_usize;
    let mut walk = Walk::new(root, cancel, arguments.ignored);
    walk.run(&start, |path, _| {
        // A pattern is meant from where one looks, or from the folder itself.
        let below = path.strip_prefix(&start).unwrap_or(path);
        if matcher.is_match(below) || matcher.is_match(path) {
            if found.len() < limit {
                found.push(path.display().to_string());
            } else {
                more += 1;
            }
        }
        Next::GoOn
    })?;
    let mut text = found.join("\n");
    if found.is_empty() {
        text = format!("no file matches `{}`", arguments.pattern);
    }
    if more > 0 {
        text += &format!("\n[{more} more; narrow the pattern, or raise limit]");
    }
    if walk.cut {
        text += "\n[there are too many files to look at all of them; narrow path]";
    }
    let facts = Object::new()
        .with("files", Raw::from_serialize(&found.len()))
        .with("truncated", Raw::bool(more > 0 || walk.cut));
    Ok(Answer { text, facts })
}

/// Finds lines by their text.
pub(super) fn grep(
    root: &Root,
    arguments: &GrepArguments,
    cancel: &Cancel,
) -> Result<Answer, WorkspaceError> {
    let start = root.relative(arguments.path.as_deref().unwrap_or("."))?;
    let only = arguments.glob.as_deref();
    let only = only.map(|glob| matcher(root, glob)).transpose()?;
    let mut search = Search {
        pattern: pattern(arguments)?,
        output: arguments.output,
        context: arguments.context.min(CONTEXT_MAX),
        limit: arguments.limit.unwrap_or(MATCHES).clamp(1, MATCHES_MAX),
        matches: 0,
        files: 0,
        text: String::new(),
    };
    let mut walk = Walk::new(root, cancel, arguments.ignored);
    let mut called_off = false;
    walk.run(&start, |path, kind| {
        if cancel.reason().is_some() {
            called_off = true;
            return Next::Stop;
        }
        let below = path.strip_prefix(&start).unwrap_or(path);
        let wanted = only
            .as_ref()
            .is_none_or(|only| only.is_match(below) || only.is_match(path));
        if kind != FileType::RegularFile || !wanted {
            return Next::GoOn;
        }
        search.file(root, path)
    })?;
    if called_off {
        return Err(WorkspaceError::Cancelled);
    }
    let full = search.is_full();
    let mut text = search.text;
    if search.matches == 0 {
        text = format!("nothing matches `{}`", arguments.pattern);
    }
    if full {
        text += "[there may be more; narrow the pattern or path, or raise limit]\n";
    }
    if walk.cut {
        text += "[there are too many files to look at all of them; narrow path]\n";
    }
    let facts = Object::new()
        .with("matches", Raw::from_serialize(&search.matches))
        .with("files", Raw::from_serialize(&search.files))
        .with("truncated", Raw::bool(full || walk.cut));
    Ok(Answer { text, facts })
}

struct Search {
    pattern: Regex,
    output: GrepOutput,
    context: usize,
    limit: usize,
    matches: usize,
    files: usize,
    text: String,
}

// === impl Search ===

impl Search {
    fn is_full(&self) -> bool {
        match self.output {
            GrepOutput::Lines => self.matches >= self.limit,
            GrepOutput::Files | GrepOutput::Count => self.files >= self.limit,
        }
    }

    fn file(&mut self, root: &Root, path: &Path) -> Next {
        // What cannot be read or is no text has no lines.
        let Ok((_, seen)) = root.file(path) else {
            return Next::GoOn;
        };
        if seen.bytes > SEARCHED_MAX {
            return Next::GoOn;
        }
        let read = root.bytes(path).ok();
        let Some((text, _)) = read.and_then(|(bytes, _)| text::decode(&bytes)) else {
            return Next::GoOn;
        };
        let lines: Vec<&str> = text.lines().collect();
        let hits: Vec<usize> = (0..lines.len())
            .filter(|at| self.pattern.is_match(lines[*at]))
            .collect();
        if hits.is_empty() {
            return Next::GoOn;
        }
        self.files += 1;
        let shown = path.display();
        match self.output {
            GrepOutput::Files => {
                self.matches += hits.len();
                self.text += &format!("{shown}\n");
            }
            GrepOutput::Count => {
                self.matches += hits.len();
                self.text += &format!("{shown}:{}\n", hits.len());
            }
            GrepOutput::Lines => {
                let room = self.limit - self.matches.min(self.limit);
                let hits = &hits[..hits.len().min(room)];
                self.matches += hits.len();
                self.show(&shown.to_string(), &lines, hits);
            }
        }
        if self.is_full() {
            return Next::Stop;
        }
        Next::GoOn
    }

    fn show(&mut self, path: &str, lines: &[&str], hits: &[usize]) {
        let mut next = 0;
        for (nth, hit) in hits.iter().enumerate() {
            let from = hit.saturating_sub(self.context).max(next);
            if self.context > 0 && from > next && (nth > 0 || !self.text.is_empty()) {
                self.text += "--\n";
            }
            let to = (hit + self.context).min(lines.len() - 1);
            for (at, line) in (from..=to).zip(&lines[from..=to]) {
                if at < next {
                    continue;
                }
                let mark = if hits.binary_search(&at).is_ok() {
                    ':'
                } else {
                    '-'
                };
                let line = cut(line, LINE_MAX);
                self.text += &format!("{path}{mark}{}{mark}{line}\n", at + 1);
                next = at + 1;
            }
        }
    }
}

/// The beginning of a line, and a mark where it is not all of it.
fn cut(line: &str, max: usize) -> std::borrow::Cow<'_, str> {
    if line.len() <= max {
        return line.into();
    }
    let end = line.floor_char_boundary(max);
    format!("{} [line cut]", &line[..end]).into()
}

fn pattern(arguments: &GrepArguments) -> Result<Regex, WorkspaceError> {
    let escaped;
    let pattern = if arguments.literal {
        escaped = regex::escape(&arguments.pattern);
        &escaped
    } else {
        &arguments.pattern
    };
    RegexBuilder::new(pattern)
        .case_insensitive(arguments.ignore_case)
        .size_limit(PATTERN_MAX)
        .build()
        .map_err(|error| {
            WorkspaceError::arguments(format!(
                "`pattern` is no regular expression ({error}); escape it, or set literal"
            ))
        })
}

/// A pattern without a slash means files of that name wherever they are.
fn matcher(root: &Root, pattern: &str) -> Result<GlobMatcher, WorkspaceError> {
    if pattern.len() > GLOB_MAX {
        return Err(WorkspaceError::arguments(format!(
            "the pattern is longer than {GLOB_MAX} bytes"
        )));
    }
    let prefix = format!("{}/", root.path().display());
    let pattern = pattern.strip_prefix(&prefix).unwrap_or(pattern);
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let pattern = if pattern.contains('/') {
        pattern.to_owned()
    } else {
        format!("**/{pattern}")
    };
    let glob = GlobBuilder::new(&pattern).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| {
        WorkspaceError::arguments(format!("the pattern is none that files can match: {error}"))
    })
}
