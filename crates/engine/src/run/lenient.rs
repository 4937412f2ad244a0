//! JSON as small models write it.
//!
//! Single quotes, names without quotes, commas too many, Python's words, line breaks in strings, and
//! an end that is missing. What was cut in the middle of a value is told apart from what only lacks
//! its closing brackets: half of a file's text must not be taken for all of it.

use serde_json::{Map, Value};

/// How deep values may lie within each other.
const DEPTH_MAX: usize = 64;

/// What was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Read {
    /// The value.
    pub(crate) value: Value,
    /// How many bytes it took.
    pub(crate) length: usize,
    /// Whether it ended within a string, a name or a number, or before a value.
    pub(crate) is_cut: bool,
    /// Whether strict JSON would not have it.
    pub(crate) is_repaired: bool,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    is_cut: bool,
}

/// Reads one value at the beginning of a text.
pub(crate) fn read(text: &str) -> Option<Read> {
    let mut strict = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    if let Some(Ok(value)) = strict.next()
        && !value.is_number()
    {
        return Some(Read {
            value,
            length: strict.byte_offset(),
            is_cut: false,
            is_repaired: false,
        });
    }
    let mut reader = Reader {
        text,
        at: 0,
        is_cut: false,
    };
    let value = reader.value(0)?;
    Some(Read {
        value,
        length: reader.at,
        is_cut: reader.is_cut,
        is_repaired: true,
    })
}

