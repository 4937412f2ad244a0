//! Random schedules: no task is lost or run twice at once, orders and bounds hold, nobody starves.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use legation_api::tasks::Class;
use legation_core::clock::ManualClock;
use legation_core::{Clock as _, SessionId, TaskId, Wall};
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::test_runner::{Config, TestRunner};

use super::{Effect, Event, Hold, Queue, QueueSettings};

/// What somebody does next.
#[derive(Debug, Clone)]
enum Act {
    Submit(u8, Class),
    Type(u8),
    /// One of the runs that have the floor ends.
    End(u8),
    /// One of the runs that were told to stop says that it has.
    Yield(u8),
    /// One of the runs that have the floor waits for something elsewhere.
    Rest(u8),
    /// What one of those waited for is there.
    Ready(u8),
    Cancel(u8),
    CancelAll(u8),
    Move(u8, u8),
    Pass(u16),
}

#[derive(Debug, Default)]
struct World {
    /// Every task that was handed in and is not over.
    open: BTreeMap<TaskId, (SessionId, Class, u64)>,
    /// Runs that were begun and are not over, and how they were last told to stand.
    runs: HashMap<TaskId, Option<Hold>>,
    /// Runs that said that they stand still.
    standing: BTreeSet<TaskId>,
    /// Runs that wait for something elsewhere.
    resting: BTreeSet<TaskId>,
    began: Vec<TaskId>,
    over: BTreeSet<TaskId>,
    numbers: u64,
}

fn acts() -> impl Strategy<Value = Act> {
    let class = prop_oneof![
        3 => Just(Class::Agent),
        1 => Just(Class::System),
        2 => Just(Class::Human),
    ];
    prop_oneof![
        6 => (0..4u8, class).prop_map(|(session, class)| Act::Submit(session, class)),
        2 => (0..4u8).prop_map(Act::Type),
        5 => any::<u8>().prop_map(Act::End),
        5 => any::<u8>().prop_map(Act::Yield),
        2 => any::<u8>().prop_map(Act::Rest),
        2 => any::<u8>().prop_map(Act::Ready),
        1 => any::<u8>().prop_map(Act::Cancel),
        1 => (0..4u8).prop_map(Act::CancelAll),
        1 => (any::<u8>(), any::<u8>()).prop_map(|(one, other)| Act::Move(one, other)),
        4 => (1..5_000u16).prop_map(Act::Pass),
    ]
}

fn session(number: u8) -> SessionId {
    SessionId::new(format!("s{number}"))
}

fn nth<T: Clone>(all: impl IntoIterator<Item = T>, number: u8) -> Option<T> {
    let all: Vec<T> = all.into_iter().collect();
    (!all.is_empty()).then(|| all[usize::from(number) % all.len()].clone())
}

