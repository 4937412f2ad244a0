//! One line, one rule.
//!
//! ```text
//! deny|ask|allow|reads SERVER/ITEM [verb V,…] [hinted|unhinted]
//!     [where POINTER OP VALUE [and POINTER OP VALUE]…] [entity X] [client Y]
//!     [rung R] [for once|session|here|DURATION|always] [because "…"]
//! ```
//!
//! Words are separated by white space; a text with white space in it is
//! written as a JSON string. The server ends at the first slash; a name that
//! has a slash itself is quoted: `"a/b"/tool`.

use legation_core::EntityId;
use serde_json::Value;

use super::{Effect, Line, ServerPattern};
use crate::condition::Condition;
use crate::decision::{Rung, Scope};
use crate::glob::{Glob, MAX_LEN};
use crate::governance::Operator;
use crate::target::Verb;

/// The longest line, in bytes.
const LINE_MAX: usize = 4096;

/// The word for [`Verb::Sample`] in rules, beside MCP's own.
const SAMPLING: &str = "mcp-sampling";

/// Reads one line. The error is a sentence.
pub(super) fn parse(text: &str) -> Result<Line, String> {
    if text.len() > LINE_MAX {
        return Err(format!("a rule has at most {LINE_MAX} bytes"));
    }
    let words = split(text)?;
    let mut words = Words {
        words: &words,
        at: 0,
    };
    let effect = words.next("deny, ask, allow or reads")?;
    let effect = Effect::parse(effect)
        .ok_or_else(|| format!("a rule begins with deny, ask, allow or reads, not {effect:?}"))?;
    let (server, item) = target(words.next("server/tool")?)?;
    let mut line = Line::new(effect, server, item);
    let mut seen = Vec::new();
    while let Some(clause) = words.take() {
        if seen.contains(&clause) {
            return Err(format!("`{clause}` stands twice"));
        }
        seen.push(clause);
        read_clause(&mut line, clause, &mut words)?;
    }
    check(&line)?;
    Ok(line)
}

fn read_clause(line: &mut Line, clause: &str, words: &mut Words<'_>) -> Result<(), String> {
    match clause {
        "verb" => {
            let mut bits = 0;
            for word in words.next("a verb")?.split(',') {
                bits |= verb(word)?.bit();
            }
            line.verbs = Some(bits);
        }
        "hinted" => line.hint = Some(true),
        "unhinted" => line.hint = Some(false),
        "where" => {
            let mut conditions = vec![condition(words)?];
            while words.peek() == Some("and") {
                words.take();
                conditions.push(condition(words)?);
            }
            line.conditions = conditions.into();
        }
        "entity" => line.entity = Some(EntityId::new(words.text("an entity")?)),
        "client" => {
            let pattern = words.text("a client")?;
            check_pattern(&pattern)?;
            line.client = Some(Glob::compile(&pattern));
        }
        "rung" => {
            let word = words.next("propose, draft, execute or apply")?;
            let rung = Rung::parse(word);
            line.rung = Some(rung.ok_or_else(|| {
                format!("a rung is propose, draft, execute or apply, not {word:?}")
            })?);
        }
        "for" => {
            let word = words.next("once, session, here, a duration or always")?;
            line.scope = Some(Scope::parse(word).ok_or_else(|| {
                format!("`for` takes once, session, here, always or a time like 8h, not {word:?}")
            })?);
        }
        "because" => line.because = Some(words.text("a reason")?.into()),
        other => {
            return Err(format!(
                "{other:?} is no clause: use verb, hinted, unhinted, where, entity, client, rung, \
                 for or because"
            ));
        }
    }
    Ok(())
}

/// What no rule may say, wherever it stands.
fn check(line: &Line) -> Result<(), String> {
    let lenient = matches!(line.effect, Effect::Allow | Effect::Reads);
    if lenient
        && let ServerPattern::Glob(glob) = &line.server
        && !matches!(glob, Glob::Exact(_))
    {
        return Err(format!(
            "`{}` must name its server: a literal name, @own or @workspace",
            line.effect.as_str()
        ));
    }
    match (line.hint, lenient) {
        (Some(true), false) => {
            return Err(
                "`hinted` only narrows allow and reads: a server's claim that a tool only \
                        reads is no reason to refuse it"
                    .to_owned(),
            );
        }
        (Some(false), true) => {
            return Err("`unhinted` only stands in deny and ask".to_owned());
        }
        _ => {}
    }
    if line.effect == Effect::Allow && matches!(line.scope, Some(Scope::Once | Scope::Session)) {
        return Err(
            "an allow cannot stand for one call or one session: use ask, whose answer can"
                .to_owned(),
        );
    }
    if matches!(line.effect, Effect::Deny | Effect::Reads) && line.scope.is_some() {
        return Err(format!("`{}` takes no `for`", line.effect.as_str()));
    }
    if line.effect == Effect::Reads && line.rung.is_some() {
        return Err("`reads` takes no `rung`: what only reads is done at once".to_owned());
    }
    Ok(())
}

fn verb(word: &str) -> Result<Verb, String> {
    if word == SAMPLING {
        return Ok(Verb::Sample);
    }
    Verb::parse(word).ok_or_else(|| {
        let known: Vec<&str> = Verb::ALL.map(Verb::as_str).into();
        format!(
            "{word:?} is no verb: use {} or {SAMPLING}",
            known.join(", ")
        )
    })
}

