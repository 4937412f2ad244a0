//! Under whose identity records are made.

use legation_core::{Attribution, Identity};

use super::*;
use crate::queue::{Duty, Pending};

/// Whom records name: attribution, agent and sponsor, `-` for what is absent.
fn named(record: &Record) -> String {
    let members = [&record.attribution, &record.agent_id, &record.sponsor];
    let members = members.map(|member| member.as_deref().unwrap_or("-"));
    members.join(" ")
}

fn identity(attribution: Attribution, agent: Option<&str>, sponsor: Option<&str>) -> Identity {
    Identity {
        attribution,
        agent_id: agent.map(Into::into),
        sponsor: sponsor.map(Into::into),
    }
}

#[test]
fn every_kind_of_record_names_who_acts() {
    let agent = identity(Attribution::AgentUser, Some("agent-1"), Some("human-1"));
    let other = identity(Attribution::ApplicationForHuman, None, Some("hu\"man-2"));
    let nobody = Identity::default();
    let a = || EntityId::new("a");
    let b = || EntityId::new("b");
    let one = "agent_user agent-1 human-1";
    let two = "application_for_human - hu\"man-2";
    // The accounts; who then acts for `a`, for `b`, and for neither.
    let cases = [
        (vec![], ["none - -"; 3]),
        (vec![(a(), agent.clone())], [one; 3]),
        (vec![(a(), nobody.clone())], ["none - -"; 3]),
        (
            vec![(a(), agent.clone()), (b(), other.clone())],
            [one, two, "none - -"],
        ),
        (
            vec![(a(), nobody), (a(), agent), (b(), other)],
            [one, two, "none - -"],
        ),
    ];
    for (accounts, expected) in cases {
        let place = place();
        let (_store, ledger) = place.open();
        ledger.set_identities(Identities::new(&accounts));
        for (entity, expected) in ["a", "b", "all"].into_iter().zip(expected) {
            let asked = asked(entity);
            block_on(async {
                one_call(&ledger, &asked, Durability::Disk).await;
                let refused = Refused {
                    intent: asked.intent(&ledger),
                    code: None,
                    reason: "no",
                };
                ledger.refused(&refused).await.expect("recorded");
                let note = Note::new(&asked.entity, "policy", "version 2");
                ledger.note(&note).await.expect("recorded");
                ledger.flush().await.expect("flushed");
            });
            let entries = ledger.tail(4).expect("read");
            let records: Vec<Record> = entries.iter().filter_map(Entry::record).collect();
            let mut kinds: Vec<Kind> = records.iter().map(|record| record.kind).collect();
            kinds.sort_by_key(|kind| format!("{kind:?}"));
            assert_eq!(
                kinds,
                [Kind::Intent, Kind::Note, Kind::Outcome, Kind::Refused]
            );
            for record in &records {
                assert_eq!(named(record), expected, "{entity}: {record:?}");
            }
        }
        assert_eq!(oracle::both(&place, None, &[]), []);
    }
}

#[test]
fn an_outcome_names_whom_its_intent_named_whoever_acts_by_then() {
    let place = place();
    let agent = identity(Attribution::AgentForHuman, Some("agent-1"), Some("human-1"));
    let asked = asked("a");
    let (store, ledger) = place.open();
    ledger.set_identities(Identities::new(&[(EntityId::new("a"), agent)]));
    block_on(async {
        let open = |durability| ledger.intent(&asked.intent(&ledger), durability);
        let ticket = open(Durability::Disk).await.expect("recorded");
        // As when the process is killed.
        std::mem::forget(open(Durability::Disk).await.expect("recorded"));
        ledger.set_identities(Identities::default());
        ledger.outcome(ticket, &OutcomeRecord::bare(Status::Ok));
        one_call(&ledger, &asked, Durability::Disk).await;
        ledger.flush().await.expect("flushed");
    });
    drop((store, ledger));
    let (_store, ledger) = place.open();
    let records = ledger.tail(10).expect("read");
    let records = records.iter().filter_map(Entry::record);
    let seen: Vec<String> = records
        .map(|record| format!("{:?} {}", record.kind, named(&record)))
        .collect();
    let (agent, none) = ("agent_for_human agent-1 human-1", "none - -");
    let expected = [
        format!("Intent {agent}"),
        format!("Intent {agent}"),
        format!("Outcome {agent}"),
        format!("Intent {none}"),
        format!("Outcome {none}"),
        format!("Outcome {agent}"),
    ];
    assert_eq!(seen, expected);
    assert_eq!(oracle::both(&place, None, &[]), []);
}

#[test]
fn records_from_before_there_were_identities_stay_valid() {
    let place = place();
    let (store, ledger) = place.open();
    let old = [
        r#""kind":"intent","call":"00000000000000ff-1","client":"claude","via":"http","server":"files","verb":"call_tool","item":"x","rule":"r""#,
        r#""kind":"note","topic":"policy","text":"version 1""#,
    ];
    let pending = old.map(|members| Pending {
        entity: EntityId::new("a"),
        at_ms: 1_700_000_000_000,
        members: members.into(),
        duty: Duty::Plain {
            durability: Durability::Disk,
            waiter: tokio::sync::oneshot::channel().0,
        },
    });
    ledger.inner.commit(pending.into()).expect("recorded");
    drop((store, ledger));
    // The call was still open: its outcome says no more than its intent.
    let (_store, ledger) = place.open();
    assert_eq!(ledger.swept(), 1);
    block_on(one_call(&ledger, &asked("a"), Durability::Disk));
    block_on(ledger.flush()).expect("flushed");
    let records = ledger.tail(10).expect("read");
    let seen: Vec<String> = records
        .iter()
        .filter_map(Entry::record)
        .map(|record| named(&record))
        .collect();
    assert_eq!(seen, ["- - -", "- - -", "- - -", "none - -", "none - -"]);
    assert_eq!(oracle::both(&place, None, &[]), []);
}
