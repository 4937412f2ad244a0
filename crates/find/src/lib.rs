//! Finding tools by what they do, without a model.
//!
//! Words are compared as stems, rare ones count more (BM25 over weighted fields), and a table of general words
//! leads from the words of a question to those of a description. `tantivy` was rejected: it brings forty
//! crates that are not there yet, segments and files for what is made anew in memory in a fraction of a second,
//! and half of the questions share no word with what they ask for: there a table does what an engine cannot.

mod index;
mod synonyms;
mod vectors;
mod words;

#[cfg(test)]
mod tests;

pub use index::{Document, Hit, Index};
pub use vectors::{Direction, direction, fused, nearest};
