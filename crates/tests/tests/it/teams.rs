//! The teams server, through the real hub, against a real development tenant:
//! what agents say, what their human answers, and what must not come through.

mod approvals;
mod asking;
mod delivery;
mod hostile;
mod mail;
mod once;
mod relay;
mod rules;
mod stand;
mod talking;
mod watching;
mod weather;
