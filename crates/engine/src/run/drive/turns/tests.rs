use std::sync::Mutex;

use legation_core::EntityId;

use super::*;

/// Notes what it hears, and stops the turn of a number.
#[derive(Debug)]
struct Listener {
    heard: Mutex<Vec<String>>,
    stops: u32,
}

impl Turns for Listener {
    fn began(&self, turn: &Turn) {
        let (task, number) = (&turn.task, turn.number);
        self.heard
            .lock()
            .expect("whole")
            .push(format!("{task} {number} began"));
        if number == self.stops {
            turn.handle.abort("a key was pressed");
        }
    }

    fn ended(&self, turn: &Turn) {
        let (labels, number) = (&turn.labels, turn.number);
        let labels: Vec<&str> = labels.iter().map(EntityId::as_str).collect();
        self.heard
            .lock()
            .expect("whole")
            .push(format!("{number} of {labels:?} ended"));
    }
}

/// What a run lets be done to it.
struct Run(Control);

impl TurnHandle for Run {
    fn abort(&self, reason: &str) {
        self.0.set_cancelled(reason);
    }

    fn changed(&self, _files: Vec<String>) {}
}

#[test]
fn turns_begin_and_end_in_pairs_and_can_be_stopped() {
    let listener = Arc::new(Listener {
        heard: Mutex::default(),
        stops: 3,
    });
    let who: Arc<[Arc<dyn Turns>]> = Arc::new([Arc::clone(&listener) as Arc<dyn Turns>]);
    let control = Control::new(|_| {});
    let of = Of {
        task: TaskId::new("t"),
        session: SessionId::new("s"),
        client: ClientId::new("c"),
        workspace: None,
    };
    let handle = Arc::new(Run(control.clone()));
    let (nobody, harbor) = (
        EntityLabels::none(),
        EntityLabels::of(EntityId::new("harbor")),
    );
    let mut telling = Telling::new(who, of, handle);
    telling.begins(1, &nobody);
    // The rest of it, after it was broken off.
    telling.begins(1, &nobody);
    telling.begins(2, &harbor);
    // It stands still for a person, and is gone on with.
    telling.ends();
    telling.ends();
    telling.begins(2, &harbor);
    assert_eq!(control.cancelled(), None);
    telling.begins(3, &harbor);
    assert_eq!(control.cancelled().as_deref(), Some("a key was pressed"));
    assert!(
        control.cancel_token().reason().is_some(),
        "its calls are called off"
    );
    drop(telling);
    assert_eq!(
        *listener.heard.lock().expect("whole"),
        [
            "t 1 began",
            "1 of [] ended",
            "t 2 began",
            "2 of [\"harbor\"] ended",
            "t 2 began",
            "2 of [\"harbor\"] ended",
            "t 3 began",
            "3 of [\"harbor\"] ended",
        ]
    );
}
