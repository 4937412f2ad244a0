use tokio::sync::broadcast;

use super::*;

/// What is open, in the order in which it was asked.
#[derive(Default)]
struct Book(Vec<(ApprovalId, State)>);

impl Book {
    fn set(&mut self, id: &str, state: Option<State>) {
        let id = ApprovalId::new(id);
        self.0.retain(|(other, _)| *other != id);
        self.0.extend(state.map(|state| (id, state)));
    }
}

impl Open for Book {
    fn waiting(&self) -> Vec<ApprovalId> {
        let waiting = self.0.iter().filter(|(_, state)| *state == State::Pending);
        waiting.map(|(id, _)| id.clone()).collect()
    }

    fn state(&self, id: &ApprovalId) -> Option<State> {
        self.0
            .iter()
            .find(|(other, _)| other == id)
            .map(|(_, state)| *state)
    }
}

fn asked(id: &str) -> ApprovalEvent {
    ApprovalEvent::Asked(ApprovalId::new(id))
}

fn answered(id: &str, answer: Answer) -> ApprovalEvent {
    ApprovalEvent::Answered(ApprovalId::new(id), answer)
}

/// Everything that is heard of what was sent, as words, and how much was lost.
fn heard(
    moves: &mut Moves,
    events: &mut broadcast::Receiver<ApprovalEvent>,
    book: &Book,
) -> (Vec<String>, u64) {
    use broadcast::error::TryRecvError;
    let (mut words, mut missed) = (Vec::new(), 0);
    loop {
        let event = match events.try_recv() {
            Ok(event) => Ok(event),
            Err(TryRecvError::Lagged(count)) => Err(RecvError::Lagged(count)),
            Err(TryRecvError::Empty) => return (words, missed),
            Err(TryRecvError::Closed) => Err(RecvError::Closed),
        };
        let Some(heard) = moves.next(event, book) else {
            words.push("over".to_owned());
            return (words, missed);
        };
        missed += heard.missed;
        let said = heard.moves.iter();
        words.extend(said.map(|one| format!("{} {}", one.id, one.as_str())));
    }
}

#[test]
fn events_are_said_as_they_come() {
    let (send, mut events) = broadcast::channel(16);
    let book = Book::default();
    let mut moves = Moves::begin(&book);
    for event in [
        asked("a"), // As long as it is known, the book is not looked at.
        ApprovalEvent::GrantsChanged,
        answered("a", Answer::Always),
        answered("a", Answer::Deny),
        ApprovalEvent::Closed(ApprovalId::new("a")),
        ApprovalEvent::OthersChanged,
        asked("a"),
    ] {
        send.send(event).expect("somebody listens");
    }
    let (words, missed) = heard(&mut moves, &mut events, &book);
    let wanted = [
        "a pending",
        "a granted",
        "a denied",
        "a closed",
        "a pending",
    ];
    assert_eq!(
        (words.as_slice(), missed),
        (&wanted.map(str::to_owned)[..], 0)
    );
    drop(send);
    assert_eq!(heard(&mut moves, &mut events, &book).0, ["over"]);
}

#[test]
fn what_was_lost_is_found_by_looking_and_nothing_is_said_twice() {
    let (send, mut events) = broadcast::channel(2);
    let mut book = Book::default();
    book.set("old", Some(State::Pending));
    book.set("used", Some(State::Pending));
    let mut moves = Moves::begin(&book);
    // Of five events two are kept.
    book.set("old", Some(State::Denied));
    book.set("used", None);
    for id in ["one", "two", "three"] {
        book.set(id, Some(State::Pending));
    }
    for event in [
        asked("one"),
        answered("old", Answer::Deny),
        asked("two"),
        answered("used", Answer::Once),
        asked("three"),
    ] {
        send.send(event).expect("somebody listens");
    }
    let (words, missed) = heard(&mut moves, &mut events, &book);
    assert_eq!(missed, 3);
    for id in ["one", "two", "three"] {
        let pending = format!("{id} pending");
        assert_eq!(
            words.iter().filter(|word| **word == pending).count(),
            1,
            "{words:?}"
        );
    }
    assert!(words.contains(&"old denied".to_owned()), "{words:?}");
    assert!(words.contains(&"used closed".to_owned()), "{words:?}");
    assert_eq!(words.len(), 5, "{words:?}");
    // From here on as before.
    send.send(answered("two", Answer::Once))
        .expect("somebody listens");
    let (words, missed) = heard(&mut moves, &mut events, &book);
    assert_eq!((words, missed), (vec!["two granted".to_owned()], 0));
}

#[test]
fn what_was_said_is_forgotten_with_what_it_was_about() {
    let mut book = Book::default();
    let mut moves = Moves::begin(&book);
    for number in 0..SAID_MAX * 2 {
        let id = format!("id-{number}");
        if number % 512 == 0 {
            book.set(&id, Some(State::Pending));
        }
        moves.next(Ok(asked(&id)), &book).expect("more may come");
        assert!(moves.said.len() <= SAID_MAX, "{}", moves.said.len());
    }
    assert!(moves.said.contains_key(&ApprovalId::new("id-0")));
}
