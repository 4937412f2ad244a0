//! What a 401 asks for (RFC 6750 section 3, with Entra ID's `claims`).

use crate::base::from_base64;
use crate::http::Response;

/// The claims a new token must have, as JSON.
pub(super) fn claims(answer: &Response) -> Option<String> {
    let fields = answer.headers.get_all(http::header::WWW_AUTHENTICATE);
    fields
        .iter()
        .filter_map(|field| field.to_str().ok())
        .find_map(in_field)
}

fn in_field(field: &str) -> Option<String> {
    let encoded = parameter(field, "claims")?;
    let json = from_base64(&encoded).and_then(|json| String::from_utf8(json).ok())?;
    json.starts_with('{').then_some(json)
}

/// The value of `name="…"`.
fn parameter(field: &str, name: &str) -> Option<String> {
    let mut rest = field;
    loop {
        let at = rest.find(name)?;
        let before = rest[..at].chars().next_back();
        let after = &rest[at + name.len()..];
        let starts = before.is_none_or(|c| c == ',' || c.is_whitespace());
        let value = after.trim_start().strip_prefix('=').map(str::trim_start);
        if let (true, Some(value)) = (starts, value) {
            let quoted = value.strip_prefix('"');
            let end = |text: &str, stop: &[char]| text.find(stop).unwrap_or(text.len());
            return Some(match quoted {
                Some(text) => text[..end(text, &['"'])].to_owned(),
                None => value[..end(value, &[',', ' '])].to_owned(),
            });
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_found_among_other_parameters() {
        let json = r#"{"access_token":{"nbf":{"essential":true}}}"#;
        let encoded = crate::base::base64(json.as_bytes());
        for field in [
            format!(r#"Bearer realm="", error="insufficient_claims", claims="{encoded}""#),
            format!(r#"Bearer claims="{encoded}", error="insufficient_claims""#),
            format!(r#"Bearer x_claims="no", claims = "{encoded}""#),
            format!("Bearer claims={encoded}, realm=x"),
        ] {
            assert_eq!(in_field(&field).as_deref(), Some(json), "{field}");
        }
        for field in ["Bearer", r#"Bearer claims="not json""#, "Bearer claims="] {
            assert_eq!(in_field(field), None, "{field}");
        }
    }
}
