//! Calls whose servers work on beside the conversation.

use super::*;

const FAR: [Turn; 4] = [
    Turn::Says("I ask far away.\n<call> write_file far"),
    Turn::Says("I look at something else.\n<call> read_file a"),
    Turn::Says("Nothing more until it is there."),
    Turn::Says("All of it is there."),
];

/// What is written takes its time far away.
fn far(call: &PlannedCall) -> Told {
    match call.name.as_str() {
        "write_file" => Told::new(CallStatus::Background, "It runs in the background."),
        _ => done(call),
    }
}

fn world() -> World {
    let mut world = World::new(setup(), &FAR);
    world.tool = far;
    world
}

/// Until nothing happens by itself any more.
fn settle(world: &mut World) {
    for _ in 0..10_000 {
        if !world.step() {
            return;
        }
    }
    panic!("it never rests");
}

/// The calls that began something, by id.
fn begun(world: &World) -> Vec<String> {
    let begun = world.kept.iter().filter_map(|entry| match entry {
        Entry::Result { id, told } if told.status == CallStatus::Background => Some(id.clone()),
        _ => None,
    });
    begun.collect()
}

fn bring(world: &mut World) {
    for id in begun(world) {
        let told = Told::new(CallStatus::Success, "It came from far.");
        world.feed(Input::Brought { id, told });
    }
}

fn completed(text: &str) -> Ending {
    Ending::Completed {
        response: text.to_owned(),
    }
}

#[test]
fn a_turn_goes_on_beside_what_runs_and_waits_where_there_is_nothing_else() {
    let mut world = world();
    settle(&mut world);
    assert_eq!(world.ending, None);
    assert!(world.machine.awaits());
    assert_eq!(world.made, ["write_file \"far\"", "read_file \"a\""]);
    let asked = world.requests.len();
    world.feed(Input::Tick);
    assert_eq!(world.requests.len(), asked, "it asks nobody while it waits");
    bring(&mut world);
    assert_eq!(world.run(), &completed("All of it is there."));
    let last = world.requests.last().and_then(|last| last.messages.last());
    assert!(
        matches!(last, Some(Message::User(text)) if text.contains("It came from far.")),
        "{last:?}"
    );
    // What comes twice is told once.
    let told = world
        .kept
        .iter()
        .filter(|entry| matches!(entry, Entry::Brought { .. }));
    assert_eq!(told.count(), 1);
}

#[test]
fn what_comes_at_any_point_is_told_once_and_before_the_end() {
    let mut plain = world();
    let mut length = 0;
    while plain.step() {
        length += 1;
    }
    for point in 0..=length {
        let mut world = world();
        for _ in 0..point {
            world.step();
        }
        bring(&mut world);
        settle(&mut world);
        bring(&mut world);
        settle(&mut world);
        let told = world
            .kept
            .iter()
            .filter(|entry| matches!(entry, Entry::Brought { .. }));
        assert_eq!(told.count(), 1, "at {point}");
        assert!(
            matches!(world.ending, Some(Ending::Completed { .. })),
            "at {point}: {:?}",
            world.ending
        );
        assert_eq!(world.abandoned, [""; 0], "at {point}");
    }
}

#[test]
fn whoever_takes_a_task_up_waits_for_the_same() {
    let mut first = world();
    settle(&mut first);
    first.feed(Input::Stop);
    assert_eq!(first.ending, Some(Ending::Paused));
    assert_eq!(first.abandoned, [""; 0], "the next hub goes on with it");
    let machine = Machine::taken_up(setup(), first.kept.clone(), None);
    let mut world = World::around(machine, &FAR);
    world.kept.clone_from(&first.kept);
    settle(&mut world);
    assert!(world.machine.awaits());
    assert_eq!(world.requests.len(), 0, "nothing is asked twice");
    bring(&mut world);
    assert_eq!(world.run(), &completed("All of it is there."));
    // And whoever takes it up after that knows that it is over.
    let machine = Machine::taken_up(setup(), world.kept.clone(), None);
    let mut again = World::around(machine, &FAR);
    again.kept.clone_from(&world.kept);
    assert_eq!(again.run(), &completed("All of it is there."));
}

#[test]
fn what_nobody_waits_for_any_more_is_called_off() {
    let mut world = world();
    settle(&mut world);
    world.feed(Input::Cancel("not wanted".to_owned()));
    assert!(matches!(world.ending, Some(Ending::Cancelled { .. })));
    assert_eq!(world.abandoned, begun(&world));
    assert_eq!(world.abandoned.len(), 1);
}

#[test]
fn somebody_who_speaks_or_comes_first_is_heard_while_it_waits() {
    let mut world = world();
    settle(&mut world);
    world.feed(Input::Preempt(Force::Hard));
    bring(&mut world);
    settle(&mut world);
    assert_eq!(world.ending, None, "somebody comes first");
    world.feed(Input::Resume);
    assert_eq!(world.run(), &completed("All of it is there."));
    let mut world = self::world();
    settle(&mut world);
    let asked = world.requests.len();
    world.feed(Input::Steer("Never mind it.".to_owned()));
    assert!(world.machine.is_woken());
    world.feed(Input::Tick);
    assert_eq!(world.requests.len(), asked + 1);
}
