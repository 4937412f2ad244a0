//! What is known about words: one table, made from the lists at first use.

mod cues;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use crate::find::labels::LABELS;

/// What the lists say about a word, as a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Word(u32);

/// One thing that can be said about a word.
pub(crate) type Flag = u32;

/// A word of the language or of medicine.
pub(crate) const SAFE: Flag = 1;
/// A given name.
pub(crate) const GIVEN: Flag = 1 << 1;
/// A surname.
pub(crate) const SURNAME: Flag = 1 << 2;
/// "the", "will", "can": never a name in small letters.
pub(crate) const FUNCTION: Flag = 1 << 3;
/// A month, in any language that is known.
pub(crate) const MONTH: Flag = 1 << 4;
/// A day of the week.
pub(crate) const WEEKDAY: Flag = 1 << 5;
/// "Dr", "Mrs": a name follows.
pub(crate) const TITLE: Flag = 1 << 6;
/// "van", "de la": inside names.
pub(crate) const PARTICLE: Flag = 1 << 7;
/// "wife", "son": a name may follow.
pub(crate) const RELATION: Flag = 1 << 8;
/// "Street", "Road": ends an address.
pub(crate) const STREET: Flag = 1 << 9;
/// "Rue", "Calle": begins an address.
pub(crate) const STREET_FIRST: Flag = 1 << 10;
/// "mg", "weeks": a measure, so the number before it is one.
pub(crate) const UNIT: Flag = 1 << 11;
/// "seven", "oh".
pub(crate) const DIGIT_WORD: Flag = 1 << 12;
/// "room", "bed", "apt": a number that follows is a place.
pub(crate) const ROOM: Flag = 1 << 13;
/// A state's name or letters.
pub(crate) const STATE: Flag = 1 << 14;
/// "New", "Port", "San": a town's name may follow.
pub(crate) const TOWN_FIRST: Flag = 1 << 15;
/// Harmless in capitals.
pub(crate) const ABBREVIATION: Flag = 1 << 16;
/// Never a name, although the list of names has it.
pub(crate) const CLINICAL: Flag = 1 << 17;
/// "patient", "provider": with a colon a name follows.
pub(crate) const PERSON: Flag = 1 << 18;
/// "reports", "denies": a person stands before it.
pub(crate) const PERSON_VERB: Flag = 1 << 19;
/// "number", "no", "is": may stand between a label and its value.
pub(crate) const FILLER: Flag = 1 << 20;
/// "lives", "from": a place may follow.
pub(crate) const PLACE_CUE: Flag = 1 << 21;
/// "Clinic", "Hospital": the words before it are its name.
pub(crate) const INSTITUTION: Flag = 1 << 22;
/// "twenty", "fifth": of numbers larger than a digit.
pub(crate) const NUMBER_WORD: Flag = 1 << 23;
/// "on", "since": a date may follow.
pub(crate) const DATE_CUE: Flag = 1 << 24;
/// "MD", "RN": stands behind a name.
pub(crate) const CREDENTIAL: Flag = 1 << 25;

/// A drug.
pub(crate) const DRUG: Flag = 1 << 26;

/// What is no name, however it stands.
pub(crate) const NEVER: Flag =
    FUNCTION | CREDENTIAL | TITLE | WEEKDAY | MONTH | PERSON | RELATION | INSTITUTION | DRUG;

/// What is only said about words of the language.
pub(crate) const LANGUAGE: Flag =
    SAFE | FUNCTION | ABBREVIATION | CLINICAL | UNIT | PERSON | RELATION;

/// "wishes", "denies": only a person stands before it.
pub(crate) const PERSONAL: Flag = 1 << 27;

/// "surname", "seen by": a label of a person's name.
pub(crate) const NAME_LABEL: Flag = 1 << 28;
/// "address", "town": a label of a place.
pub(crate) const PLACE_LABEL: Flag = 1 << 29;
/// "from", "home": a label of a place or of something else.
pub(crate) const MAYBE_LABEL: Flag = 1 << 30;
/// "mrn", "account": a label of a number.
pub(crate) const LABEL: Flag = 1 << 31;

const SAFE_WORDS: &str = include_str!("../lists/safe.txt");
const ABBREVIATIONS: &str = include_str!("../lists/abbreviations.txt");
const DRUGS: &str = include_str!("../lists/drugs.txt");
const MORE_NAMES: &str = include_str!("../lists/more_names.txt");
const NOT_NAMES: &str = include_str!("../lists/not_names.txt");
const GIVEN_NAMES: &str = include_str!("../lists/given.txt");
const SURNAMES: &str = include_str!("../lists/surnames.txt");

