//! What nothing explains, and what stands beside an identifier.

use super::Finder;
use crate::class::{Certainty, Class};
use crate::lex::Case;
use crate::words::{ABBREVIATION, GIVEN, PERSON, PERSON_VERB, SAFE, SURNAME};

/// Endings that make a long word one of medicine, whether a list has it or not.
const CLINICAL_ENDINGS: &[&str] = &[
    "itis",
    "osis",
    "emia",
    "aemia",
    "ectomy",
    "otomy",
    "ostomy",
    "plasty",
    "scopy",
    "pathy",
    "uria",
    "algia",
    "oma",
    "omas",
    "gram",
    "graphy",
    "metry",
    "megaly",
    "penia",
    "cytosis",
    "plegia",
    "paresis",
    "phasia",
    "pril",
    "sartan",
    "olol",
    "statin",
    "azole",
    "prazole",
    "mycin",
    "cillin",
    "floxacin",
    "cycline",
    "pam",
    "zepam",
    "zolam",
    "tidine",
    "setron",
    "triptan",
    "gliptin",
    "gliflozin",
    "glutide",
    "mab",
    "tinib",
    "parin",
    "xaban",
    "gatran",
    "dipine",
    "thiazide",
    "semide",
    "lukast",
    "terol",
    "sone",
    "solone",
    "caine",
    "barbital",
    "vir",
    "navir",
    "citabine",
    "platin",
    "taxel",
    "rubicin",
    "trexate",
    "dronate",
    "formin",
    "glitazone",
    "oxetine",
    "azepine",
    "apine",
    "idone",
    "triptyline",
    "profen",
    "oxicam",
    "codone",
    "morphone",
    "afil",
    "tropium",
    "nidazole",
    "conazole",
    "quine",
    "cef",
    "cardia",
    "cardiac",
    "logical",
    "logist",
    "logy",
    "ectasis",
    "stenosis",
    "lysis",
    "trophy",
    "trophic",
    "genic",
    "opsy",
    "iatric",
    "iatrist",
    "edema",
    "tension",
    "tensive",
    "therapy",
    "ological",
    "oscopic",
    "ectomies",
    "globin",
    "philia",
    "cyte",
    "cytes",
];

impl Finder<'_> {
    /// In the safe mode, marks what no list has.
    pub(super) fn unknown(&mut self) {
        self.codes();
        for at in self.select(|lexeme| lexeme.is_word() & !lexeme.word.is(SAFE)) {
            if self.marked(at) {
                continue;
            }
            if !self.manner.safe {
                let listed = self.is(at, GIVEN | SURNAME) && self.lexemes[at].capital();
                self.doubt += if listed || !self.lexemes[at].capital() {
                    0.0
                } else {
                    0.02
                };
                continue;
            }
            if !self.explained(at) {
                self.mark(at, at, Class::Name, Certainty::Guessed);
            }
        }
    }

    fn explained(&self, at: usize) -> bool {
        let lexeme = &self.lexemes[at];
        let word = self.word(at);
        if lexeme.foreign {
            return false;
        }
        let upper = lexeme.case == Case::Upper;
        let vowel = |byte: u8| b"aeiouyAEIOUY".contains(&byte);
        let listed = lexeme.word.is(GIVEN | SURNAME);
        let acts = lexeme.case == Case::Title
            && self.gap(at) == " "
            && self.is(at + 1, PERSON_VERB)
            && !lexeme.word.is(PERSON | SAFE);
        if word.len() == 1 || (lexeme.word.is(ABBREVIATION) && (upper || !listed && !acts)) {
            return true;
        }
        if word.len() <= 2 && lexeme.case == Case::Lower && !lexeme.word.is(GIVEN | SURNAME) {
            return true;
        }
        if upper && word.len() <= 5 && !word.bytes().any(vowel) && !lexeme.word.is(SURNAME) {
            return true;
        }
        let lower = word.to_ascii_lowercase();
        if upper && roman(word) || self.manner.safe_words.contains(&lower) {
            return true;
        }
        let opens = lexeme.case == Case::Lower
            || upper
            || self.opens(at)
            || self.gap(at).starts_with([' '])
                && self
                    .lexemes
                    .get(at + 1)
                    .is_some_and(|next| next.has_digit());
        opens
            && !listed
            && lower.len() >= 7
            && CLINICAL_ENDINGS
                .iter()
                .any(|ending| lower.ends_with(ending))
    }
}

fn roman(word: &str) -> bool {
    word.len() <= 5 && word.bytes().all(|byte| b"IVXLC".contains(&byte))
}
