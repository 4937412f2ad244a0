//! Who gets the floor, as tables and over random schedules.

mod random;

use std::time::{Duration, Instant};

use legation_api::tasks::Class;
use legation_core::clock::ManualClock;
use legation_core::{Clock as _, SessionId, TaskId, Wall};

use super::{Effect, Event, Full, Hold, Queue, QueueSettings, SLICE, TYPING, YIELD_MAX};

const SETTINGS: QueueSettings = QueueSettings {
    workers: 1,
    class_max: 100,
    age_after: Some(Duration::from_secs(600)),
    age_turns: 3,
};

/// A queue, and runs that do as they are told unless they are said to be stubborn.
struct Bench {
    queue: Queue,
    clock: ManualClock,
    /// Runs that do not say that they stand still.
    stubborn: bool,
}

fn id(name: &str) -> TaskId {
    TaskId::new(name)
}

fn session(name: &str) -> SessionId {
    SessionId::new(name)
}

impl Bench {
    fn new(settings: QueueSettings) -> Self {
        Self {
            queue: Queue::new(settings),
            clock: ManualClock::at(Wall(0)),
            stubborn: false,
        }
    }

    fn now(&self) -> Instant {
        self.clock.now()
    }

    /// What is done, in words; a run that is told to stop at once says that it has.
    fn handle(&mut self, event: Event) -> Vec<String> {
        let mut told = Vec::new();
        let mut effects = self.queue.handle(event, self.now());
        effects.reverse();
        while let Some(effect) = effects.pop() {
            told.push(match &effect {
                Effect::Start(id) => format!("start {id}"),
                Effect::Hold(id, Hold::Soft) => format!("soft {id}"),
                Effect::Hold(id, Hold::Hard) => format!("hard {id}"),
                Effect::Rest(id) => format!("rest {id}"),
                Effect::Resume(id) => format!("resume {id}"),
                Effect::Cancel(id) => format!("cancel {id}"),
                Effect::Drop(id) => format!("drop {id}"),
            });
            if let Effect::Hold(id, Hold::Hard) = effect
                && !self.stubborn
            {
                let mut more = self.queue.handle(Event::Yielded(id), self.clock.now());
                more.reverse();
                effects.splice(0..0, more);
            }
        }
        told
    }

    fn submit(&mut self, name: &str, of: &str, class: Class) -> Vec<String> {
        let ticket = self.queue.accept(&session(of), class).expect("room");
        self.handle(Event::Submitted(ticket, id(name)))
    }

    fn end(&mut self, name: &str) -> Vec<String> {
        self.handle(Event::Ended(id(name)))
    }

    fn pass(&mut self, time: Duration) -> Vec<String> {
        self.clock.advance(time);
        self.handle(Event::Tick)
    }
}

#[test]
fn who_rests_leaves_the_floor_to_others_and_asks_for_it_back() {
    let mut bench = Bench::new(SETTINGS);
    bench.submit("h1", "s", Class::Human);
    assert!(bench.submit("h2", "s", Class::Human).is_empty());
    let rests = |bench: &mut Bench, name: &str| bench.handle(Event::Rests(id(name)));
    let ready = |bench: &mut Bench, name: &str| bench.handle(Event::Ready(id(name)));
    assert_eq!(rests(&mut bench, "h1"), ["rest h1", "start h2"]);
    assert!(rests(&mut bench, "h1").is_empty(), "it does already");
    // However long it rests, it is not what waits.
    assert!(bench.pass(Duration::from_secs(3_600)).is_empty());
    assert!(ready(&mut bench, "h1").is_empty(), "another has the floor");
    assert_eq!(bench.end("h2"), ["resume h1"]);
    // What it waited for is there before anybody came.
    assert_eq!(rests(&mut bench, "h1"), ["rest h1"]);
    assert_eq!(ready(&mut bench, "h1"), ["resume h1"]);
    // It can be called off, and be over.
    assert_eq!(rests(&mut bench, "h1"), ["rest h1"]);
    assert_eq!(bench.handle(Event::CancelAll(session("s"))), ["cancel h1"]);
    assert!(bench.end("h1").is_empty());
    assert!(ready(&mut bench, "h1").is_empty());
    assert_eq!(bench.submit("h3", "s", Class::Human), ["start h3"]);
}

