//! Text inside base64.
//!
//! What is found in it takes the whole run out: a token inside base64 would be no token to whoever
//! reads the text next.

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

/// A run of base64 that holds text.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The text; `None` where the run holds something else than text.
    pub(crate) text: Option<String>,
}

/// Shorter runs hold less than a name.
const SHORTEST: usize = 12;

/// The runs of a text that decode.
pub(crate) fn runs(text: &str) -> Vec<Run> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    // No run of this length goes over a place that is in none: from place to place of that
    // distance, only where there may be a run its start is looked for.
    let mut done = 0;
    at += SHORTEST - 1;
    while at < bytes.len() {
        if !is_member(bytes[at]) {
            at += SHORTEST;
            continue;
        }
        let before = bytes[done..at].iter().rev();
        let start = at - before.take_while(|byte| is_member(**byte)).count();
        while at < bytes.len() && is_member(bytes[at]) {
            at += 1;
        }
        let mut end = at;
        while end < bytes.len() && end < at + 2 && bytes[end] == b'=' {
            end += 1;
        }
        let padded = end > at;
        let run = &bytes[start..at];
        (done, at) = (end, end + SHORTEST - 1);
        if run.len() >= SHORTEST
            && (padded || mixed(run))
            && let Some(decoded) = decode(run)
        {
            let text = readable(decoded);
            if text.is_some() || run.len() >= 64 {
                found.push(Run { start, end, text });
            }
        }
    }
    found
}

fn is_member(byte: u8) -> bool {
    MEMBERS[usize::from(byte)]
}

/// Which bytes base64 is written with, in either alphabet.
const MEMBERS: [bool; 256] = {
    let mut members = [false; 256];
    let mut at = 0;
    while at < 256 {
        members[at] =
            matches!(at, 0x30..=0x39 | 0x41..=0x5a | 0x61..=0x7a | 0x2b | 0x2d | 0x2f | 0x5f);
        at += 1;
    }
    members
};

/// Whether a run has capitals, small letters, and more changes between them than words have.
fn mixed(run: &[u8]) -> bool {
    let changes = run
        .windows(2)
        .filter(|pair| pair[0].is_ascii_lowercase() && !pair[1].is_ascii_lowercase())
        .count();
    changes >= 2 && changes * 12 >= run.len()
}

/// Padding may be there or not, and what is cut off may end in odd bits.
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
static STANDARD: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::STANDARD, LENIENT);
static URL_SAFE: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::URL_SAFE, LENIENT);

fn decode(run: &[u8]) -> Option<Vec<u8>> {
    let engine = if run.iter().any(|byte| matches!(byte, b'-' | b'_')) {
        &URL_SAFE
    } else {
        &STANDARD
    };
    engine.decode(run).ok()
}

/// The bytes as text, if they are one that a person could read.
fn readable(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let strange = text
        .chars()
        .filter(|c| c.is_control() && !c.is_whitespace())
        .count();
    (strange == 0).then_some(text)
}
