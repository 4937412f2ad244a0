//! Addresses without markup, which many clients turn into links by themselves (GFM, autolinks).

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::hosts::Hosts;

/// An address begins where these stand; it ends where a character cannot be part of one.
static ADDRESS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r#"(?i)(?:\b(?:https?|ftps?|wss?|file):[/\\]{2}|\bwww\.|\b(?:javascript|vbscript|data):)[^\s<>"`|\\^{}]*"#;
    Regex::new(pattern).ok()
});

/// A quick look.
pub(super) fn may_hold(text: &str) -> bool {
    text.contains(':') || text.contains("www.") || text.contains("WWW.") || text.contains("Www.")
}

/// The addresses in a text that are not allowed.
pub(super) fn find(text: &str, hosts: &Hosts) -> Vec<Range<usize>> {
    if !may_hold(text) {
        return Vec::new();
    }
    let Some(address) = ADDRESS.as_ref() else {
        // Cannot happen with a pattern that the tests compile; nothing passes then.
        return std::iter::once(0..text.len()).collect();
    };
    let found = address.find_iter(text).filter(|found| {
        let text = found.as_str();
        match text.get(..4) {
            Some(www) if www.eq_ignore_ascii_case("www.") => {
                !hosts.allow(&format!("http://{text}"))
            }
            // The words alone are prose: "data: see below".
            _ if !text.contains("//") => is_script(text),
            _ => !hosts.allow(trimmed(text)),
        }
    });
    found
        .map(|found| found.start()..found.start() + trimmed(found.as_str()).len())
        .collect()
}

/// Punctuation at the end of an address belongs to the sentence.
fn trimmed(text: &str) -> &str {
    text.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '\'', '*', '_', '~', ']'])
}

/// Whether something that begins like a script or data address goes on like one.
fn is_script(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    if scheme.eq_ignore_ascii_case("data") {
        let kind = rest.split([',', ';']).next().unwrap_or_default();
        return rest.contains(',') && (kind.contains('/') || rest.starts_with([',', ';']));
    }
    !rest.is_empty()
}
