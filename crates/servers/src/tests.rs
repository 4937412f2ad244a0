mod identity;
mod natives;
mod others;
mod tools;
