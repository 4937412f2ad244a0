//! Files of variables, as `envFile` names them.
//!
//! `NAME=value` line by line, with `#` comments, an `export` in front, and
//! values in single or double quotes. Nothing in a value is followed or run:
//! the programs that read such files disagree about what they expand, and a
//! password may hold a dollar sign.

use thiserror::Error;

/// A line that is no variable. The line itself is left out: it may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line} is not NAME=value")]
pub(crate) struct DotenvError {
    /// Counted from 1.
    pub(crate) line: usize,
}

/// The variables of a text, in its order; of one name the last counts.
pub(crate) fn dotenv(text: &str) -> Result<Vec<(String, String)>, DotenvError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut variables: Vec<(String, String)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, value) = variable(line).ok_or(DotenvError { line: index + 1 })?;
        variables.retain(|(known, _)| *known != name);
        variables.push((name, value));
    }
    Ok(variables)
}

fn variable(line: &str) -> Option<(String, String)> {
    let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end();
    let is_name = !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
    let value = value.trim();
    if !is_name || value.contains('\0') {
        return None;
    }
    Some((name.to_owned(), unquoted(value)?))
}

fn unquoted(value: &str) -> Option<String> {
    let after_quote = |end: &str| end.trim().is_empty() || end.trim_start().starts_with('#');
    if let Some(rest) = value.strip_prefix('\'') {
        let (inside, end) = rest.split_once('\'')?;
        return after_quote(end).then(|| inside.to_owned());
    }
    let Some(rest) = value.strip_prefix('"') else {
        // A comment begins behind a space: `#` may be part of a password.
        let end = value.find(" #").unwrap_or(value.len());
        return Some(value[..end].trim_end().to_owned());
    };
    let mut inside = String::new();
    let mut letters = rest.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return after_quote(&rest[at + 1..]).then_some(inside),
            '\\' => match letters.next()?.1 {
                'n' => inside.push('\n'),
                'r' => inside.push('\r'),
                't' => inside.push('\t'),
                other @ ('"' | '\\' | '$') => inside.push(other),
                other => inside.extend(['\\', other]),
            },
            other => inside.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_taken_as_they_stand() {
        let text = "\u{feff}# a comment\n\nA=1\nexport B = two words # said\nC='it''\n";
        assert_eq!(dotenv(text), Err(DotenvError { line: 5 }));
        for (line, value) in [
            ("A=", ""),
            ("A=x", "x"),
            ("A = x y ", "x y"),
            ("A=pass#word", "pass#word"),
            ("A=x # y", "x"),
            ("A='$HOME # \"'", "$HOME # \""),
            ("A=\"a\\nb \\\"c\\\" \\$d \\q\" # e", "a\nb \"c\" $d \\q"),
            ("A=$(rm -rf /)", "$(rm -rf /)"),
            ("A=${B}", "${B}"),
            ("A=1\nA=2", "2"),
            ("A=b=c\r", "b=c"),
        ] {
            let found = dotenv(line).map(|all| all.into_iter().map(|(_, value)| value).collect());
            assert_eq!(found, Ok(vec![value.to_owned()]), "{line}");
        }
        for wrong in [
            "A",
            "=x",
            "1A=x",
            "A B=x",
            "A=\"x",
            "A='x",
            "A=\"x\" y",
            "A=\0",
        ] {
            assert_eq!(dotenv(wrong), Err(DotenvError { line: 1 }), "{wrong}");
        }
    }
}
