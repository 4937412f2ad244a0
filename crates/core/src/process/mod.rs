//! Child processes that die with the hub.