#[test]
fn people_come_first_then_the_hub_then_agents_each_in_order() {
    let mut bench = Bench::new(SETTINGS);
    assert_eq!(bench.submit("a1", "s", Class::Agent), ["start a1"]);
    assert!(bench.submit("a2", "t", Class::Agent).is_empty());
    assert!(bench.submit("s1", "u", Class::System).is_empty());
    assert!(bench.submit("a3", "t", Class::Agent).is_empty());
    assert_eq!(bench.queue.position(&id("s1")), Some(1));
    assert_eq!(bench.queue.position(&id("a3")), Some(3));
    assert_eq!(bench.queue.position(&id("a1")), None);
    assert_eq!(
        bench.submit("h1", "v", Class::Human),
        ["hard a1", "start h1"]
    );
    assert!(bench.submit("h2", "v", Class::Human).is_empty());
    assert_eq!(bench.end("h1"), ["start h2"]);
    assert_eq!(bench.end("h2"), ["start s1"]);
    // What was begun goes before what was not.
    assert_eq!(bench.end("s1"), ["resume a1"]);
    assert_eq!(bench.end("a1"), ["start a2"]);
    assert_eq!(bench.end("a2"), ["start a3"]);
    assert!(bench.end("a3").is_empty());
}

#[test]
fn a_session_is_one_conversation_however_many_workers_there_are() {
    let mut bench = Bench::new(QueueSettings {
        workers: 3,
        ..SETTINGS
    });
    assert_eq!(bench.submit("a1", "s", Class::Agent), ["start a1"]);
    assert!(bench.submit("a2", "s", Class::Agent).is_empty());
    assert_eq!(bench.submit("b1", "t", Class::Agent), ["start b1"]);
    // There is a free worker, and yet the run of the same session gives way, and no other does.
    assert_eq!(
        bench.submit("h1", "s", Class::Human),
        ["hard a1", "start h1"]
    );
    assert_eq!(bench.end("h1"), ["resume a1"]);
    assert_eq!(bench.end("b1"), Vec::<String>::new());
    assert_eq!(bench.end("a1"), ["start a2"]);
}

#[test]
fn nobody_interrupts_a_person_and_of_agents_the_last_gives_way() {
    let mut bench = Bench::new(QueueSettings {
        workers: 2,
        age_turns: 0,
        ..SETTINGS
    });
    assert_eq!(bench.submit("s1", "r", Class::System), ["start s1"]);
    bench.clock.advance(Duration::from_secs(1));
    assert_eq!(bench.submit("a1", "s", Class::Agent), ["start a1"]);
    assert_eq!(
        bench.submit("h1", "t", Class::Human),
        ["hard a1", "start h1"]
    );
    assert_eq!(
        bench.submit("h2", "u", Class::Human),
        ["hard s1", "start h2"]
    );
    assert!(bench.submit("h3", "v", Class::Human).is_empty());
    assert_eq!(bench.end("h2"), ["start h3"]);
    assert_eq!(bench.end("h1"), ["resume s1"]);
    assert_eq!(bench.end("h3"), ["resume a1"]);
}

#[test]
fn a_run_that_does_not_stop_is_passed_over() {
    let mut bench = Bench::new(SETTINGS);
    bench.stubborn = true;
    assert_eq!(bench.submit("a1", "s", Class::Agent), ["start a1"]);
    assert_eq!(bench.submit("h1", "s", Class::Human), ["hard a1"]);
    // Telling it again does not help.
    assert!(bench.submit("h2", "s", Class::Human).is_empty());
    assert_eq!(
        bench.queue.next_tick().map(|tick| tick - bench.now()),
        Some(YIELD_MAX)
    );
    assert_eq!(bench.pass(YIELD_MAX), ["start h1"]);
    // It says so late, and nothing follows from it.
    assert!(bench.handle(Event::Yielded(id("a1"))).is_empty());
    assert_eq!(bench.end("h1"), ["start h2"]);
    assert_eq!(bench.end("h2"), ["resume a1"]);
}

