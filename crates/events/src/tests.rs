//! The extension against logs, rules and receivers of the test's own.
