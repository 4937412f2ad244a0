//! Calls of tools that a model wrote into its words.
//!
//! Small models know several ways to write a call and servers understand one each, so a call often
//! comes as text. What stands within marks that only calls have is one; what merely looks like one
//! (JSON in a fence, or nothing but JSON) is one only if it names a tool that there is. What is
//! found is checked like any other call.

use std::ops::Range;

use serde_json::{Map, Value};

use super::lenient;

/// More calls than this in one answer are a model that repeats itself.
const CALLS_MAX: usize = 32;

/// Longer elements name no tool.
const TAG_MAX: usize = 200;

/// Marks around JSON, in the ways of several families of models.
const MARKS: [(&str, &str); 6] = [
    ("<tool_call>", "</tool_call>"),
    ("<tool_calls>", "</tool_calls>"),
    ("<function_call>", "</function_call>"),
    ("<|tool_call|>", "<|/tool_call|>"),
    ("[TOOL_CALLS]", ""),
    ("<|python_tag|>", "<|eom_id|>"),
];

/// Members that hold a call's arguments.
const ARGUMENTS: [&str; 5] = ["arguments", "parameters", "args", "input", "params"];
/// Members that hold its name.
const NAMES: [&str; 4] = ["name", "tool", "tool_name", "function"];

/// A call as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Written {
    /// The tool as the model named it.
    pub(crate) name: String,
    /// Its arguments.
    pub(crate) arguments: Value,
    /// Whether the answer ended in the middle of it.
    pub(crate) is_cut: bool,
}

/// What an answer holds beside its words.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Found {
    /// The words without the calls.
    pub(crate) words: String,
    /// The calls in their order.
    pub(crate) calls: Vec<Written>,
}

/// Finds calls; `is_tool` says whether there is a tool of that name, however it is spelt.
pub(crate) fn find(text: &str, is_tool: &dyn Fn(&str) -> bool) -> Found {
    let mut found = Found::default();
    let mut cuts: Vec<Range<usize>> = Vec::new();
    marked(text, &mut found, &mut cuts);
    if found.calls.is_empty() {
        elements(text, is_tool, &mut found, &mut cuts);
    }
    if found.calls.is_empty() {
        plain(text, is_tool, &mut found, &mut cuts);
    }
    found.calls.truncate(CALLS_MAX);
    cuts.sort_by_key(|cut| cut.start);
    let mut at = 0;
    for cut in cuts {
        if cut.start >= at {
            found.words.push_str(&text[at..cut.start]);
            at = cut.end;
        }
    }
    found.words.push_str(&text[at..]);
    found.words = found.words.trim().to_owned();
    found
}

/// JSON within marks of calls.
fn marked(text: &str, found: &mut Found, cuts: &mut Vec<Range<usize>>) {
    for (open, close) in MARKS {
        let mut at = 0;
        while let Some(begin) = text[at..].find(open).map(|begin| at + begin) {
            let inner = begin + open.len();
            let (end, after) = match text[inner..].find(close).filter(|_| !close.is_empty()) {
                Some(length) => (inner + length, inner + length + close.len()),
                None => (text.len(), text.len()),
            };
            at = after;
            let body = unfenced(&text[inner..end]);
            let before = found.calls.len();
            if let Some(element) = function_element(body) {
                found.calls.push(element);
            } else {
                all_in(body, &|_| true, &mut found.calls);
            }
            if found.calls.len() > before {
                cuts.push(begin..after);
            }
        }
        if !found.calls.is_empty() {
            return;
        }
    }
}

/// Every call in a text that is JSON, one value behind the other.
fn all_in(text: &str, is_tool: &dyn Fn(&str) -> bool, calls: &mut Vec<Written>) {
    let mut rest = text;
    while let Some(begin) = rest.find(['{', '[']) {
        let Some(read) = lenient::read(&rest[begin..]) else {
            return;
        };
        let values = match read.value {
            Value::Array(values) => values,
            value => vec![value],
        };
        for value in values {
            if let Some((name, arguments)) = call_of(&value).filter(|(name, _)| is_tool(name)) {
                calls.push(Written {
                    name,
                    arguments,
                    is_cut: read.is_cut,
                });
            }
        }
        rest = &rest[begin + read.length.max(1)..];
    }
}

/// Elements: `<function=NAME>`, `<invoke name="NAME">`, or one that is called like a tool.
fn elements(
    text: &str,
    is_tool: &dyn Fn(&str) -> bool,
    found: &mut Found,
    cuts: &mut Vec<Range<usize>>,
) {
    let mut at = 0;
    while let Some(begin) = text[at..].find('<').map(|begin| at + begin) {
        at = begin + 1;
        let Some((name, close, inner)) = opening(&text[begin..], is_tool) else {
            continue;
        };
        let inner = begin + inner;
        let (end, after, is_cut) = match text[inner..].find(&close) {
            Some(length) => (inner + length, inner + length + close.len(), false),
            None => (text.len(), text.len(), true),
        };
        let body = &text[inner..end];
        let (arguments, in_cut) = match lenient::read(body.trim()) {
            Some(read) if read.value.is_object() => (read.value, read.is_cut),
            _ => (children(body), is_cut),
        };
        found.calls.push(Written {
            name,
            arguments,
            is_cut: in_cut,
        });
        cuts.push(begin..after);
        at = after;
    }
    if !found.calls.is_empty() {
        for wrap in ["<function_calls>", "</function_calls>", "</tool_call>"] {
            cuts.extend(
                text.match_indices(wrap)
                    .map(|(at, wrap)| at..at + wrap.len()),
            );
        }
    }
}

