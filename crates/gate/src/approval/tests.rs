use std::sync::Arc;
use std::time::Duration;

use legation_core::clock::{Clock as _, ManualClock, Wall};
use legation_core::{SharedClock, Via};
use legation_keystore::Key;
use legation_ledger::{Claim, Detail, Intent, Ledger, LedgerError, LedgerKeys};
use legation_policy::GrantId;
use legation_store::{ApprovalState, Store, StoreOptions};

use super::*;

const START: Wall = Wall(1_800_000_000_000);
const DAY: Duration = Duration::from_hours(24);

struct Bench {
    _dir: tempfile::TempDir,
    store: Arc<Store>,
    clock: Arc<ManualClock>,
    approvals: Approvals,
}

fn open(store: &Arc<Store>, clock: &Arc<ManualClock>) -> Approvals {
    Approvals::open(ApprovalsParts {
        store: Arc::clone(store),
        key: Key::from_bytes([3; 32]),
        clock: Arc::clone(clock) as SharedClock,
        journal: Arc::default(),
    })
    .expect("rows")
}

fn bench() -> Bench {
    let dir = tempfile::tempdir().expect("a folder");
    let store =
        Store::open(&dir.path().join("state.db"), StoreOptions::default()).expect("a store");
    let (store, clock) = (Arc::new(store), Arc::new(ManualClock::at(START)));
    Bench {
        approvals: open(&store, &clock),
        _dir: dir,
        store,
        clock,
    }
}

fn bound(arguments: u8) -> Bound {
    Bound {
        client: ClientId::new("claude"),
        on_behalf_of: None,
        server: ServerName::parse("mail").expect("a name"),
        verb: Verb::CallTool,
        item: "send".into(),
        entity: EntityId::new("personal"),
        definition: Some(DefinitionHash([1; 32])),
        arguments: [arguments; 32],
        policy_version: u64::MAX - 7,
    }
}

impl Bench {
    fn ask(&self, bound: Bound) -> (Approval, bool) {
        let code = crate::code::short().expect("random bytes");
        self.approvals
            .ask(bound, |bound, now_ms| {
                Ok(Approval {
                    id: ApprovalId::new(code),
                    bound,
                    seat: SeatId::new("seat"),
                    workspace: None,
                    has_session: true,
                    kind: AskKind::Permission,
                    rung: Rung::Execute,
                    lasting: vec![Answer::Session, Answer::Here, Answer::Always],
                    lasts_ms: None,
                    rule: "mail.asks".into(),
                    reason: "mail leaves the house".into(),
                    preview: r#"{"to":"someone"}"#.into(),
                    created_ms: now_ms,
                    expires_ms: now_ms + APPROVAL_TTL_MS,
                    state: State::Pending,
                    answered: None,
                })
            })
            .expect("asked")
    }

    fn say(&self, id: &ApprovalId, answer: Answer) -> Result<Answer, AnswerError> {
        self.approvals.answer(id, answer, Channel::Command)
    }

    fn granted(&self) -> usize {
        self.approvals.index().len()
    }

    fn again(&self) -> Approvals {
        open(&self.store, &self.clock)
    }
}

#[test]
fn the_same_call_finds_its_question_and_any_other_asks_anew() {
    let bench = bench();
    let (first, new) = bench.ask(bound(1));
    assert!(new);
    assert_eq!(bench.ask(bound(1)), (first.clone(), false));
    let others = [
        bound(2),
        Bound {
            client: ClientId::new("codex"),
            ..bound(1)
        },
        Bound {
            on_behalf_of: Some(ClientId::new("chief")),
            ..bound(1)
        },
        Bound {
            entity: EntityId::new("other"),
            ..bound(1)
        },
        Bound {
            definition: Some(DefinitionHash([2; 32])),
            ..bound(1)
        },
        Bound {
            policy_version: 1,
            ..bound(1)
        },
    ];
    for other in others {
        let (asked, new) = bench.ask(other);
        assert!(new && asked.id != first.id);
    }
    assert_eq!(bench.approvals.list().len(), 7);
}

