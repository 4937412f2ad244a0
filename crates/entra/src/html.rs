//! HTML from and to Teams: only what is known to be harmless is left of it.
//!
//! The text is cut into tokens as a browser does it (html5ever), and written
//! anew from a list of permitted elements, each opened and closed by us, with
//! all text escaped. What a browser makes of the result cannot be anything
//! else: there is no element in it whose content is read by other rules. The
//! usual sanitiser, ammonia, was rejected: it builds a tree, which takes ten
//! times as long, it drops Teams' own elements, and it brings code under a
//! licence that is not on our list.

mod markdown;
mod pieces;
mod split;
mod text;
mod tokens;

pub use markdown::from_markdown;
pub use pieces::{Html, Piece};
pub use split::Oversized;

#[cfg(test)]
mod tests;