#[test]
fn a_key_keeps_agents_from_beginning_a_step_for_a_moment() {
    let mut bench = Bench::new(SETTINGS);
    let typing = || Event::Typing(session("s"));
    assert_eq!(bench.submit("a1", "s", Class::Agent), ["start a1"]);
    assert_eq!(bench.handle(typing()), ["soft a1"]);
    bench.clock.advance(TYPING / 2);
    assert!(bench.handle(typing()).is_empty());
    assert!(bench.pass(TYPING / 2).is_empty(), "the last key counts");
    // It had not come to the end of its step yet.
    assert_eq!(bench.pass(TYPING / 2), ["resume a1"]);
    // Now it has.
    assert_eq!(bench.handle(typing()), ["soft a1"]);
    assert!(bench.handle(Event::Yielded(id("a1"))).is_empty());
    assert!(bench.submit("a2", "t", Class::Agent).is_empty());
    // The message that was typed waits for nothing.
    assert_eq!(bench.submit("h1", "s", Class::Human), ["start h1"]);
    assert!(bench.end("h1").is_empty());
    assert_eq!(bench.pass(TYPING), ["resume a1"]);
}

#[test]
fn typing_elsewhere_takes_only_the_last_worker() {
    let mut bench = Bench::new(QueueSettings {
        workers: 2,
        ..SETTINGS
    });
    assert!(bench.handle(Event::Typing(session("s"))).is_empty());
    assert_eq!(bench.submit("a1", "t", Class::Agent), ["start a1"]);
    assert!(bench.submit("a2", "u", Class::Agent).is_empty());
    assert!(bench.submit("a3", "s", Class::Agent).is_empty());
    assert_eq!(bench.pass(TYPING), ["start a2"]);
}

#[test]
fn what_waited_too_long_comes_first_once_for_a_while() {
    let mut bench = Bench::new(SETTINGS);
    bench.submit("h1", "s", Class::Human);
    assert!(bench.submit("a1", "t", Class::Agent).is_empty());
    // Three turns of people it lets pass.
    assert!(bench.submit("h2", "s", Class::Human).is_empty());
    assert_eq!(bench.end("h1"), ["start h2"]);
    assert!(bench.submit("h3", "s", Class::Human).is_empty());
    assert_eq!(bench.end("h2"), ["start h3"]);
    assert!(bench.submit("h4", "s", Class::Human).is_empty());
    assert_eq!(bench.end("h3"), ["start h4"]);
    assert!(bench.submit("h5", "s", Class::Human).is_empty());
    assert_eq!(bench.end("h4"), ["start a1"]);
    // For a while it cannot be interrupted; then it can.
    assert!(bench.pass(SLICE / 2).is_empty());
    assert_eq!(bench.pass(SLICE / 2), ["hard a1", "start h5"]);
    // After so long it comes first again, whatever people say.
    assert!(bench.pass(SETTINGS.age_after.expect("set")).is_empty());
    assert!(bench.submit("h6", "s", Class::Human).is_empty());
    assert_eq!(bench.end("h5"), ["resume a1"]);
}

#[test]
fn nothing_is_due_once_nobody_can_be_interrupted_by_time() {
    let mut bench = Bench::new(QueueSettings {
        age_turns: 1,
        ..SETTINGS
    });
    bench.submit("h1", "s", Class::Human);
    assert!(bench.submit("a1", "t", Class::Agent).is_empty());
    assert!(bench.submit("h2", "s", Class::Human).is_empty());
    assert_eq!(bench.end("h1"), ["start h2"]);
    assert_eq!(bench.end("h2"), ["start a1"]);
    let due = bench.queue.next_tick().map(|tick| tick - bench.now());
    assert_eq!(due, Some(SLICE));
    assert!(bench.pass(SLICE).is_empty());
    // A time that passed would be due again and again.
    assert_eq!(bench.queue.next_tick(), None);
}

