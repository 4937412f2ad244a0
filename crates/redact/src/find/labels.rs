//! Numbers that a label names: "MRN", "policy no.", "licence".

use super::Finder;
use crate::class::{Certainty, Class};
use crate::lex::Kind;
use crate::words::{DIGIT_WORD, FILLER, NUMBER_WORD, UNIT};

/// A word, what it labels, and whether it does so by itself. The others also mean ordinary
/// things and count only with "number", "no", "#" or a colon.
const LABELS: &[(&str, Class, bool)] = &[
    ("mrn", Class::Mrn, true),
    ("mrno", Class::Mrn, true),
    ("emrn", Class::Mrn, true),
    ("record", Class::Mrn, false),
    ("chart", Class::Mrn, false),
    ("patientid", Class::Mrn, true),
    ("hospital", Class::Mrn, false),
    ("file", Class::Mrn, false),
    ("nhs", Class::Ssn, true),
    ("ssn", Class::Ssn, true),
    ("security", Class::Ssn, false),
    ("ss", Class::Ssn, false),
    ("curp", Class::Ssn, true),
    ("rfc", Class::Ssn, true),
    ("nss", Class::Ssn, true),
    ("pesel", Class::Ssn, true),
    ("nip", Class::Ssn, true),
    ("bsn", Class::Ssn, true),
    ("aadhaar", Class::Ssn, true),
    ("pan", Class::Ssn, false),
    ("dni", Class::Ssn, true),
    ("nie", Class::Ssn, true),
    ("personnummer", Class::Ssn, true),
    ("fiscale", Class::Ssn, true),
    ("tckn", Class::Ssn, true),
    ("kimlik", Class::Ssn, true),
    ("sss", Class::Ssn, true),
    ("philhealth", Class::Plan, true),
    ("umid", Class::Ssn, true),
    ("cpf", Class::Ssn, true),
    ("sin", Class::Ssn, false),
    ("tin", Class::Ssn, false),
    ("taxpayer", Class::Ssn, false),
    ("passport", Class::Ssn, true),
    ("national", Class::Ssn, false),
    ("tax", Class::Ssn, false),
    ("account", Class::Account, false),
    ("acct", Class::Account, true),
    ("iban", Class::Account, true),
    ("bic", Class::Account, true),
    ("swift", Class::Account, false),
    ("card", Class::Account, false),
    ("routing", Class::Account, false),
    ("invoice", Class::Account, false),
    ("billing", Class::Account, false),
    ("guarantor", Class::Account, false),
    ("visa", Class::Account, false),
    ("mastercard", Class::Account, true),
    ("policy", Class::Plan, false),
    ("member", Class::Plan, false),
    ("plan", Class::Plan, false),
    ("insurance", Class::Plan, false),
    ("subscriber", Class::Plan, false),
    ("group", Class::Plan, false),
    ("medicare", Class::Plan, false),
    ("medicaid", Class::Plan, false),
    ("beneficiary", Class::Plan, false),
    ("claim", Class::Plan, false),
    ("payer", Class::Plan, false),
    ("mbi", Class::Plan, true),
    ("hicn", Class::Plan, true),
    ("authorization", Class::Plan, false),
    ("authorisation", Class::Plan, false),
    ("licence", Class::Licence, false),
    ("license", Class::Licence, false),
    ("lic", Class::Licence, true),
    ("dea", Class::Licence, true),
    ("npi", Class::Licence, true),
    ("certificate", Class::Licence, false),
    ("cert", Class::Licence, false),
    ("permit", Class::Licence, false),
    ("registration", Class::Licence, false),
    ("gmc", Class::Licence, true),
    ("badge", Class::Licence, false),
    ("dl", Class::Licence, false),
    ("vin", Class::Vehicle, true),
    ("plate", Class::Vehicle, false),
    ("plates", Class::Vehicle, false),
    ("vehicle", Class::Vehicle, false),
    ("car", Class::Vehicle, false),
    ("taxi", Class::Vehicle, false),
    ("cab", Class::Vehicle, false),
    ("van", Class::Vehicle, false),
    ("truck", Class::Vehicle, false),
    ("tag", Class::Vehicle, false),
    ("reg", Class::Vehicle, false),
    ("chassis", Class::Vehicle, false),
    ("serial", Class::Device, false),
    ("device", Class::Device, false),
    ("imei", Class::Device, true),
    ("udi", Class::Device, true),
    ("implant", Class::Device, false),
    ("pacemaker", Class::Device, false),
    ("pump", Class::Device, false),
    ("lot", Class::Device, false),
    ("model", Class::Device, false),
    ("sn", Class::Device, true),
    ("mac", Class::Device, false),
    ("icd", Class::Device, false),
    ("phone", Class::Phone, true),
    ("tel", Class::Phone, true),
    ("telephone", Class::Phone, true),
    ("mobile", Class::Phone, true),
    ("cell", Class::Phone, false),
    ("cellphone", Class::Phone, true),
    ("pager", Class::Phone, true),
    ("whatsapp", Class::Phone, true),
    ("ext", Class::Phone, true),
    ("extension", Class::Phone, false),
    ("ph", Class::Phone, false),
    ("contact", Class::Phone, false),
    ("telefon", Class::Phone, true),
    ("fax", Class::Fax, true),
    ("telefax", Class::Fax, true),
    ("facsimile", Class::Fax, true),
    ("fingerprint", Class::Biometric, false),
    ("retina", Class::Biometric, false),
    ("voiceprint", Class::Biometric, false),
    ("iris", Class::Biometric, false),
    ("biometric", Class::Biometric, false),
    ("template", Class::Biometric, false),
    ("encounter", Class::Other, false),
    ("accession", Class::Other, false),
    ("case", Class::Other, false),
    ("visit", Class::Other, false),
    ("order", Class::Other, false),
    ("specimen", Class::Other, false),
    ("referral", Class::Other, false),
    ("ticket", Class::Other, false),
    ("employee", Class::Other, false),
    ("student", Class::Other, false),
    ("study", Class::Other, false),
    ("subject", Class::Other, false),
    ("csn", Class::Other, true),
    ("fin", Class::Other, true),
    ("guid", Class::Other, true),
    ("uuid", Class::Other, true),
    ("barcode", Class::Other, false),
    ("wristband", Class::Other, false),
    ("pin", Class::Other, false),
    ("password", Class::Other, false),
    ("username", Class::Other, false),
    ("login", Class::Other, false),
    ("id", Class::Other, false),
    ("identifier", Class::Other, false),
    ("confirmation", Class::Other, false),
    ("tracking", Class::Other, false),
    ("request", Class::Other, false),
    ("sample", Class::Other, false),
    ("prescription", Class::Other, false),
    ("rx", Class::Other, false),
];

/// How many words may stand between a label and its value.
const REACH: usize = 5;

impl Finder<'_> {
    pub(super) fn labels(&mut self) {
        for at in 0..self.len() {
            if !self.lexemes[at].is_word() || self.lexemes[at].len() > 13 {
                continue;
            }
            if let Some(&(_, class, alone)) = label(self.word(at)) {
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
        self.lexemes[at].len() <= 13 && label(self.word(at)).is_some()
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

fn label(word: &str) -> Option<&'static (&'static str, Class, bool)> {
    use std::collections::HashMap;
    use std::sync::LazyLock;
    type Labels = HashMap<&'static str, &'static (&'static str, Class, bool)>;
    static BY_WORD: LazyLock<Labels> =
        LazyLock::new(|| LABELS.iter().map(|label| (label.0, label)).collect());
    let mut lower = [0_u8; 13];
    let lower = lower.get_mut(..word.len())?;
    lower.copy_from_slice(word.as_bytes());
    lower.make_ascii_lowercase();
    BY_WORD.get(std::str::from_utf8(lower).ok()?).copied()
}