static TABLE: LazyLock<Table> = LazyLock::new(Table::build);

/// Longer words are in no list.
const LONGEST: usize = 32;

/// A word in small letters, with zeros behind it.
#[derive(Debug, Clone, Copy)]
struct Key {
    letters: [u8; LONGEST],
    length: usize,
}

/// What the lists say about a word in any case.
pub(crate) fn look_up(word: &str) -> Word {
    Key::of(word.as_bytes()).map_or_else(Word::default, |key| TABLE.get(&key))
}

/// Looks up the words of one text. A few hundred words are most of any text, so what was said about
/// the short ones is kept at hand: the table is larger than a processor's near memory.
pub(crate) struct Reader {
    seen: Box<[(u64, Word); SEEN]>,
}

/// An odd number with its bits well mixed: 2^64 by the golden ratio.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
/// How many words a reader keeps at hand.
const SEEN: usize = 1024;

/// Whether it is a word of the language.
pub(crate) fn is_common(lower: &str) -> bool {
    look_up(lower).is(SAFE)
}

/// Whether it stands before a name.
pub(crate) fn is_title(lower: &str) -> bool {
    look_up(lower).is(TITLE)
}

/// Whether it stands inside names.
pub(crate) fn is_particle(lower: &str) -> bool {
    look_up(lower).is(PARTICLE)
}

/// A table with open addressing over the lists' own text: no word is copied, and a slot says in
/// eight bytes where its word stands, because there are a quarter of a million.
#[derive(Debug)]
struct Table {
    slots: Vec<Slot>,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    /// The number of the word's list, its place there, and a part of its hash; [`FREE`] of none.
    at: u32,
    flags: Flag,
}

const FREE: Slot = Slot {
    at: u32::MAX,
    flags: 0,
};

/// Bits for the place in a list, and for a part of the word's hash: most words that are in no list
/// are known by it alone, without a look at the list's text.
const PLACE: u32 = 20;
const TAG: u32 = 5;

/// Lists with a word on each line, and with many, where a line may be a remark.
const LINES: [(&str, Flag); 3] = [
    (SAFE_WORDS, SAFE),
    (GIVEN_NAMES, GIVEN),
    (SURNAMES, SURNAME),
];
const TEXTS: [(&str, Flag); 4] = [
    (ABBREVIATIONS, ABBREVIATION),
    (DRUGS, SAFE | CLINICAL | DRUG),
    (MORE_NAMES, GIVEN | SURNAME),
    (NOT_NAMES, SAFE | CLINICAL),
];

/// Twice as many slots as words, so that a miss is found out at once.
const SLOTS: usize = 1 << 18;

// === impl Word ===

impl Word {
    /// Whether one of these is said about it.
    pub(crate) fn is(self, flags: Flag) -> bool {
        self.0 & flags != 0
    }

    /// The same word with this not said about it.
    pub(crate) fn without(self, flags: Flag) -> Self {
        Self(self.0 & !flags)
    }

    /// The same word with this said about it too.
    pub(crate) fn with(self, flags: Flag) -> Self {
        Self(self.0 | flags)
    }
}

// === impl Reader ===

impl Reader {
    pub(crate) fn new() -> Self {
        Self {
            seen: Box::new([(0, Word(0)); SEEN]),
        }
    }

    /// What the lists say about a word in any case.
    pub(crate) fn look_up(&mut self, word: &str) -> Word {
        let Some(key) = Key::of(word.as_bytes()) else {
            return Word::default();
        };
        if key.length > 8 {
            return TABLE.get(&key);
        }
        let letters = key.eight(0);
        let place = usize::try_from(letters.wrapping_mul(MIX) >> 54).unwrap_or(0) % SEEN;
        let seen = &mut self.seen[place];
        if seen.0 != letters {
            *seen = (letters, TABLE.get(&key));
        }
        seen.1
    }
}

// === impl Table ===

impl Table {
    fn build() -> Self {
        let mut table = Self {
            slots: vec![FREE; SLOTS],
        };
        for (number, (list, flags)) in lists().enumerate() {
            let is_text = number >= LINES.len();
            let lines = list.lines();
            let lines = lines.filter(|line| !(is_text && line.starts_with('#')));
            for word in lines.flat_map(str::split_ascii_whitespace) {
                let place = word.as_ptr() as usize - list.as_ptr() as usize;
                table.add(number << PLACE | place, word, flags);
            }
        }
        table
    }

