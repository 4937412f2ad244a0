use std::future::Future as _;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};

use super::{Cancel, CancelReason};

/// Counts how often it is woken.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Wake for Counting {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn counting() -> (Arc<Counting>, Waker) {
    let counting = Arc::new(Counting::default());
    let waker = Waker::from(Arc::clone(&counting));
    (counting, waker)
}

fn entries(cancel: &Cancel) -> usize {
    let lists = cancel.node.lists();
    usize::from(lists.first.is_some()) + lists.others.len()
}

#[test]
fn a_child_knows_its_parents_reason_and_the_parent_not_its_childs() {
    let parent = Cancel::new();
    let child = parent.child();
    let other = parent.child();
    child.cancel(CancelReason::ClientCancelled);
    assert_eq!(child.reason(), Some(CancelReason::ClientCancelled));
    assert_eq!((parent.reason(), other.reason()), (None, None));
    parent.cancel(CancelReason::Shutdown);
    assert_eq!(other.reason(), Some(CancelReason::Shutdown));
    assert_eq!(
        child.reason(),
        Some(CancelReason::Shutdown),
        "the graver reason wins"
    );
}

#[test]
fn the_graver_reason_wins_in_either_order() {
    use CancelReason::{ClientCancelled, Deadline, Disconnected, Shutdown};
    let all = [ClientCancelled, Disconnected, Deadline, Shutdown];
    for first in all {
        for second in all {
            let cancel = Cancel::new();
            cancel.cancel(first);
            cancel.cancel(second);
            assert_eq!(cancel.reason(), Some(first.max(second)));
        }
    }
}

#[test]
fn whoever_waits_is_woken_once_and_told_why() {
    let cancel = Cancel::new();
    let below = cancel.child().child();
    let (count, waker) = counting();
    let mut cx = Context::from_waker(&waker);
    let mut here = pin!(cancel.cancelled());
    let mut there = pin!(below.cancelled());
    for _ in 0..3 {
        assert_eq!(here.as_mut().poll(&mut cx), Poll::Pending);
        assert_eq!(there.as_mut().poll(&mut cx), Poll::Pending);
    }
    cancel.cancel(CancelReason::Deadline);
    cancel.cancel(CancelReason::ClientCancelled);
    assert_eq!(count.0.load(Ordering::SeqCst), 2, "once each");
    let why = Poll::Ready(CancelReason::Deadline);
    assert_eq!(here.as_mut().poll(&mut cx), why);
    assert_eq!(there.as_mut().poll(&mut cx), why);
}

#[test]
fn a_middle_that_is_gone_still_passes_it_on() {
    let top = Cancel::new();
    let middle = top.child();
    let bottom = middle.child();
    drop(middle);
    top.cancel(CancelReason::Shutdown);
    assert_eq!(bottom.reason(), Some(CancelReason::Shutdown));
}

#[test]
fn a_child_of_what_is_cancelled_is_cancelled() {
    let parent = Cancel::new();
    parent.cancel(CancelReason::Disconnected);
    let child = parent.child();
    assert_eq!(child.reason(), Some(CancelReason::Disconnected));
    assert_eq!(child.child().reason(), Some(CancelReason::Disconnected));
}

#[test]
fn the_last_waker_is_woken_and_none_that_gave_up() {
    let cancel = Cancel::new();
    let ((old, old_waker), (new, new_waker)) = (counting(), counting());
    let mut stays = pin!(cancel.cancelled());
    assert!(
        stays
            .as_mut()
            .poll(&mut Context::from_waker(&old_waker))
            .is_pending()
    );
    assert!(
        stays
            .as_mut()
            .poll(&mut Context::from_waker(&new_waker))
            .is_pending()
    );
    {
        let mut leaves = pin!(cancel.cancelled());
        assert!(
            leaves
                .as_mut()
                .poll(&mut Context::from_waker(&old_waker))
                .is_pending()
        );
    }
    cancel.cancel(CancelReason::Shutdown);
    let woken = |count: &Counting| count.0.load(Ordering::SeqCst);
    assert_eq!((woken(&old), woken(&new)), (0, 1));
}

#[test]
fn those_who_stay_are_woken_whoever_left_before_them() {
    const MANY: usize = 5;
    for leaves in 0..MANY {
        let cancel = Cancel::new();
        let mut waits: Vec<_> = (0..MANY)
            .map(|_| (counting(), Box::pin(cancel.cancelled())))
            .collect();
        for ((_, waker), wait) in &mut waits {
            let first = wait.as_mut().poll(&mut Context::from_waker(waker));
            assert!(first.is_pending());
        }
        let ((gone, _), wait) = waits.remove(leaves);
        drop(wait);
        for ((_, waker), wait) in &mut waits {
            let again = wait.as_mut().poll(&mut Context::from_waker(waker));
            assert!(again.is_pending());
        }
        assert_eq!(entries(&cancel), MANY - 1);
        cancel.cancel(CancelReason::Deadline);
        let woken = |count: &Counting| count.0.load(Ordering::SeqCst);
        assert_eq!(woken(&gone), 0);
        assert!(waits.iter().all(|((count, _), _)| woken(count) == 1));
    }
}

