//! One printer for chains of errors: each `Display` says its own part only.

use std::error::Error;
use std::fmt::Write as _;

/// `error: cause: cause of the cause`.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        // Writing to a String cannot fail.
        let _ = write!(text, ": {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::chain;

    #[derive(Debug, thiserror::Error)]
    #[error("the file was not read")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn every_cause_is_named_once() {
        let error = Outer(std::io::Error::other("no such thing"));
        assert_eq!(chain(&error), "the file was not read: no such thing");
    }
}
