//! What end-to-end tests are made of: a hub in a temporary home, clients of
//! both eras over every transport, and a count of what was left behind.

pub mod asked;
pub mod github;
pub mod governance;
pub mod http;
pub mod hub;
pub mod hundred;
pub mod lines;
pub mod node;
pub mod office;
pub mod peer;
pub mod process;
pub mod proxy;
pub mod random;
pub mod served;
pub mod servers;
pub mod sign_in;
pub mod tenant;
pub mod tmux;
pub mod worker;
