//! Rule files that the first start can write. The text belongs to this crate
//! because only it can say that the text parses.

/// For one owner and their own servers.
pub(crate) const PERSONAL: &str = include_str!("../templates/personal/permissions.toml");
