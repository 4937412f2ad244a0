//! Query options: which an operation takes, and what they do to a list.

use serde_json::{Value, json};

use super::error::Failure;
use super::{Call, Outcome};
use crate::web::{Answer, Ask, base64_any, base64_url, encoded};

/// What every object shows whatever was selected.
const ALWAYS: [&str; 1] = ["id"];

// === impl Call ===

impl Call<'_> {
    /// Refuses every query option but these. Names are compared without case and without `$`,
    /// both of which Graph allows.
    pub(crate) fn options(&self, allowed: &[&str]) -> Result<(), Failure> {
        for (name, _) in &self.ask.query.0 {
            let bare = name.trim_start_matches('$').to_lowercase();
            let known = [
                "select",
                "filter",
                "top",
                "skip",
                "orderby",
                "expand",
                "count",
                "search",
                "skiptoken",
                "deltatoken",
                "format",
            ];
            if known.contains(&bare.as_str()) && !allowed.contains(&bare.as_str()) {
                return Err(Failure::bad_request(format!(
                    "Query option '{}' is not allowed. To allow it, set the 'AllowedQueryOptions' \
                     property on EnableQueryAttribute or QueryValidationSettings.",
                    title(&bare)
                )));
            }
        }
        Ok(())
    }

    /// A query option by its bare name.
    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        let found = self
            .ask
            .query
            .0
            .iter()
            .find(|(key, _)| key.trim_start_matches('$').eq_ignore_ascii_case(name))?;
        Some(&found.1)
    }

    /// `$top`, within limits.
    pub(crate) fn top(&self, default: usize, max: usize) -> Result<usize, Failure> {
        let Some(text) = self.option("top") else {
            return Ok(default);
        };
        match text.parse::<usize>() {
            Ok(top) if (1..=max).contains(&top) => Ok(top),
            Ok(_) => Err(Failure::bad_request(format!(
                "The limit of '{max}' for Top query has been exceeded, or it is 0. The value from \
                 the incoming request is '{text}'."
            ))),
            Err(_) => Err(Failure::bad_request(format!(
                "Invalid value '{text}' for $top query option found. The $top query option \
                 requires a non-negative integer value."
            ))),
        }
    }

    /// Keeps what `$select` names.
    pub(crate) fn selected(&self, mut value: Value) -> Value {
        let Some(select) = self.option("select").filter(|text| !text.is_empty()) else {
            return value;
        };
        let names: Vec<&str> = select.split(',').map(str::trim).collect();
        if let Some(members) = value.as_object_mut() {
            members.retain(|name, _| {
                name.starts_with('@')
                    || ALWAYS.contains(&name.as_str())
                    || names.iter().any(|wanted| wanted.eq_ignore_ascii_case(name))
            });
        }
        value
    }

    /// One object, selected, under its context.
    pub(crate) fn entity(&self, status: u16, context: &str, value: Value) -> Answer {
        let mut shown = self.selected(value);
        self.annotate(&mut shown, context);
        Answer::json(status, &shown)
    }

    /// A page of a list whose continuation counts what was shown. `items` is the whole list.
    pub(crate) fn list(&self, context: &str, items: Vec<Value>, size: usize) -> Outcome {
        let total = items.len();
        self.list_of(context, total, size, |from, size| {
            items.into_iter().skip(from).take(size).collect()
        })
    }

    /// The same of a list so long that only the page of it should be made: from where, and how
    /// many.
    pub(crate) fn list_of(
        &self,
        context: &str,
        total: usize,
        size: usize,
        make: impl FnOnce(usize, usize) -> Vec<Value>,
    ) -> Outcome {
        let from = match self.option("skiptoken") {
            None => self
                .option("skip")
                .map_or(Ok(0), str::parse)
                .map_err(|_| Failure::bad_request("Invalid value for $skip query option."))?,
            Some(token) => base64_any(token)
                .and_then(|bytes| String::from_utf8(bytes).ok()?.parse::<usize>().ok())
                .ok_or_else(|| Failure::bad_request("Skip token is not valid."))?,
        };
        let page: Vec<Value> = make(from, size)
            .into_iter()
            .map(|item| self.selected(item))
            .collect();
        let mut body = json!({});
        self.annotate(&mut body, context);
        if self.option("count") == Some("true") {
            body["@odata.count"] = total.into();
        }
        if from + page.len() < total && !page.is_empty() {
            let token = base64_url((from + page.len()).to_string().as_bytes());
            body["@odata.nextLink"] = link(self.ask, &[("$skiptoken", &token)], &["skip"]).into();
        }
        body["value"] = page.into();
        Ok(Answer::json(200, &body))
    }
}

