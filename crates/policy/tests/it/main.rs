//! What the worked example decides, cell by cell, and that every line of its
//! files decides something.

mod ask;
mod cells;
mod desk;
mod matrix;
mod mutants;
mod organisation;
mod world;
