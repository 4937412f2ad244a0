//! Which part of what was not synced a disk happens to hold.

use super::{Change, Fate, put};
use crate::random::Random;

/// The sizes at which writes tear: a sector, and a page of the page cache.
const SECTORS: [usize; 2] = [512, 4_096];

pub(super) struct Luck<'a> {
    fate: Fate,
    /// For [`Fate::First`] how many are there, for [`Fate::AllButOne`] which is not.
    kept: usize,
    odds: usize,
    asked: usize,
    random: &'a mut Random,
}

// === impl Luck ===

impl<'a> Luck<'a> {
    /// The luck of a disk on which so many changes are not synced.
    pub(super) fn new(fate: Fate, pending: usize, random: &'a mut Random) -> Self {
        Self {
            fate,
            kept: random.below(pending + 1),
            odds: [20, 50, 80][random.below(3)],
            asked: 0,
            random,
        }
    }

    /// Whether the next change is there.
    pub(super) fn keeps(&mut self) -> bool {
        self.asked += 1;
        match self.fate {
            Fate::None => false,
            Fate::All => true,
            Fate::First => self.asked <= self.kept,
            Fate::AllButOne => self.asked != self.kept,
            Fate::Any | Fate::Torn => self.random.chance(self.odds),
        }
    }

    pub(super) fn let_happen(&mut self, bytes: &mut Vec<u8>, change: &Change) {
        match change {
            Change::Write {
                offset,
                bytes: more,
            } if self.fate == Fate::Torn => {
                let sector = SECTORS[self.random.below(SECTORS.len())];
                let mut from = 0;
                while from < more.len() {
                    // Sectors lie where they lie on the disk.
                    let end = (offset + from + 1).next_multiple_of(sector) - offset;
                    let end = end.min(more.len());
                    if self.keeps() {
                        put(bytes, offset + from, &more[from..end]);
                    }
                    from = end;
                }
            }
            change => {
                if self.keeps() {
                    change.happen(bytes);
                }
            }
        }
    }
}