impl World {
    /// Does what the queue says, and checks that it may be said.
    fn apply(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Start(id) => {
                    assert!(self.open.contains_key(&id), "{id} is not open");
                    assert!(self.runs.insert(id.clone(), None).is_none(), "{id} runs");
                    assert!(!self.began.contains(&id), "{id} began twice");
                    self.began.push(id);
                }
                Effect::Hold(id, hold) => {
                    let run = self.runs.get_mut(&id).expect("only runs are held");
                    assert!(run.is_none_or(|held| held < hold), "{id} is held so");
                    *run = Some(hold);
                }
                Effect::Rest(id) => {
                    let run = self.runs.get_mut(&id).expect("only runs rest");
                    *run = Some(Hold::Hard);
                    self.standing.remove(&id);
                    assert!(self.resting.insert(id.clone()), "{id} rests already");
                }
                Effect::Resume(id) => {
                    assert!(!self.resting.contains(&id), "{id} wants nothing");
                    let run = self.runs.get_mut(&id).expect("only runs go on");
                    assert!(run.is_some(), "{id} was not held");
                    *run = None;
                    self.standing.remove(&id);
                }
                Effect::Cancel(id) => assert!(self.runs.contains_key(&id), "{id} does not run"),
                Effect::Drop(id) => {
                    assert!(!self.runs.contains_key(&id), "{id} runs");
                    self.finish(&id);
                }
            }
        }
    }

    fn finish(&mut self, id: &TaskId) {
        assert!(self.open.remove(id).is_some(), "{id} is over already");
        self.runs.remove(id);
        self.standing.remove(id);
        self.resting.remove(id);
        self.over.insert(id.clone());
    }

    /// Runs that go on with their steps.
    fn working(&self) -> Vec<&TaskId> {
        let of = |(id, hold): (&TaskId, &Option<Hold>)| {
            (*hold != Some(Hold::Hard)).then_some(id.clone())
        };
        let working: BTreeSet<TaskId> = self.runs.iter().filter_map(of).collect();
        self.open
            .keys()
            .filter(|id| working.contains(*id) && !self.standing.contains(*id))
            .collect()
    }

    fn check(&self, queue: &Queue, workers: usize) {
        let working = self.working();
        assert!(working.len() <= workers, "{} work at once", working.len());
        let sessions: BTreeSet<&SessionId> = working.iter().map(|id| &self.open[*id].0).collect();
        assert_eq!(sessions.len(), working.len(), "two of a session work");
        // Of what has not begun, nobody of a class and session began before an earlier one. Which
        // is checked where nothing was moved.
        for (id, (_, class, _)) in &self.open {
            if self.runs.contains_key(id) {
                continue;
            }
            let position = queue.position(id).expect("it waits");
            assert!(position < self.open.len(), "{class:?} {position}");
        }
    }
}

fn step(queue: &mut Queue, world: &mut World, clock: &ManualClock, act: &Act) {
    let now = clock.now();
    match act {
        Act::Submit(of, class) => {
            let Ok(ticket) = queue.accept(&session(*of), *class) else {
                let open = world.open.values().filter(|task| task.1 == *class);
                assert!(open.count() >= 8, "refused with room");
                return;
            };
            world.numbers += 1;
            let id = TaskId::new(format!("t{:04}", world.numbers));
            let task = (session(*of), *class, world.numbers);
            world.open.insert(id.clone(), task);
            let effects = queue.handle(Event::Submitted(ticket, id), now);
            world.apply(effects);
        }
        Act::Type(of) => {
            let effects = queue.handle(Event::Typing(session(*of)), now);
            world.apply(effects);
        }
        Act::End(number) => {
            let working: Vec<TaskId> = world.working().into_iter().cloned().collect();
            if let Some(id) = nth(working, *number) {
                world.finish(&id);
                let effects = queue.handle(Event::Ended(id), now);
                world.apply(effects);
            }
        }
        Act::Yield(number) => {
            let told = world.runs.iter().filter(|(_, hold)| hold.is_some());
            let mut told: Vec<TaskId> = told.map(|(id, _)| id.clone()).collect();
            told.sort_unstable();
            told.retain(|id| !world.standing.contains(id) && !world.resting.contains(id));
            if let Some(id) = nth(told, *number) {
                world.standing.insert(id.clone());
                let effects = queue.handle(Event::Yielded(id), now);
                world.apply(effects);
            }
        }
        Act::Rest(number) => rest(queue, world, now, *number),
        Act::Ready(number) => ready(queue, world, now, *number),
        Act::Cancel(number) => {
            let waits = world.open.keys().filter(|id| !world.runs.contains_key(*id));
            if let Some(id) = nth(waits.cloned().collect::<Vec<_>>(), *number) {
                world.finish(&id);
                let effects = queue.handle(Event::Ended(id), now);
                world.apply(effects);
            }
        }
        Act::CancelAll(of) => {
            let effects = queue.handle(Event::CancelAll(session(*of)), now);
            let left = effects
                .iter()
                .filter(|effect| matches!(effect, Effect::Drop(_) | Effect::Cancel(_)));
            let of_session = world.open.values().filter(|task| task.0 == session(*of));
            assert_eq!(left.count(), of_session.count(), "somebody was left out");
            world.apply(effects);
        }
        Act::Move(one, other) => {
            let ids: Vec<TaskId> = world.open.keys().cloned().collect();
            if let (Some(one), Some(other)) = (nth(ids.clone(), *one), nth(ids, *other)) {
                let moved = queue.reorder(&one, Some(&other)).unwrap_or_default();
                let places: BTreeSet<i64> = moved.iter().map(|(_, place)| *place).collect();
                assert_eq!(places.len(), moved.len(), "two have a place");
            }
        }
        Act::Pass(ms) => {
            clock.advance(Duration::from_millis(u64::from(*ms)));
            let effects = queue.handle(Event::Tick, clock.now());
            world.apply(effects);
        }
    }
}

