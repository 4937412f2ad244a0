//! Models and tools that do not do as they should.

use super::*;

#[test]
fn what_may_pass_is_tried_again_and_what_will_not_is_told() {
    for (class, is_tried) in [
        (ModelClass::Unreachable, true),
        (ModelClass::Slow, true),
        (ModelClass::Busy, true),
        (ModelClass::Server, true),
        (ModelClass::Broken, true),
        (ModelClass::Quota, false),
        (ModelClass::Credential, false),
        (ModelClass::NotFound, false),
        (ModelClass::Request, false),
        (ModelClass::Filtered, false),
        (ModelClass::Untrue, false),
        (ModelClass::Cancelled, false),
        (ModelClass::TooLong, false),
    ] {
        let script = [
            Turn::Fails(class, "Both files", 0),
            Turn::Says("Both files are fine."),
        ];
        let mut world = World::new(setup(), &script);
        let ending = world.run().clone();
        match is_tried {
            true => assert!(
                matches!(&ending, Ending::Completed { .. }),
                "{class:?}: {ending:?}"
            ),
            false => {
                let failed =
                    matches!(&ending, Ending::Failed { class: word, .. } if word == class.as_str());
                assert!(failed, "{class:?}: {ending:?}");
            }
        }
    }
}

#[test]
fn an_answer_that_breaks_off_is_gone_on_with() {
    let text = "A long answer that breaks off in the middle.";
    let script = [
        Turn::Fails(ModelClass::Broken, text, 9),
        Turn::Fails(ModelClass::Slow, text, 22),
        Turn::Says(text),
    ];
    let mut world = World::new(setup(), &script);
    let ending = world.run().clone();
    assert_eq!(
        ending,
        Ending::Completed {
            response: text.to_owned()
        }
    );
    assert_eq!(world.seen, text);
    assert_eq!(world.notes.len(), 2);
}

#[test]
fn a_server_that_stays_away_fails_the_task_at_last() {
    let script: Vec<Turn> = (0..20)
        .map(|_| Turn::Fails(ModelClass::Unreachable, "", 0))
        .collect();
    let mut world = World::new(setup(), &script);
    let ending = world.run().clone();
    assert!(
        matches!(&ending, Ending::Failed { class, hint, .. } if class == "unreachable" && hint == "see its log")
    );
    assert_eq!(world.requests.len(), 6, "once, and five times more");
}

#[test]
fn a_server_that_wants_to_be_left_alone_is_or_the_task_ends() {
    for (seconds, waits) in [(7, true), (3_600, false)] {
        let mut machine = Machine::new(setup());
        let clock = ManualClock::at(Wall(0));
        drop(machine.handle(clock.now(), Input::Start));
        let effects = machine.handle(
            clock.now(),
            Input::Failed(Failure {
                class: ModelClass::Busy,
                is_refused: false,
                lacks_calls: false,
                message: "429".to_owned(),
                hint: String::new(),
                retry_after: Some(Duration::from_secs(seconds)),
            }),
        );
        let wakes = effects
            .iter()
            .any(|effect| matches!(effect, Effect::Wake(after) if after.as_secs() == seconds));
        assert_eq!(wakes, waits);
        let is_over = matches!(machine.phase, Phase::Over);
        assert_eq!(is_over, !waits);
    }
}

#[test]
fn text_without_end_ends() {
    let limits = RunLimits {
        answer_bytes_max: 1_000,
        ..RunLimits::default()
    };
    let mut world = World::new(Setup { limits, ..setup() }, &[]);
    world.step();
    world.inbox.clear();
    for _ in 0..2_000 {
        if world.ending.is_some() {
            break;
        }
        world.feed(Input::Delta(Delta::Text("again and ".to_owned())));
    }
    let ending = world.ending.as_ref().expect("it ends");
    assert!(
        matches!(ending, Ending::Failed { class, .. } if class == "endless"),
        "{ending:?}"
    );
    assert!(!world.streaming);
}

