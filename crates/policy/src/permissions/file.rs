//! From the text of `permissions.toml` to rules.

use std::collections::HashSet;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;
use toml::value::Datetime;

use super::{Effect, Line, Rule, RuleError, ServerPattern, grammar};
use crate::condition::{Owners, Reading};
use crate::decision::Scope;
use crate::rule_id::{RESERVED, RuleId};

const VERSION: i64 = 2;
const MAX_ID_LEN: usize = 64;

/// The file as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireFile {
    version: i64,
    #[serde(default)]
    rule: Vec<Spanned<WireRule>>,
}

/// One `[[rule]]` as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireRule {
    id: String,
    rule: String,
    /// When it was made, for `for DURATION`.
    since: Option<Datetime>,
    /// Where it was made, for `for here`.
    folder: Option<String>,
    #[serde(default, rename = "match")]
    matches: Vec<String>,
    #[serde(default)]
    no_match: Vec<String>,
}

/// Reads the rules of one file. `folder` is the folder of a workspace's file,
/// whose rules hold there only and may only deny and ask.
///
/// # Errors
/// Anything the reader does not understand refuses the whole file, an example
/// that does not hold included: a rule file that is half in force is worse
/// than none, because its owner believes in the other half. The number is the
/// line, counted from 1.
pub(crate) fn read(
    text: &str,
    folder: Option<&str>,
    owners: Owners<'_>,
) -> Result<Vec<Rule>, (Option<usize>, RuleError)> {
    let line_at = |at: usize| 1 + text.get(..at).unwrap_or(text).matches('\n').count();
    let file: WireFile = toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| line_at(span.start));
        let message = error.message().into();
        (line, RuleError::Syntax { message })
    })?;
    if file.version != VERSION {
        let found = file.version;
        return Err((None, RuleError::Version { found }));
    }
    let mut seen = HashSet::new();
    let mut rules = Vec::with_capacity(file.rule.len());
    for wire in file.rule {
        let line = Some(line_at(wire.span().start));
        let wire = wire.into_inner();
        let rule = read_rule(&wire, folder, owners).map_err(|error| (line, error))?;
        if !seen.insert(wire.id.clone()) {
            let id = wire.id.into();
            return Err((line, RuleError::DuplicateId { id }));
        }
        rules.push(Rule {
            at_line: line,
            ..rule
        });
    }
    Ok(rules)
}

fn read_rule(wire: &WireRule, folder: Option<&str>, owners: Owners<'_>) -> Result<Rule, RuleError> {
    check_id(&wire.id)?;
    let grammar = |message: String| RuleError::Grammar {
        rule: wire.id.as_str().into(),
        message: message.into(),
    };
    let line = grammar::parse(&wire.rule).map_err(grammar)?;
    if folder.is_some() && matches!(line.effect, Effect::Allow | Effect::Reads) {
        return Err(RuleError::Lenient {
            rule: wire.id.as_str().into(),
            effect: line.effect.as_str(),
        });
    }
    let expires_ms = expiry(&line, wire.since.as_ref()).map_err(grammar)?;
    let own_folder = own_folder(&line, wire.folder.as_deref()).map_err(grammar)?;
    for (examples, should_match) in [(&wire.matches, true), (&wire.no_match, false)] {
        for example in examples {
            check_example(&wire.id, &line, example, should_match, owners)?;
        }
    }
    // Two files may use one name for different rules; refusals tell them apart.
    let id = match folder {
        Some(_) => RuleId::new(&format!("workspace.{}", wire.id)),
        None => RuleId::new(&wire.id),
    };
    Ok(Rule {
        id,
        line,
        text: wire.rule.as_str().into(),
        folder: folder.or(own_folder).map(|folder| Path::new(folder).into()),
        expires_ms,
        at_line: None,
    })
}

