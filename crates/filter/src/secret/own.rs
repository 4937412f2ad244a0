//! The hub's own secrets in every form they are likely to turn up in.

use aho_corasick::{AhoCorasick, MatchKind};
use legation_core::Secret;
use legation_wire::json::Raw;

/// Shortest secret that is looked for.
const SHORTEST: usize = 8;

/// An automaton over the forms of the secrets: as they are, as JSON writes them, percent-encoded,
/// and in Base64, wherever in the encoded text they begin.
pub(super) fn automaton(secrets: &[Secret]) -> Option<AhoCorasick> {
    let mut forms: Vec<Vec<u8>> = Vec::new();
    for secret in secrets {
        let text = secret.reveal();
        if text.len() < SHORTEST {
            continue;
        }
        forms.push(text.as_bytes().to_vec());
        let json = Raw::str(text);
        let json = json.as_bytes();
        forms.push(json[1..json.len() - 1].to_vec());
        forms.push(percent(text).into_bytes());
        for shift in 0..3 {
            forms.push(base64(text.as_bytes(), shift));
        }
    }
    forms.sort_unstable();
    forms.dedup();
    if forms.is_empty() {
        return None;
    }
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(forms)
        .ok()
}

fn percent(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 3);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// The letters of a Base64 text that are the secret's alone when it begins `shift` bytes into a
/// group of three.
fn base64(secret: &[u8], shift: usize) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits = secret.len() * 8;
    let first = (6 - (shift * 8) % 6) % 6;
    let bit = |at: usize| (secret[at / 8] >> (7 - at % 8)) & 1;
    let starts = (first..).step_by(6).take_while(|start| start + 6 <= bits);
    starts
        .map(|start| {
            let index = (start..start + 6).fold(0, |value, at| value << 1 | bit(at));
            LETTERS[usize::from(index)]
        })
        .collect()
}
