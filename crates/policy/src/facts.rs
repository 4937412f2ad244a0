//! What the hub finds out about arguments and results by itself: recipients,
//! amounts of money, texts, signs of health information.

use std::sync::LazyLock;

use legation_core::unseen::is_unseen;
use regex::RegexSet;
use serde_json::Value;

use crate::governance::normalise;

/// Keys whose value is a recipient whatever it looks like.
const RECIPIENT_KEYS: [&str; 14] = [
    "cc",
    "bcc",
    "recipient",
    "recipients",
    "torecipients",
    "ccrecipients",
    "bccrecipients",
    "attendee",
    "attendees",
    "invitee",
    "invitees",
    "email",
    "emails",
    "emailaddress",
];

/// Keys whose value is an address that nothing is sent to.
const NO_RECIPIENT_KEYS: [&str; 8] = [
    "from",
    "sender",
    "organizer",
    "query",
    "search",
    "q",
    "filter",
    "profileid",
];

/// Keys that say that a value is money.
const MONEY_KEYS: [&str; 12] = [
    "amount", "price", "total", "cost", "sum", "payment", "fee", "salary", "budget", "usd", "eur",
    "notional",
];

/// What was found out about one call or result, for policies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) foreign_recipient: bool,
    pub(crate) external_recipient: bool,
    pub(crate) mixed_entities: bool,
    pub(crate) unredacted_phi: bool,
    /// Conditions of bans that hold, by the ban's id and their place in it.
    pub(crate) holds: Vec<String>,
}

/// A text that stands where a recipient should and is no address.
pub(crate) const NO_ADDRESS: &str = "";

/// Every recipient in the arguments: addresses, and [`NO_ADDRESS`] for one that
/// cannot be told.
pub(crate) fn recipients(arguments: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(arguments, Place::Elsewhere, &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Elsewhere,
    Recipient,
    Ignored,
}

fn collect(value: &Value, place: Place, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let key = plain(key);
                let place = match place {
                    Place::Ignored => Place::Ignored,
                    _ if RECIPIENT_KEYS.contains(&key.as_str()) => Place::Recipient,
                    _ if NO_RECIPIENT_KEYS.contains(&key.as_str()) => Place::Ignored,
                    // `to` is a recipient only where an address stands in it.
                    _ => Place::Elsewhere,
                };
                collect(value, place, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, place, found)),
        Value::String(text) => {
            let addresses = addresses(text, place);
            if addresses.is_empty() && place == Place::Recipient && !text.trim().is_empty() {
                found.push(NO_ADDRESS.to_owned());
            }
            found.extend(addresses);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The addresses of a text: all of a list under a recipient's key, and
/// elsewhere only a text that is nothing but addresses.
fn addresses(text: &str, place: Place) -> Vec<String> {
    if place == Place::Ignored {
        return Vec::new();
    }
    let text = normalise(text);
    if !text.contains('@') {
        return Vec::new();
    }
    let parts: Vec<&str> = text
        .split([',', ';', '\n'])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    let found: Vec<String> = parts.iter().filter_map(|part| address(part)).collect();
    if place == Place::Elsewhere && found.len() < parts.len() {
        return Vec::new();
    }
    if found.len() < parts.len() {
        // One of several recipients cannot be told.
        return found.into_iter().chain([NO_ADDRESS.to_owned()]).collect();
    }
    found
}

/// `a@b`, `Name <a@b>` or `mailto:a@b`.
fn address(text: &str) -> Option<String> {
    let inner = match (text.rfind('<'), text.strip_suffix('>')) {
        (Some(open), Some(text)) => &text[open + 1..],
        _ => text.strip_prefix("mailto:").unwrap_or(text),
    };
    let inner = inner.trim();
    let (local, domain) = inner.rsplit_once('@')?;
    let fine = |part: &str| !part.is_empty() && !part.contains(char::is_whitespace);
    (fine(local) && fine(domain)).then(|| inner.to_owned())
}

fn plain(key: &str) -> String {
    normalise(key)
        .chars()
        .filter(|letter| !matches!(letter, '_' | '-'))
        .collect()
}

/// Whether an amount of money among `values` is over `limit`; one that cannot
/// be read counts as over.
pub(crate) fn money_over<'v>(values: impl Iterator<Item = &'v Value>, limit: f64) -> bool {
    values.flat_map(leaves).any(|value| match value {
        Value::Number(number) => number.as_f64().is_none_or(|amount| amount > limit),
        Value::String(text) => amount(text).is_some_and(|amount| amount > limit),
        _ => false,
    })
}

/// Every value under a key that says that it is money.
pub(crate) fn money(arguments: &Value) -> Vec<&Value> {
    let mut found = Vec::new();
    let mut open = vec![arguments];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => {
                for (key, value) in members {
                    let key = normalise(key);
                    let mut words = key.split(['_', '-', ' ', '.']);
                    if words.any(|word| MONEY_KEYS.contains(&word))
                        || MONEY_KEYS.iter().any(|money| key.ends_with(money))
                    {
                        found.push(value);
                    } else {
                        open.push(value);
                    }
                }
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    found
}

fn leaves(value: &Value) -> Vec<&Value> {
    let mut found = Vec::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => open.extend(members.values()),
            Value::Array(items) => open.extend(items),
            leaf => found.push(leaf),
        }
    }
    found
}

