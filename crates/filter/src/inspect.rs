//! Looking at a definition before a model does.
//!
//! A description is a prompt that a server writes. What is looked for is looked for in the text
//! as it was sent: an invisible character that was normalised away first could not be found any
//! more. Words are then sought in a form without tricks, so that Cyrillic letters or a zero-width
//! space in a word hide nothing. A hard finding is something that no honest definition has; a
//! soft one is worth a person's look.

use std::collections::HashSet;
use std::fmt;
use std::ops::RangeInclusive;

use legation_wire::json::{Place, Raw};
use unicode_normalization::UnicodeNormalization as _;
use unicode_security::skeleton;

use crate::hidden::{self, Hidden, HiddenKind};

pub(crate) mod words;

/// Longest excerpt of a finding, in characters of the source.
const EXCERPT_MAX: usize = 120;
/// Most findings of one definition; more say nothing new.
const FINDINGS_MAX: usize = 32;
/// Longest text whose words are looked at, in bytes. No description is that long.
const TEXT_MAX: usize = 256 << 10;

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Check {
    /// Characters that nobody sees.
    HiddenCharacters,
    /// Text written in tag characters or variation selectors.
    SmuggledText,
    /// Marks that change the order in which letters are read.
    Bidi,
    /// Escape sequences of terminals.
    TerminalEscape,
    /// Orders to the model that have nothing to do with using the tool.
    Instructions,
    /// Orders about other tools.
    OtherTools,
    /// A name that looks like another's.
    LookAlike,
    /// The name of a tool of another server.
    Shadowed,
    /// An address that something is to be sent to.
    Exfiltration,
    /// A text too long to be a description.
    Oversized,
}

/// One thing that is wrong with a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub check: Check,
    /// Whether the definition must not be used until somebody has looked at it.
    pub hard: bool,
    /// JSON pointer to the string, or to the member whose name it is.
    pub pointer: String,
    /// The place, with everything escaped that could repaint a terminal; what was smuggled,
    /// spelled out.
    pub excerpt: String,
}

// === impl Check ===

impl Check {
    /// What it is, in words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::HiddenCharacters => "hidden characters",
            Self::SmuggledText => "smuggled text",
            Self::Bidi => "marks that turn the order of letters",
            Self::TerminalEscape => "a terminal's escape sequence",
            Self::Instructions => "orders to the model",
            Self::OtherTools => "orders about other tools",
            Self::LookAlike => "a name that looks like another",
            Self::Shadowed => "the name of another server's tool",
            Self::Exfiltration => "an address to send something to",
            Self::Oversized => "a text too long to be a description",
        }
    }
}

// === impl Finding ===

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weight = if self.hard { "" } else { "maybe " };
        write!(f, "{weight}{}", self.check.as_str())?;
        if !self.pointer.is_empty() {
            write!(f, " at {}", escaped(&self.pointer))?;
        }
        write!(f, ": {}", self.excerpt)
    }
}

/// Looks at a definition as it was sent.
#[must_use]
pub fn inspect(definition: &Raw) -> Vec<Finding> {
    let mut findings = Vec::new();
    definition.each_string(|path, place, text| {
        if findings.len() < FINDINGS_MAX {
            let pointer = path.pointer();
            let mut found = of_text(text);
            if place == Place::Name {
                found.extend(of_name(text));
            }
            findings.extend(found.into_iter().map(|finding| Finding {
                pointer: pointer.clone(),
                ..finding
            }));
        }
    });
    let name = definition.get("name");
    if let Some(name) = name.as_ref().and_then(Raw::to_str) {
        findings.extend(of_name(&name).into_iter().map(|finding| Finding {
            pointer: "/name".to_owned(),
            ..finding
        }));
    }
    findings.truncate(FINDINGS_MAX);
    findings
}

/// Looks at a text alone: a server's instructions. Pointers are empty.
#[must_use]
pub fn inspect_text(text: &str) -> Vec<Finding> {
    let mut findings = of_text(text);
    findings.truncate(FINDINGS_MAX);
    findings
}

/// Compares a tool's name with the names of other servers' tools. A name that only looks the
/// same is meant to be taken for the other.
#[must_use]
pub fn shadowed<'a>(name: &str, others: impl IntoIterator<Item = &'a str>) -> Option<Finding> {
    let shape = shape(name);
    let alike = others
        .into_iter()
        .find(|other| *other == name || self::shape(other) == shape)?;
    let same = alike == name;
    Some(Finding {
        check: if same {
            Check::Shadowed
        } else {
            Check::LookAlike
        },
        hard: !same && !name.is_ascii(),
        pointer: "/name".to_owned(),
        excerpt: escaped(alike),
    })
}

