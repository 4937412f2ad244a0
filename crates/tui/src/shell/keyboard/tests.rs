use super::*;

fn typed(sign: char) -> Input {
    Input::Key(Key {
        code: Code::Char(sign),
        ctrl: false,
        alt: false,
        shift: false,
    })
}

fn sign(happened: &Happened) -> char {
    match happened {
        Happened::Input(Input::Key(Key {
            code: Code::Char(sign),
            ..
        })) => *sign,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_keyboard_is_let_go_of_though_nobody_takes_what_was_typed() {
    let (mut wake, woken) = UnixStream::pair().unwrap();
    let (happened, events) = sync_channel(1);
    let mut reader = Reader {
        woken,
        happened,
        left: None,
    };
    assert!(reader.hand(typed('a')).unwrap());
    wake.write_all(&[0]).unwrap();
    assert!(!reader.hand(typed('b')).unwrap(), "there is no room");
    assert!(reader.wanted().unwrap());
    assert_eq!(sign(&events.recv().unwrap()), 'a');
    let left = reader.left.take().unwrap();
    assert!(reader.hand(left).unwrap());
    assert_eq!(sign(&events.recv().unwrap()), 'b', "nothing is lost");
}

#[test]
fn what_was_typed_waits_for_room() {
    let (_wake, woken) = UnixStream::pair().unwrap();
    let (happened, events) = sync_channel(1);
    let mut reader = Reader {
        woken,
        happened,
        left: None,
    };
    assert!(reader.hand(typed('a')).unwrap());
    let taken = std::thread::spawn(move || {
        let both: Vec<char> = events.iter().take(2).map(|one| sign(&one)).collect();
        both
    });
    assert!(reader.hand(typed('b')).unwrap());
    assert_eq!(taken.join().unwrap(), ['a', 'b']);
    assert!(reader.hand(typed('c')).is_err(), "nobody is there any more");
}