/// What an opening element calls, the element that closes it, and where its content begins.
fn opening(text: &str, is_tool: &dyn Fn(&str) -> bool) -> Option<(String, String, usize)> {
    let end = text.bytes().take(TAG_MAX).position(|byte| byte == b'>')?;
    let tag = &text[1..end];
    if let Some(name) = tag.strip_prefix("function=") {
        let close = "</function>".to_owned();
        return Some((unquoted(name).to_owned(), close, end + 1));
    }
    let (element, rest) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
    if matches!(element, "invoke" | "function" | "tool")
        && let Some(name) = rest.trim().strip_prefix("name=")
    {
        return Some((unquoted(name).to_owned(), format!("</{element}>"), end + 1));
    }
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
    };
    (is_name(tag) && is_tool(tag)).then(|| (tag.to_owned(), format!("</{tag}>"), end + 1))
}

/// `<function=NAME>` within other marks.
fn function_element(text: &str) -> Option<Written> {
    let begin = text.find("<function=")?;
    let (name, close, inner) = opening(&text[begin..], &|_| false)?;
    let rest = &text[begin + inner..];
    let (body, is_cut) = match rest.find(&close) {
        Some(end) => (&rest[..end], false),
        None => (rest, !rest.trim_end().ends_with("</parameter>")),
    };
    let arguments = match lenient::read(body.trim()) {
        Some(read) if read.value.is_object() => read.value,
        _ => children(body),
    };
    Some(Written {
        name,
        arguments,
        is_cut,
    })
}

/// Arguments as elements: `<parameter=KEY>`, `<parameter name="KEY">` or `<KEY>`.
fn children(body: &str) -> Value {
    let mut members = Map::new();
    let mut rest = body;
    while let Some(begin) = rest.find('<') {
        let Some(end) = rest[begin..].find('>').map(|end| begin + end) else {
            break;
        };
        let tag = &rest[begin + 1..end];
        let (element, key) = match tag.split_once(['=', ' ', '\n']) {
            Some((element, key)) => {
                let key = key.trim();
                (element, unquoted(key.strip_prefix("name=").unwrap_or(key)))
            }
            None => (tag, tag),
        };
        let close = format!("</{element}>");
        let inner = &rest[end + 1..];
        if element.is_empty() || element.starts_with('/') {
            rest = inner;
            continue;
        }
        let (text, next) = match inner.find(&close) {
            Some(length) => (&inner[..length], &inner[length + close.len()..]),
            None => (inner, ""),
        };
        members.insert(key.to_owned(), plain_value(text));
        rest = next;
    }
    Value::Object(members)
}

/// The value of an element. One line break on either side is the element's own.
fn plain_value(text: &str) -> Value {
    let text = text.strip_prefix('\n').unwrap_or(text);
    Value::String(text.strip_suffix('\n').unwrap_or(text).to_owned())
}

/// JSON in fences, or an answer that is nothing but JSON.
fn plain(
    text: &str,
    is_tool: &dyn Fn(&str) -> bool,
    found: &mut Found,
    cuts: &mut Vec<Range<usize>>,
) {
    let mut at = 0;
    while let Some(begin) = text[at..].find("```").map(|begin| at + begin) {
        let inner = begin + 3;
        let (end, after) = match text[inner..].find("```") {
            Some(length) => (inner + length, inner + length + 3),
            None => (text.len(), text.len()),
        };
        at = after;
        let before = found.calls.len();
        let body = text[inner..end].trim_start_matches(char::is_alphanumeric);
        let body = body
            .trim_start_matches('_')
            .trim_start_matches(char::is_alphanumeric);
        if body.trim_start().starts_with(['{', '[']) {
            all_in(body, is_tool, &mut found.calls);
        }
        if found.calls.len() > before {
            cuts.push(begin..after);
        }
    }
    let whole = text.trim();
    if found.calls.is_empty() && whole.starts_with(['{', '[']) {
        all_in(whole, is_tool, &mut found.calls);
        if !found.calls.is_empty() {
            cuts.push(0..text.len());
        }
    }
}

/// The name and the arguments of what has the shape of a call.
fn call_of(value: &Value) -> Option<(String, Value)> {
    let object = value.as_object()?;
    if let Some(inner) = object.get("function").filter(|inner| inner.is_object()) {
        return call_of(inner);
    }
    let name = NAMES
        .iter()
        .find_map(|name| object.get(*name)?.as_str())
        .filter(|name| !name.is_empty())?;
    let arguments = ARGUMENTS.iter().find_map(|name| object.get(*name));
    let arguments = match arguments {
        Some(arguments) => arguments.clone(),
        None if object.len() == 1 => Value::Object(Map::new()),
        None => return None,
    };
    Some((name.to_owned(), arguments))
}

fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let Some(inner) = text.strip_prefix("```") else {
        return text;
    };
    let inner = inner.trim_start_matches(char::is_alphanumeric);
    inner.strip_suffix("```").unwrap_or(inner)
}

fn unquoted(text: &str) -> &str {
    let quotes = ['"', '\'', ' ', '/'];
    text.trim().trim_matches(quotes)
}

#[cfg(test)]
mod tests;
