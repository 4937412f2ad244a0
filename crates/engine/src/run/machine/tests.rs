//! The machine in a world without IO: a model that says what is scripted, tools that count what
//! they do, and somebody who disturbs at any point.

mod beside;
mod disturbed;
mod failing;
mod in_words;
mod room;

use std::time::Duration;

use legation_core::clock::ManualClock;
use legation_core::{Clock, Wall};
use legation_models::Finish;
use serde_json::{Value, json};

use super::*;
use crate::run::entry::CallStatus;
use crate::run::toolset::{Offer, ToolChoice};

/// What the model does with one request.
#[derive(Debug, Clone)]
enum Turn {
    /// Says this; `<call>` lines become calls.
    Says(&'static str),
    /// Fails so after so many bytes of this.
    Fails(ModelClass, &'static str, usize),
}

/// Everything around a machine.
struct World {
    clock: ManualClock,
    machine: Machine,
    script: Vec<Turn>,
    resumption: Resumption,
    window: Option<u64>,
    /// What is to be fed next.
    inbox: std::collections::VecDeque<Input>,
    /// Everything that was kept.
    kept: Vec<Entry>,
    partial: Option<String>,
    /// Every call that was made, in order.
    made: Vec<String>,
    /// Words that somebody saw.
    seen: String,
    notes: Vec<String>,
    asked: usize,
    requests: Vec<ChatRequest>,
    failures: usize,
    ending: Option<Ending>,
    /// What a tool answers.
    tool: fn(&PlannedCall) -> Told,
    check: fn(usize) -> Checked,
    checks: usize,
    streaming: bool,
    running: Vec<String>,
    /// What was begun beside the conversation and called off.
    abandoned: Vec<String>,
}

fn tools() -> Toolset {
    let offer = |item: &str, reads| Offer {
        flat: format!("workspace-{item}").into(),
        server: "workspace".into(),
        item: item.into(),
        description: format!("Does {item}."),
        schema: json!({
            "type": "object", "required": ["path"],
            "properties": { "path": { "type": "string" } },
        }),
        reads,
    };
    let choice = ToolChoice {
        patterns: None,
        own: Vec::new(),
        budget_bytes: 10_000,
    };
    Toolset::choose(
        vec![offer("read_file", true), offer("write_file", false)],
        &choice,
    )
}

fn setup() -> Setup {
    Setup {
        system: "You are a test.".to_owned(),
        task: "Do it.".to_owned(),
        tools: tools(),
        ..Setup::default()
    }
}

fn done(call: &PlannedCall) -> Told {
    Told::new(
        CallStatus::Success,
        format!("{} done", call.arguments["path"]),
    )
}

// === impl World ===

impl World {
    fn new(setup: Setup, script: &[Turn]) -> Self {
        Self::around(Machine::new(setup), script)
    }

    fn around(machine: Machine, script: &[Turn]) -> Self {
        let mut world = Self {
            clock: ManualClock::at(Wall(0)),
            machine,
            script: script.to_vec(),
            resumption: Resumption::Exact,
            window: None,
            inbox: [Input::Start].into(),
            kept: Vec::new(),
            partial: None,
            made: Vec::new(),
            seen: String::new(),
            notes: Vec::new(),
            asked: 0,
            requests: Vec::new(),
            failures: 0,
            ending: None,
            tool: done,
            check: |_| Checked::Ran {
                passed: true,
                exit_code: Some(0),
                output: String::new(),
            },
            checks: 0,
            streaming: false,
            running: Vec::new(),
            abandoned: Vec::new(),
        };
        world.asked = 0;
        world
    }

    /// Feeds one thing that happened; whether there was one.
    fn step(&mut self) -> bool {
        let Some(input) = self.inbox.pop_front() else {
            return false;
        };
        self.feed(input);
        true
    }

    fn feed(&mut self, input: Input) {
        self.clock.advance(Duration::from_millis(10));
        match &input {
            Input::Ended | Input::Failed(_) => self.streaming = false,
            Input::Told { id, .. } => self.running.retain(|one| one != id),
            _ => {}
        }
        for effect in self.machine.handle(self.clock.now(), input) {
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        assert!(self.ending.is_none(), "{effect:?} after the end");
        match effect {
            Effect::Ask { request, purpose } => self.answer(*request, purpose),
            Effect::DropStream => {
                assert!(self.streaming, "nothing is under way");
                self.streaming = false;
                self.inbox.retain(|input| {
                    let of_stream = matches!(input, Input::Began { .. } | Input::Delta(_))
                        || matches!(input, Input::Ended | Input::Failed(_));
                    !of_stream
                });
            }
            Effect::Call(calls) => {
                assert!(!self.streaming && self.running.is_empty());
                for call in calls {
                    self.made
                        .push(format!("{} {}", call.name, call.arguments["path"]));
                    self.running.push(call.id.clone());
                    let told = (self.tool)(&call);
                    self.inbox.push_back(Input::Told { id: call.id, told });
                }
            }
            Effect::AbortCalls => {}
            Effect::Abandon(ids) => self.abandoned.extend(ids),
            Effect::Keep(entry) => {
                let text = serde_json::to_string(&entry).expect("an entry");
                let read: Entry = serde_json::from_str(&text).expect("the same entry");
                assert_eq!(read, entry);
                self.kept.push(entry);
            }
            Effect::Partial(partial) => self.partial = partial,
            Effect::Check(_) => {
                let checked = (self.check)(self.checks);
                self.checks += 1;
                self.inbox.push_back(Input::Checked(checked));
            }
            Effect::Wake(after) => {
                self.clock.advance(after);
                self.inbox.push_back(Input::Tick);
            }
            Effect::Show(Shown::Text(text)) => self.seen.push_str(&text),
            Effect::Show(Shown::Note(note)) => self.notes.push(note),
            Effect::Show(_) => {}
            Effect::End(ending) => self.ending = Some(ending),
        }
    }

    /// What the model makes of a request: the turn that follows those it finds, from where it is
    /// told to go on.
    fn answer(&mut self, request: ChatRequest, purpose: Purpose) {
        assert!(
            !self.streaming && self.running.is_empty(),
            "one thing at a time"
        );
        self.streaming = true;
        sound(&request);
        let given = match request.messages.last() {
            Some(Message::Assistant(turn)) => turn.text.clone(),
            _ => String::new(),
        };
        self.requests.push(request);
        self.inbox.push_back(Input::Began {
            resumption: self.resumption,
            window: self.window,
        });
        if purpose == Purpose::Compact {
            self.say("It went so and so.", &[]);
            return;
        }
        let turns = self
            .kept
            .iter()
            .filter(|entry| matches!(entry, Entry::Turn { .. }))
            .count();
        let turn = self.script.get(turns + self.failures).cloned();
        match turn {
            None => self.say("Nothing more.", &[]),
            Some(Turn::Says(text)) => {
                let (words, calls) = parts(text);
                let rest = match given.is_empty() {
                    true => words.as_str(),
                    false => words
                        .strip_prefix(&given)
                        .expect("it goes on with its own words"),
                };
                self.say(rest, &calls);
            }
            Some(Turn::Fails(class, text, after)) => {
                self.failures += 1;
                let rest = text.get(given.len()..after).unwrap_or_default();
                self.deltas(rest);
                self.inbox.push_back(Input::Failed(Failure {
                    class,
                    is_refused: false,
                    lacks_calls: false,
                    message: "the server failed".to_owned(),
                    hint: "see its log".to_owned(),
                    retry_after: None,
                }));
            }
        }
    }

    fn deltas(&mut self, text: &str) {
        let letters: Vec<char> = text.chars().collect();
        for piece in letters.chunks(3) {
            let text = piece.iter().collect();
            self.inbox.push_back(Input::Delta(Delta::Text(text)));
        }
    }

    fn say(&mut self, words: &str, calls: &[(String, String)]) {
        self.deltas(words);
        for (index, (name, path)) in calls.iter().enumerate() {
            self.inbox.push_back(Input::Delta(Delta::Call {
                index,
                id: "call_0".to_owned(),
                name: name.clone(),
            }));
            let arguments = json!({ "path": path }).to_string();
            for piece in arguments.as_bytes().chunks(5) {
                let text = String::from_utf8_lossy(piece).into_owned();
                self.inbox
                    .push_back(Input::Delta(Delta::Arguments { index, text }));
            }
        }
        let finish = match calls.is_empty() {
            true => Finish::Stop,
            false => Finish::Calls,
        };
        self.inbox.push_back(Input::Delta(Delta::Done(finish)));
        self.inbox.push_back(Input::Ended);
    }

    fn run(&mut self) -> &Ending {
        for _ in 0..10_000 {
            if !self.step() {
                break;
            }
        }
        self.ending.as_ref().expect("it ends")
    }
}

/// The words of a scripted turn, and its calls.
fn parts(text: &str) -> (String, Vec<(String, String)>) {
    let mut words = Vec::new();
    let mut calls = Vec::new();
    for line in text.split('\n') {
        match line
            .strip_prefix("<call> ")
            .and_then(|call| call.split_once(' '))
        {
            Some((name, path)) => calls.push((name.to_owned(), path.to_owned())),
            None => words.push(line),
        }
    }
    (words.join("\n"), calls)
}

/// Every call has its result, right behind its turn.
fn sound(request: &ChatRequest) {
    let mut open: Vec<&str> = Vec::new();
    for message in &request.messages {
        match message {
            Message::Assistant(turn) => {
                assert!(open.is_empty(), "a call has no result");
                for call in &turn.calls {
                    let arguments: Value = serde_json::from_str(&call.arguments).expect("JSON");
                    assert!(arguments.is_object());
                }
                open = turn.calls.iter().map(|call| call.id.as_str()).collect();
            }
            Message::Result(result) => {
                let before = open.len();
                open.retain(|id| *id != result.call_id);
                assert_eq!(open.len() + 1, before, "a result of no call");
            }
            Message::User(_) | Message::System(_) => assert!(open.is_empty()),
        }
    }
    assert!(open.is_empty(), "a call has no result");
}

const WORK: [Turn; 3] = [
    Turn::Says("I look at both.\n<call> read_file a\n<call> read_file b"),
    Turn::Says("Now I change them, one after the other.\n<call> write_file a\n<call> write_file b"),
    Turn::Says("Both files are changed, and that is all there was to do."),
];

#[test]
fn a_task_is_worked_on_step_by_step() {
    let mut world = World::new(setup(), &WORK);
    let ending = world.run().clone();
    let Ending::Completed { response } = ending else {
        panic!("{ending:?}");
    };
    assert_eq!(
        response,
        "Both files are changed, and that is all there was to do."
    );
    let made = [
        "read_file \"a\"",
        "read_file \"b\"",
        "write_file \"a\"",
        "write_file \"b\"",
    ];
    assert_eq!(world.made, made);
    assert_eq!(world.machine.step, 3);
    // What changes something never runs beside anything else; see `Effect::Call` in the world.
    let results = world
        .kept
        .iter()
        .filter(|entry| matches!(entry, Entry::Result { .. }));
    assert_eq!(results.count(), 4);
}

#[test]
fn calls_written_as_text_are_made_too_and_wrong_ones_are_answered() {
    let script = [
        Turn::Says("<tool_call>{'name': 'ReadFile', 'arguments': {'path': 'a',}}</tool_call>"),
        Turn::Says("<tool_call>{\"name\": \"delete_all\", \"arguments\": {}}</tool_call>"),
        Turn::Says("<tool_call>{\"name\": \"write_file\", \"arguments\": {\"path\": \"a"),
        Turn::Says("```json\n{\"name\": \"write_file\", \"arguments\": {\"file\": \"a\"}}\n```"),
        Turn::Says("Done."),
    ];
    let mut world = World::new(setup(), &script);
    let ending = world.run().clone();
    assert_eq!(
        ending,
        Ending::Completed {
            response: "Done.".to_owned()
        }
    );
    assert_eq!(world.made, ["read_file \"a\""]);
    assert_eq!(world.seen, "Done.", "a call is no words");
    let told: Vec<&str> = world
        .kept
        .iter()
        .filter_map(|entry| match entry {
            Entry::Result { told, .. } => Some(told.text.as_str()),
            _ => None,
        })
        .collect();
    let expected = ["done", "There is no tool \"delete_all\"", "cut off", "path"];
    assert_eq!(told.len(), expected.len());
    for (told, expected) in told.iter().zip(expected) {
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn a_check_holds_a_task_until_it_passes() {
    let script = [Turn::Says("Done, I think."), Turn::Says("Now it is done.")];
    let mut world = World::new(
        Setup {
            check: Some(Check::Command {
                command: "make test".to_owned(),
            }),
            ..setup()
        },
        &script,
    );
    world.check = |tries| Checked::Ran {
        passed: tries == 1,
        exit_code: Some(i64::from(tries == 0)),
        output: "1 test failed".to_owned(),
    };
    let ending = world.run().clone();
    assert_eq!(
        ending,
        Ending::Completed {
            response: "Now it is done.".to_owned()
        }
    );
    let check = world.machine.check.as_ref().expect("it was tried");
    assert!(check.passed && check.tries == 2);
    let last = world
        .requests
        .last()
        .and_then(|request| request.messages.last().cloned());
    assert!(
        matches!(&last, Some(Message::User(text)) if text.contains("`make test` ended with 1")),
        "{last:?}"
    );
    // It never passes.
    let mut world = World::new(
        Setup {
            check: Some(Check::Command {
                command: "false".to_owned(),
            }),
            ..setup()
        },
        &script,
    );
    world.check = |_| Checked::Ran {
        passed: false,
        exit_code: Some(1),
        output: "no".to_owned(),
    };
    let ending = world.run().clone();
    assert!(
        matches!(&ending, Ending::Failed { class, message, .. } if class == "check" && message.contains("3 times")),
        "{ending:?}"
    );
}

#[test]
fn an_answer_that_must_be_json_is_held_to_its_schema() {
    let schema = json!({
        "type": "object", "required": ["good"], "properties": { "good": { "type": "boolean" } },
    });
    let setup = || Setup {
        check: Some(Check::JsonSchema {
            schema: schema.clone(),
        }),
        ..setup()
    };
    let script = [
        Turn::Says("It is good."),
        Turn::Says("{\"good\": 1}"),
        Turn::Says("```json\n{\"good\": true}\n```"),
    ];
    let mut world = World::new(setup(), &script);
    assert!(matches!(world.run(), Ending::Completed { .. }));
    let check = world.machine.check.as_ref().expect("it was tried");
    assert_eq!((check.passed, check.tries), (true, 3));
    let tools = Toolset::none();
    let mut world = World::new(Setup { tools, ..setup() }, &script);
    world.run();
    assert!(
        world.requests[0].answer.is_some(),
        "a model without tools is held to it"
    );
}

#[test]
fn what_is_said_to_a_task_is_heard_before_its_next_step() {
    let mut world = World::new(setup(), &WORK);
    while world.made.is_empty() {
        assert!(world.step());
    }
    world.feed(Input::Steer("Leave b alone.".to_owned()));
    world.run();
    let heard = world.requests[1].messages.last().cloned();
    assert!(
        matches!(&heard, Some(Message::User(text)) if text == "Leave b alone."),
        "{heard:?}"
    );
    // In the middle of calls that change something: those that have not begun are left.
    let mut world = World::new(setup(), &WORK);
    while !world.made.contains(&"write_file \"a\"".to_owned()) {
        assert!(world.step());
    }
    world.feed(Input::Steer("Stop writing.".to_owned()));
    world.run();
    assert!(!world.made.contains(&"write_file \"b\"".to_owned()));
}

#[test]
fn thoughts_are_not_words() {
    let script = [Turn::Says("<think>hm, hm</think>\n\nYes.")];
    let mut world = World::new(setup(), &script);
    let ending = world.run().clone();
    assert_eq!(
        ending,
        Ending::Completed {
            response: "Yes.".to_owned()
        }
    );
    assert_eq!(world.seen, "Yes.");
}
