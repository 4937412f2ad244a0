//! The extension against logs, rules and receivers of the test's own.

mod kit;
mod polled;
mod receiver;
mod streamed;
mod webhooks;
