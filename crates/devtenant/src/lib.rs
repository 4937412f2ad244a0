//! A stand-in for Entra ID and Microsoft Graph on loopback https.
//!
//! Microsoft's own client libraries believe it, so a program can be developed and tested against
//! it without a tenant. Recorded answers would not do: sign-in, chats, mail and faults are a
//! conversation, so this keeps state like the real services and applies their rules to it. It
//! shares no code with the client of this workspace; the two can then not agree on a mistake.

pub mod cli;
pub mod human;
pub mod server;

mod certs;
mod connect;
mod control;
mod ctl;
mod desk;
mod entra;
mod env_file;
mod exchange;
mod graph;
mod jwt;
mod listen;
mod page;
mod random;
mod report;
mod rsa;
mod say;
mod state;
mod web;

#[cfg(test)]
mod tests;