    fn add(&mut self, at: usize, word: &str, flags: Flag) {
        let Some(key) = Key::of(word.as_bytes()) else {
            return;
        };
        let slot = self.place(&key);
        let slot = &mut self.slots[slot];
        if slot.at == FREE.at {
            let at = u32::try_from(at).unwrap_or(FREE.at >> TAG);
            slot.at = at << TAG | tag(key.hash());
        }
        slot.flags |= flags;
    }

    fn get(&self, key: &Key) -> Word {
        Word(self.slots[self.place(key)].flags)
    }

    /// The slot that holds a word, or the free one where it belongs.
    fn place(&self, key: &Key) -> usize {
        let hash = key.hash();
        let tag = tag(hash);
        let mut at = usize::try_from(hash >> 46).unwrap_or(0) & (SLOTS - 1);
        loop {
            let slot = self.slots[at];
            let alike = slot.at & ((1 << TAG) - 1) == tag;
            if slot.at == FREE.at || alike && slot.holds(key) {
                return at;
            }
            at = (at + 1) & (SLOTS - 1);
        }
    }
}

// === impl Key ===

impl Key {
    /// The key of a word; `None` of one that no list has.
    fn of(word: &[u8]) -> Option<Self> {
        let mut letters = [0_u8; LONGEST];
        letters.get_mut(..word.len())?.copy_from_slice(word);
        if !letters.is_ascii() {
            return None;
        }
        letters.make_ascii_lowercase();
        Some(Self {
            letters,
            length: word.len(),
        })
    }

    /// Eight letters of it.
    fn eight(&self, at: usize) -> u64 {
        let mut eight = [0; 8];
        eight.copy_from_slice(&self.letters[at..at + 8]);
        u64::from_le_bytes(eight)
    }

    fn hash(&self) -> u64 {
        let mut hash = self.eight(0).wrapping_mul(MIX);
        let mut at = 8;
        while at < self.length {
            hash = (hash.rotate_left(29) ^ self.eight(at)).wrapping_mul(MIX);
            at += 8;
        }
        (hash ^ hash >> 32).wrapping_mul(MIX)
    }
}

// === impl Slot ===

impl Slot {
    fn holds(self, key: &Key) -> bool {
        let at = self.at >> TAG;
        let (number, place) = (at >> PLACE, at & ((1 << PLACE) - 1));
        let list = list(number as usize).as_bytes();
        let rest = list.get(place as usize..).unwrap_or_default();
        // Short words, nearly all there are, are compared at once.
        if key.length <= 8
            && let Some(eight) = rest.first_chunk::<8>()
        {
            let spare = 64 - 8 * u32::try_from(key.length.max(1)).unwrap_or(8);
            let found = u64::from_le_bytes(*eight) << spare >> spare;
            return found == key.eight(0)
                && rest.get(key.length).is_none_or(u8::is_ascii_whitespace);
        }
        rest.strip_prefix(&key.letters[..key.length])
            .is_some_and(|behind| behind.first().is_none_or(u8::is_ascii_whitespace))
    }
}

/// The part of a hash that a slot keeps.
fn tag(hash: u64) -> u32 {
    u32::try_from(hash >> 32 & ((1 << TAG) - 1)).unwrap_or(0)
}

/// Every list, in the order of their numbers.
fn lists() -> impl Iterator<Item = (&'static str, Flag)> {
    let own = LINES.iter().chain(&TEXTS);
    let labels = LABELS.iter().map(|&(words, ..)| (words, LABEL));
    own.chain(cues::CUES).copied().chain(labels)
}

/// The text of a list.
fn list(number: usize) -> &'static str {
    let behind = |count: usize| number.checked_sub(count);
    let (texts, cues) = (LINES.len(), LINES.len() + TEXTS.len());
    let own = LINES.get(number).map(|(text, _)| *text);
    own.or_else(|| TEXTS.get(behind(texts)?).map(|(text, _)| *text))
        .or_else(|| cues::CUES.get(behind(cues)?).map(|(text, _)| *text))
        .or_else(|| {
            LABELS
                .get(behind(cues + cues::CUES.len())?)
                .map(|(text, ..)| *text)
        })
        .unwrap_or_default()
}
