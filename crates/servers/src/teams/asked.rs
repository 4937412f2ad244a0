//! A question as a caller puts it.

use legation_wire::json::Object;
use sha2::{Digest as _, Sha256};

use super::arguments::{bad, number, text};
use crate::accounts::Failure;

/// What is asked.
pub(super) struct Asked {
    pub(super) question: String,
    pub(super) choices: Vec<String>,
    pub(super) link: Option<String>,
    pub(super) expires_s: i64,
}

const QUESTION_MAX: usize = 4_000;
const CHOICE_MAX: usize = 200;
const CHOICES_MAX: usize = 10;
const LINK_MAX: usize = 2_000;
/// How long an answer counts unless the call says so.
const EXPIRES_S: i64 = 24 * 3600;

// === impl Asked ===

impl Asked {
    pub(super) fn read(arguments: &Object) -> Result<Self, Failure> {
        let question = text(arguments, "question")?.unwrap_or_default();
        let question = question.trim().to_owned();
        if question.is_empty() || question.len() > QUESTION_MAX {
            return Err(bad("`question` must have 1 to 4000 bytes"));
        }
        let wrong = || bad("`choices` must be a list of 2 to 10 texts of at most 200 bytes");
        let choices = match arguments.get("choices") {
            None => Vec::new(),
            Some(raw) => {
                let all = raw.to_array().ok_or_else(wrong)?;
                let fits = |text: &String| !text.trim().is_empty() && text.len() <= CHOICE_MAX;
                let texts = all.iter().map(|raw| raw.to_str().map(String::from));
                let texts: Option<Vec<String>> = texts.collect();
                let texts = texts.filter(|all| all.iter().all(fits));
                let texts = texts.filter(|all| (2..=CHOICES_MAX).contains(&all.len()));
                texts.ok_or_else(wrong)?
            }
        };
        let link = text(arguments, "link")?;
        if link.as_ref().is_some_and(|link| !is_link(link)) {
            return Err(bad("`link` must be an https address"));
        }
        let expires_s = number(arguments, "expires_s", 60..=7 * 24 * 3600)?;
        Ok(Self {
            question,
            choices,
            link,
            expires_s: expires_s.unwrap_or(EXPIRES_S),
        })
    }

    pub(super) fn digest(&self) -> String {
        let mut all = Sha256::new();
        let link = self.link.iter();
        for part in link.chain([&self.question]).chain(&self.choices) {
            all.update(part.len().to_le_bytes());
            all.update(part);
        }
        legation_core::id::hex(&all.finalize())
    }
}

fn is_link(link: &str) -> bool {
    let plain = |c: char| !c.is_whitespace() && !c.is_control();
    let host = link.strip_prefix("https://");
    link.len() <= LINK_MAX && link.chars().all(plain) && host.is_some_and(|host| !host.is_empty())
}
