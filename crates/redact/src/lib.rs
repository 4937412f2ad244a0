//! Redaction of personal and health data, reversible where it may be.
