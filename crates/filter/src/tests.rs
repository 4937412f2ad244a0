//! Tests as data: what goes in, what comes out.

mod corpus;
mod hidden;
mod hostile;
mod inspects;
mod markdown;
mod results;
mod secrets;
