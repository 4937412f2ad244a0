//! Redaction of JSON documents.
//!
//! All strings and numbers of a document are laid out as one text, each under its key, so that
//! keys are labels ("mrn: 12345") and neighbours are context; what is found there is cut out of
//! the literals it came from. Short pieces beside each other are laid out a second time as one
//! value: an identifier in parts is still one.

use super::{Redacted, RedactedJson, Redactor, spare_tokens};
use crate::class::{Certainty, Class, Finding};
use crate::json::{self, Literal};
use crate::vault::Vault;

/// A literal's text in the layout.
#[derive(Debug)]
struct Segment {
    start: usize,
    end: usize,
    literal: usize,
}

#[derive(Debug, Default)]
struct Layout {
    text: String,
    segments: Vec<Segment>,
    forced: Vec<Finding>,
}

/// A longer string is no part of a split value.
const LONGEST_PART: usize = 12;

impl Redactor {
    /// Replaces the identifiers of a JSON document, keys included. What is no JSON is redacted as
    /// text.
    pub fn redact_json(&self, document: &str, vault: &mut dyn Vault) -> RedactedJson {
        let Some(literals) = json::literals(document) else {
            let Redacted {
                text,
                findings,
                residual_risk,
            } = self.redact_text(document, vault);
            return RedactedJson {
                json: text,
                findings,
                residual_risk,
            };
        };
        let texts: Vec<Option<String>> = literals
            .iter()
            .map(|literal| meaning(document, literal))
            .collect();
        let layout = self.layout(&literals, &texts);
        let (found, residual_risk) = self.findings(&layout.text, layout.forced.clone(), 0);
        let cuts = cuts(&layout, &found, literals.len());
        let mut redacted = String::with_capacity(document.len());
        let mut findings = Vec::new();
        let mut done = 0;
        for (at, literal) in literals.iter().enumerate() {
            let Some(replaced) = replacement(literal, texts[at].as_deref(), &cuts[at], vault)
            else {
                continue;
            };
            redacted.push_str(&document[done..literal.start]);
            redacted.push_str(&replaced.0);
            done = literal.end;
            findings.push(Finding {
                start: literal.start,
                end: literal.end,
                ..replaced.1
            });
        }
        redacted.push_str(&document[done..]);
        RedactedJson {
            json: redacted,
            findings,
            residual_risk,
        }
    }

    fn layout(&self, literals: &[Literal], texts: &[Option<String>]) -> Layout {
        let mut layout = Layout::default();
        for (at, literal) in literals.iter().enumerate() {
            let Some(text) = &texts[at] else { continue };
            if literal.key {
                if !is_identifier(text) {
                    layout.put(text, at);
                    layout.text.push('\n');
                }
                continue;
            }
            let key = literal
                .under
                .and_then(|key| texts[key].as_deref())
                .unwrap_or("");
            layout.label(key);
            let start = layout.text.len();
            // A number with a fraction or an exponent is a measure.
            let measure = literal.number && text.contains(['.', 'e', 'E']);
            if !measure || self.tagged(key).is_some() {
                layout.put(text, at);
            }
            if let Some(class) = self.tagged(key) {
                layout.forced.push(Finding {
                    class,
                    start,
                    end: layout.text.len(),
                    certainty: Certainty::Certain,
                });
            }
            layout.text.push('\n');
        }
        split_values(literals, texts, &mut layout);
        layout
    }

    /// The class of a member whose key is tagged.
    fn tagged(&self, key: &str) -> Option<Class> {
        if key.is_empty() {
            return None;
        }
        let key = squeezed(key);
        let tagged = self.fields.contains(&key) || TAGGED.iter().any(|(name, _)| *name == key);
        tagged.then(|| class_of(&key))
    }
}

