//! The head of an agent's file: the part of YAML that such heads are written in.
//!
//! Members, nested by indentation, lists in both ways, quoted and plain words. Anchors, tags, block
//! texts and everything else of the language are refused rather than guessed.

use serde_json::{Map, Value};

/// How deep members may lie within each other.
const DEPTH_MAX: usize = 8;

/// A head that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct FrontMatterError {
    /// Which line, counted from 1.
    pub line: usize,
    /// What is wrong.
    pub what: &'static str,
}

/// A line that holds something.
#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    number: usize,
    indent: usize,
    text: &'a str,
}

/// The members of a text's head, and what follows it.
pub(super) fn parse(text: &str) -> Result<(Map<String, Value>, &str), FrontMatterError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = opened(text) else {
        return Ok((Map::new(), text));
    };
    let mut lines = Vec::new();
    let mut at = 0;
    for (number, whole) in rest.split_inclusive('\n').enumerate() {
        let line = whole.trim_end();
        at += whole.len();
        if line == "---" || line == "..." {
            let mut all = lines.as_slice();
            let value = block(&mut all, 0, 0)?;
            if let Some(left) = all.first() {
                return Err(wrong(
                    left,
                    "it is indented otherwise than what is before it",
                ));
            }
            let members = match value {
                Value::Object(members) => members,
                Value::Null => Map::new(),
                _ => {
                    return Err(FrontMatterError {
                        line: 2,
                        what: "it holds no members",
                    });
                }
            };
            return Ok((members, &rest[at..]));
        }
        let plain = line.trim_start();
        if !plain.is_empty() && !plain.starts_with('#') {
            lines.push(Line {
                // The first line is the mark before them.
                number: number + 2,
                indent: line.len() - plain.len(),
                text: plain,
            });
        }
    }
    Err(FrontMatterError {
        line: 1,
        what: "the head is not closed by a line of `---`",
    })
}

fn opened(text: &str) -> Option<&str> {
    let (first, rest) = text.split_once('\n')?;
    (first.trim_end() == "---").then_some(rest)
}

/// Everything that is indented alike.
fn block(lines: &mut &[Line<'_>], indent: usize, depth: usize) -> Result<Value, FrontMatterError> {
    let Some(first) = lines.first() else {
        return Ok(Value::Null);
    };
    if depth > DEPTH_MAX {
        return Err(wrong(first, "members lie too deep"));
    }
    if first.indent < indent {
        return Ok(Value::Null);
    }
    let indent = first.indent;
    if first.text.contains('\t') && first.text.starts_with('\t') {
        return Err(wrong(first, "it is indented by a tab"));
    }
    if first.text == "-" || first.text.starts_with("- ") {
        return list(lines, indent, depth);
    }
    let mut members = Map::new();
    while let Some(line) = lines.first().copied().filter(|line| line.indent == indent) {
        let Some((name, rest)) = member(line.text) else {
            return Err(wrong(&line, "it is no `key: value`"));
        };
        *lines = &lines[1..];
        let value = match rest {
            "" => {
                // A list may stand as deep as its name.
                let is_list = lines.first().is_some_and(|next| {
                    next.indent == indent && (next.text == "-" || next.text.starts_with("- "))
                });
                let within = if is_list { indent } else { indent + 1 };
                block(lines, within, depth + 1)?
            }
            rest => scalar(&line, rest)?,
        };
        members.insert(name, value);
    }
    Ok(Value::Object(members))
}

fn list(lines: &mut &[Line<'_>], indent: usize, depth: usize) -> Result<Value, FrontMatterError> {
    let mut items = Vec::new();
    while let Some(line) = lines.first().copied().filter(|line| line.indent == indent) {
        let Some(rest) = line.text.strip_prefix('-') else {
            break;
        };
        let rest = rest.trim_start();
        *lines = &lines[1..];
        items.push(match rest {
            "" => block(lines, indent + 1, depth + 1)?,
            rest => scalar(&line, rest)?,
        });
    }
    Ok(Value::Array(items))
}

fn member(text: &str) -> Option<(String, &str)> {
    let end = end_of_name(text)?;
    let (name, rest) = (text[..end].trim(), &text[end + 1..]);
    let is_open = rest.is_empty() || rest.starts_with(char::is_whitespace);
    let name = match name.strip_prefix('\'') {
        Some(quoted) => quoted.strip_suffix('\'')?.replace("''", "'"),
        None if name.starts_with('"') => serde_json::from_str(name).ok()?,
        None => name.to_owned(),
    };
    (is_open && !name.is_empty()).then(|| (name, rest.trim()))
}

/// Where the colon stands behind a name, which may hold others in quotes.
fn end_of_name(text: &str) -> Option<usize> {
    let quote = text
        .chars()
        .next()
        .filter(|first| matches!(first, '"' | '\''));
    let mut open = false;
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if open && quote == Some('"') => escaped = true,
            letter if Some(letter) == quote => open = !open,
            ':' if !open => return Some(at),
            _ => {}
        }
    }
    None
}

