//! Texts made to make a filter slow.

use std::time::{Duration, Instant};

use crate::hosts::Hosts;
use crate::secret::{Masked, SecretMasker};
use crate::{hidden, inspect, markdown};

/// What is repeated: beginnings without their ends, and ends of one thing that
/// begin another.
const PARTS: &[&str] = &[
    "a",
    " ",
    "\n",
    "[",
    "![",
    "](",
    "[a](",
    "[a]: ",
    "<",
    "<a href=",
    "<!--",
    "`",
    "```\n",
    "*",
    "_",
    "&#",
    "&#x41",
    "\\",
    "http://",
    "https://a.",
    "data:",
    "javascript",
    "eyJ",
    "eyJa.",
    "-",
    "-----BEGIN ",
    "AKIA",
    "ghp_",
    "sk-",
    "password=",
    "key: \"",
    "Bearer ",
    "ignore ",
    "you must ",
    "\u{200b}",
    "\u{e0041}",
    "\u{202e}",
    "\u{1b}[",
    "\u{301}",
    "é",
    "👩\u{200d}",
    "1.1.",
    "a@",
];
/// In this much text something quadratic takes many minutes, and what is linear
/// a fraction of a second, on a slow machine and in the slowest build.
const SIZE: usize = 1 << 17;
const LIMIT: Duration = Duration::from_secs(20);

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "whether it ends in time is what is tested"
)]
fn no_text_costs_more_than_its_length() {
    let masker = SecretMasker::default();
    let hosts = Hosts::new(["example.com"]);
    for part in PARTS {
        let text = part.repeat(SIZE / part.len());
        let filters: [(&str, &dyn Fn() -> usize); 5] = [
            ("secrets", &|| {
                masker.mask(&text, &mut Masked::default()).len()
            }),
            ("markdown", &|| markdown::clean(&text, &hosts).len()),
            ("hidden", &|| hidden::strip(&text).len()),
            ("found", &|| hidden::find(&text).len()),
            ("inspected", &|| inspect::inspect_text(&text).len()),
        ];
        for (name, filter) in filters {
            let begun = Instant::now();
            filter();
            let took = begun.elapsed();
            assert!(took < LIMIT, "{name} of {part:?} took {took:?}");
        }
    }
}
