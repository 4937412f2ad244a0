//! What an intent says as the one before it on the same thread did.
//!
//! An agent calls a tool again and again, and the intents of that differ in which call it is and
//! what it is given. The other members, a dozen of sixteen, are copied then and not written again.

use std::cell::RefCell;

use crate::line::Line;
use crate::members::ITEM_MAX;
use crate::record::{Detail, Intent};

thread_local! {
    static LAST: RefCell<Said> = const { RefCell::new(Said::new()) };
}

/// The last intent of a thread.
#[derive(Debug)]
struct Said {
    /// Everything its members were written of, part by part.
    of: Vec<u8>,
    /// The members.
    members: Vec<u8>,
    /// How much of them its outcome repeats.
    subject: usize,
}

/// Stands for a part that is absent; none is so long.
const ABSENT: u32 = u32::MAX;

/// Appends the members of an intent that stand between its call and its arguments, as `write` does,
/// which says how long the first of them are that the outcome repeats; so does this.
pub(crate) fn say(
    line: &mut Line,
    intent: &Intent<'_>,
    identity: &[u8],
    write: impl FnOnce(&mut Line) -> usize,
) -> usize {
    LAST.with_borrow_mut(|last| {
        if last.is_of(intent, identity) {
            line.members(&last.members);
            return last.subject;
        }
        let start = line.len() + 1;
        let subject = write(line);
        last.keep(intent, identity, line.since(start), subject);
        subject
    })
}

// === impl Said ===

impl Said {
    const fn new() -> Self {
        Self {
            of: Vec::new(),
            members: Vec::new(),
            subject: 0,
        }
    }

    fn is_of(&self, intent: &Intent<'_>, identity: &[u8]) -> bool {
        let mut rest = &*self.of;
        let is_same = parts(intent, identity, |part| {
            let Some((length, behind)) = rest.split_first_chunk() else {
                return false;
            };
            let part = match part {
                _ if *length != length_of(part).to_le_bytes() => return false,
                None => &[],
                Some(part) => part,
            };
            let Some((known, behind)) = behind.split_at_checked(part.len()) else {
                return false;
            };
            rest = behind;
            known == part
        });
        is_same && rest.is_empty()
    }

    fn keep(&mut self, intent: &Intent<'_>, identity: &[u8], members: &[u8], subject: usize) {
        self.of.clear();
        self.members.clear();
        self.subject = subject;
        let is_whole = parts(intent, identity, |part| {
            self.of.extend_from_slice(&length_of(part).to_le_bytes());
            self.of.extend_from_slice(part.unwrap_or_default());
            true
        });
        match is_whole {
            true => self.members.extend_from_slice(members),
            false => self.of.clear(),
        }
    }
}

fn length_of(part: Option<&[u8]>) -> u32 {
    part.map_or(ABSENT, |part| u32::try_from(part.len()).unwrap_or(ABSENT))
}

/// Shows everything that the members between call and arguments are written of, as long as `with`
/// wants more. Whether it was everything, and the same could be said again: what few intents have
/// is not kept.
fn parts(
    intent: &Intent<'_>,
    identity: &[u8],
    mut with: impl FnMut(Option<&[u8]>) -> bool,
) -> bool {
    // Named one by one, so that none can be forgotten.
    let Intent {
        call: _,
        entity: _,
        client,
        via,
        server,
        verb,
        item,
        definition,
        rule,
        args: _,
        detail,
    } = *intent;
    let Detail {
        labels,
        rung: None,
        grant: None,
        approval: None,
        proposal: None,
        provider: None,
        on_behalf_of: None,
        reason_code: None,
        policy,
        entities: None,
        traits,
        event,
        governance_result,
        tool_name: None,
        confidence: None,
        model: None,
        chat: None,
    } = detail
    else {
        return false;
    };
    let policy = policy.map(u64::to_le_bytes);
    item.len() <= ITEM_MAX
        && with(Some(item.as_bytes()))
        && with(server.map(|server| server.as_str().as_bytes()))
        && with(Some(client.as_str().as_bytes()))
        && with(Some(via.as_str().as_bytes()))
        && with(Some(verb.as_str().as_bytes()))
        && with(Some(identity))
        && with(definition.map(|hash| hash.as_slice()))
        && with(Some(rule.as_bytes()))
        && with(policy.as_ref().map(<[u8; 8]>::as_slice))
        && labels
            .iter()
            .all(|label| with(Some(label.as_str().as_bytes())))
        && with(None)
        && traits.iter().all(|word| with(Some(word.as_bytes())))
        && with(None)
        && with(event.map(str::as_bytes))
        && with(governance_result.map(str::as_bytes))
}

#[cfg(test)]
mod tests {
    use legation_core::{ClientId, EntityId, ServerName, Via};

    use super::*;
    use crate::record::{CallId, Verb};

