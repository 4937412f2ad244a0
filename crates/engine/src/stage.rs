//! A queue without runs, for whoever measures how long it takes to dispatch.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use legation_api::tasks::Class;
use legation_core::{Clock as _, SessionId, SystemClock, TaskId};

use crate::EngineSettings;
use crate::queue::{Effect, Event, Queue};

/// How many sessions the tasks are of.
const SESSIONS: usize = 50;

/// Hands in so many tasks, then lets each end as soon as it has begun until none is left; how long
/// the queue took for the second part. `None` when a task did not begin exactly once.
#[must_use]
pub fn dispatch(tasks: usize, workers: usize) -> Option<Duration> {
    let settings = EngineSettings {
        max_concurrent_tasks: workers,
        queue_max: tasks,
        ..EngineSettings::default()
    };
    let mut queue = Queue::new(settings.queue());
    let sessions = (0..SESSIONS).map(|number| SessionId::new(format!("ses_{number}")));
    let sessions: Vec<SessionId> = sessions.collect();
    let clock = SystemClock;
    let now = clock.now();
    let mut begun = VecDeque::new();
    for number in 0..tasks {
        let ticket = queue
            .accept(&sessions[number % SESSIONS], Class::Agent)
            .ok()?;
        let id = TaskId::new(format!("task_{number}"));
        take(queue.handle(Event::Submitted(ticket, id), now), &mut begun);
    }
    let began = clock.now();
    let mut over = 0;
    while let Some(id) = begun.pop_front() {
        over += 1;
        take(queue.handle(Event::Ended(id), later(now, over)), &mut begun);
    }
    (over == tasks).then(|| clock.now().duration_since(began))
}

fn take(effects: Vec<Effect>, begun: &mut VecDeque<TaskId>) {
    for effect in effects {
        if let Effect::Start(id) = effect {
            begun.push_back(id);
        }
    }
}

/// Time passes, but not so much that anybody has waited too long.
fn later(now: Instant, over: usize) -> Instant {
    now + Duration::from_millis(over as u64)
}