#[test]
fn a_task_that_waits_in_several_places_is_one_entry_until_it_left_them_all() {
    let cancel = Cancel::new();
    let (count, waker) = counting();
    let mut waits: Vec<_> = (0..3).map(|_| Box::pin(cancel.cancelled())).collect();
    for wait in &mut waits {
        let pending = wait.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(pending.is_pending());
    }
    assert_eq!(entries(&cancel), 1);
    drop(waits.remove(1));
    drop(waits.remove(0));
    assert_eq!(entries(&cancel), 1, "one place is left");
    cancel.cancel(CancelReason::Shutdown);
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
    drop(waits);
    assert_eq!(entries(&cancel), 0);
}

#[test]
fn a_place_that_moves_to_another_task_leaves_the_others_where_they_were() {
    let ((old, old_waker), (new, new_waker)) = (counting(), counting());
    let woken = |count: &Counting| count.0.load(Ordering::SeqCst);
    for moved in 0..3 {
        let (was_old, was_new) = (woken(&old), woken(&new));
        let cancel = Cancel::new();
        let mut waits: Vec<_> = (0..3).map(|_| Box::pin(cancel.cancelled())).collect();
        for wait in &mut waits {
            let pending = wait.as_mut().poll(&mut Context::from_waker(&old_waker));
            assert!(pending.is_pending());
        }
        let again = waits[moved]
            .as_mut()
            .poll(&mut Context::from_waker(&new_waker));
        assert!(again.is_pending());
        assert_eq!(entries(&cancel), 2);
        cancel.cancel(CancelReason::Shutdown);
        assert_eq!((woken(&old), woken(&new)), (was_old + 1, was_new + 1));
        // And where all have moved, nobody is left behind.
        let cancel = Cancel::new();
        let mut waits: Vec<_> = (0..3).map(|_| Box::pin(cancel.cancelled())).collect();
        for waker in [&old_waker, &new_waker] {
            for wait in &mut waits {
                let pending = wait.as_mut().poll(&mut Context::from_waker(waker));
                assert!(pending.is_pending());
            }
        }
        let (was_old, was_new) = (woken(&old), woken(&new));
        cancel.cancel(CancelReason::Shutdown);
        assert_eq!(woken(&old), was_old);
        assert!(woken(&new) > was_new);
    }
}

#[test]
fn what_is_gone_is_not_kept() {
    let parent = Cancel::new();
    let stays = parent.child();
    for _ in 0..100 {
        let child = parent.child();
        let (_, waker) = counting();
        let mut waits = pin!(child.cancelled());
        assert!(
            waits
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
    }
    assert_eq!(parent.node.lists().children.len(), 1);
    assert_eq!(entries(&parent), 0);
    drop(stays);
    assert!(parent.node.lists().children.is_empty());
}

#[test]
fn a_waker_that_holds_the_token_itself_may_be_the_last() {
    struct Holding(#[expect(dead_code, reason = "it is only dropped")] Cancel);
    impl Wake for Holding {
        fn wake(self: Arc<Self>) {}
    }
    let parent = Cancel::new();
    let child = parent.child();
    let waker = Waker::from(Arc::new(Holding(child.clone())));
    let mut waits = Box::pin(async move { child.cancelled().await });
    assert!(
        waits
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    drop(waker);
    parent.cancel(CancelReason::Shutdown);
    drop(waits);
    assert!(parent.node.lists().children.is_empty());
}

#[test]
fn children_made_and_waited_for_meanwhile_all_hear_of_it() {
    const THREADS: usize = 4;
    for _ in 0..200 {
        let cancel = Cancel::new();
        let start = Arc::new(Barrier::new(THREADS + 1));
        let waiters: Vec<_> = (0..THREADS)
            .map(|_| {
                let (cancel, start) = (cancel.clone(), Arc::clone(&start));
                std::thread::spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread()
                        .build()
                        .expect("a runtime");
                    start.wait();
                    let child = cancel.child();
                    runtime.block_on(child.cancelled())
                })
            })
            .collect();
        start.wait();
        cancel.cancel(CancelReason::Deadline);
        for waiter in waiters {
            let why = waiter.join().expect("no panic");
            assert_eq!(why, CancelReason::Deadline);
        }
    }
}
