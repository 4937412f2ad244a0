use futures_util::FutureExt as _;
use legation_core::SystemClock;
use serde_json::json;

use super::*;

fn log() -> Arc<EventLog> {
    Arc::new(EventLog::new(
        &BootId::random().expect("random bytes"),
        &SystemClock::shared(),
    ))
}

/// Everything that is there for a reader now.
fn read(stream: &mut EventStream) -> Vec<String> {
    let mut read = Vec::new();
    while let Some(Some(event)) = stream.next().now_or_never() {
        let data = event.data();
        read.push(format!(
            "{} {}",
            event.name(),
            String::from_utf8_lossy(&data)
        ));
    }
    read
}

fn ids(stream: &mut EventStream) -> Vec<String> {
    let mut ids = Vec::new();
    while let Some(Some(event)) = stream.next().now_or_never() {
        let frame = String::from_utf8(event.frame().to_vec()).expect("text");
        ids.extend(
            frame
                .lines()
                .find_map(|line| line.strip_prefix("id: ").map(str::to_owned)),
        );
    }
    ids
}

#[tokio::test]
async fn readers_hear_what_comes_and_what_they_missed() {
    let log = log();
    log.note("before", &json!({ "n": 0 }));
    assert!(!log.is_read());
    let mut now = log.follow(&Since::Now);
    assert_eq!(read(&mut now), Vec::<String>::new());
    for n in 1..=3 {
        log.note("one", &json!({ "n": n }));
    }
    assert_eq!(
        read(&mut now),
        [r#"one {"n":1}"#, r#"one {"n":2}"#, r#"one {"n":3}"#]
    );
    let mut other = log.follow(&Since::Event(format!("{}-1", log.boot)));
    let ids = ids(&mut other);
    assert_eq!(ids.len(), 3, "{ids:?}");
    let mut back = log.follow(&Since::Event(ids[1].clone()));
    assert_eq!(read(&mut back), [r#"one {"n":3}"#]);
    drop((now, other, back));
    assert!(log.is_read(), "they may come back");
}

#[tokio::test]
async fn a_gap_is_said() {
    let log = log();
    log.note("one", &json!(1));
    let mut slow = log.follow(&Since::Event(format!("{}-1", log.boot)));
    for n in 0..KEPT_MAX + 10 {
        log.note("more", &json!(n));
    }
    let read_by_slow = read(&mut slow);
    assert_eq!(read_by_slow.len(), KEPT_MAX + 1);
    assert_eq!(
        read_by_slow[0],
        r#"stream.gap {"reason":"more happened than is kept","missed":10}"#
    );
    assert_eq!(read_by_slow[1], "more 10");
    for id in ["another-1", "another", "", "another-99999999999999999999"] {
        let mut stranger = log.follow(&Since::Event(id.to_owned()));
        let heard = read(&mut stranger);
        assert_eq!(
            heard[0], r#"stream.gap {"reason":"the hub was started anew since"}"#,
            "{id:?}"
        );
        assert!(heard[1].contains("\"missed\":11"), "{}", heard[1]);
    }
    // A place that is not reached yet is none of this run.
    let mut early = log.follow(&Since::Event(format!("{}-{}", log.boot, u64::MAX)));
    assert!(read(&mut early)[0].starts_with("stream.gap"));
}
