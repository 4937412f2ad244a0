//! A person's word from somewhere else: a code that was put to them there, and
//! came back from an account that only they have.
//!
//! What proves the person is the account the reply came from, which the service
//! names and no program of theirs can write as, as long as the program writes as
//! somebody else. The code says which question is meant, and that whoever wrote
//! it has read the question; by itself it proves nothing. It is made of a random
//! number under a key, so that what is kept of it tells nobody the code. The
//! alternative, keeping a digest of a random code, was rejected: a question that
//! was perhaps posted when the hub died could not be posted again as the same.

use subtle::ConstantTimeEq as _;

use crate::{HumanProof, Key, KeystoreError};

/// Crockford's alphabet: nothing in it is taken for anything else.
const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Thirty bits: with a few tries for a question, one in many millions.
const LENGTH: usize = 6;

/// Makes codes and judges what comes back. Its key is for this purpose alone.
#[derive(Debug)]
pub struct ReplyCodes {
    key: Key,
}

/// A question that was put to a person elsewhere. All of it goes into its code.
#[derive(Debug, Clone, Copy)]
pub struct PutTo<'a> {
    /// The question, and the digest of what it asks.
    pub question: &'a [u8],
    /// Random, from [`ReplyCodes::nonce`].
    pub nonce: &'a [u8; 16],
    /// Who may answer: the service's own id of the person.
    pub person: &'a str,
    /// Who put the question: the service's own id of the program's user.
    pub program: &'a str,
    /// From when on an answer counts, in milliseconds since 1970 by the
    /// service's clock.
    pub from_ms: i64,
    /// Until when.
    pub until_ms: i64,
}

/// What came back, as the service told of it.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    /// Who wrote it: the service's own id.
    pub sender: &'a str,
    /// The code in it, as it was typed.
    pub code: &'a str,
    /// When, in milliseconds since 1970 by the service's clock.
    pub written_ms: i64,
    /// Whether it was written anew since: what it said before is not known.
    pub is_edited: bool,
}

/// Why a reply proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoProof {
    /// Program and person are one user, so that either could have written it.
    #[error(
        "the question was put by the same user who would answer it; the reply counts as nothing"
    )]
    SameUser,
    /// The program wrote it.
    #[error("the program that asks wrote it; the reply counts as nothing")]
    Program,
    /// Somebody else wrote it.
    #[error("somebody else wrote it; the reply counts as nothing")]
    SomebodyElse,
    /// It was edited.
    #[error("it was edited after it was written; the reply counts as nothing")]
    Edited,
    /// It was written before the question or after its time.
    #[error("it was not written while the question was open; the reply counts as nothing")]
    NotInTime,
    /// It is not the question's code.
    #[error("it has not the question's code; the reply counts as nothing")]
    WrongCode,
}

// === impl ReplyCodes ===

impl ReplyCodes {
    /// Codes under a key of their own, derived from `key`.
    #[must_use]
    pub fn new(key: &Key) -> Self {
        Self {
            key: key.derive("reply codes"),
        }
    }

    /// A new random number for a question.
    ///
    /// # Errors
    /// [`KeystoreError::Random`].
    pub fn nonce() -> Result<[u8; 16], KeystoreError> {
        let mut nonce = [0u8; 16];
        getrandom::fill(&mut nonce).map_err(|_| KeystoreError::Random)?;
        Ok(nonce)
    }

    /// The code of a question: six letters and digits, for the person alone.
    #[must_use]
    pub fn code(&self, put: &PutTo<'_>) -> String {
        let mac = self.key.mac(&[
            b"reply code",
            put.question,
            put.nonce,
            put.person.as_bytes(),
            put.program.as_bytes(),
            &put.from_ms.to_le_bytes(),
            &put.until_ms.to_le_bytes(),
        ]);
        let letter = |byte: &u8| char::from(LETTERS[usize::from(byte & 31)]);
        mac.iter().take(LENGTH).map(letter).collect()
    }

    /// Whether a typed code is the question's, in constant time. Case and
    /// look-alikes do not matter.
    #[must_use]
    pub fn is_code(&self, put: &PutTo<'_>, typed: &str) -> bool {
        let typed = normalised(typed);
        typed.len() == LENGTH && bool::from(self.code(put).as_bytes().ct_eq(typed.as_bytes()))
    }

