//! Somebody who comes first, calls off or speaks at every single point of a task.

use super::*;

/// What happens at one point.
type Disturb = fn(&mut World);

/// How many things happen in the undisturbed task.
fn length() -> usize {
    let mut world = World::new(setup(), &WORK);
    let mut count = 0;
    while world.step() {
        count += 1;
    }
    count
}

fn at(point: usize, resumption: Resumption, disturb: Disturb) -> World {
    let mut world = World::new(setup(), &WORK);
    world.resumption = resumption;
    for _ in 0..point {
        world.step();
    }
    disturb(&mut world);
    for _ in 0..10_000 {
        if !world.step() {
            break;
        }
    }
    world
}

/// A person says something and is answered while calls that run come to their end.
fn preempt(world: &mut World) {
    world.feed(Input::Preempt(Force::Soft));
    world.feed(Input::Preempt(Force::Hard));
    assert!(!world.streaming, "the model is the person's at once");
    for _ in 0..1_000 {
        if !world.step() {
            break;
        }
    }
    assert!(!world.streaming, "no request while somebody comes first");
    assert!(world.running.is_empty(), "what runs comes to its end");
    if world.ending.is_none() {
        world.feed(Input::Heard(vec!["Meanwhile: hello.".to_owned()]));
        world.feed(Input::Resume);
    }
}

#[test]
fn a_person_may_come_first_at_every_point_and_nothing_is_lost_or_done_twice() {
    let mut plain = World::new(setup(), &WORK);
    let expected = plain.run().clone();
    for resumption in [Resumption::Exact, Resumption::Prefill] {
        for point in 0..=length() {
            let world = at(point, resumption, preempt);
            assert_eq!(world.ending.as_ref(), Some(&expected), "at {point}");
            assert_eq!(world.made, plain.made, "at {point}");
            assert_eq!(world.seen, plain.seen, "at {point}: words twice or never");
        }
    }
}

#[test]
fn a_server_that_cannot_go_on_is_told_what_was_said() {
    for point in 0..=length() {
        let mut world = World::new(setup(), &WORK);
        world.resumption = Resumption::Restart;
        for _ in 0..point {
            world.step();
        }
        world.feed(Input::Preempt(Force::Hard));
        let partial = world.machine.partial().map(str::to_owned);
        let asked = world.requests.len();
        if world.ending.is_some() {
            continue;
        }
        world.feed(Input::Resume);
        let Some(request) = world.requests.get(asked) else {
            continue;
        };
        let Some(partial) = partial.filter(|partial| !partial.trim().is_empty()) else {
            continue;
        };
        let [.., Message::Assistant(turn), Message::User(note)] = request.messages.as_slice()
        else {
            panic!("at {point}: {:?}", request.messages);
        };
        assert_eq!(turn.text.trim(), partial.trim());
        assert!(note.contains("interrupted"), "{note}");
    }
}

#[test]
fn a_person_who_types_holds_back_the_next_step_and_nothing_else() {
    let plain = World::new(setup(), &WORK).run().clone();
    for point in 0..=length() {
        let mut world = at(point, Resumption::Exact, |world| {
            let requests = world.requests.len();
            world.feed(Input::Preempt(Force::Soft));
            let was_streaming = world.streaming;
            let mut left = 1_000;
            while left > 0 && world.step() {
                left -= 1;
            }
            assert_eq!(world.requests.len(), requests, "no step begins");
            assert!(
                !was_streaming || !world.streaming,
                "a step that began is finished"
            );
        });
        if world.ending.is_none() {
            world.feed(Input::Resume);
            world.run();
        }
        assert_eq!(world.ending.as_ref(), Some(&plain), "at {point}");
    }
}

