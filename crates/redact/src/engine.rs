//! The redactor: what finds, and what puts tokens in the place of what was found.

mod document;

use std::collections::HashSet;

use regex::Regex;

use crate::class::{Certainty, Class, Finding};
use crate::encoded;
use crate::find::{self, Hit, Manner};
use crate::fold::{Folded, fold};
use crate::restore::token_at;
use crate::roster::Roster;
use crate::spec::{BuildError, NameList, RedactorSpec};
use crate::vault::Vault;

/// Finds and replaces identifiers. It is built once for an entity and shared.
#[derive(Debug)]
pub struct Redactor {
    roster: Option<Roster>,
    patterns: Vec<Regex>,
    fields: Vec<String>,
    names: bool,
    safe: bool,
    safe_words: HashSet<String>,
}

/// A text without its identifiers.
#[derive(Clone, PartialEq)]
pub struct Redacted {
    /// The text with tokens.
    pub text: String,
    /// What was replaced, as places in the source text, in their order and without overlaps.
    pub findings: Vec<Finding>,
    /// What may still identify somebody, from 0 (nothing is known) to 1.
    pub residual_risk: f32,
}

/// A JSON document without its identifiers.
#[derive(Clone, PartialEq)]
pub struct RedactedJson {
    /// The document with tokens; numbers that were replaced have become strings.
    pub json: String,
    /// What was replaced, as places in the source document.
    pub findings: Vec<Finding>,
    /// What may still identify somebody, from 0 (nothing is known) to 1.
    pub residual_risk: f32,
}

/// How deep base64 inside base64 is followed.
const MAX_DEPTH: usize = 3;
/// Bytes after which a text is parted at the next blank line.
const BLOCK: usize = 8 * 1024;
/// The doubt that a blob leaves which holds no text.
const OPAQUE: f32 = 0.2;

// === impl Redactor ===

impl Redactor {
    /// Builds the searches.
    ///
    /// # Errors
    ///
    /// A pattern of the entity is no regular expression, or the roster is too large.
    pub fn build(spec: &RedactorSpec) -> Result<Self, BuildError> {
        let mut patterns = Vec::with_capacity(spec.patterns.len());
        for (at, pattern) in spec.patterns.iter().enumerate() {
            let compiled = Regex::new(pattern).map_err(|source| BuildError::Pattern {
                number: at + 1,
                source: Box::new(source),
            })?;
            patterns.push(compiled);
        }
        Ok(Self {
            roster: Roster::build(&spec.roster)?,
            patterns,
            fields: spec
                .fields
                .iter()
                .map(|field| document::squeezed(field))
                .collect(),
            names: spec.names == NameList::BuiltIn,
            safe: spec.safe_word_mode,
            safe_words: spec
                .safe_words
                .iter()
                .map(|word| word.to_lowercase())
                .collect(),
        })
    }

    /// Replaces the identifiers of a text by tokens of the vault. Tokens that stand in the text
    /// already are left as they are.
    pub fn redact_text(&self, text: &str, vault: &mut dyn Vault) -> Redacted {
        let (mut found, mut doubt) = (Vec::new(), 0.0_f32);
        for (start, end) in blocks(text) {
            let (inside, more) = self.findings(&text[start..end], Vec::new(), 0);
            found.extend(inside.into_iter().map(|finding| Finding {
                start: finding.start + start,
                end: finding.end + start,
                ..finding
            }));
            doubt = doubt.max(more);
        }
        let findings = spare_tokens(text, found, vault);
        let mut redacted = String::with_capacity(text.len());
        let mut done = 0;
        for finding in &findings {
            redacted.push_str(&text[done..finding.start]);
            let token = vault.token(finding.class, &text[finding.start..finding.end]);
            token.write(&mut redacted);
            done = finding.end;
        }
        redacted.push_str(&text[done..]);
        Redacted {
            text: redacted,
            findings,
            residual_risk: doubt,
        }
    }

    /// What identifies somebody in a text, in order, without overlaps; and what may still do so.
    fn findings(&self, text: &str, forced: Vec<Finding>, depth: usize) -> (Vec<Finding>, f32) {
        let folded = fold(text);
        let mut known = Vec::new();
        if let Some(roster) = &self.roster {
            roster.find(&folded.text, &mut known);
        }
        for pattern in &self.patterns {
            let found = pattern
                .find_iter(&folded.text)
                .filter(|found| !found.is_empty());
            known.extend(
                found.map(|f| Hit::new(f.start(), f.end(), Class::Other, Certainty::Certain)),
            );
        }
        let manner = Manner {
            names: self.names,
            safe: self.safe,
            safe_words: &self.safe_words,
        };
        let found = find::find(&folded, &known, manner);
        let mut doubt = found.doubt;
        let mut findings: Vec<Finding> =
            found.hits.iter().map(|hit| located(&folded, hit)).collect();
        findings.extend(forced);
        doubt += self.encoded(text, depth, &mut findings);
        (without_overlaps(text, findings), doubt.min(1.0))
    }

