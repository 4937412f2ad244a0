//! The client of Entra ID and Graph against the development tenant, which shares no code with it.

mod agents;
mod calendar;
mod chats;
mod errors;
mod mailbox;
mod secrets;
mod sign_in;
mod stand;
mod weather;