fn rest(queue: &mut Queue, world: &mut World, now: Instant, number: u8) {
    let working: Vec<TaskId> = world.working().into_iter().cloned().collect();
    if let Some(id) = nth(working, number) {
        let effects = queue.handle(Event::Rests(id), now);
        world.apply(effects);
    }
}

fn ready(queue: &mut Queue, world: &mut World, now: Instant, number: u8) {
    if let Some(id) = nth(world.resting.clone(), number) {
        // From here on it stands still until it may go on.
        world.resting.remove(&id);
        world.standing.insert(id.clone());
        let effects = queue.handle(Event::Ready(id), now);
        world.apply(effects);
    }
}

/// Lets everything end: what works ends, what was told to stop does.
fn drain(queue: &mut Queue, world: &mut World, clock: &ManualClock) {
    for _ in 0..10_000 {
        if world.open.is_empty() {
            return;
        }
        step(queue, world, clock, &Act::Ready(0));
        step(queue, world, clock, &Act::Yield(0));
        step(queue, world, clock, &Act::End(0));
        step(queue, world, clock, &Act::Pass(500));
    }
    panic!("never over: {:?}", world.open);
}

#[test]
fn nothing_is_lost_or_run_twice_whatever_happens_in_whatever_order() {
    let mut runner = TestRunner::new(Config {
        cases: 400,
        failure_persistence: None,
        ..Config::default()
    });
    let plans = (1..4usize, proptest::collection::vec(acts(), 1..120));
    runner
        .run(&plans, |(workers, acts)| {
            let mut queue = Queue::new(QueueSettings {
                workers,
                class_max: 8,
                age_after: Some(Duration::from_secs(60)),
                age_turns: 4,
            });
            let mut world = World::default();
            let clock = ManualClock::at(Wall(0));
            for act in &acts {
                step(&mut queue, &mut world, &clock, act);
                world.check(&queue, workers);
            }
            drain(&mut queue, &mut world, &clock);
            assert_eq!(world.over.len() as u64, world.numbers);
            Ok(())
        })
        .expect("every schedule holds");
}

#[test]
fn an_agents_task_goes_on_though_people_never_fall_silent() {
    let settings = QueueSettings {
        workers: 1,
        class_max: 100,
        age_after: Some(Duration::from_secs(60)),
        age_turns: 0,
    };
    let mut queue = Queue::new(settings);
    let mut world = World::default();
    let clock = ManualClock::at(Wall(0));
    step(
        &mut queue,
        &mut world,
        &clock,
        &Act::Submit(0, Class::Agent),
    );
    let agent = TaskId::new("t0001");
    let mut worked = Duration::ZERO;
    let mut since: Option<Instant> = None;
    // A person writes every second, and each answer takes one.
    for _ in 0..600 {
        step(&mut queue, &mut world, &clock, &Act::Type(1));
        step(
            &mut queue,
            &mut world,
            &clock,
            &Act::Submit(1, Class::Human),
        );
        step(&mut queue, &mut world, &clock, &Act::Yield(0));
        clock.advance(Duration::from_secs(1));
        step(&mut queue, &mut world, &clock, &Act::Pass(1));
        let works = world.working().contains(&&agent);
        if let Some(since) = since.filter(|_| works) {
            worked += clock.now() - since;
        }
        since = works.then(|| clock.now());
        let human = world
            .working()
            .into_iter()
            .find(|id| **id != agent)
            .cloned();
        if let Some(human) = human {
            world.finish(&human);
            let effects = queue.handle(Event::Ended(human), clock.now());
            world.apply(effects);
        }
    }
    assert!(
        worked > Duration::from_secs(60),
        "it worked for {worked:?} of ten minutes"
    );
}