/// An amount in a text, whatever its currency and however its thousands are
/// written; infinite where digits stand in it that cannot be read.
fn amount(text: &str) -> Option<f64> {
    let text = normalise(text);
    let digits: String = text
        .chars()
        .filter(|letter| letter.is_ascii_digit() || matches!(letter, '.' | ',' | '-'))
        .collect();
    if !digits.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let times = match text.chars().rfind(|letter| letter.is_alphanumeric()) {
        Some('k') => 1e3,
        Some('m') => 1e6,
        Some('b') => 1e9,
        _ => 1.0,
    };
    // The last separator with one or two digits after it is the decimal point.
    let decimals = digits
        .rfind(['.', ','])
        .filter(|at| (2..=3).contains(&(digits.len() - at)));
    let number: String = digits
        .char_indices()
        .filter_map(|(at, letter)| match letter {
            '.' | ',' if Some(at) == decimals => Some('.'),
            '.' | ',' => None,
            other => Some(other),
        })
        .collect();
    Some(number.parse::<f64>().map_or(f64::INFINITY, |n| n * times))
}

/// Whether one of `texts`, normalised, stands in a key or value.
pub(crate) fn holds_text(value: &Value, texts: &aho_corasick::AhoCorasick) -> bool {
    match value {
        Value::Object(members) => members
            .iter()
            .any(|(key, value)| texts.is_match(&folded(key)) || holds_text(value, texts)),
        Value::Array(items) => items.iter().any(|item| holds_text(item, texts)),
        Value::String(text) => texts.is_match(&folded(text)),
        Value::Number(number) => texts.is_match(&number.to_string()),
        Value::Null | Value::Bool(_) => false,
    }
}

/// Text as bans compare it: without case, width, accents and invisible
/// characters, and with single spaces.
pub(crate) fn folded(text: &str) -> String {
    use unicode_normalization::UnicodeNormalization as _;
    let plain: String = normalise(text)
        .nfd()
        .filter(|letter| {
            !unicode_normalization::char::is_combining_mark(*letter) && !is_unseen(*letter)
        })
        .collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Signs of health information about a person that need no name list: the ones
/// to fall back on where no redactor looked.
static HEALTH: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new([
        r"\b\d{3}-\d{2}-\d{4}\b",
        r"(?i)\b(?:mrn|medical record(?: number| no\.?)?)\W{0,3}[a-z]{0,3}\d{4,}",
        r"(?i)\b(?:dob|date of birth|born(?: on)?)\b\W{0,5}\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}",
        r"(?i)\b(?:room|rm|bed)\b\W{0,2}\d+",
        r"(?i)\bpatient\b.{0,40}\b(?:diagnos|admitted|discharged|prescribed)",
    ])
    .expect("the patterns are constant")
});

/// Whether a text shows such signs.
pub(crate) fn shows_health(text: &str) -> bool {
    use unicode_normalization::UnicodeNormalization as _;
    if text.is_ascii() {
        HEALTH.is_match(text)
    } else {
        HEALTH.is_match(&text.nfkc().collect::<String>())
    }
}

/// Whether a text in the arguments shows such signs.
pub(crate) fn arguments_show_health(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(key, value)| match value {
            // A field's name is often what says what its value is.
            Value::String(_) | Value::Number(_) => {
                shows_health(&format!("{}: {}", key.replace('_', " "), bare(value)))
            }
            _ => arguments_show_health(value),
        }),
        Value::Array(items) => items.iter().any(arguments_show_health),
        Value::String(text) => shows_health(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn bare(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