/// `server/item` as a pair of patterns.
pub(super) fn target(word: &str) -> Result<(ServerPattern, Box<str>), String> {
    let (server, item, quoted) = pair(word)?;
    for part in [&server, &item] {
        check_pattern(part)?;
    }
    let server = match (server.as_str(), quoted) {
        ("@own", false) => ServerPattern::Own,
        ("@workspace", false) => ServerPattern::Workspace,
        (other, false) if other.starts_with('@') => {
            return Err(format!(
                "{other:?} is no class of servers: use @own or @workspace"
            ));
        }
        (name, _) => ServerPattern::Glob(Glob::compile(name)),
    };
    Ok((server, item.into()))
}

/// The two halves of `server/item`, unquoted, and whether the first was
/// quoted.
pub(super) fn pair(word: &str) -> Result<(String, String, bool), String> {
    let wrong = || format!("{word:?} is not of the form server/tool");
    let (server, rest, quoted) = if word.starts_with('"') {
        let end = end_of_string(word).ok_or_else(wrong)?;
        let server: String = serde_json::from_str(&word[..end]).map_err(|_| wrong())?;
        let rest = word[end..].strip_prefix('/').ok_or_else(wrong)?;
        (server, rest, true)
    } else {
        let (server, rest) = word.split_once('/').ok_or_else(wrong)?;
        (server.to_owned(), rest, false)
    };
    let item = if rest.starts_with('"') {
        serde_json::from_str(rest).map_err(|_| wrong())?
    } else {
        rest.to_owned()
    };
    if server.is_empty() || item.is_empty() {
        return Err(wrong());
    }
    Ok((server, item, quoted))
}

fn end_of_string(word: &str) -> Option<usize> {
    let mut escaped = false;
    word.char_indices().skip(1).find_map(|(at, letter)| {
        let ends = letter == '"' && !escaped;
        escaped = letter == '\\' && !escaped;
        ends.then_some(at + 1)
    })
}

fn check_pattern(pattern: &str) -> Result<(), String> {
    if pattern.is_empty() || pattern.len() > MAX_LEN {
        return Err("a pattern has 1 to 512 bytes".to_owned());
    }
    if pattern.chars().any(char::is_control) {
        return Err("a pattern has no control characters".to_owned());
    }
    Ok(())
}

fn condition(words: &mut Words<'_>) -> Result<Condition, String> {
    let pointer = words.text("a JSON pointer")?;
    let op = words.next("=, !=, in, prefix, glob, <=, >= or entity-of")?;
    if op == "entity-of" {
        let entity = words.text("an entity, or `call`")?;
        return Condition::entity_of(&pointer, (entity != "call").then_some(&*entity));
    }
    let op = match op {
        "=" => Operator::Eq,
        "!=" => Operator::Ne,
        "in" => Operator::In,
        "prefix" => Operator::StartsWith,
        "glob" => Operator::Like,
        "<=" => Operator::Le,
        ">=" => Operator::Ge,
        other => {
            return Err(format!(
                "{other:?} is no comparison: use =, !=, in, prefix, glob, <=, >= or entity-of"
            ));
        }
    };
    let word = words.next("a value")?;
    let value = match serde_json::from_str::<Value>(word) {
        Ok(value) => value,
        Err(_) if word.starts_with(['"', '[', '{']) => {
            return Err(format!("{word:?} is not JSON"));
        }
        Err(_) if op == Operator::In => word.split(',').map(Value::from).collect(),
        Err(_) => word.into(),
    };
    let value = match (op, value) {
        (Operator::StartsWith | Operator::Like, Value::String(text)) => text.into(),
        (Operator::StartsWith | Operator::Like, _) => word.into(),
        (_, value) => value,
    };
    Condition::new(&pointer, op, Some(value))
}

struct Words<'w> {
    words: &'w [&'w str],
    at: usize,
}

// === impl Words ===

impl<'w> Words<'w> {
    fn peek(&self) -> Option<&'w str> {
        self.words.get(self.at).copied()
    }

    fn take(&mut self) -> Option<&'w str> {
        let word = self.peek()?;
        self.at += 1;
        Some(word)
    }

    fn next(&mut self, wanted: &str) -> Result<&'w str, String> {
        self.take()
            .ok_or_else(|| format!("the rule ends where {wanted} is expected"))
    }

    /// A word, without the quotes it may have.
    fn text(&mut self, wanted: &str) -> Result<String, String> {
        let word = self.next(wanted)?;
        if word.starts_with('"') {
            serde_json::from_str(word).map_err(|_| format!("{word} is not a JSON string"))
        } else {
            Ok(word.to_owned())
        }
    }
}

/// Splits at white space outside of quotes and brackets.
pub(super) fn split(text: &str) -> Result<Vec<&str>, String> {
    let mut words = Vec::new();
    let mut start = None;
    let (mut quoted, mut escaped, mut depth) = (false, false, 0_usize);
    for (at, letter) in text.char_indices() {
        if letter.is_control() && letter != '\t' && letter != '\n' {
            return Err("a rule has no control characters".to_owned());
        }
        if quoted {
            quoted = letter != '"' || escaped;
            escaped = letter == '\\' && !escaped;
            continue;
        }
        if letter.is_whitespace() && depth == 0 {
            if let Some(start) = start.take() {
                words.push(&text[start..at]);
            }
            continue;
        }
        start.get_or_insert(at);
        match letter {
            '"' => quoted = true,
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    if quoted {
        return Err("a quote is not closed".to_owned());
    }
    words.extend(start.map(|start| &text[start..]));
    Ok(words)
}
