//! What the state looks like. Nothing here changes anything.

mod card;
mod cells;
mod full;
mod hints;
mod live;
mod plain;

pub(crate) use cells::printed;
pub(crate) use full::{Cache, Drawn, frame};
pub(crate) use live::{Live, live};
pub(crate) use plain::plain;

#[cfg(test)]
mod tests;
