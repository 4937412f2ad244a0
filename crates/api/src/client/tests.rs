use std::io::{BufRead as _, BufReader, Write as _};
use std::ops::ControlFlow;
use std::os::unix::net::UnixListener;
use std::thread::JoinHandle;

use legation_core::Home;

use super::{AdminClient, AdminError};
use crate::conversation::{Event, Follow};
use crate::hub::Status;

const WELCOME: &str = r#"{"legation":1,"ok":{"version":"0","boot":"b"}}"#;
const LIVE: &str = r#"{"jsonrpc":"2.0","method":"conversation.event","params":{"event":"live"}}"#;
const REFUSED: &str =
    r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no","data":{"hint":"so"}}}"#;
const OTHER: &str = r#"{"jsonrpc":"2.0","method":"something.else","params":{"event":7}}"#;

/// A hub that welcomes, waits for one request, says these lines and ends.
fn hub(
    says: &'static [&'static str],
) -> (
    tempfile::TempDir,
    AdminClient,
    JoinHandle<serde_json::Value>,
) {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    let listener = UnixListener::bind(home.socket()).unwrap();
    let hub = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        lines.next().unwrap().unwrap();
        writeln!(stream, "{WELCOME}").unwrap();
        let request = lines.next().unwrap().unwrap();
        for line in says {
            // The client may have heard enough.
            drop(writeln!(stream, "{line}"));
        }
        serde_json::from_str(&request).unwrap()
    });
    let client = AdminClient::connect(&home, "0").unwrap().unwrap();
    (dir, client, hub)
}

fn count(events: &mut u32, most: u32) -> impl FnMut(Event) -> ControlFlow<()> {
    move |event| {
        assert_eq!(event, Event::Live {});
        *events += 1;
        if *events < most {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}

#[test]
fn a_stream_tells_its_own_notifications_until_it_is_broken_off() {
    let (_dir, client, hub) = hub(&[LIVE, OTHER, LIVE, LIVE]);
    let mut events = 0;
    let follow = Follow {
        session: Some("ses_1".to_owned()),
        after: Some(7),
    };
    let ended = client.follow(&follow, count(&mut events, 2)).unwrap();
    assert_eq!((ended, events), (None, 2));
    let request = hub.join().unwrap();
    assert_eq!(request["method"], "conversation.follow");
    assert_eq!(
        request["params"],
        serde_json::json!({"session": "ses_1", "after": 7})
    );
}

#[test]
fn a_stream_ends_with_its_answer_its_refusal_or_the_hub() {
    let (_dir, client, _hub) = hub(&[LIVE, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#]);
    let mut events = 0;
    let ended = client.follow(&Follow::default(), count(&mut events, 9));
    assert!(ended.unwrap().is_some());
    assert_eq!(events, 1);

    let (_dir, client, _hub) = hub(&[REFUSED]);
    let refused = client.follow(&Follow::default(), |_| ControlFlow::Continue(()));
    let refused = refused.unwrap_err();
    assert_eq!(
        (refused.to_string(), refused.hint()),
        ("no".to_owned(), Some("so".to_owned()))
    );

    let (_dir, client, _hub) = hub(&[LIVE]);
    let gone = client.follow(&Follow::default(), |_| ControlFlow::Continue(()));
    assert!(matches!(gone, Err(AdminError::Gone)), "{gone:?}");
}

#[test]
fn what_is_told_meanwhile_is_no_answer_to_a_call() {
    let (_dir, mut client, _hub) = hub(&[LIVE, REFUSED]);
    let refused = client.call(&Status {}).unwrap_err();
    assert_eq!(refused.to_string(), "no");
}

#[test]
fn another_thread_can_end_what_waits() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    let listener = UnixListener::bind(home.socket()).unwrap();
    let hub = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        lines.next().unwrap().unwrap();
        writeln!(stream, "{WELCOME}").unwrap();
        // It says nothing more, until the client has gone.
        lines.by_ref().for_each(drop);
    });
    let client = AdminClient::connect(&home, "0").unwrap().unwrap();
    let closer = client.closer().unwrap();
    let waiting = std::thread::spawn(move || {
        client.follow(&Follow::default(), |_| ControlFlow::Continue(()))
    });
    closer.close();
    assert!(matches!(waiting.join().unwrap(), Err(AdminError::Gone)));
    hub.join().unwrap();
}