#[test]
fn an_answer_that_is_cut_for_its_length_is_gone_on_with_twice() {
    let mut world = World::new(setup(), &[]);
    world.step();
    for piece in ["one ", "two ", "three"] {
        world.inbox.clear();
        world.feed(Input::Delta(Delta::Text(piece.to_owned())));
        world.feed(Input::Delta(Delta::Done(Finish::Length)));
        world.feed(Input::Ended);
    }
    let ending = world.ending.as_ref().expect("it ends");
    assert!(
        matches!(ending, Ending::Failed { class, .. } if class == "endless"),
        "{ending:?}"
    );
    assert_eq!(world.requests.len(), 3);
}

#[test]
fn a_model_that_says_nothing_is_asked_twice_more() {
    let mut world = World::new(setup(), &[Turn::Says("  "), Turn::Says("")]);
    world.script = vec![Turn::Says(""); 1];
    let ending = world.run().clone();
    assert!(
        matches!(&ending, Ending::Failed { class, .. } if class == "empty"),
        "{ending:?}"
    );
    assert_eq!(world.requests.len(), 3);
}

#[test]
fn a_task_has_an_end_in_turns_and_time() {
    let script: Vec<Turn> = vec![Turn::Says("<call> read_file a"); 100];
    let limits = RunLimits {
        turns_max: 4,
        ..RunLimits::default()
    };
    let mut world = World::new(Setup { limits, ..setup() }, &script);
    let ending = world.run().clone();
    assert!(
        matches!(&ending, Ending::Failed { class, .. } if class == "turns"),
        "{ending:?}"
    );
    assert_eq!(world.requests.len(), 4);
    // The same call with the same result.
    let mut world = World::new(setup(), &script);
    let ending = world.run().clone();
    assert!(
        matches!(&ending, Ending::Failed { class, .. } if class == "repetition"),
        "{ending:?}"
    );
    assert_eq!(world.made.len(), 6);
    // In time, even if a tool never returns.
    let limits = RunLimits {
        wall_clock: Some(Duration::from_secs(60)),
        ..RunLimits::default()
    };
    let mut world = World::new(Setup { limits, ..setup() }, &script);
    while world.running.is_empty() {
        assert!(world.step());
    }
    world.inbox.clear();
    world.clock.advance(Duration::from_secs(61));
    let now = world.clock.now();
    assert!(
        world
            .machine
            .deadline()
            .is_some_and(|deadline| deadline <= now)
    );
    let effects = world.machine.handle(now, Input::Tick);
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::AbortCalls)),
        "{effects:?}"
    );
    let id = world.running[0].clone();
    world.feed(Input::Told {
        id,
        told: Told::new(CallStatus::Error, "called off"),
    });
    assert!(matches!(&world.ending, Some(Ending::Failed { class, .. }) if class == "wall_clock"));
}

#[test]
fn a_check_that_cannot_be_run_passes_nothing() {
    let check = Some(Check::Command {
        command: "true".to_owned(),
    });
    let mut world = World::new(Setup { check, ..setup() }, &[Turn::Says("Done.")]);
    world.check = |_| Checked::Refused {
        message: "bash is off".to_owned(),
        hint: "allow it".to_owned(),
    };
    let ending = world.run().clone();
    let asks = matches!(&ending, Ending::Asks { question } if question.contains("bash is off"));
    assert!(asks, "{ending:?}");
}

#[test]
fn another_server_that_cannot_go_on_is_asked_anew() {
    let text = "An answer of some length.";
    let script = [
        Turn::Fails(ModelClass::Broken, text, 9),
        Turn::Fails(ModelClass::Request, text, 0),
        Turn::Says(text),
    ];
    let mut world = World::new(setup(), &script);
    while world.requests.len() < 3 {
        assert!(world.step(), "{:?}", world.ending);
    }
    let last = world.requests[2].messages.last();
    assert!(matches!(last, Some(Message::User(note)) if note.contains("interrupted")));
}
