//! What is looked for: the classes of 45 CFR 164.514(b)(2)(i), and what a find is.

use std::fmt;

/// What kind of identifier a value is. The letters are those of the Safe Harbor list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// (A) Names of persons.
    Name,
    /// (B) Places smaller than a state: street, city, postal code, room.
    Place,
    /// (C) Dates with more than the year.
    Date,
    /// (C) Ages over 89.
    Age,
    /// (D) Telephone numbers.
    Phone,
    /// (E) Fax numbers.
    Fax,
    /// (F) E-mail addresses.
    Email,
    /// (G) Social security numbers and other national numbers of a person.
    Ssn,
    /// (H) Medical record numbers.
    Mrn,
    /// (I) Numbers of a health plan's member.
    Plan,
    /// (J) Account and card numbers.
    Account,
    /// (K) Certificate and licence numbers.
    Licence,
    /// (L) Vehicle numbers and plates.
    Vehicle,
    /// (M) Device identifiers and serial numbers.
    Device,
    /// (N) Web addresses.
    Url,
    /// (O) Network addresses.
    Ip,
    /// (P) Biometric identifiers.
    Biometric,
    /// (Q) Photographs, as embedded images or their file names.
    Photo,
    /// (R) Any other number, word or code that could identify a person.
    Other,
}

/// How sure a find is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// Taken out because nothing says that it is harmless.
    Guessed,
    /// Form or neighbours say so.
    Likely,
    /// The roster, a tagged field, a label or a check digit says so.
    Certain,
}

/// One identifier in a text. `Debug` shows where, never what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub class: Class,
    /// Its first byte in the source text.
    pub start: usize,
    /// The byte behind its last one.
    pub end: usize,
    /// How sure the find is.
    pub certainty: Certainty,
}

// === impl Class ===

impl Class {
    /// Every class, in the order of the Safe Harbor list.
    pub const ALL: [Self; 19] = [
        Self::Name,
        Self::Place,
        Self::Date,
        Self::Age,
        Self::Phone,
        Self::Fax,
        Self::Email,
        Self::Ssn,
        Self::Mrn,
        Self::Plan,
        Self::Account,
        Self::Licence,
        Self::Vehicle,
        Self::Device,
        Self::Url,
        Self::Ip,
        Self::Biometric,
        Self::Photo,
        Self::Other,
    ];

    /// The word that stands in tokens and reports.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Place => "place",
            Self::Date => "date",
            Self::Age => "age",
            Self::Phone => "phone",
            Self::Fax => "fax",
            Self::Email => "email",
            Self::Ssn => "ssn",
            Self::Mrn => "mrn",
            Self::Plan => "plan",
            Self::Account => "account",
            Self::Licence => "licence",
            Self::Vehicle => "vehicle",
            Self::Device => "device",
            Self::Url => "url",
            Self::Ip => "ip",
            Self::Biometric => "biometric",
            Self::Photo => "photo",
            Self::Other => "id",
        }
    }

    /// The class with a label, in any case.
    #[must_use]
    pub fn from_label(label: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|class| class.label().eq_ignore_ascii_case(label))
    }
}

impl fmt::Display for Class {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.label())
    }
}
