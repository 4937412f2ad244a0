//! The words of the protocol around a result.
//!
//! Redaction takes out every word that it does not know, and a client has to
//! find the members of a result under their names. So a result is redacted in
//! one piece, for its context, and these words are put back afterwards: they are
//! fixed by the specification and can hold nothing of a person.

use legation_wire::json::{Object, Raw};

/// Members that the specification names (2025-11-25 and 2026-07-28, schema; skills extension).
const MEMBERS: [&str; 31] = [
    "_meta",
    "annotations",
    "audience",
    "blob",
    "completion",
    "content",
    "contents",
    "data",
    "description",
    "digest",
    "frontmatter",
    "hasMore",
    "isError",
    "messages",
    "mimeType",
    "name",
    "nextCursor",
    "priority",
    "resource",
    "resources",
    "resultType",
    "role",
    "size",
    "skill",
    "structuredContent",
    "text",
    "title",
    "total",
    "type",
    "uri",
    "values",
];
/// Members below which everything is the server's own.
const OPAQUE: [&str; 3] = ["_meta", "structuredContent", "annotations"];
/// Members whose value is one of [`WORDS`].
const WORDED: [&str; 4] = ["type", "role", "mimeType", "resultType"];
const WORDS: [&str; 13] = [
    "text",
    "image",
    "audio",
    "resource",
    "resource_link",
    "user",
    "assistant",
    "complete",
    "text/plain",
    "text/markdown",
    "text/html",
    "text/csv",
    "application/json",
];

/// The redacted result with the protocol's words; `None` where the two are not
/// of one shape.
pub(super) fn mended(result: &Raw, redacted: &Raw) -> Option<Raw> {
    if let (Some(before), Some(after)) = (result.to_object(), redacted.to_object()) {
        if before.len() != after.len() {
            return None;
        }
        let mut mended = Object::new();
        for ((key, value), (new_key, new_value)) in before.iter().zip(after.iter()) {
            if !MEMBERS.contains(&key) {
                mended.set(new_key, new_value.clone());
                continue;
            }
            let word = || value.to_str().is_some_and(|word| WORDS.contains(&&*word));
            let value = if OPAQUE.contains(&key) {
                new_value.clone()
            } else if WORDED.contains(&key) && word() {
                value.clone()
            } else {
                self::mended(value, new_value)?
            };
            mended.set(key, value);
        }
        return (mended.len() == before.len()).then(|| mended.to_raw());
    }
    if let (Some(before), Some(after)) = (result.to_array(), redacted.to_array()) {
        if before.len() != after.len() {
            return None;
        }
        let items: Option<Vec<Raw>> = before
            .iter()
            .zip(&after)
            .map(|(before, after)| mended(before, after))
            .collect();
        return items.map(|items| Raw::array(&items));
    }
    Some(redacted.clone())
}
