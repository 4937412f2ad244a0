//! Rule files in the form that the hub reads until it asks the whole policy.
//! The texts belong to this crate because only it can say that they parse.

/// For one owner and their own servers.
pub(crate) const PERSONAL: &str = include_str!("template/personal.toml");

/// For several companies: begins with denying.
pub(crate) const BUSINESS: &str = include_str!("template/business.toml");
