//! Text as it may stand in a terminal: cleaned, read as Markdown, and in lines that fit.

mod clean;
pub(crate) mod code;
mod markdown;
mod table;
mod wrap;

pub(crate) use clean::{clean, one_line};
pub(crate) use markdown::{Prefix, markdown, settled};
pub(crate) use wrap::{clip, columns, hard, plain_of, wrapped};

#[cfg(test)]
mod tests;
