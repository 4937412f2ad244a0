//! The group commit: many callers, several runtimes, leaders that vanish.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::*;

fn slow_sync(file: &File) -> io::Result<()> {
    // tidy: a slow disk, slow enough that syncs leave the runtime's thread.
    std::thread::sleep(Duration::from_millis(6));
    file.sync_data()
}

fn three_runtimes(place: &Place, (store, ledger): (Arc<Store>, Ledger), calls: usize) {
    let threads: Vec<_> = (0..3)
        .map(|runtime| {
            let ledger = ledger.clone();
            std::thread::spawn(move || {
                block_on(async {
                    let mut calls_in_flight = tokio::task::JoinSet::new();
                    for call in 0..calls {
                        let ledger = ledger.clone();
                        calls_in_flight.spawn(async move {
                            let asked = asked(["a", "b"][(runtime + call) % 2]);
                            let durability = [Durability::Disk, Durability::PageCache][call % 2];
                            one_call(&ledger, &asked, durability).await;
                        });
                    }
                    calls_in_flight.join_all().await;
                });
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("no panic");
    }
    block_on(ledger.flush()).expect("flushed");
    drop((ledger, store));
    let report = place.verify();
    assert!(report.is_intact(), "{report:?}");
    let calls = 3 * calls as u64;
    assert_eq!((report.pairs, report.records), (calls, 2 * calls));
}

#[test]
fn three_runtimes_with_two_hundred_calls_each_leave_only_pairs() {
    let place = place();
    three_runtimes(&place, place.open(), 200);
}

#[test]
fn a_slow_disk_serves_three_runtimes_just_the_same() {
    let place = place();
    three_runtimes(&place, place.open_with(slow_sync), 40);
}

#[test]
fn a_store_on_another_machine_serves_three_runtimes_just_the_same() {
    let place = place();
    three_runtimes(&place, place.open_away(), 200);
}

#[test]
fn a_runtime_that_ends_while_it_commits_for_others_lets_no_one_wait() {
    let place = place();
    let (_store, ledger) = place.open_away();
    for _ in 0..20 {
        let other = ledger.clone();
        let short = std::thread::spawn(move || {
            block_on(async {
                let asked = asked("a");
                let intent = other.intent(&asked.intent(&other), Durability::PageCache);
                let patience = tokio::task::yield_now();
                tokio::select! {
                    biased;
                    ticket = intent => drop(ticket),
                    () = patience => {}
                }
            });
        });
        block_on(one_call(&ledger, &asked("b"), Durability::Disk));
        short.join().expect("no panic");
    }
    block_on(ledger.flush()).expect("flushed");
    block_on(ledger.flush()).expect("flushed");
    let report = place.verify();
    assert!(report.is_intact(), "{report:?}");
    assert!(report.pairs >= 20 && report.open == 0, "{report:?}");
}

static SYNCS: AtomicUsize = AtomicUsize::new(0);

fn counted_sync(file: &File) -> io::Result<()> {
    SYNCS.fetch_add(1, Ordering::SeqCst);
    file.sync_data()
}

#[test]
fn those_who_come_one_after_the_other_share_one_sync() {
    let place = place();
    let (_store, ledger) = place.open_with(counted_sync);
    block_on(one_call(&ledger, &asked("a"), Durability::Disk));
    let before = SYNCS.load(Ordering::SeqCst);
    block_on(async {
        let mut calls = tokio::task::JoinSet::new();
        for turn in [0, 0, 1, 2, 3, 4] {
            let ledger = ledger.clone();
            calls.spawn(async move {
                for _ in 0..turn {
                    tokio::task::yield_now().await;
                }
                one_call(&ledger, &asked("a"), Durability::Disk).await;
            });
        }
        calls.join_all().await;
    });
    assert_eq!(SYNCS.load(Ordering::SeqCst) - before, 1);
    block_on(ledger.flush()).expect("flushed");
    assert_eq!(place.verify().pairs, 7);
}

/// A call that is under way, beside which nobody is alone.
fn under_way(ledger: &Ledger, asked: &Asked) -> Ticket {
    block_on(ledger.intent(&asked.intent(ledger), Durability::PageCache)).expect("recorded")
}

#[test]
fn one_alone_gives_no_turn_away_for_others() {
    let place = place();
    let (_store, ledger) = place.open();
    let asked = asked("a");
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..2 {
        let mut alone = pin!(ledger.intent(&asked.intent(&ledger), Durability::PageCache));
        let Poll::Ready(ticket) = alone.as_mut().poll(&mut context) else {
            panic!("it gave a turn away");
        };
        let mut second = pin!(ledger.intent(&asked.intent(&ledger), Durability::PageCache));
        assert!(second.as_mut().poll(&mut context).is_pending());
        let Poll::Ready(second) = second.as_mut().poll(&mut context) else {
            panic!("it gave more than one turn away");
        };
        for ticket in [ticket, second] {
            ledger.outcome(ticket.expect("recorded"), &OutcomeRecord::bare(Status::Ok));
        }
    }
    let mut for_disk = pin!(ledger.intent(&asked.intent(&ledger), Durability::Disk));
    assert!(for_disk.as_mut().poll(&mut context).is_pending());
}

#[test]
fn a_leader_that_is_dropped_lets_no_one_wait() {
    let place = place();
    let (_store, ledger) = place.open();
    let asked = asked("a");
    for durability in [Durability::PageCache, Durability::Disk] {
        let before = place.verify();
        let other = under_way(&ledger, &asked);
        let mut context = Context::from_waker(Waker::noop());
        let mut leader = Box::pin(ledger.intent(&asked.intent(&ledger), durability));
        let mut follower = pin!(ledger.intent(&asked.intent(&ledger), durability));
        assert!(leader.as_mut().poll(&mut context).is_pending());
        assert!(follower.as_mut().poll(&mut context).is_pending());
        drop(leader);
        let Poll::Ready(ticket) = follower.as_mut().poll(&mut context) else {
            panic!("the follower waits for ever");
        };
        for ticket in [other, ticket.expect("recorded")] {
            ledger.outcome(ticket, &OutcomeRecord::bare(Status::Ok));
        }
        block_on(ledger.flush()).expect("flushed");
        let after = place.verify();
        // The dropped one may be recorded or not, but never half.
        assert_eq!(after.open, 0);
        assert!(after.pairs > before.pairs + 1);
        assert!(after.is_intact());
    }
}

#[test]
fn callers_that_give_up_at_any_point_leave_no_call_open() {
    for sync in [File::sync_data, slow_sync as fn(&File) -> io::Result<()>] {
        let place = place();
        let (_store, ledger) = place.open_with(sync);
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let ledger = ledger.clone();
                std::thread::spawn(move || block_on(give_up(&ledger)))
            })
            .collect();
        for thread in threads {
            thread.join().expect("no panic");
        }
        block_on(ledger.flush()).expect("flushed");
        // A sync that was under way may have handed out tickets after the first.
        block_on(ledger.flush()).expect("flushed");
        let report = place.verify();
        assert!(report.is_intact(), "{report:?}");
        assert_eq!(report.open, 0);
        assert!(report.pairs >= 3 * 30, "{report:?}");
    }
}

/// Sixty calls, of which every second gives up after some ticks of its runtime.
async fn give_up(ledger: &Ledger) {
    let mut calls = tokio::task::JoinSet::new();
    for call in 0..60 {
        let ledger = ledger.clone();
        calls.spawn(async move {
            let asked = asked("a");
            let durability = [Durability::Disk, Durability::PageCache][call / 2 % 2];
            let intent = ledger.intent(&asked.intent(&ledger), durability);
            if call % 2 == 0 {
                let ticket = intent.await.expect("recorded");
                ledger.outcome(ticket, &OutcomeRecord::bare(Status::Ok));
                return;
            }
            let patience = async {
                for _ in 0..call % 5 {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                biased;
                ticket = intent => drop(ticket),
                () = patience => {}
            }
        });
    }
    calls.join_all().await;
}

#[test]
fn a_follower_that_is_dropped_is_not_recorded_or_closed() {
    let place = place();
    let (_store, ledger) = place.open();
    let asked = asked("a");
    let other = under_way(&ledger, &asked);
    let mut context = Context::from_waker(Waker::noop());
    let mut leader = pin!(ledger.intent(&asked.intent(&ledger), Durability::PageCache));
    let mut follower = Box::pin(ledger.intent(&asked.intent(&ledger), Durability::PageCache));
    assert!(leader.as_mut().poll(&mut context).is_pending());
    assert!(follower.as_mut().poll(&mut context).is_pending());
    drop(follower);
    let Poll::Ready(Ok(ticket)) = leader.as_mut().poll(&mut context) else {
        panic!("the leader did not commit");
    };
    // This one's ticket lies in its channel when it is dropped.
    let mut late = Box::pin(ledger.intent(&asked.intent(&ledger), Durability::PageCache));
    assert!(late.as_mut().poll(&mut context).is_pending());
    block_on(ledger.flush()).expect("flushed");
    drop(late);
    for ticket in [other, ticket] {
        ledger.outcome(ticket, &OutcomeRecord::bare(Status::Ok));
    }
    block_on(ledger.flush()).expect("flushed");
    let report = place.verify();
    assert!(report.is_intact());
    assert_eq!((report.intents, report.pairs, report.open), (3, 3, 0));
}

#[test]
fn too_many_callers_are_sent_away_and_the_others_served() {
    let place = place();
    let (_store, ledger) = place.open();
    let asked = asked("a");
    let other = under_way(&ledger, &asked);
    let mut context = Context::from_waker(Waker::noop());
    let mut callers: Vec<_> = (0..4_096)
        .map(|_| Box::pin(ledger.intent(&asked.intent(&ledger), Durability::PageCache)))
        .collect();
    for caller in &mut callers {
        assert!(caller.as_mut().poll(&mut context).is_pending());
    }
    let refused = block_on(ledger.intent(&asked.intent(&ledger), Durability::PageCache));
    assert!(matches!(refused, Err(LedgerError::Busy { waiting: 4_096 })));
    for caller in &mut callers {
        let Poll::Ready(ticket) = caller.as_mut().poll(&mut context) else {
            panic!("a caller waits for ever");
        };
        ledger.outcome(ticket.expect("recorded"), &OutcomeRecord::bare(Status::Ok));
    }
    drop(callers);
    ledger.outcome(other, &OutcomeRecord::bare(Status::Ok));
    block_on(one_call(&ledger, &asked, Durability::PageCache));
    block_on(ledger.flush()).expect("flushed");
    let report = place.verify();
    assert!(report.is_intact());
    assert_eq!(report.pairs, 4_098);
}
