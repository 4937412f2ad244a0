//! What a server says with a 401 or 403 (`WWW-Authenticate`; RFC 9110 section
//! 11.6.1, RFC 6750 section 3, RFC 9728 section 5.1, RFC 9449 section 7.1).

/// The challenge of a bearer or DPoP scheme, as far as it is of use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Challenge {
    /// `error`, such as `invalid_token` or `insufficient_scope`.
    pub error: Option<Box<str>>,
    /// `scope`: what the refused request needs, divided by spaces.
    pub scope: Option<Box<str>>,
    /// `resource_metadata`: where the resource describes itself.
    pub resource_metadata: Option<Box<str>>,
    /// Whether the scheme was DPoP.
    pub dpop: bool,
}

// === impl Challenge ===

impl Challenge {
    /// Reads the header; of several challenges the first that OAuth knows. What
    /// cannot be read says nothing.
    #[must_use]
    pub fn read(header: &str) -> Self {
        let mut found: Vec<(String, Self)> = Vec::new();
        let mut rest = header;
        while let Some((word, after)) = token(rest) {
            let after = after.trim_start();
            let value = after.strip_prefix('=').filter(|_| !found.is_empty());
            let Some(value) = value else {
                found.push((word.to_ascii_lowercase(), Self::default()));
                // Credentials of other schemes, which may hold `=`.
                rest = skip_token68(after);
                continue;
            };
            let (value, after) = value_of(value.trim_start());
            if let Some((_, challenge)) = found.last_mut() {
                challenge.put(word, value);
            }
            rest = after;
        }
        let mut known = found.into_iter().filter_map(|(scheme, challenge)| {
            let dpop = scheme == "dpop";
            (dpop || scheme == "bearer").then_some(Self { dpop, ..challenge })
        });
        known.next().unwrap_or_default()
    }

    /// Whether more rights would help.
    #[must_use]
    pub fn wants_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    /// Whether the proof only lacked the server's nonce (RFC 9449, section 9).
    #[must_use]
    pub fn wants_nonce(&self) -> bool {
        self.error.as_deref() == Some("use_dpop_nonce")
    }

    fn put(&mut self, name: &str, value: String) {
        let place = if name.eq_ignore_ascii_case("error") {
            &mut self.error
        } else if name.eq_ignore_ascii_case("scope") {
            &mut self.scope
        } else if name.eq_ignore_ascii_case("resource_metadata") {
            &mut self.resource_metadata
        } else {
            return;
        };
        // A parameter that is there twice is the first one.
        place.get_or_insert_with(|| value.into());
    }
}

/// The next word, past commas and spaces.
fn token(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches([' ', '\t', ',']);
    let is_tchar = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let end = text.bytes().take_while(|byte| is_tchar(*byte)).count();
    (end > 0).then(|| text.split_at(end))
}

/// A quoted or plain value, and what follows it.
fn value_of(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(letters.next().map(|(_, letter)| letter)),
            letter => value.push(letter),
        }
    }
    (value, "")
}

/// Past a `token68`, if one follows a scheme's name.
fn skip_token68(text: &str) -> &str {
    let text = text.trim_start();
    let end = text.find([',', ' ', '\t', '"']).unwrap_or(text.len());
    let word = &text[..end];
    let is_credential = word.trim_end_matches('=').len() + 2 >= word.len()
        && !word.is_empty()
        && (word.ends_with('=') || !word.contains('='))
        && text[end..].trim_start().starts_with(',')
        || (!word.is_empty() && !word.contains('=') && text[end..].trim().is_empty());
    if is_credential { &text[end..] } else { text }
}

#[cfg(test)]
mod tests {
    use super::Challenge;

    #[test]
    fn a_challenge_is_found_among_others() {
        let read = |header: &str| {
            let found = Challenge::read(header);
            let text = |value: Option<Box<str>>| value.map(String::from).unwrap_or_default();
            let dpop = if found.dpop { "dpop" } else { "" };
            format!(
                "{}|{}|{}|{dpop}",
                text(found.error),
                text(found.scope),
                text(found.resource_metadata)
            )
        };
        for (header, expected) in [
            ("", "|||"),
            ("Bearer", "|||"),
            (
                r#"Bearer scope="a b", resource_metadata="https://example.com/m""#,
                "|a b|https://example.com/m|",
            ),
            (
                r#"Basic realm="x", Bearer error=invalid_token, scope="a\"b""#,
                "invalid_token|a\"b||",
            ),
            (
                r#"bearer realm="a, scope=no", ERROR="insufficient_scope""#,
                "insufficient_scope|||",
            ),
            (r#"DPoP error="use_dpop_nonce""#, "use_dpop_nonce|||dpop"),
            (r#"Negotiate YWJj==, Bearer scope=x"#, "|x||"),
            (r#"Negotiate, Bearer scope=x"#, "|x||"),
            (r#"Bearer scope="never closed"#, "|never closed||"),
            (r#"Bearer scope="a", scope="b""#, "|a||"),
            ("====,,,\"", "|||"),
        ] {
            assert_eq!(read(header), expected, "{header}");
        }
    }
}
