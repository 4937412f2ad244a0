//! Random identifiers in the shapes Microsoft gives them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The letters of a user code; those that look alike are left out.
const CODE_LETTERS: &[u8] = b"BCDFGHJKLMNPQRSTVWXYZ23456789";

/// Random bytes.
///
/// # Panics
/// When the system has no randomness: no identifier can then be trusted.
pub(crate) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system's random source works");
    bytes
}

/// A random GUID, version 4.
pub(crate) fn guid() -> String {
    let mut raw: [u8; 16] = bytes();
    raw[6] = (raw[6] & 0x0f) | 0x40;
    raw[8] = (raw[8] & 0x3f) | 0x80;
    let hex = hex(&raw);
    format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

/// A text nobody can guess, safe in URLs.
pub(crate) fn opaque() -> String {
    URL_SAFE_NO_PAD.encode(bytes::<32>())
}

/// The nine characters that a person types at the device page.
pub(crate) fn user_code() -> String {
    bytes::<9>()
        .iter()
        .map(|byte| char::from(CODE_LETTERS[usize::from(*byte) % CODE_LETTERS.len()]))
        .collect()
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
