//! Servers that live in the hub.
