//! Which sessions of agents run, and which one of them is woken for a message.
//!
//! An agent that waits for its human hears of nothing in the protocol, so a
//! *waker* beside each session waits for messages and starts a turn by whatever
//! way its client has. There are many wakers and no master among them: each
//! looks at the same [`Board`], under one lock, and the rules there name the same
//! session whoever asks. A service that decides was rejected: sessions are
//! woken without a hub as well.
//!
//! Architecture invariant: no client's protocol is known here and no process is
//! started; nothing is decided outside the lock, and nothing of a message is
//! kept but where it came from and its id.

mod board;
mod file;

pub use board::{Board, CLAIMS_MAX, Claim, Notice, Session, SessionKey, Stage, Talk};
pub use file::{BoardError, BoardFile, BoardLock};

#[cfg(test)]
mod tests;
