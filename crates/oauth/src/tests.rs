//! Sign-ins against an authorization server that takes every second use of a refresh
//! token for a theft, and requests to addresses that somebody else named.

mod fetched;
mod flows;
mod hostile;
mod proxied;
mod returns;
mod stand;
