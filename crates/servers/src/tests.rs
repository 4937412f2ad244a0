mod identity;
mod natives;
pub(crate) mod others;
mod tools;
