//! Short names that people can say and type: `7K2QXM`.

/// Crockford's alphabet: nothing in it is taken for anything else.
const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Thirty bits. A name is no secret and proves nothing; it only must not meet
/// one of the few that are open.
const LENGTH: usize = 6;

/// A random name; `None` when the operating system has no randomness to give.
pub(crate) fn short() -> Option<String> {
    let random = legation_core::id::random_hex().ok()?;
    let mut code = String::with_capacity(LENGTH);
    // Two hexadecimal digits a letter, of which five bits count.
    for pair in random.as_bytes().chunks_exact(2).take(LENGTH) {
        let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0);
        let value = (digit(pair[0]) << 4 | digit(pair[1])) & 31;
        code.push(char::from(LETTERS[value as usize]));
    }
    Some(code)
}

/// An id as somebody typed it: case and look-alikes do not matter.
#[must_use]
pub fn normalised(typed: &str) -> String {
    typed
        .trim()
        .chars()
        .map(|letter| match letter.to_ascii_uppercase() {
            'O' => '0',
            'I' | 'L' => '1',
            letter => letter,
        })
        .collect()
}
