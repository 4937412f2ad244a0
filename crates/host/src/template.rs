//! Whether a URI could have come from a URI template.
//!
//! RFC 6570 expands templates; matching is nobody's standard. This matcher asks
//! only which server a URI may belong to, so it is lenient: `{var}` stands for
//! one or more characters other than `/`, `{+var}` and `{#var}` for any,
//! `{/var}` for path segments, `{?…}` and `{&…}` for an optional query, `{.var}`
//! and `{;var}` for an optional part of a segment. It keeps the set of places
//! the match may have reached, so no template makes it slow.

/// Whether `uri` could be an expansion of `template`.
#[must_use]
pub(crate) fn matches(template: &str, uri: &str) -> bool {
    let uri = uri.as_bytes();
    let mut reached = vec![false; uri.len() + 1];
    reached[0] = true;
    let mut rest = template;
    while !rest.is_empty() {
        let (literal, after) = rest.split_once('{').unwrap_or((rest, ""));
        reached = step_literal(&reached, uri, literal.as_bytes());
        if after.is_empty() {
            // An opening brace at the very end is not a template of anything.
            return literal.len() == rest.len() && reached[uri.len()];
        }
        let Some((expression, tail)) = after.split_once('}') else {
            return false;
        };
        reached = step_expression(&reached, uri, expression);
        rest = tail;
    }
    reached[uri.len()]
}

fn step_literal(reached: &[bool], uri: &[u8], literal: &[u8]) -> Vec<bool> {
    let mut next = vec![false; reached.len()];
    for (at, _) in reached.iter().enumerate().filter(|(_, is)| **is) {
        if uri[at..].starts_with(literal) {
            next[at + literal.len()] = true;
        }
    }
    next
}

fn step_expression(reached: &[bool], uri: &[u8], expression: &str) -> Vec<bool> {
    match expression.as_bytes().first() {
        Some(b'+') => spread(reached, uri, |_| true, false),
        Some(operator @ (b'#' | b'/' | b'?' | b'&')) => optional(reached, uri, *operator),
        Some(b'.' | b';') => spread(reached, uri, |byte| byte != b'/', true),
        _ => spread(reached, uri, |byte| byte != b'/', false),
    }
}

/// Where nothing was expanded at all, or an operator's own first character and
/// anything after it.
fn optional(reached: &[bool], uri: &[u8], operator: u8) -> Vec<bool> {
    let mut begun = vec![false; reached.len()];
    for (at, _) in reached.iter().enumerate().filter(|(_, is)| **is) {
        if uri.get(at) == Some(&operator) {
            begun[at + 1] = true;
        }
    }
    let mut next = spread(&begun, uri, |_| true, true);
    next.iter_mut()
        .zip(reached)
        .for_each(|(next, was)| *next |= was);
    next
}

/// Places that can be reached over allowed characters; over none if `empty`.
fn spread(reached: &[bool], uri: &[u8], allowed: impl Fn(u8) -> bool, empty: bool) -> Vec<bool> {
    let mut next = vec![false; reached.len()];
    let mut running = false;
    for at in 0..reached.len() {
        next[at] = running || (empty && reached[at]);
        running = (running || reached[at]) && uri.get(at).is_some_and(|byte| allowed(*byte));
    }
    next
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn uris_find_their_templates() {
        let cases = [
            ("test://template/{id}/data", "test://template/7/data", true),
            ("test://template/{id}/data", "test://template//data", false),
            (
                "test://template/{id}/data",
                "test://template/7/8/data",
                false,
            ),
            ("test://template/{id}/data", "test://template/7/dat", false),
            ("file:///{+path}", "file:///a/b/c.txt", true),
            ("file:///{+path}", "file:///", false),
            ("db://{table}{?limit,offset}", "db://users", true),
            ("db://{table}{?limit,offset}", "db://users?limit=3", true),
            ("{a}{b}{c}{d}x", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
            ("a{/path}", "a/b/c", true),
            ("a{/path}", "ab", false),
            ("plain", "plain", true),
            ("plain{", "plain", false),
            ("plain{x", "plainx", false),
            ("", "", true),
        ];
        for (template, uri, expected) in cases {
            assert_eq!(matches(template, uri), expected, "{template} {uri}");
        }
    }

    #[test]
    fn many_variables_do_not_make_it_slow() {
        let template = "{a}".repeat(2_000);
        assert!(!matches(&template, &"x".repeat(1_999)));
        assert!(matches(&template, &"x".repeat(2_000)));
    }
}
