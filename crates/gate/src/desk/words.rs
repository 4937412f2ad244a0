//! What a text says to a question: without IO.
//!
//! Only the two words alone are an answer. Whoever writes more means more, and a
//! condition that is read over is a yes that nobody gave.

/// What a text says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Words {
    /// `approve CODE` or `deny CODE`, and nothing else.
    Answer {
        /// Which of the two.
        approve: bool,
        /// The code as it was typed.
        code: String,
        /// Whether it cannot be anything but a code: any word may be as long, and only
        /// codes have digits.
        is_sure: bool,
    },
    /// It begins like an answer and says more, or says two things.
    Unclear {
        /// The code as it was typed first.
        code: String,
    },
}

/// How many letters and digits a code has, and how many it may have lost or
/// gained when it was typed.
pub(super) const LENGTH: usize = 6;
const CODE: std::ops::RangeInclusive<usize> = 4..=8;
/// What Teams puts where a quoted message stood.
const QUOTATION: &str = "[quotation]";

/// Reads a message; `None` where it is no answer and does not begin like one.
#[must_use]
pub fn read(text: &str) -> Option<Words> {
    let mut found: Option<Words> = None;
    let mut more = false;
    for line in text.lines() {
        let line = line.trim().trim_start_matches(QUOTATION).trim();
        // What is quoted is not said.
        if line.is_empty() || line.starts_with('>') {
            continue;
        }
        match (said(line), &found) {
            (Some(words), None) => found = Some(words),
            (Some(words), Some(before)) if words == *before => {}
            _ => more = true,
        }
    }
    match found? {
        Words::Answer { code, .. } if more => Some(Words::Unclear { code }),
        words => Some(words),
    }
}

fn said(line: &str) -> Option<Words> {
    let mut words = line.split_whitespace();
    let plain = |word: &'_ str| {
        word.trim_matches(|c: char| ".,:;!`*\"'".contains(c))
            .to_owned()
    };
    let verb = plain(words.next()?).to_lowercase();
    let approve = match verb.as_str() {
        "approve" => true,
        "deny" => false,
        _ => return None,
    };
    let code = plain(words.next()?);
    let is_word = CODE.contains(&code.len()) && code.bytes().all(|b| b.is_ascii_alphanumeric());
    // Every code has a digit. Who typed letters for all of them may mean one, if it is as
    // long: only the codes that are open can say so.
    let is_sure = has_digit(&code);
    if !is_word || !(is_sure || code.len() == LENGTH) {
        return None;
    }
    match words.next() {
        None => Some(Words::Answer {
            approve,
            code,
            is_sure,
        }),
        Some(_) if is_sure => Some(Words::Unclear { code }),
        Some(_) => None,
    }
}

/// Whether no word of a language is this code.
pub(super) fn has_digit(code: &str) -> bool {
    code.bytes().any(|byte| byte.is_ascii_digit())
}

// === impl Words ===

impl Words {
    /// Whether it is an answer, whatever the codes that are open.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        match self {
            Self::Answer { is_sure, .. } => *is_sure,
            Self::Unclear { .. } => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_two_words_alone_are_an_answer() {
        let answer = |approve, code: &str| {
            Some(Words::Answer {
                approve,
                code: code.to_owned(),
                is_sure: true,
            })
        };
        let perhaps = |approve, code: &str| {
            Some(Words::Answer {
                approve,
                code: code.to_owned(),
                is_sure: false,
            })
        };
        let unclear = |code: &str| {
            Some(Words::Unclear {
                code: code.to_owned(),
            })
        };
        for (text, wanted) in [
            ("approve 7K2QXM", answer(true, "7K2QXM")),
            ("  Deny 7k2qxm. ", answer(false, "7k2qxm")),
            ("`approve 7K2QXM`", answer(true, "7K2QXM")),
            ("[quotation]\napprove 7K2QXM", answer(true, "7K2QXM")),
            ("[quotation] deny 7K2QXM", answer(false, "7K2QXM")),
            ("> deny AAAAAA\napprove 7K2QXM\n\n", answer(true, "7K2QXM")),
            ("approve 7K2QXM\napprove 7K2QXM", answer(true, "7K2QXM")),
            ("approve 7K2QXM\ndeny 7K2QXM", unclear("7K2QXM")),
            ("approve 7K2QXM if the tests pass", unclear("7K2QXM")),
            ("approve 7K2QXM\nbut only tomorrow", unclear("7K2QXM")),
            ("wait\napprove 7K2QXM", unclear("7K2QXM")),
            ("do not approve 7K2QXM", None),
            ("approve", None),
            ("approve that please", None),
            ("approve that", None),
            ("approve abcdef", perhaps(true, "abcdef")),
            ("approve please", perhaps(true, "please")),
            ("DENY THAT", None),
            ("deny please, it is wrong", None),
            ("APPROVE PLEASE do", None),
            ("approve 7K2Q", answer(true, "7K2Q")),
            ("approved 7K2QXM", None),
            ("approve 7K2Q-XM1", None),
            ("", None),
        ] {
            assert_eq!(read(text), wanted, "{text:?}");
        }
    }
}