    /// Takes a reply for a person's word. Who wrote it is looked at first, so
    /// that nobody else learns whether a code is right.
    ///
    /// # Errors
    /// See [`NoProof`].
    pub fn prove(&self, put: &PutTo<'_>, reply: &Reply<'_>) -> Result<HumanProof, NoProof> {
        if put.person.eq_ignore_ascii_case(put.program) || put.person.is_empty() {
            return Err(NoProof::SameUser);
        }
        if reply.sender.eq_ignore_ascii_case(put.program) {
            return Err(NoProof::Program);
        }
        if !reply.sender.eq_ignore_ascii_case(put.person) {
            return Err(NoProof::SomebodyElse);
        }
        if !self.is_code(put, reply.code) {
            return Err(NoProof::WrongCode);
        }
        if reply.is_edited {
            return Err(NoProof::Edited);
        }
        if reply.written_ms < put.from_ms || reply.written_ms >= put.until_ms {
            return Err(NoProof::NotInTime);
        }
        Ok(HumanProof::of("teams-reply"))
    }
}

fn normalised(typed: &str) -> String {
    let letters = typed.chars().take(LENGTH + 1);
    letters
        .map(|letter| match letter.to_ascii_uppercase() {
            'O' => '0',
            'I' | 'L' => '1',
            letter => letter,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUT: PutTo<'_> = PutTo {
        question: b"7K2QXM",
        nonce: &[7; 16],
        person: "11111111-aaaa",
        program: "22222222-bbbb",
        from_ms: 1_000,
        until_ms: 2_000,
    };

    fn codes() -> ReplyCodes {
        ReplyCodes::new(&Key::from_bytes([3; 32]))
    }

    #[test]
    fn only_the_persons_own_reply_in_time_is_a_proof() {
        let codes = codes();
        let code = codes.code(&PUT);
        let reply = Reply {
            sender: "11111111-AAAA",
            code: &code,
            written_ms: 1_500,
            is_edited: false,
        };
        let proof = codes.prove(&PUT, &reply).expect("the person's word");
        assert_eq!(proof.how(), "teams-reply");
        let cases: [(PutTo<'_>, Reply<'_>, NoProof); 8] = [
            (
                PutTo {
                    program: PUT.person,
                    ..PUT
                },
                reply,
                NoProof::SameUser,
            ),
            (PutTo { person: "", ..PUT }, reply, NoProof::SameUser),
            (
                PUT,
                Reply {
                    sender: PUT.program,
                    ..reply
                },
                NoProof::Program,
            ),
            (
                PUT,
                Reply {
                    sender: "3",
                    ..reply
                },
                NoProof::SomebodyElse,
            ),
            (
                PUT,
                Reply {
                    is_edited: true,
                    ..reply
                },
                NoProof::Edited,
            ),
            (
                PUT,
                Reply {
                    written_ms: 999,
                    ..reply
                },
                NoProof::NotInTime,
            ),
            (
                PUT,
                Reply {
                    written_ms: 2_000,
                    ..reply
                },
                NoProof::NotInTime,
            ),
            (
                PUT,
                Reply {
                    code: "000000",
                    ..reply
                },
                NoProof::WrongCode,
            ),
        ];
        for (put, reply, wanted) in cases {
            let found = codes.prove(&put, &reply).expect_err("no proof");
            assert_eq!(found, wanted, "{put:?} {reply:?}");
        }
    }

    #[test]
    fn somebody_else_does_not_learn_whether_a_code_is_right() {
        let codes = codes();
        let right = codes.code(&PUT);
        for code in [right.as_str(), "000000"] {
            let reply = Reply {
                sender: "3",
                code,
                written_ms: 1_500,
                is_edited: false,
            };
            let found = codes.prove(&PUT, &reply).expect_err("no proof");
            assert_eq!(found, NoProof::SomebodyElse);
        }
    }

    #[test]
    fn a_code_is_of_one_question_and_is_read_as_people_type_it() {
        let codes = codes();
        let code = codes.code(&PUT);
        assert!(codes.is_code(&PUT, &code.to_lowercase()));
        assert!(codes.is_code(&PUT, &code.replace('0', "o").replace('1', "l")));
        for wrong in ["", &code[..5], &format!("{code}0"), "ääääää"] {
            assert!(!codes.is_code(&PUT, wrong), "{wrong}");
        }
        for other in [
            PutTo {
                question: b"other",
                ..PUT
            },
            PutTo {
                nonce: &[8; 16],
                ..PUT
            },
            PutTo { person: "3", ..PUT },
            PutTo {
                program: "3",
                ..PUT
            },
            PutTo { until_ms: 3, ..PUT },
        ] {
            assert!(!codes.is_code(&other, &code), "{other:?}");
        }
        let elsewhere = ReplyCodes::new(&Key::from_bytes([4; 32]));
        assert!(!elsewhere.is_code(&PUT, &code), "another data directory");
    }
}
