//! Tasks that are longer than their model's window.

use super::*;

fn long(call: &PlannedCall) -> Told {
    // Another one each time, so that it is no repetition.
    let text = format!("{} {}", call.id, "x".repeat(3_000));
    Told::new(CallStatus::Success, text)
}

#[test]
fn what_was_said_is_put_together_before_the_window_is_full() {
    let mut script: Vec<Turn> =
        vec![Turn::Says("I look.\n<call> read_file a\n<call> read_file b"); 20];
    script.push(Turn::Says("Done."));
    let window = Some(4_000);
    let mut world = World::new(Setup { window, ..setup() }, &script);
    world.tool = long;
    let ending = world.run().clone();
    assert_eq!(
        ending,
        Ending::Completed {
            response: "Done.".to_owned()
        }
    );
    assert_eq!(world.made.len(), 40);
    let summaries = world
        .kept
        .iter()
        .filter(|entry| matches!(entry, Entry::Summary { .. }));
    assert!(summaries.count() >= 1);
    for request in &world.requests {
        let bytes: usize = request
            .messages
            .iter()
            .map(|message| match message {
                Message::User(text) | Message::System(text) => text.len(),
                Message::Assistant(turn) => turn.text.len(),
                Message::Result(result) => result.text.len(),
            })
            .sum();
        assert!(bytes < 4_000 * 4, "{bytes} bytes were asked");
    }
    // The task itself is never put together with the rest.
    for request in world
        .requests
        .iter()
        .filter(|request| !request.tools.is_empty())
    {
        let has_task = request
            .messages
            .iter()
            .any(|message| matches!(message, Message::User(text) if text.contains("Do it.")));
        assert!(has_task);
    }
    // What is taken up by another hub asks for the same.
    let machine = Machine::taken_up(Setup { window, ..setup() }, world.kept.clone(), None);
    assert_eq!(machine.messages.len(), world.machine.messages.len());
}

#[test]
fn a_task_that_does_not_fit_is_not_begun() {
    let task = "word ".repeat(10_000);
    let window = Some(4_096);
    let mut world = World::new(
        Setup {
            window,
            task: task.clone(),
            ..setup()
        },
        &WORK,
    );
    let ending = world.run().clone();
    assert!(
        matches!(&ending, Ending::Failed { class, .. } if class == "too_long"),
        "{ending:?}"
    );
    assert!(world.requests.is_empty(), "nothing was asked");
    // The window is known only when the server answers, which would cut the prompt silently.
    let mut world = World::new(Setup { task, ..setup() }, &WORK);
    world.window = window;
    let ending = world.run().clone();
    assert!(
        matches!(&ending, Ending::Failed { class, .. } if class == "too_long"),
        "{ending:?}"
    );
    assert!(world.seen.is_empty());
}

#[test]
fn a_server_that_finds_it_too_long_gets_less_once() {
    let prior = (0..30)
        .map(|number| Message::User(format!("{number} {}", "old ".repeat(100))))
        .collect();
    let script = [Turn::Fails(ModelClass::TooLong, "", 0), Turn::Says("Done.")];
    let mut world = World::new(Setup { prior, ..setup() }, &script);
    let ending = world.run().clone();
    assert_eq!(
        ending,
        Ending::Completed {
            response: "Done.".to_owned()
        }
    );
    let sizes: Vec<usize> = world
        .requests
        .iter()
        .map(|request| request.messages.len())
        .collect();
    assert_eq!(world.requests.len(), 3, "{sizes:?}");
    assert!(
        world
            .kept
            .iter()
            .any(|entry| matches!(entry, Entry::Summary { .. }))
    );
}

#[test]
fn a_summary_that_cannot_be_had_is_done_without() {
    let prior = vec![Message::User("old ".repeat(3_000))];
    let mut machine = Machine::new(Setup {
        prior,
        window: Some(3_000),
        ..setup()
    });
    let clock = ManualClock::at(Wall(0));
    let mut effects = machine.handle(clock.now(), Input::Start);
    for _ in 0..8 {
        let asks = |effect: &Effect| {
            matches!(
                effect,
                Effect::Ask {
                    purpose: Purpose::Compact,
                    ..
                }
            )
        };
        if !effects.iter().any(asks) {
            break;
        }
        let failure = Failure {
            class: ModelClass::Server,
            is_refused: false,
            lacks_calls: false,
            message: "500".to_owned(),
            hint: String::new(),
            retry_after: None,
        };
        effects = machine.handle(clock.now(), Input::Failed(failure));
    }
    let goes_on = effects.iter().any(|effect| {
        matches!(
            effect,
            Effect::Ask {
                purpose: Purpose::Step,
                ..
            }
        )
    });
    assert!(goes_on, "{effects:?}");
}