fn check_id(id: &str) -> Result<(), RuleError> {
    let well_formed = !id.is_empty()
        && id.len() <= MAX_ID_LEN
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        && !RESERVED.iter().any(|prefix| id.starts_with(prefix));
    if well_formed {
        return Ok(());
    }
    let id = id.chars().take(MAX_ID_LEN).collect::<String>().into();
    Err(RuleError::BadId { id })
}

/// An allow for a time stands with the moment it was made; a rule without one
/// would begin anew with every start.
fn expiry(line: &Line, since: Option<&Datetime>) -> Result<Option<i64>, String> {
    match (line.effect, line.scope, since) {
        (Effect::Allow, Some(Scope::Until(time)), Some(since)) => {
            let since = unix_ms(since).ok_or(
                "`since` is a date and time with an offset, like 2026-01-31T12:00:00Z".to_owned(),
            )?;
            let time = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
            Ok(Some(since.saturating_add(time)))
        }
        (Effect::Allow, Some(Scope::Until(_)), None) => {
            Err("an allow for a time needs `since`, the moment it was made".to_owned())
        }
        (_, _, Some(_)) => Err("`since` stands only with an allow for a time".to_owned()),
        _ => Ok(None),
    }
}

fn own_folder<'w>(line: &Line, folder: Option<&'w str>) -> Result<Option<&'w str>, String> {
    match (line.effect, line.scope, folder) {
        (Effect::Allow, Some(Scope::Here), Some(folder)) if Path::new(folder).is_absolute() => {
            Ok(Some(folder))
        }
        (Effect::Allow, Some(Scope::Here), _) => {
            Err("an allow for here needs `folder`, an absolute path".to_owned())
        }
        (_, _, Some(_)) => Err("`folder` stands only with an allow for here".to_owned()),
        _ => Ok(None),
    }
}

/// Milliseconds since 1970 of a date and time with an offset.
fn unix_ms(at: &Datetime) -> Option<i64> {
    let (date, time, offset) = (at.date?, at.time?, at.offset?);
    let minutes = match offset {
        toml::value::Offset::Z => 0,
        toml::value::Offset::Custom { minutes } => i64::from(minutes),
    };
    // Days since 1970 of the proleptic Gregorian calendar, counted in eras of
    // 400 years that begin on 1 March.
    let (year, month, day) = (
        i64::from(date.year),
        i64::from(date.month),
        i64::from(date.day),
    );
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    let seconds = i64::from(time.hour) * 3_600
        + i64::from(time.minute) * 60
        + i64::from(time.second.unwrap_or(0))
        - minutes * 60;
    Some((days * 86_400 + seconds) * 1_000)
}

/// An example speaks of names and arguments; what the rule says of clients,
/// entities, verbs and rungs is taken to hold.
fn check_example(
    rule: &str,
    line: &Line,
    example: &str,
    should_match: bool,
    owners: Owners<'_>,
) -> Result<(), RuleError> {
    let (server, item, arguments) = parse_example(example).ok_or(RuleError::BadExample {
        rule: rule.into(),
        example: example.into(),
    })?;
    let named = match &line.server {
        ServerPattern::Own | ServerPattern::Workspace => true,
        ServerPattern::Glob(glob) => glob.matches(&server),
    };
    let reading = if line.effect.is_strict() {
        Reading::Wary
    } else {
        Reading::Exact
    };
    let holds = named
        && line.item.matches(&item)
        && line
            .conditions
            .iter()
            .all(|condition| condition.holds(Some(&arguments), reading, owners));
    if holds == should_match {
        return Ok(());
    }
    Err(RuleError::ExampleFailed {
        rule: rule.into(),
        example: example.into(),
        should_match,
    })
}

/// `server/tool {"argument": 1}`.
fn parse_example(example: &str) -> Option<(String, String, Value)> {
    let example = example.trim();
    let (call, arguments) = match example.find(" {") {
        Some(at) => (&example[..at], serde_json::from_str(&example[at..]).ok()?),
        None => (example, Value::Object(serde_json::Map::new())),
    };
    let (server, item, _) = grammar::pair(call.trim()).ok()?;
    arguments.is_object().then_some((server, item, arguments))
}
