mod natives;
mod others;
mod tools;
