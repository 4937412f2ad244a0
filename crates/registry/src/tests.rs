//! A registry over a real socket, as it should be and as it should not.

mod hostile;
mod offers;
mod stand;
