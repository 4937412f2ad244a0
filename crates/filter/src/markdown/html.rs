//! Tags inside Markdown.
//!
//! A tag without attributes formats or means nothing (`Vec<String>`), and stays. One with
//! attributes stays if all of them are known to lead nowhere. Of links and images with an
//! allowed address a plain form is written anew; every other tag goes, its content stays.

use std::ops::Range;

use super::{IMAGE_GONE, LINK_GONE};
use crate::hosts::{Hosts, without_entities};

/// Tags that do something even without an attribute.
const ACTIVE: [&str; 24] = [
    "script", "style", "iframe", "frame", "frameset", "object", "embed", "applet", "link", "meta",
    "base", "form", "input", "button", "textarea", "select", "svg", "math", "video", "audio",
    "source", "track", "portal", "template",
];
/// Attributes that hold no address and run nothing.
const HARMLESS: [&str; 18] = [
    "align", "alt", "class", "colspan", "dir", "height", "id", "lang", "name", "open", "rowspan",
    "scope", "span", "start", "title", "type", "valign", "width",
];

/// A tag of the source.
struct Found<'a> {
    range: Range<usize>,
    name: String,
    closing: bool,
    attributes: Vec<(String, &'a str)>,
    /// Whether it has an end; the rest of a text that begins like a tag has none.
    whole: bool,
}

/// What must go of a piece of HTML, by place in it, and what is put there.
pub(super) fn cuts(html: &str, hosts: &Hosts) -> Vec<(Range<usize>, String)> {
    let mut cuts = Vec::new();
    let mut at = 0;
    while let Some(offset) = html[at..].find('<') {
        let start = at + offset;
        let rest = &html[start..];
        if rest.starts_with("<!") || rest.starts_with("<?") {
            // A comment is text that only the model reads.
            let close = if rest.starts_with("<!--") { "-->" } else { ">" };
            let length = rest.find(close).map_or(rest.len(), |end| end + close.len());
            cuts.push((start..start + length, String::new()));
            at = start + length;
            continue;
        }
        match tag(html, start) {
            Some(found) => {
                at = found.range.end;
                if let Some(put) = instead(&found, hosts) {
                    cuts.push((found.range, put));
                }
            }
            None => at = start + 1,
        }
    }
    cuts
}

/// What stands in the place of a tag; `None` when it stays.
fn instead(found: &Found<'_>, hosts: &Hosts) -> Option<String> {
    let active = ACTIVE.contains(&found.name.as_str());
    if found.closing && !active {
        return None;
    }
    let safe = |(name, value): &(String, &str)| {
        HARMLESS.contains(&name.as_str()) && !value.contains(['<', '>'])
    };
    if !active && found.whole && found.attributes.iter().all(safe) {
        return None;
    }
    let address = |wanted: &str| {
        let found = found.attributes.iter().find(|(name, _)| name == wanted)?;
        let address = without_entities(found.1);
        hosts.allow(&address).then(|| quoted(&address))
    };
    let gone = |text: &str| Some(text.to_owned());
    match found.name.as_str() {
        "a" => match address("href") {
            Some(address) if found.whole => rewritten(found, format!("<a href=\"{address}\">")),
            _ => gone(LINK_GONE),
        },
        "img" => match address("src") {
            Some(address) if found.whole => {
                let alt = found.attributes.iter().find(|(name, _)| name == "alt");
                let alt = alt.map_or_else(String::new, |(_, alt)| quoted(&without_entities(alt)));
                rewritten(found, format!("<img src=\"{address}\" alt=\"{alt}\">"))
            }
            _ => gone(IMAGE_GONE),
        },
        _ => gone(""),
    }
}

/// A rewritten tag, unless it is already what it would become.
fn rewritten(found: &Found<'_>, put: String) -> Option<String> {
    let plain = found.attributes.len() == put.matches("=\"").count()
        && found
            .attributes
            .iter()
            .all(|(name, value)| put.contains(&format!(" {name}=\"{value}\"")));
    (!plain).then_some(put)
}

fn quoted(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// The tag that begins at `start`, if it is one.
fn tag(html: &str, start: usize) -> Option<Found<'_>> {
    let bytes = html.as_bytes();
    let mut at = start + 1;
    let closing = bytes.get(at) == Some(&b'/');
    at += usize::from(closing);
    if !bytes.get(at)?.is_ascii_alphabetic() {
        return None;
    }
    let end = span(html, at, |c| {
        !c.is_ascii_whitespace() && !matches!(c, '/' | '>')
    });
    let name = html[at..end].to_ascii_lowercase();
    at = end;
    let mut attributes = Vec::new();
    loop {
        at = span(html, at, |c| c.is_ascii_whitespace() || c == '/');
        match bytes.get(at) {
            None | Some(b'>') => break,
            Some(_) => {}
        }
        let end = span(html, at, |c| {
            !c.is_ascii_whitespace() && !matches!(c, '/' | '>' | '=')
        });
        // A name may begin with `=`, which then belongs to it.
        let end = if end == at { at + 1 } else { end };
        let name = html[at..end].to_ascii_lowercase();
        let equals = span(html, end, |c| c.is_ascii_whitespace());
        let (value, next) = match bytes.get(equals) {
            Some(b'=') => value(html, equals + 1),
            _ => ("", end),
        };
        attributes.push((name, value));
        at = next;
    }
    Some(Found {
        range: start..(at + 1).min(html.len()),
        name,
        closing,
        attributes,
        whole: at < html.len(),
    })
}

/// The value of an attribute behind its `=`, and where the tag goes on.
fn value(html: &str, at: usize) -> (&str, usize) {
    let at = span(html, at, |c| c.is_ascii_whitespace());
    match html.as_bytes().get(at) {
        Some(quote @ (b'"' | b'\'')) => {
            let from = at + 1;
            let quote = char::from(*quote);
            match html[from..].find(quote) {
                Some(length) => (&html[from..from + length], from + length + 1),
                None => (&html[from..], html.len()),
            }
        }
        _ => {
            let end = span(html, at, |c| !c.is_ascii_whitespace() && c != '>');
            (&html[at..end], end)
        }
    }
}

/// Where the characters that are `wanted` end.
fn span(html: &str, at: usize, wanted: impl Fn(char) -> bool) -> usize {
    let rest = html.get(at..).unwrap_or_default();
    at + rest.find(|c| !wanted(c)).unwrap_or(rest.len())
}
