//! What the engine finds, what it gives back, and what it must never do.

mod attack;
mod corpus;
mod find;
mod json;
mod property;
mod restore;
mod score;
