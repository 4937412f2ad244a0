//! Patterns of views: `*` stands for any characters, `?` for one.

/// Whether one of the patterns matches the whole name.
pub(crate) fn any(patterns: &[Box<str>], name: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, name))
}

/// Whether a pattern matches the whole name. It goes back to the last star
/// only, which is enough and takes no more than pattern times name.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, from)) = star else { return false };
                star = Some((at, from + 1));
                p = at + 1;
                n = from + 1;
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "anything", true),
            ("read_*", "read_file", true),
            ("read_*", "reread_file", false),
            ("?it", "git", true),
            ("?it", "it", false),
            ("*a*b", "xaxbxab", true),
            ("*a*b", "xaxbxaby", false),
            ("größe?", "größen", true),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