/// A link back to the same request with some options changed; `drop` is left out, by bare name.
pub(crate) fn link(ask: &Ask, set: &[(&str, &str)], drop: &[&str]) -> String {
    let bare = |name: &str| name.trim_start_matches('$').to_lowercase();
    let kept = ask.query.0.iter().filter(|(name, _)| {
        !drop.contains(&bare(name).as_str()) && set.iter().all(|(new, _)| bare(new) != bare(name))
    });
    let pairs: Vec<String> = kept
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .chain(set.iter().copied())
        .map(|(name, value)| {
            // `$` may stand in a query, and clients look for it.
            format!("{}={}", encoded(name).replace("%24", "$"), encoded(value))
        })
        .collect();
    format!("{}{}?{}", ask.origin, ask.path, pairs.join("&"))
}

/// `$orderby`: the property, and whether it goes down.
pub(crate) fn order(text: &str) -> (&str, bool) {
    let mut words = text.split_whitespace();
    let property = words.next().unwrap_or_default();
    (property, words.next().is_some_and(|word| word == "desc"))
}

/// A filter of comparisons joined by `and`: property, operator, operand. The functions `contains`
/// and `startswith` are operators here.
pub(crate) fn comparisons(text: &str) -> Option<Vec<(String, String, String)>> {
    conjuncts(text)
        .into_iter()
        .map(|part| {
            let part = part.trim();
            for function in ["contains", "startswith"] {
                let Some(rest) = part.to_lowercase().strip_prefix(function).map(str::len) else {
                    continue;
                };
                let inner = part[part.len() - rest..]
                    .strip_prefix('(')?
                    .strip_suffix(')')?;
                let (property, operand) = inner.split_once(',')?;
                let operand = operand.trim().trim_matches('\'').replace("''", "'");
                return Some((property.trim().to_owned(), function.to_owned(), operand));
            }
            let part = part.trim_start_matches('(').trim_end_matches(')');
            let mut words = part.splitn(3, ' ');
            let (property, operator) = (words.next()?, words.next()?);
            let operand = words.next()?.trim().trim_matches('\'').replace("''", "'");
            ["eq", "ne", "gt", "ge", "lt", "le"]
                .contains(&operator)
                .then(|| (property.to_owned(), operator.to_owned(), operand))
        })
        .collect()
}

/// The parts of a filter between `and`s that stand outside of quotes.
fn conjuncts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut from, mut quoted) = (0, false);
    for (at, c) in text.char_indices() {
        if c == '\'' {
            quoted = !quoted;
        } else if !quoted && at >= from && text[at..].starts_with(" and ") {
            parts.push(&text[from..at]);
            from = at + " and ".len();
        }
    }
    parts.push(&text[from..]);
    parts
}

fn title(bare: &str) -> String {
    match bare {
        "orderby" => "OrderBy".to_owned(),
        "skiptoken" => "SkipToken".to_owned(),
        "deltatoken" => "DeltaToken".to_owned(),
        other => {
            let mut letters = other.chars();
            letters.next().map_or_else(String::new, |first| {
                first.to_uppercase().collect::<String>() + letters.as_str()
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{comparisons, order};

    #[test]
    fn filters_are_taken_apart() {
        let read = comparisons("a gt 2026-01-01T00:00:00Z and displayName eq 'O''Neil B'").unwrap();
        assert_eq!(read[0].1, "gt");
        assert_eq!(read[1].2, "O'Neil B");
        let read = comparisons("contains(subject, 'a and b') and isRead eq false").unwrap();
        let at = |n: usize| (read[n].0.as_str(), read[n].1.as_str(), read[n].2.as_str());
        assert_eq!(at(0), ("subject", "contains", "a and b"));
        assert_eq!(at(1), ("isRead", "eq", "false"));
        assert_eq!(comparisons("endswith(a,'b')"), None);
        assert_eq!(comparisons("a gt"), None);
        assert_eq!(order("createdDateTime desc"), ("createdDateTime", true));
        assert_eq!(order("createdDateTime"), ("createdDateTime", false));
    }
}
