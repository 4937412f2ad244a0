//! Names and values of a query or of a form (the URL standard's
//! `application/x-www-form-urlencoded`), and the parts of a path.

/// Names and values, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fields(Vec<(String, String)>);

// === impl Fields ===

impl Fields {
    /// Reads a query or a form. What is no UTF-8 is replaced, as browsers do.
    pub(crate) fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name, true), decoded(value, true))
        });
        Self(pairs.collect())
    }

    /// The first value of a name that is not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(one, _)| one == name);
        found
            .map(|(_, value)| value.trim())
            .filter(|value| !value.is_empty())
    }

    /// As [`Fields::get`], owned.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    /// A number, where the value is one.
    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.get(name)?.parse().ok()
    }

    /// The names that begin with a prefix, without it, and their values.
    pub(crate) fn beginning<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        let all = self.0.iter();
        all.filter_map(move |(name, value)| Some((name.strip_prefix(prefix)?, value.as_str())))
    }
}

/// The decoded parts of a path; empty ones are left out.
pub(crate) fn parts(path: &str) -> Vec<String> {
    path.split('/')
        .filter(|part| !part.is_empty())
        .map(|part| decoded(part, false))
        .collect()
}

/// A part of a path, or a value of a query, as it stands in an address.
pub(crate) fn encoded(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _: std::fmt::Result = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn decoded(text: &str, is_form: bool) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let escaped = (byte == b'%')
            .then(|| tail.split_at_checked(2))
            .flatten()
            .and_then(|(digits, after)| {
                let high = char::from(digits[0]).to_digit(16)?;
                let low = char::from(digits[1]).to_digit(16)?;
                Some((u8::try_from(high * 16 + low).ok()?, after))
            });
        let (byte, after) = match escaped {
            Some(escaped) => escaped,
            None if is_form && byte == b'+' => (b' ', tail),
            None => (byte, tail),
        };
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read_as_browsers_write_them() {
        let fields = Fields::parse("a=1+2&b=%C3%A9%26&&c&a=3&d=%zz&e=%");
        let cases = [
            ("a", Some("1 2")),
            ("b", Some("é&")),
            ("c", None),
            ("d", Some("%zz")),
            ("e", Some("%")),
            ("f", None),
        ];
        for (name, value) in cases {
            assert_eq!(fields.get(name), value, "{name}");
        }
        let fields = Fields::parse("job.x=a&job.y=b&other=c");
        let jobs: Vec<_> = fields.beginning("job.").collect();
        assert_eq!(jobs, [("x", "a"), ("y", "b")]);
    }

    #[test]
    fn a_part_of_a_path_comes_back_as_it_was() {
        for text in ["notes", "a b/c", "notes@/home/alex", "é%+&?#", ""] {
            let path = format!("/servers/{}", encoded(text));
            let expected: Vec<&str> = ["servers", text]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect();
            assert_eq!(parts(&path), expected);
        }
        assert_eq!(parts("/"), Vec::<String>::new());
    }
}
