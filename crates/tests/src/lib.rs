//! Harness, fixture servers and end-to-end tests.