/// Keys that say what their value is, squeezed.
const TAGGED: &[(&str, Class)] = &[
    ("patientname", Class::Name),
    ("residentname", Class::Name),
    ("firstname", Class::Name),
    ("lastname", Class::Name),
    ("middlename", Class::Name),
    ("givenname", Class::Name),
    ("familyname", Class::Name),
    ("fullname", Class::Name),
    ("surname", Class::Name),
    ("maidenname", Class::Name),
    ("mothersmaidenname", Class::Name),
    ("nextofkin", Class::Name),
    ("emergencycontact", Class::Name),
    ("dob", Class::Date),
    ("dateofbirth", Class::Date),
    ("birthdate", Class::Date),
    ("birthday", Class::Date),
    ("dateofdeath", Class::Date),
    ("admissiondate", Class::Date),
    ("dischargedate", Class::Date),
    ("ssn", Class::Ssn),
    ("socialsecuritynumber", Class::Ssn),
    ("mrn", Class::Mrn),
    ("medicalrecordnumber", Class::Mrn),
    ("phone", Class::Phone),
    ("phonenumber", Class::Phone),
    ("telephone", Class::Phone),
    ("mobile", Class::Phone),
    ("fax", Class::Fax),
    ("faxnumber", Class::Fax),
    ("email", Class::Email),
    ("emailaddress", Class::Email),
    ("address", Class::Place),
    ("addressline1", Class::Place),
    ("addressline2", Class::Place),
    ("streetaddress", Class::Place),
    ("street", Class::Place),
    ("city", Class::Place),
    ("town", Class::Place),
    ("hometown", Class::Place),
    ("birthplace", Class::Place),
    ("placeofbirth", Class::Place),
    ("homeaddress", Class::Place),
    ("residence", Class::Place),
    ("zip", Class::Place),
    ("zipcode", Class::Place),
    ("postcode", Class::Place),
    ("postalcode", Class::Place),
    ("county", Class::Place),
    ("roomnumber", Class::Place),
    ("accountnumber", Class::Account),
    ("memberid", Class::Plan),
    ("policynumber", Class::Plan),
    ("licensenumber", Class::Licence),
    ("licencenumber", Class::Licence),
    ("licenseplate", Class::Vehicle),
    ("vin", Class::Vehicle),
    ("serialnumber", Class::Device),
    ("deviceid", Class::Device),
    ("ipaddress", Class::Ip),
];

/// What a tagged key most likely names.
fn class_of(key: &str) -> Class {
    if let Some((_, class)) = TAGGED.iter().find(|(name, _)| *name == key) {
        return *class;
    }
    let words = [
        ("name", Class::Name),
        ("room", Class::Place),
        ("bed", Class::Place),
        ("address", Class::Place),
        ("birth", Class::Date),
        ("date", Class::Date),
        ("phone", Class::Phone),
        ("record", Class::Mrn),
        ("mrn", Class::Mrn),
        ("security", Class::Ssn),
        ("ssn", Class::Ssn),
        ("mail", Class::Email),
    ];
    let known = words.iter().find(|(word, _)| key.contains(word));
    known.map_or(Class::Other, |(_, class)| *class)
}

/// A key without what differs between `roomNumber`, `room_number` and "room numbers".
pub(super) fn squeezed(key: &str) -> String {
    let folded = crate::fold::fold(key);
    let mut squeezed: String = folded
        .text
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    if squeezed.len() > 4 && squeezed.ends_with('s') && !squeezed.ends_with("ss") {
        squeezed.pop();
    }
    squeezed
}

/// What a literal means as text.
fn meaning(document: &str, literal: &Literal) -> Option<String> {
    let written = &document[literal.start..literal.end];
    if literal.number {
        return Some(written.to_owned());
    }
    json::decode(written)
}

/// Whether a key is a name in a program and no text.
fn is_identifier(key: &str) -> bool {
    let plain = key
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"_-.$".contains(&byte));
    let digits = key.bytes().filter(u8::is_ascii_digit).count();
    let lower = key
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_lowercase() || b"_$".contains(&byte));
    let words: Vec<&str> = key
        .split(|c: char| !c.is_ascii_alphabetic())
        .filter(|w| !w.is_empty())
        .collect();
    let known = words
        .iter()
        .all(|word| word.len() <= 3 || crate::words::is_common(&word.to_ascii_lowercase()));
    let tagged = TAGGED.iter().any(|(name, _)| *name == squeezed(key));
    tagged || plain && digits < 5 && (lower && key.bytes().any(|b| b.is_ascii_uppercase()) || known)
}

