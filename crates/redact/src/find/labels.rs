//! Numbers that a label names: "MRN", "policy no.", "licence".

use super::Finder;
use crate::class::{Certainty, Class};
use crate::lex::Kind;
use crate::words::{DIGIT_WORD, FILLER, LABEL, NUMBER_WORD, UNIT};

/// What words label, and whether they do so by themselves. The others also mean ordinary things
/// and count only with "number", "no", "#" or a colon.
pub(crate) const LABELS: &[(&str, Class, bool)] = &[
    ("mrn mrno emrn patientid", Class::Mrn, true),
    ("record chart hospital file", Class::Mrn, false),
    (
        "nhs ssn curp rfc nss pesel nip bsn aadhaar dni nie personnummer fiscale tckn kimlik sss umid cpf \
      passport",
        Class::Ssn,
        true,
    ),
    (
        "security ss pan sin tin taxpayer national tax",
        Class::Ssn,
        false,
    ),
    ("philhealth mbi hicn", Class::Plan, true),
    (
        "account swift card routing invoice billing guarantor visa",
        Class::Account,
        false,
    ),
    ("acct iban bic mastercard", Class::Account, true),
    (
        "policy member plan insurance subscriber group medicare medicaid beneficiary claim payer \
      authorization authorisation",
        Class::Plan,
        false,
    ),
    (
        "licence license certificate cert permit registration badge dl",
        Class::Licence,
        false,
    ),
    ("lic dea npi gmc", Class::Licence, true),
    ("vin", Class::Vehicle, true),
    (
        "plate plates vehicle car taxi cab van truck tag reg chassis",
        Class::Vehicle,
        false,
    ),
    (
        "serial device implant pacemaker pump lot model mac icd",
        Class::Device,
        false,
    ),
    ("imei udi sn", Class::Device, true),
    (
        "phone tel telephone mobile cellphone pager whatsapp ext telefon",
        Class::Phone,
        true,
    ),
    ("cell extension ph contact", Class::Phone, false),
    ("fax telefax facsimile", Class::Fax, true),
    (
        "fingerprint retina voiceprint iris biometric template",
        Class::Biometric,
        false,
    ),
    (
        "encounter accession case visit order specimen referral ticket employee student study subject \
      barcode wristband pin password username login id identifier confirmation tracking request sample \
      prescription rx",
        Class::Other,
        false,
    ),
    ("csn fin guid uuid", Class::Other, true),
];

/// How many words may stand between a label and its value.
const REACH: usize = 5;

impl Finder<'_> {
    pub(super) fn labels(&mut self) {
        for at in self.select(|lexeme| lexeme.word.is(LABEL)) {
            if !self.lexemes[at].is_word() || !self.is(at, LABEL) {
                continue;
            }
            if let Some((class, alone)) = label(self.word(at)) {
                self.labelled(at, class, alone);
            }
        }
    }

    fn labelled(&mut self, label: usize, class: Class, alone: bool) {
        let mut named = alone;
        let mut at = label;
        for _ in 0..REACH {
            let gap = self.gap(at);
            if gap.len() > 12
                || gap.contains('\n')
                    && !gap.trim().is_empty()
                    && !gap.trim_start().starts_with(':')
            {
                return;
            }
            named |= gap.contains([':', '#', '=']);
            at += 1;
            if at >= self.len() {
                return;
            }
            let word = self.word(at);
            if self.lexemes[at].has_digit() {
                let digits = word.bytes().filter(u8::is_ascii_digit).count();
                let code = digits >= 5
                    || self.lexemes[at].kind == Kind::Mixed && word.len() >= 5
                    || self.vehicle(at, class);
                if (named || code) && !(class == Class::Device && word.len() < 3) {
                    self.value(at, class);
                }
                return;
            }
            let filler = self.is(at, FILLER) || self.find_label(at);
            named |= [
                "number", "no", "nr", "num", "id", "numbers", "numero", "nummer",
            ]
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known));
            let town = class == Class::Vehicle && word.len() <= 3 && self.gap(at) == "-";
            let code = word.len() <= 5
                && self.lexemes[at].capital()
                && (town || word.bytes().all(|byte| byte.is_ascii_uppercase()))
                && !(self.find_label(at)
                    && self.gap(at) != "-"
                    && (class != Class::Vehicle || word == "VIN"))
                && matches!(self.gap(at), "-" | " " | "/" | "" | ".");
            let digit = |next: usize| {
                self.lexemes
                    .get(next)
                    .is_some_and(crate::lex::Lexeme::has_digit)
            };
            let long = self.lexemes.get(at + 1).is_some_and(|next| next.len() >= 5);
            let vehicle =
                self.vehicle(at, class) && (digit(at + 1) || self.gap(at) == "-" && digit(at + 2));
            if code && (digit(at + 1) && (named || long || self.gap(at) == "-") || vehicle) {
                self.value(at, class);
                return;
            }
            if !filler {
                return;
            }
        }
    }

    /// Whether a word is a label itself.
    pub(super) fn find_label(&self, at: usize) -> bool {
        self.is(at, LABEL)
    }

    /// Whether a short code may be a plate's.
    fn vehicle(&self, at: usize, class: Class) -> bool {
        let lexeme = &self.lexemes[at];
        let written = lexeme.has_digit() || lexeme.capital();
        class == Class::Vehicle && lexeme.len() <= 4 && written && !self.find_label(at)
    }

    /// Marks a value and the groups that belong to it.
    fn value(&mut self, first: usize, class: Class) {
        let mut last = first;
        while last + 1 < self.len() && last - first < 24 {
            let next = &self.lexemes[last + 1];
            let code = next.is_word()
                && next.len() <= 4
                && self.word(last + 1).bytes().all(|b| b.is_ascii_uppercase());
            let goes_on = match self.gap(last) {
                "-" | "/" | "." | "_" | "" => next.has_digit() || code,
                " " | ") " | " (" | " - " | "+" | ")" | "(" | ")-" => {
                    let spoken = self.is(last + 1, DIGIT_WORD | NUMBER_WORD);
                    let measured = self.is(last + 2, UNIT) && self.gap(last + 1) == " " && !spoken;
                    next.has_digit() && !measured
                        || code
                            && !self.find_label(last + 1)
                            && (class == Class::Vehicle
                                || next.len() == 1 && class != Class::Phone && class != Class::Fax)
                }
                gap if class == Class::Vehicle && gap.trim_matches([' ', '.']).is_empty() => {
                    next.has_digit() || next.len() <= 3 && next.foreign
                }
                _ => false,
            };
            if !goes_on {
                break;
            }
            last += 1;
        }
        self.mark(first, last, class, Certainty::Certain);
    }
}

/// What a word that is a label says.
fn label(word: &str) -> Option<(Class, bool)> {
    use std::collections::HashMap;
    use std::sync::LazyLock;
    static BY_WORD: LazyLock<HashMap<&str, (Class, bool)>> = LazyLock::new(|| {
        let words = LABELS.iter().flat_map(|&(words, class, alone)| {
            let words = words.split_ascii_whitespace();
            words.map(move |word| (word, (class, alone)))
        });
        words.collect()
    });
    BY_WORD.get(word.to_ascii_lowercase().as_str()).copied()
}
