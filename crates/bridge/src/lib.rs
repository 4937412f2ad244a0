//! The stdio pipe of one agent to the hub.
