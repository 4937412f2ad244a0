//! Every package's licence is one that `deny.toml` allows.
//!
//! `cargo deny` reads the same list where it is installed; this check needs nothing installed and
//! reads what the packages state in their manifests.

use super::Finding;
use super::workspace::Workspace;

/// Each package of the graph must be usable under a licence on the list.
pub(super) fn licences(workspace: &Workspace) -> Vec<Finding> {
    let allowed = match allowed(workspace) {
        Ok(allowed) => allowed,
        Err(message) => return vec![Finding::error("licences", "deny.toml", message)],
    };
    let ours = workspace
        .crates
        .iter()
        .map(|c| (c.name.as_str(), "", c.licence.as_deref()));
    let foreign = workspace.foreign.iter();
    let foreign = foreign.map(|f| (f.name.as_str(), f.version.as_str(), f.licence.as_deref()));
    let mut findings = Vec::new();
    for (name, version, licence) in ours.chain(foreign) {
        let place = format!("{name} {version}").trim_end().to_owned();
        match licence {
            None => findings.push(Finding::error("licences", place, "states no licence")),
            Some(expression) if !satisfied(expression, &allowed) => {
                let message = format!("`{expression}` is not allowed by deny.toml");
                findings.push(Finding::error("licences", place, message));
            }
            Some(_) => {}
        }
    }
    findings
}

/// The list in `deny.toml`.
fn allowed(workspace: &Workspace) -> Result<Vec<String>, String> {
    let file = workspace.file("deny.toml").ok_or("the file is missing")?;
    let policy: toml::Table = file.text.parse().map_err(|_| "the file does not parse")?;
    let list = policy
        .get("licenses")
        .and_then(|l| l.get("allow"))
        .and_then(|a| a.as_array());
    let list = list.ok_or("it has no list `licenses.allow`")?;
    Ok(list
        .iter()
        .filter_map(|entry| entry.as_str().map(str::to_owned))
        .collect())
}

/// Whether an SPDX expression can be met with the allowed licences.
///
/// `WITH` exceptions only add permissions, so the licence before one decides. A `/` is the old way
/// to write `OR`. An expression that cannot be read is not met.
fn satisfied(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = tokens.as_slice();
    either(&mut rest, allowed).is_some_and(|met| met && rest.is_empty())
}

/// `term OR term …`
fn either(tokens: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let mut met = all(tokens, allowed)?;
    while tokens.first() == Some(&"OR") {
        *tokens = &tokens[1..];
        met |= all(tokens, allowed)?;
    }
    Some(met)
}

/// `licence AND licence …`
fn all(tokens: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let mut met = one(tokens, allowed)?;
    while tokens.first() == Some(&"AND") {
        *tokens = &tokens[1..];
        met &= one(tokens, allowed)?;
    }
    Some(met)
}

/// One licence, with its exception, or an expression in parentheses.
fn one(tokens: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let (first, rest) = tokens.split_first()?;
    *tokens = rest;
    if *first == "(" {
        let met = either(tokens, allowed)?;
        let (close, rest) = tokens.split_first()?;
        *tokens = rest;
        return (*close == ")").then_some(met);
    }
    if let [with, _exception, rest @ ..] = *tokens
        && *with == "WITH"
    {
        *tokens = rest;
    }
    Some(allowed.iter().any(|licence| licence == first))
}