#[test]
fn an_answer_grants_what_it_says_and_a_denial_wins_until_it_is_used() {
    for (answer, scope) in [
        (Answer::Once, GrantScope::Once),
        (Answer::Session, GrantScope::Session),
        (Answer::Always, GrantScope::Always),
    ] {
        let bench = bench();
        let (asked, _) = bench.ask(bound(1));
        bench.say(&asked.id, answer).expect("taken");
        let granted: Vec<_> = bench.approvals.index().iter().cloned().collect();
        assert_eq!(granted.len(), 1);
        assert_eq!(granted[0].scope, scope);
        assert_eq!(granted[0].definition, asked.bound.definition);
        assert_eq!(granted[0].args_digest.is_some(), answer == Answer::Once);
        assert!(
            bench.say(&asked.id, Answer::Once).is_err(),
            "answered before"
        );
        bench.say(&asked.id, Answer::Deny).expect("a denial wins");
        assert_eq!(bench.granted(), 0, "{answer}");
        assert_eq!(bench.again().index().len(), 0, "{answer}, in the store too");
        assert!(
            bench.say(&asked.id, Answer::Always).is_err(),
            "and it stands"
        );
    }
}

#[test]
fn an_answer_that_is_bound_to_what_the_client_has_not_grants_the_one_call() {
    let bench = bench();
    let (asked, _) = bench.ask(bound(1));
    assert_eq!(
        bench.say(&asked.id, Answer::Here).expect("taken"),
        Answer::Once
    );
    let granted: Vec<_> = bench.approvals.index().iter().cloned().collect();
    assert_eq!(granted.len(), 1);
    assert_eq!(
        (granted[0].scope, granted[0].uses_left),
        (GrantScope::Once, Some(1))
    );
    assert!(matches!(
        bench.say(&ApprovalId::new("NOSUCH"), Answer::Once),
        Err(AnswerError::NotOpen(NotOpen::Unknown))
    ));
    let words: Vec<_> = asked.answers().map(Answer::as_str).collect();
    assert_eq!(words, ["once", "session", "always", "deny"]);
}

#[test]
fn what_was_asked_and_granted_survives_the_hub() {
    let bench = bench();
    let (waits, _) = bench.ask(bound(1));
    let (once, _) = bench.ask(bound(2));
    let (always, _) = bench.ask(bound(3));
    bench.say(&once.id, Answer::Once).expect("taken");
    bench.say(&always.id, Answer::Always).expect("taken");
    let again = bench.again();
    assert_eq!(again.list(), vec![waits]);
    assert_eq!(again.index().len(), 2);
    assert_eq!(again.grants().len(), 1);
    assert!(again.reported().is_empty(), "{:?}", again.reported());
}

#[test]
fn rows_that_were_edited_by_hand_are_not_honoured_and_are_reported() {
    let edits = [
        (
            "UPDATE approvals SET state = 'granted', decided_ms = 1800000000001, decided_by = 'command once 00'",
            0,
        ),
        ("UPDATE approvals SET args_digest = zeroblob(32)", 0),
        ("UPDATE approvals SET client = 'codex'", 0),
        ("UPDATE approvals SET expires_ms = expires_ms + 1000", 0),
        ("UPDATE grants SET client = 'codex'", 1),
        ("UPDATE grants SET item = 'erase'", 1),
        ("UPDATE grants SET definition = zeroblob(32)", 1),
        ("UPDATE grants SET uses_left = 5", 1),
        (
            "UPDATE grants SET scope = 'always', seat = NULL, expires_ms = NULL, policy_version = NULL",
            1,
        ),
        ("UPDATE grants SET expires_ms = expires_ms + 1", 1),
    ];
    for (edit, grant) in edits {
        let bench = bench();
        let (asked, _) = bench.ask(bound(1));
        if grant == 1 {
            bench.say(&asked.id, Answer::Session).expect("taken");
            assert_eq!(bench.again().index().len(), 1);
        }
        let path = bench._dir.path().join("state.db");
        rusqlite::Connection::open(path)
            .and_then(|hand| hand.execute(edit, []))
            .expect(edit);
        let again = bench.again();
        assert_eq!(again.index().len(), 0, "{edit}");
        assert_eq!(again.reported().len(), 1, "{edit}: {:?}", again.reported());
    }
}

#[test]
fn expiry_and_a_clock_that_is_moved_void_and_never_prolong() {
    let bench = bench();
    let (asked, _) = bench.ask(bound(1));
    bench.say(&asked.id, Answer::Once).expect("taken");
    bench.clock.advance(DAY);
    bench.approvals.sweep();
    assert_eq!(bench.granted(), 0);
    assert!(bench.approvals.get(&asked.id).is_none());
    let (anew, new) = bench.ask(bound(1));
    assert!(new, "and the call asks anew");
    // Set back a day, what is dated later than now is not honoured.
    let back = Arc::new(ManualClock::at(START));
    assert!(open(&bench.store, &back).get(&anew.id).is_none());
    assert_eq!(back.wall(), START);
}

