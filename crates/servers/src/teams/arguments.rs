//! What a caller wants said, read from the arguments of a call.

use legation_entra::Class;
use legation_entra::chat::{Body, Mention, Outgoing};
use legation_wire::json::{Kind, Object, Raw};

use crate::accounts::Failure;

/// Longest key that names a message, in bytes.
const KEY_MAX: usize = 200;
/// Most people that one message mentions.
const MENTIONS_MAX: usize = 20;

/// The content of `send` and `update`.
pub(super) fn outgoing(arguments: &Object) -> Result<Outgoing, Failure> {
    Ok(Outgoing {
        body: body(arguments)?,
        mentions: mentions(arguments)?,
        key: None,
        earlier: None,
    })
}

fn body(arguments: &Object) -> Result<Body, Failure> {
    let text = text(arguments, "text")?;
    let format = self::text(arguments, "format")?;
    if let Some(card) = arguments.get("card") {
        if format.is_some_and(|format| format != "markdown") {
            return Err(bad("the text above a card is Markdown: leave `format` out"));
        }
        // Its JSON, or a text that holds it: both are in use.
        let card = match card.kind() {
            Kind::String => card
                .to_str()
                .and_then(|text| serde_json::from_str(&text).ok()),
            _ => card.deserialize().ok(),
        };
        let card = card.ok_or_else(|| bad("`card` must be an Adaptive Card, as JSON"))?;
        let text = text.unwrap_or_default();
        return Ok(Body::Card { card, text });
    }
    let text = text.ok_or_else(|| bad("`text` or `card` is missing"))?;
    match format.as_deref() {
        None | Some("markdown") => Ok(Body::Markdown(text)),
        Some("html") => Ok(Body::Html(text)),
        Some("text") => Ok(Body::Text(text)),
        Some(_) => Err(bad("`format` must be markdown, html or text")),
    }
}

fn mentions(arguments: &Object) -> Result<Vec<Mention>, Failure> {
    let Some(raw) = arguments.get("mentions") else {
        return Ok(Vec::new());
    };
    let wrong = || bad("`mentions` must be a list of objects with `id` and `name`, at most 20");
    let all = raw.to_array().filter(|all| all.len() <= MENTIONS_MAX);
    let all = all.ok_or_else(wrong)?;
    let one = |raw: &Raw| {
        let of = |key: &str| raw.get(key)?.to_str().map(|text| text.into_owned());
        let (user_id, name) = (of("id")?, of("name")?);
        (!user_id.is_empty() && !name.is_empty()).then_some(Mention { user_id, name })
    };
    all.iter().map(|raw| one(raw).ok_or_else(wrong)).collect()
}

/// The key that names a message, if it has one.
pub(super) fn key(arguments: &Object) -> Result<Option<String>, Failure> {
    let key = text(arguments, "idempotency_key")?;
    match key {
        Some(key) if key.is_empty() || key.len() > KEY_MAX => {
            Err(bad("`idempotency_key` must have 1 to 200 bytes"))
        }
        key => Ok(key),
    }
}

/// An argument that is a text.
pub(super) fn text(arguments: &Object, name: &str) -> Result<Option<String>, Failure> {
    match arguments.get(name) {
        None => Ok(None),
        Some(raw) => match raw.to_str() {
            Some(text) => Ok(Some(text.into_owned())),
            None => Err(bad(&format!("`{name}` must be a text"))),
        },
    }
}

/// An argument that is a whole number in a range.
pub(super) fn number(
    arguments: &Object,
    name: &str,
    range: std::ops::RangeInclusive<i64>,
) -> Result<Option<i64>, Failure> {
    let Some(raw) = arguments.get(name) else {
        return Ok(None);
    };
    let (least, most) = (range.start(), range.end());
    let wrong = || bad(&format!("`{name}` must be a number from {least} to {most}"));
    let number = raw.to_i64().filter(|number| range.contains(number));
    number.map(Some).ok_or_else(wrong)
}

/// Arguments that mean nothing; nobody was asked anything.
pub(super) fn bad(why: &str) -> Failure {
    let message = format!("{why}; nothing was done");
    Failure::said(Class::Teams, message, "see the tool's input schema")
}