/// A text for a terminal: everything escaped that a person would not see as it is.
#[must_use]
pub fn escaped(text: &str) -> String {
    let shown = text.chars().take(EXCERPT_MAX);
    let mut out = String::with_capacity(text.len().min(EXCERPT_MAX * 2));
    for character in shown {
        if character.is_ascii_graphic()
            || character == ' '
            || (character.is_alphanumeric() && !character.is_ascii())
        {
            out.push(character);
        } else {
            out.extend(character.escape_unicode());
        }
    }
    out
}

/// A name as eyes take it: without accents of width, look-alikes of other scripts, case, joints.
/// Names of one shape are what [`shadowed`] compares.
#[must_use]
pub fn shape(name: &str) -> String {
    let plain: String = name
        .nfkc()
        .filter(|c| !matches!(c, '_' | '-' | '.' | ' ' | '/'))
        .collect();
    let shape: String = skeleton(&plain).collect();
    skeleton(&shape.to_lowercase()).collect()
}

fn of_text(text: &str) -> Vec<Finding> {
    let hidden = hidden::find(text);
    let mut findings = of_hidden(text, &hidden);
    if text.len() > TEXT_MAX {
        findings.push(finding(Check::Oversized, false, text));
    }
    let text = &text[..text.floor_char_boundary(TEXT_MAX)];
    findings.extend(words::find(text));
    for says in hidden.iter().filter_map(|hidden| hidden.says.as_deref()) {
        findings.extend(words::find(says));
    }
    findings
}

/// Names of members and tools: letters of several scripts in one word have one purpose.
fn of_name(name: &str) -> Vec<Finding> {
    let ascii = name.chars().any(|c| c.is_ascii_alphabetic());
    let foreign = name
        .chars()
        .any(|c| !c.is_ascii() && skeleton(&c.to_string()).all(|c| c.is_ascii()));
    if ascii && foreign {
        return vec![finding(Check::LookAlike, true, name)];
    }
    Vec::new()
}

fn of_hidden(text: &str, hidden: &[Hidden]) -> Vec<Finding> {
    const FEW: RangeInclusive<usize> = 1..=3;
    let mut findings = Vec::new();
    let mut told = HashSet::new();
    let count = |kind: HiddenKind| -> usize {
        hidden
            .iter()
            .filter(|hidden| hidden.kind == kind)
            .map(|hidden| hidden.count)
            .sum()
    };
    for run in hidden {
        let (check, hard) = match run.kind {
            HiddenKind::Tags => (Check::SmuggledText, true),
            // A selector too many is a slip; a row of them is a text.
            HiddenKind::Variation => (Check::SmuggledText, !FEW.contains(&run.count)),
            HiddenKind::Bidi => (Check::Bidi, true),
            HiddenKind::Escape => (Check::TerminalEscape, true),
            HiddenKind::Control | HiddenKind::Overwrite => (
                Check::TerminalEscape,
                run.kind == HiddenKind::Overwrite || count(run.kind) > 3,
            ),
            HiddenKind::ZeroWidth => (Check::HiddenCharacters, !FEW.contains(&count(run.kind))),
            HiddenKind::Filler | HiddenKind::Private => {
                (Check::HiddenCharacters, count(run.kind) > 8)
            }
        };
        if told.insert((check, hard)) {
            let mut found = finding(check, hard, &text[run.at..]);
            if let Some(says) = &run.says {
                found.excerpt = format!("{} spells {:?}", found.excerpt, escaped(says));
            }
            findings.push(found);
        }
    }
    findings
}

fn finding(check: Check, hard: bool, excerpt: &str) -> Finding {
    Finding {
        check,
        hard,
        pointer: String::new(),
        excerpt: escaped(excerpt),
    }
}

/// The text in which words are sought: without hidden characters, wide or foreign letters that
/// look like plain ones, and rows of space.
fn plain(text: &str) -> String {
    let stripped = hidden::strip(text);
    let unmarked = stripped.replace(['*', '_', '`'], " ");
    let mut out = String::with_capacity(text.len());
    let mut space = true;
    for character in unmarked.nfkc() {
        if character.is_whitespace() {
            if !space {
                out.push(' ');
            }
            space = true;
            continue;
        }
        space = false;
        out.extend(latin(character).to_lowercase());
    }
    out
}

/// The plain letter that a letter of Greek or Cyrillic looks like.
fn latin(character: char) -> char {
    const FROM: &str = "аеорсухіјѕһԁԛԝвмнтклАВЕКМНОРСТУХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧοαιν";
    const TO: &str = "aeopcyxijshdqwbmhtklABEKMHOPCTYXIJSABEZHIKMNOPTYXoaiv";
    if character.is_ascii() {
        return character;
    }
    let at = FROM.chars().position(|from| from == character);
    at.and_then(|at| TO.chars().nth(at)).unwrap_or(character)
}
