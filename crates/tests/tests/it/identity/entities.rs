//! Accounts of two entities side by side.
