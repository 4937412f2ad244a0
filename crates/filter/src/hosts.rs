//! Where a link may lead.

use std::borrow::Cow;

/// Longest destination that is looked at; a longer one is not allowed anywhere.
const DESTINATION_MAX: usize = 8 << 10;

/// The hosts that links and images may lead to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts {
    /// Lower case; with a leading dot where every host below is meant too.
    allowed: Vec<Box<str>>,
}

// === impl Hosts ===

impl Hosts {
    /// `docs.example.com` allows that host, `*.example.com` every host below `example.com`.
    #[must_use]
    pub fn new<T: AsRef<str>>(patterns: impl IntoIterator<Item = T>) -> Self {
        let allowed = patterns.into_iter().map(|pattern| -> Box<str> {
            let lower = pattern.as_ref().trim().to_ascii_lowercase();
            lower.strip_prefix('*').unwrap_or(&lower).into()
        });
        Self {
            allowed: allowed.filter(|host| !host.is_empty()).collect(),
        }
    }

    /// Whether a destination, entities and escapes of its markup already undone, may stay.
    ///
    /// What a browser would read differently from what is written (controls inside a scheme,
    /// backslashes for slashes, a user before the host) is read as the browser does.
    #[must_use]
    pub fn allow(&self, destination: &str) -> bool {
        if destination.len() > DESTINATION_MAX {
            return false;
        }
        // WHATWG URL: tabs and line feeds go wherever they stand, controls at the ends too.
        let mut text = String::with_capacity(destination.len());
        let seen = destination.trim_matches(|c: char| c <= ' ');
        text.extend(seen.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')));
        if text.chars().any(|c| c.is_control()) {
            return false;
        }
        let slashed = text.replace('\\', "/");
        match scheme(&slashed) {
            None => match slashed.strip_prefix("//") {
                Some(rest) => self.allow_host(rest),
                // Relative: it stays with whoever shows the text. An entity or a percent sign
                // before the first slash could still hide a scheme.
                None => !before_path(&slashed).contains([':', '%', '&']),
            },
            Some(("http" | "https", rest)) => self.allow_host(rest.trim_start_matches('/')),
            Some(("mailto" | "legation", _)) => true,
            // `javascript:`, `data:`, `vbscript:`, `file:` and schemes that start programs.
            Some(_) => false,
        }
    }

    fn allow_host(&self, rest: &str) -> bool {
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let authority = &rest[..end];
        if authority.contains('@') {
            return false;
        }
        let host = match authority.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
            _ => authority,
        };
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        !host.is_empty()
            && self
                .allowed
                .iter()
                .any(|allowed| match allowed.strip_prefix('.') {
                    Some(_) => host.ends_with(&**allowed),
                    None => host == **allowed,
                })
    }
}

/// The scheme in lower case and what follows its colon.
fn scheme(text: &str) -> Option<(&'static str, &str)> {
    let (name, rest) = text.split_once(':')?;
    let mut letters = name.chars();
    let legal = letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    if !legal {
        return None;
    }
    const KNOWN: [&str; 4] = ["http", "https", "mailto", "legation"];
    let known = KNOWN.iter().find(|known| known.eq_ignore_ascii_case(name));
    Some((known.copied().unwrap_or("other"), rest))
}

fn before_path(text: &str) -> &str {
    text.split(['/', '?', '#']).next().unwrap_or_default()
}

/// A text with its character references undone, as an HTML attribute is read. Only the ones that
/// can spell a scheme or a host: numbers, and the names of punctuation.
pub(crate) fn without_entities(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (character, length) = entity(rest).unwrap_or(('&', 1));
        out.push(character);
        rest = &rest[length..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The character of the reference at the start of a text, and its length.
fn entity(text: &str) -> Option<(char, usize)> {
    const NAMED: [(&str, char); 14] = [
        ("&colon;", ':'),
        ("&sol;", '/'),
        ("&bsol;", '\\'),
        ("&period;", '.'),
        ("&commat;", '@'),
        ("&quest;", '?'),
        ("&num;", '#'),
        ("&amp;", '&'),
        ("&lt;", '<'),
        ("&gt;", '>'),
        ("&quot;", '"'),
        ("&apos;", '\''),
        ("&Tab;", '\t'),
        ("&NewLine;", '\n'),
    ];
    if let Some((name, character)) = NAMED.iter().find(|(name, _)| text.starts_with(name)) {
        return Some((*character, name.len()));
    }
    let digits = text.strip_prefix("&#")?;
    let (radix, digits, head) = match digits.strip_prefix(['x', 'X']) {
        Some(digits) => (16, digits, 3),
        None => (10, digits, 2),
    };
    let length = digits
        .bytes()
        .take_while(|b| char::from(*b).is_digit(radix))
        .count();
    let code = u32::from_str_radix(digits.get(..length)?, radix).ok()?;
    let semicolon = usize::from(digits[length..].starts_with(';'));
    Some((char::from_u32(code)?, head + length + semicolon))
}
