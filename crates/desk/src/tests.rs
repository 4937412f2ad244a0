//! The desk's domain, case by case.

mod briefs;
mod deadlines;
mod deals;
mod letters;