#[test]
fn a_class_holds_so_many_and_those_that_were_given_up_do_not_count() {
    let mut bench = Bench::new(QueueSettings {
        class_max: 2,
        ..SETTINGS
    });
    bench.submit("a1", "s", Class::Agent);
    let ticket = bench
        .queue
        .accept(&session("s"), Class::Agent)
        .expect("room");
    let full = bench.queue.accept(&session("s"), Class::Agent);
    assert_eq!(full, Err(Full { most: 2 }));
    bench.submit("h1", "s", Class::Human);
    bench.queue.give_up(&ticket);
    bench.submit("a2", "s", Class::Agent);
    bench.end("a1");
    bench.submit("a3", "s", Class::Agent);
    // What an earlier hub took is not refused.
    let ticket = bench.queue.take_up(&session("s"), Class::Agent, 1);
    bench.handle(Event::Submitted(ticket, id("old")));
    assert!(bench.queue.accept(&session("s"), Class::Agent).is_err());
}

#[test]
fn a_call_off_covers_what_was_accepted_before_it_and_nothing_after() {
    let mut bench = Bench::new(SETTINGS);
    assert_eq!(bench.submit("a1", "s", Class::Agent), ["start a1"]);
    bench.submit("a2", "s", Class::Agent);
    bench.submit("b1", "t", Class::Agent);
    // It is being stored while everything is called off.
    let early = bench
        .queue
        .accept(&session("s"), Class::Agent)
        .expect("room");
    let told = bench.handle(Event::CancelAll(session("s")));
    assert_eq!(told, ["cancel a1", "drop a2"]);
    let late = bench
        .queue
        .accept(&session("s"), Class::Agent)
        .expect("room");
    assert_eq!(bench.handle(Event::Submitted(early, id("a3"))), ["drop a3"]);
    assert!(bench.handle(Event::Submitted(late, id("a4"))).is_empty());
    assert_eq!(bench.end("a1"), ["start b1"]);
    assert_eq!(bench.end("b1"), ["start a4"]);
}

#[test]
fn the_queue_of_a_class_can_be_put_in_another_order() {
    let mut bench = Bench::new(SETTINGS);
    bench.submit("a0", "s", Class::Agent);
    for name in ["a1", "a2", "a3"] {
        bench.submit(name, "t", Class::Agent);
    }
    bench.submit("s1", "u", Class::System);
    let moved = bench.queue.reorder(&id("a3"), Some(&id("a1")));
    let names = |moved: Option<Vec<(TaskId, i64)>>| {
        moved.map(|all| {
            all.iter()
                .map(|(id, place)| format!("{id}@{place}"))
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(
        names(moved),
        Some(vec!["a3@2".into(), "a1@3".into(), "a2@4".into()])
    );
    assert_eq!(
        names(bench.queue.reorder(&id("a3"), None)),
        Some(vec!["a1@2".into(), "a2@3".into(), "a3@4".into()])
    );
    // Not what has begun, not before itself, another class or nobody.
    for (moved, before) in [
        ("a0", "a1"),
        ("a1", "a0"),
        ("a1", "a1"),
        ("a1", "s1"),
        ("a1", "no"),
        ("no", "a1"),
    ] {
        let done = bench.queue.reorder(&id(moved), Some(&id(before)));
        assert_eq!(done, None, "{moved} before {before}");
    }
    assert_eq!(bench.end("a0"), ["start s1"]);
    assert_eq!(bench.end("s1"), ["start a1"]);
}

#[test]
fn a_thousand_tasks_are_dispatched_in_no_time() {
    let mut bench = Bench::new(QueueSettings {
        workers: 4,
        class_max: 1_000,
        ..SETTINGS
    });
    let names: Vec<String> = (0..1_000).map(|number| format!("a{number}")).collect();
    let mut started = Vec::new();
    for (number, name) in names.iter().enumerate() {
        let of = format!("s{}", number % 50);
        started.extend(bench.submit(name, &of, Class::Agent));
    }
    let mut next = 0;
    while next < started.len() {
        let name = started[next].trim_start_matches("start ").to_owned();
        next += 1;
        started.extend(bench.end(&name));
    }
    let mut all = started;
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 1_000);
    assert!(all.iter().all(|one| one.starts_with("start ")));
}