fn scalar(line: &Line<'_>, text: &str) -> Result<Value, FrontMatterError> {
    let text = uncommented(text);
    match text.chars().next() {
        Some('&' | '*' | '!' | '|' | '>') => Err(wrong(line, "such values are not understood")),
        Some('[') => flow(line, text),
        Some('{') => braces(line, text),
        Some('"') => {
            serde_json::from_str(text).map_err(|_| wrong(line, "the quotes are not closed"))
        }
        Some('\'') => match text.len() > 1 && text.ends_with('\'') {
            true => Ok(Value::String(text[1..text.len() - 1].replace("''", "'"))),
            false => Err(wrong(line, "the quotes are not closed")),
        },
        _ => Ok(match text {
            "" | "~" | "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            plain => Value::String(plain.to_owned()),
        }),
    }
}

/// A list on one line, of words.
fn flow(line: &Line<'_>, text: &str) -> Result<Value, FrontMatterError> {
    let inner = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    let inner = inner.ok_or_else(|| wrong(line, "the list is not closed on its line"))?;
    let items = pieces(line, inner)?.into_iter();
    let items: Result<Vec<Value>, FrontMatterError> =
        items.map(|item| scalar(line, item)).collect();
    items.map(Value::Array)
}

/// Members on one line: JSON, or words as everywhere else.
fn braces(line: &Line<'_>, text: &str) -> Result<Value, FrontMatterError> {
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    let unread = || wrong(line, "the value in brackets cannot be read");
    let inner = text
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'));
    let mut members = Map::new();
    for piece in pieces(line, inner.ok_or_else(unread)?)? {
        let (name, value) = member(piece).ok_or_else(unread)?;
        members.insert(name, scalar(line, value)?);
    }
    Ok(Value::Object(members))
}

/// What stands between commas that are not within quotes.
fn pieces<'a>(line: &Line<'_>, inner: &'a str) -> Result<Vec<&'a str>, FrontMatterError> {
    let mut items = Vec::new();
    let mut quote = None;
    let mut begin = 0;
    for (at, letter) in inner.char_indices().chain([(inner.len(), ',')]) {
        match (quote, letter) {
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            (None, '[' | '{') => {
                return Err(wrong(line, "brackets within brackets are not understood"));
            }
            (None, ',') => {
                let item = inner[begin..at].trim();
                begin = at + 1;
                if !item.is_empty() {
                    items.push(item);
                }
            }
            _ => {}
        }
        if at == inner.len() && quote.is_some() {
            return Err(wrong(line, "the quotes are not closed"));
        }
    }
    Ok(items)
}

/// The text without a comment behind it.
fn uncommented(text: &str) -> &str {
    if text.starts_with(['"', '\'', '[', '{']) {
        return text;
    }
    let end = text.find(" #").unwrap_or(text.len());
    text[..end].trim_end()
}

fn wrong(line: &Line<'_>, what: &'static str) -> FrontMatterError {
    FrontMatterError {
        line: line.number,
        what,
    }
}
