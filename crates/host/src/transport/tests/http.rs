//! Servers behind URLs.
