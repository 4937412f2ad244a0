//! Tests over a real socket, with requests as data.

mod client;
mod desk;
mod entra;
mod faults;
mod graph;
mod mail;
mod page;
mod state;