    /// What one says, and what its outcome repeats of that.
    fn written((intent, identity): &(Intent<'_>, &[u8])) -> (String, String) {
        let (line, spans) = intent.members("intent", identity, Some(&[7; 32]));
        let members = line.into_members();
        let repeated = spans.of(&members, 1).subject.to_vec();
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (text(repeated), text(members))
    }

    #[expect(clippy::too_many_lines, reason = "a line for every member there is")]
    #[test]
    fn an_intent_says_the_same_whatever_was_said_before_it() {
        let (client, other) = (ClientId::new("claude"), ClientId::new("codex"));
        let server = ServerName::parse("files").expect("a name");
        let entities = ["a", "b", "ab"].map(EntityId::new);
        let long = "x".repeat(ITEM_MAX + 1);
        let base = Intent {
            call: CallId { start: 1, count: 2 },
            entity: &entities[0],
            client: &client,
            via: Via::Http,
            server: Some(&server),
            verb: Verb::CallTool,
            item: "read",
            definition: Some(&[1; 32]),
            rule: "own.servers",
            args: None,
            detail: Detail {
                labels: &entities[..1],
                policy: Some(1),
                traits: &["user", "trusted"],
                event: Some("MCP_TOOL_CALL"),
                governance_result: Some("allowed"),
                ..Detail::default()
            },
        };
        let detail = |change: fn(&mut Detail<'_>)| {
            let mut detail = base.detail;
            change(&mut detail);
            Intent { detail, ..base }
        };
        let mut all = vec![
            base,
            Intent {
                client: &other,
                ..base
            },
            Intent {
                via: Via::Socket,
                ..base
            },
            Intent {
                server: None,
                ..base
            },
            Intent {
                verb: Verb::GetPrompt,
                ..base
            },
            Intent {
                item: "reads",
                ..base
            },
            Intent { item: "", ..base },
            Intent {
                item: &long,
                ..base
            },
            Intent {
                definition: None,
                ..base
            },
            Intent {
                definition: Some(&[2; 32]),
                ..base
            },
            Intent {
                rule: "own.server",
                ..base
            },
            detail(|detail| detail.policy = None),
            detail(|detail| detail.policy = Some(2)),
            detail(|detail| detail.traits = &["usert", "rusted"]),
            detail(|detail| detail.traits = &[]),
            detail(|detail| detail.event = None),
            detail(|detail| (detail.event, detail.governance_result) = (None, None)),
            detail(|detail| detail.governance_result = Some("denied")),
            detail(|detail| detail.rung = Some("draft")),
            detail(|detail| detail.grant = Some("g1")),
            detail(|detail| detail.confidence = Some(0.5)),
            detail(|detail| detail.reason_code = Some("NO")),
        ];
        for labels in [&entities[..0], &entities[..2], &entities[2..]] {
            let detail = Detail {
                labels,
                ..base.detail
            };
            all.push(Intent { detail, ..base });
        }
        // A label and a trait are not each other.
        all.push(Intent {
            detail: Detail {
                labels: &[],
                traits: &["a", "user", "trusted"],
                ..base.detail
            },
            ..base
        });
        let who: [&[u8]; 2] = [br#""attribution":"none""#, br#""attribution":"human""#];
        let all: Vec<(Intent<'_>, &[u8])> = all
            .into_iter()
            .flat_map(|intent| who.map(|who| (intent, who)))
            .collect();
        // A thread of its own has said nothing before.
        let alone: Vec<(String, String)> = std::thread::scope(|scope| {
            let alone = all.iter().map(|one| scope.spawn(|| written(one)));
            alone.map(|one| one.join().expect("it says it")).collect()
        });
        for (before, _) in all.iter().zip(&alone) {
            for (one, alone) in all.iter().zip(&alone) {
                written(before);
                assert_eq!(written(one), *alone);
                assert_eq!(written(one), *alone, "again");
            }
        }
        for (at, one) in alone.iter().enumerate() {
            assert!(
                !alone[..at].contains(one),
                "{one:?} is told from the others"
            );
        }
    }

    #[test]
    fn what_is_said_again_is_known_again() {
        let client = ClientId::new("claude");
        let entity = EntityId::new("a");
        let intent = Intent {
            call: CallId { start: 1, count: 2 },
            entity: &entity,
            client: &client,
            via: Via::Http,
            server: None,
            verb: Verb::CallTool,
            item: "read",
            definition: None,
            rule: "own.servers",
            args: None,
            detail: Detail::default(),
        };
        let mut said = Said::new();
        assert!(!said.is_of(&intent, b"who"));
        said.keep(&intent, b"who", b"members", 3);
        let later = Intent {
            call: CallId { start: 1, count: 3 },
            ..intent
        };
        assert!(said.is_of(&later, b"who"));
        assert!(!said.is_of(&later, b"whom"));
        let detail = Detail {
            rung: Some("draft"),
            ..Detail::default()
        };
        said.keep(&Intent { detail, ..intent }, b"who", b"members", 3);
        assert!(
            !said.is_of(&intent, b"who"),
            "nothing is kept of what few have"
        );
    }
}