/// Lays parts of the same container that are short and have digits out as one value.
fn split_values(literals: &[Literal], texts: &[Option<String>], layout: &mut Layout) {
    let mut at = 0;
    while at < literals.len() {
        let mut parts = vec![];
        let container = literals[at].container;
        while at < literals.len() && (literals[at].container == container || literals[at].key) {
            let short = texts[at].as_deref().filter(|text| {
                !text.is_empty()
                    && text.len() <= LONGEST_PART
                    && text.bytes().all(|byte| byte.is_ascii_digit())
            });
            if literals[at].key && literals[at].container == container {
                at += 1;
                continue;
            }
            if literals[at].number || short.is_none() || literals[at].container != container {
                break;
            }
            parts.push(at);
            at += 1;
        }
        let total: usize = parts
            .iter()
            .filter_map(|&part| texts[part].as_ref())
            .map(String::len)
            .sum();
        if parts.len() > 1 && (7..=19).contains(&total) {
            let start = layout.text.len();
            for &part in &parts {
                layout.put(texts[part].as_deref().unwrap_or_default(), part);
                layout.text.push('-');
            }
            layout.forced.push(Finding {
                class: if total == 9 { Class::Ssn } else { Class::Phone },
                start,
                end: layout.text.len() - 1,
                certainty: Certainty::Likely,
            });
            layout.text.push('\n');
        }
        if parts.is_empty() {
            at += 1;
        }
    }
}

/// What is to be cut out of each literal, in its own text's offsets.
fn cuts(layout: &Layout, found: &[Finding], count: usize) -> Vec<Vec<Finding>> {
    let mut cuts = vec![Vec::new(); count];
    for finding in found {
        let first = layout
            .segments
            .partition_point(|segment| segment.end <= finding.start);
        for segment in layout.segments[first..]
            .iter()
            .take_while(|segment| segment.start < finding.end)
        {
            let start = finding.start.max(segment.start) - segment.start;
            let end = finding.end.min(segment.end) - segment.start;
            if start < end {
                cuts[segment.literal].push(Finding {
                    start,
                    end,
                    ..*finding
                });
            }
        }
    }
    cuts
}

/// A literal with tokens in the place of what is cut; `None` where nothing is.
fn replacement(
    literal: &Literal,
    text: Option<&str>,
    cuts: &[Finding],
    vault: &mut dyn Vault,
) -> Option<(String, Finding)> {
    let Some(text) = text else {
        // What has no meaning as text cannot be looked into: it goes out whole.
        let finding = Finding {
            class: Class::Other,
            start: 0,
            end: 0,
            certainty: Certainty::Guessed,
        };
        return Some((
            json::encode(&crate::token::Token::blank(Class::Other).to_string()),
            finding,
        ));
    };
    let surest = *cuts.iter().max_by_key(|finding| finding.certainty)?;
    if literal.number {
        let token = vault.number_token(surest.class, text);
        return Some((json::encode(&token.to_string()), surest));
    }
    let cuts = spare_tokens(text, super::without_overlaps(text, cuts.to_vec()), vault);
    let surest = *cuts.iter().max_by_key(|finding| finding.certainty)?;
    let mut replaced = String::with_capacity(text.len());
    let mut done = 0;
    for cut in &cuts {
        replaced.push_str(&text[done..cut.start]);
        replaced.push_str(
            &vault
                .token(cut.class, &text[cut.start..cut.end])
                .to_string(),
        );
        done = cut.end;
    }
    replaced.push_str(&text[done..]);
    Some((json::encode(&replaced), surest))
}

// === impl Layout ===

impl Layout {
    fn put(&mut self, text: &str, literal: usize) {
        let start = self.text.len();
        self.text.push_str(text);
        self.segments.push(Segment {
            start,
            end: self.text.len(),
            literal,
        });
    }

    /// Writes a key as people do: `roomNumber` is "room number".
    fn label(&mut self, key: &str) {
        let mut small = false;
        for character in key.chars() {
            if small && character.is_uppercase() {
                self.text.push(' ');
            }
            small = character.is_lowercase();
            let separator = matches!(character, '_' | '-' | '.');
            self.text.push(if separator { ' ' } else { character });
        }
        if !key.is_empty() {
            self.text.push_str(": ");
        }
    }
}