    /// Finds what base64 hides; the doubt that is left.
    fn encoded(&self, text: &str, depth: usize, findings: &mut Vec<Finding>) -> f32 {
        let mut doubt = 0.0;
        for run in encoded::runs(text) {
            let class = match &run.text {
                Some(inner) if depth < MAX_DEPTH => {
                    let (inside, more) = self.findings(inner, Vec::new(), depth + 1);
                    doubt += more;
                    inside.iter().max_by_key(|f| f.certainty).map(|f| f.class)
                }
                // What cannot be read further is taken out whole.
                Some(_) => Some(Class::Other),
                None if text[..run.start].ends_with("base64,") => Some(Class::Photo),
                None if self.safe => Some(Class::Other),
                None => {
                    doubt += OPAQUE;
                    None
                }
            };
            if let Some(class) = class {
                findings.push(Finding {
                    class,
                    start: run.start,
                    end: run.end,
                    certainty: Certainty::Likely,
                });
            }
        }
        doubt
    }
}

/// Long texts are read in parts that end at blank lines, so that what is kept about one stays near;
/// a text without blank lines is read in one.
fn blocks(text: &str) -> Vec<(usize, usize)> {
    let mut blocks = Vec::new();
    let mut start = 0;
    while text.len() - start > BLOCK {
        let mut from = start + BLOCK;
        while !text.is_char_boundary(from) {
            from -= 1;
        }
        let Some(blank) = text[from..].find("\n\n") else {
            break;
        };
        let end = from + blank + 2;
        blocks.push((start, end));
        start = end;
    }
    blocks.push((start, text.len()));
    blocks
}

/// A hit as a place in the source.
fn located(folded: &Folded<'_>, hit: &Hit) -> Finding {
    let (start, end) = folded.source(hit.start, hit.end);
    Finding {
        class: hit.class,
        start,
        end,
        certainty: hit.certainty,
    }
}

/// Sorts findings and joins those that overlap; the surer one gives the class.
fn without_overlaps(text: &str, mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.retain(|f| {
        f.start < f.end && text.is_char_boundary(f.start) && text.is_char_boundary(f.end)
    });
    findings.sort_by_key(|finding| (finding.start, finding.end));
    let mut apart: Vec<Finding> = Vec::with_capacity(findings.len());
    for finding in findings {
        match apart.last_mut() {
            Some(last) if finding.start < last.end => {
                last.end = last.end.max(finding.end);
                if finding.certainty > last.certainty {
                    last.class = finding.class;
                    last.certainty = finding.certainty;
                }
            }
            _ => apart.push(finding),
        }
    }
    apart
}

/// Cuts the tokens that stand in a text out of the findings. An id that is not the vault's is
/// never given out after that: restoring must not take a foreign token for ours.
fn spare_tokens(text: &str, findings: Vec<Finding>, vault: &mut dyn Vault) -> Vec<Finding> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(next) = crate::restore::next_start(&text.as_bytes()[at..]) {
        at += next;
        match token_at(&text[at..]) {
            Some((token, length)) => {
                if vault.value(&token.to_string()).is_none() {
                    vault.avoid(token.id());
                }
                tokens.push((at, at + length));
                at += length;
            }
            None => at += text[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
    if tokens.is_empty() {
        return findings;
    }
    let mut spared = Vec::with_capacity(findings.len());
    for finding in findings {
        let mut start = finding.start;
        let first = tokens.partition_point(|token| token.1 <= finding.start);
        let inside = tokens[first..]
            .iter()
            .take_while(|token| token.0 < finding.end)
            .filter(|token| token.0 < finding.end && token.1 > finding.start);
        for &(from, to) in inside {
            if start < from {
                spared.push(Finding {
                    start,
                    end: from,
                    ..finding
                });
            }
            start = start.max(to);
        }
        if start < finding.end {
            spared.push(Finding { start, ..finding });
        }
    }
    spared.retain(|f| text[f.start..f.end].contains(char::is_alphanumeric));
    spared
}

impl std::fmt::Debug for Redacted {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Redacted")
            .field("findings", &self.findings.len())
            .field("residual_risk", &self.residual_risk)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for RedactedJson {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("RedactedJson")
            .field("findings", &self.findings.len())
            .field("residual_risk", &self.residual_risk)
            .finish_non_exhaustive()
    }
}
