//! The terminal: the conversation that people, agents and the local model share.