#[test]
fn a_task_may_be_called_off_at_every_point() {
    for point in 0..=length() {
        let world = at(point, Resumption::Exact, |world| {
            if world.ending.is_none() {
                world.feed(Input::Cancel("not wanted".to_owned()));
            }
            assert!(!world.streaming, "nothing is generated any more");
        });
        let cancelled = Ending::Cancelled {
            reason: "not wanted".to_owned(),
        };
        match &world.ending {
            Some(Ending::Completed { .. }) if point == length() => {}
            other => assert_eq!(other.as_ref(), Some(&cancelled), "at {point}"),
        }
        // Every call has a result, made or not.
        let (mut calls, mut results) = (0, 0);
        for entry in &world.kept {
            match entry {
                Entry::Turn { calls: made, .. } => calls += made.len(),
                Entry::Result { .. } => results += 1,
                _ => {}
            }
        }
        assert_eq!(calls, results, "at {point}");
    }
}

#[test]
fn the_hub_may_end_at_every_point() {
    let mut plain = World::new(setup(), &WORK);
    let expected = plain.run().clone();
    for point in 0..length() {
        // It is killed: nothing but what was kept is there.
        let mut killed = World::new(setup(), &WORK);
        for _ in 0..point {
            killed.step();
        }
        if killed.ending.is_some() {
            continue;
        }
        let partial = killed.machine.partial().map(str::to_owned);
        // What ran and has no result is somebody else's to answer for: here, that it never began.
        let running = killed.running.len();
        let mut made = killed.made.clone();
        made.truncate(made.len() - running);
        let machine = Machine::taken_up(
            Setup {
                resumption: Some(Resumption::Exact),
                ..setup()
            },
            killed.kept.clone(),
            partial,
        );
        let mut world = World::around(machine, &WORK);
        world.kept = killed.kept;
        world.made = made;
        world.run();
        assert_eq!(world.ending.as_ref(), Some(&expected), "at {point}");
        assert_eq!(world.made, plain.made, "at {point}");
        let plain_turns = plain
            .kept
            .iter()
            .filter(|entry| matches!(entry, Entry::Turn { .. }));
        let turns = world
            .kept
            .iter()
            .filter(|entry| matches!(entry, Entry::Turn { .. }));
        assert!(turns.eq(plain_turns), "at {point}");
    }
}

#[test]
fn the_hub_may_stop_at_every_point() {
    for point in 0..length() {
        let world = at(point, Resumption::Exact, |world| {
            if world.ending.is_none() {
                let said = world.machine.partial().map(str::to_owned);
                world.feed(Input::Stop);
                if said.is_some() {
                    assert_eq!(world.partial, said, "what was said is kept");
                }
            }
        });
        assert_eq!(world.ending, Some(Ending::Paused), "at {point}");
        assert!(!world.streaming);
    }
}

#[test]
fn half_a_call_is_dropped_and_the_words_before_it_are_kept() {
    let script = [
        Turn::Says("I write it.\n<call> write_file a"),
        Turn::Says("Written."),
    ];
    for point in 0..40 {
        let mut world = World::new(setup(), &script);
        for _ in 0..point {
            world.step();
        }
        if world.ending.is_some() {
            break;
        }
        world.feed(Input::Preempt(Force::Hard));
        if let Some(partial) = world.machine.partial()
            && world.made.is_empty()
        {
            assert!("I write it.".starts_with(partial.trim_end()), "{partial}");
        }
        while world.step() {}
        world.feed(Input::Resume);
        world.run();
        assert_eq!(world.made, ["write_file \"a\""], "at {point}");
    }
    // Half of a call that is written as text.
    let text = "I write it.\n<tool_call>{\"name\": \"write_file\", \"arguments\": {\"path\": \"a\"}}</tool_call>";
    let mut world = World::new(setup(), &[Turn::Says(text)]);
    while !world
        .machine
        .partial()
        .is_some_and(|partial| partial.contains("arguments"))
    {
        assert!(world.step());
    }
    world.feed(Input::Preempt(Force::Hard));
    assert_eq!(world.machine.partial(), Some("I write it.\n"));
}