// === impl Reader ===

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += letter.len_utf8();
        Some(letter)
    }

    fn blanks(&mut self) {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start().len();
            if self.rest().starts_with("//") {
                let line = self.rest().find('\n').unwrap_or(self.rest().len());
                self.at += line;
            } else {
                return;
            }
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEPTH_MAX {
            return None;
        }
        self.blanks();
        match self.peek()? {
            '{' => self.object(depth).map(Value::Object),
            '[' => self.array(depth).map(Value::Array),
            '"' | '\'' | '\u{201c}' => self.string().map(Value::String),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Map<String, Value>> {
        self.take()?;
        let mut members = Map::new();
        loop {
            self.blanks();
            match self.peek() {
                None => return Some(members),
                Some('}') => {
                    self.take();
                    return Some(members);
                }
                Some(',') => {
                    self.take();
                }
                Some('"' | '\'' | '\u{201c}') => {
                    let name = self.string()?;
                    self.member(&mut members, name, depth)?;
                }
                Some(letter) if letter.is_alphabetic() || letter == '_' => {
                    let name = self.bare();
                    self.member(&mut members, name, depth)?;
                }
                Some(_) => return None,
            }
        }
    }

    fn member(
        &mut self,
        members: &mut Map<String, Value>,
        name: String,
        depth: usize,
    ) -> Option<()> {
        self.blanks();
        match self.peek() {
            Some(':' | '=') => {
                self.take();
            }
            None => {
                self.is_cut = true;
                return Some(());
            }
            Some(_) => return None,
        }
        self.blanks();
        if self.peek().is_none() {
            self.is_cut = true;
            return Some(());
        }
        let value = self.value(depth + 1)?;
        members.insert(name, value);
        Some(())
    }

    fn array(&mut self, depth: usize) -> Option<Vec<Value>> {
        self.take()?;
        let mut items = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                None => return Some(items),
                Some(']') => {
                    self.take();
                    return Some(items);
                }
                Some(',') => {
                    self.take();
                }
                Some(_) => items.push(self.value(depth + 1)?),
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        let close = match self.take()? {
            '\u{201c}' => '\u{201d}',
            quote => quote,
        };
        if self.rest().starts_with("\"\"") && close == '"' {
            return self.long_string();
        }
        let mut text = String::new();
        loop {
            match self.take() {
                None => {
                    self.is_cut = true;
                    return Some(text);
                }
                Some(letter) if letter == close => return Some(text),
                Some('\\') => match self.take() {
                    None => {
                        self.is_cut = true;
                        return Some(text);
                    }
                    Some(letter) => self.escape(letter, &mut text),
                },
                Some(letter) => text.push(letter),
            }
        }
    }

    /// Python's string in three quotes, of which one was taken.
    fn long_string(&mut self) -> Option<String> {
        self.at += 2;
        let rest = self.rest();
        let (text, length) = match rest.find("\"\"\"") {
            Some(end) => (rest[..end].to_owned(), end + 3),
            None => (rest.to_owned(), rest.len()),
        };
        self.is_cut |= length == text.len();
        self.at += length;
        Some(text)
    }

    fn escape(&mut self, letter: char, text: &mut String) {
        match letter {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            '"' | '\'' | '\\' | '/' => text.push(letter),
            'u' => match self.code_point() {
                Some(letter) => text.push(letter),
                None => text.push_str("\\u"),
            },
            // No escape of JSON's: the model meant both signs.
            other => {
                text.push('\\');
                text.push(other);
            }
        }
    }

    fn code_point(&mut self) -> Option<char> {
        let high = self.four_digits()?;
        if !(0xd800..0xdc00).contains(&high) {
            return char::from_u32(high);
        }
        let before = self.at;
        if self.rest().starts_with("\\u") {
            self.at += 2;
            if let Some(low @ 0xdc00..0xe000) = self.four_digits() {
                return char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00));
            }
            self.at = before;
        }
        Some(char::REPLACEMENT_CHARACTER)
    }

    fn four_digits(&mut self) -> Option<u32> {
        let digits = self.rest().get(..4)?;
        let number = u32::from_str_radix(digits, 16).ok()?;
        self.at += 4;
        Some(number)
    }

    fn bare(&mut self) -> String {
        let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
        let rest = self.rest();
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let word = rest[..end].to_owned();
        self.at += end;
        word
    }

    fn word(&mut self) -> Option<Value> {
        let sign = self.rest().starts_with(['-', '+']);
        if sign {
            self.at += 1;
        }
        let minus = sign && self.text[..self.at].ends_with('-');
        let word = self.bare();
        // A number or a word at the very end may have been longer.
        self.is_cut |= self.rest().is_empty();
        let value = match word.as_str() {
            "true" | "True" => Value::Bool(true),
            "false" | "False" => Value::Bool(false),
            "null" | "None" | "undefined" => Value::Null,
            "" => return None,
            number => {
                let number = if minus {
                    format!("-{number}")
                } else {
                    number.to_owned()
                };
                match serde_json::from_str::<Value>(&number) {
                    Ok(value) if value.is_number() => value,
                    _ if sign => return None,
                    _ => Value::String(number),
                }
            }
        };
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_small_models_write_is_read() {
        for (text, value) in [
            (
                r#"{"a": 1, "b": [true, null]}"#,
                json!({"a": 1, "b": [true, null]}),
            ),
            (
                r#"{'a': 'it"s', 'b': "it's"}"#,
                json!({"a": "it\"s", "b": "it's"}),
            ),
            (r#"{a: 1, b_c: "x",}"#, json!({"a": 1, "b_c": "x"})),
            ("{\"a\": [1, 2,], }", json!({"a": [1, 2]})),
            (
                r#"{"a": True, "b": None, "c": -1.5}"#,
                json!({"a": true, "b": null, "c": -1.5}),
            ),
            (
                "{\"a\": \"two\nlines\tand a tab\"}",
                json!({"a": "two\nlines\tand a tab"}),
            ),
            (r#"{"path": "C:\dir\x"}"#, json!({"path": "C:\\dir\\x"})),
            ("{\"a\": 1 // why\n}", json!({"a": 1})),
            ("{“a”: “b”}", json!({"a": "b"})),
            ("{\"a\": \"\"\"x \"y\" z\"\"\"}", json!({"a": "x \"y\" z"})),
            (r#"{"a": "\u00e4\ud83d\ude00"}"#, json!({"a": "ä😀"})),
            (r#"{"a": {"b": "c"}"#, json!({"a": {"b": "c"}})),
            (r#"{"a": ["b""#, json!({"a": ["b"]})),
        ] {
            let read = read(text).unwrap_or_else(|| panic!("{text} is not read"));
            assert_eq!(read.value, value, "{text}");
            assert!(!read.is_cut, "{text}");
        }
    }

    #[test]
    fn half_a_value_is_told_from_a_whole_one() {
        for text in [
            r#"{"path": "a.rs", "content": "fn ma"#,
            r#"{"path": "a.rs", "content":"#,
            r#"{"path": "a.rs", "content"#,
            r#"{"line": 12"#,
            r#"{"a": "b\"#,
            r#"{"a": tr"#,
        ] {
            assert!(read(text).is_some_and(|read| read.is_cut), "{text}");
        }
    }

    #[test]
    fn what_follows_a_value_is_left() {
        let read = |text| read(text).map(|read| read.length);
        assert_eq!(read("{\"a\": 1} and more"), Some(8));
        assert_eq!(read("{'a': 1} and more"), Some(8));
        assert_eq!(read("{]"), None);
        assert_eq!(read(""), None);
        assert_eq!(read(&"[".repeat(1000)), None);
    }
}