#[test]
fn other_rules_void_what_was_asked_under_the_old_ones() {
    let bench = bench();
    let (waits, _) = bench.ask(bound(1));
    let (once, _) = bench.ask(bound(2));
    bench.say(&once.id, Answer::Once).expect("taken");
    bench.approvals.policy_changed(2);
    assert_eq!(bench.granted(), 0);
    assert!(bench.say(&waits.id, Answer::Once).is_err());
    let row = bench.store.approval_get(once.id.as_str());
    assert_eq!(
        row.expect("read").expect("a row").state,
        ApprovalState::Voided
    );
}

#[test]
fn a_client_cannot_bury_the_question_that_matters() {
    let bench = bench();
    for number in 0..64 {
        bench.ask(bound(number));
    }
    let full = bench
        .approvals
        .ask(bound(200), |_, _| unreachable_question());
    assert!(full.is_err());
    let other = Bound {
        client: ClientId::new("codex"),
        ..bound(1)
    };
    assert!(bench.ask(other).1, "another client may still ask");
}

fn unreachable_question() -> Result<Approval, AnswerError> {
    Err(NotOpen::Full.into())
}

#[test]
fn only_a_word_that_was_offered_is_an_answer() {
    let bench = bench();
    let (asked, _) = bench.ask(bound(1));
    let cases = [
        (
            r#"{"action":"accept","content":{"decision":"once"}}"#,
            Some(Answer::Once),
        ),
        (
            r#"{"action":"accept","content":{"decision":"deny"}}"#,
            Some(Answer::Deny),
        ),
        (r#"{"action":"accept","content":{"decision":"here"}}"#, None),
        (r#"{"action":"accept","content":{"decision":true}}"#, None),
        (r#"{"action":"accept","content":{}}"#, None),
        (r#"{"action":"accept"}"#, None),
        (r#"{"action":"decline"}"#, None),
        (r#"{"action":"cancel","content":{"decision":"once"}}"#, None),
        ("[]", None),
    ];
    for (text, answer) in cases {
        let response = legation_wire::json::Raw::from_static(text);
        assert_eq!(read_answer(&asked, &response), answer, "{text}");
    }
}

#[test]
fn a_question_hides_nothing_of_what_it_asks() {
    let bench = bench();
    let (mut asked, _) = bench.ask(bound(1));
    asked.preview = "{\"a\":\"\u{202e}\u{e0041}\u{1b}[2J\u{200b}\"}".into();
    let text = question(&asked, &asked.preview).params.as_text().to_owned();
    for hidden in ['\u{202e}', '\u{e0041}', '\u{1b}', '\u{200b}'] {
        assert!(!text.contains(hidden), "{text}");
    }
    assert!(text.contains(asked.id.as_str()));
}

#[test]
fn of_a_thousand_uses_at_once_exactly_one_is_recorded() {
    let bench = bench();
    let (asked, _) = bench.ask(bound(1));
    bench.say(&asked.id, Answer::Once).expect("taken");
    let ledger = Ledger::open(
        Arc::clone(&bench.store),
        LedgerKeys::from_bytes(&[7; 32]),
        Arc::clone(&bench.clock) as SharedClock,
    )
    .expect("a ledger");
    let used = Approvals::used_by(&GrantId::new(asked.id.as_str())).expect("an approval");
    assert_eq!(used, asked.id);
    let intent = |call| Intent {
        call,
        entity: &asked.bound.entity,
        client: &asked.bound.client,
        via: Via::Http,
        server: Some(&asked.bound.server),
        verb: legation_ledger::Verb::CallTool,
        item: "send",
        definition: None,
        rule: "mail.asks",
        args: None,
        detail: Detail::default(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let (mut tickets, mut spent) = (Vec::new(), 0);
    runtime.block_on(async {
        let uses = (0..1000).map(|_| {
            let call = ledger.next_call();
            ledger.intent_claiming(&intent(call), Claim::Approval(used.as_str()))
        });
        for end in futures_util::future::join_all(uses).await {
            match end {
                Ok(ticket) => tickets.push(ticket),
                Err(LedgerError::Claimed { .. }) => spent += 1,
                Err(error) => panic!("{error}"),
            }
        }
    });
    assert_eq!((tickets.len(), spent), (1, 999));
    bench.approvals.consumed(&used);
    assert_eq!(bench.granted(), 0);
    assert_eq!(bench.again().index().len(), 0, "and after a restart");
    drop(tickets);
}
