use futures_util::{FutureExt as _, StreamExt as _};
use legation_console::Since;
use legation_core::{ApprovalId, BootId, SystemClock};

use super::*;
use crate::serve::moves::Move;

#[test]
fn listeners_hear_of_a_gap_before_what_was_found_behind_it() {
    let boot = BootId::random().expect("random bytes");
    let log = Arc::new(EventLog::new(&boot, &SystemClock::shared()));
    let mut stream = log.follow(&Since::Now);
    let step = |id: &str, state| Move {
        id: ApprovalId::new(id),
        state,
    };
    let at = Wall(1_800_000_000_000);
    let heard = |moves, missed| Heard { moves, missed };
    tell(&log, &heard(vec![step("a", Some(State::Pending))], 0), at);
    let found = vec![step("a", None), step("b", Some(State::Pending))];
    tell(&log, &heard(found, 7), at);
    tell(&log, &heard(vec![step("b", Some(State::Denied))], 0), at);
    let mut read = Vec::new();
    while let Some(Some(event)) = stream.next().now_or_never() {
        let data: serde_json::Value = serde_json::from_slice(&event.data()).expect("JSON");
        let said = [&data["id"], &data["state"], &data["missed"]];
        read.push(format!(
            "{} {} {} {}",
            event.name(),
            said[0],
            said[1],
            said[2]
        ));
    }
    let wanted = [
        r#"approval.requested "a" "pending" null"#,
        "stream.gap null null 7",
        r#"approval.answered "a" "closed" null"#,
        r#"approval.requested "b" "pending" null"#,
        r#"approval.answered "b" "denied" null"#,
    ];
    assert_eq!(read, wanted);
}

#[test]
fn servers_are_told_one_by_one_and_all_at_once_when_none_is_starting() {
    let boot = BootId::random().expect("random bytes");
    let log = Arc::new(EventLog::new(&boot, &SystemClock::shared()));
    let mut reader = log.follow(&Since::Now);
    let mut servers = Servers {
        loading: true,
        ..Servers::default()
    };
    let now = |pairs: &[(&str, &'static str)]| {
        let pairs = pairs.iter();
        pairs
            .map(|(name, status)| (Box::from(*name), *status))
            .collect()
    };
    type Step = (&'static [(&'static str, &'static str)], bool, usize);
    let steps: [Step; 5] = [
        (&[("a", "starting"), ("b", "starting")], false, 2),
        (&[("a", "connected"), ("b", "starting")], false, 1),
        (&[("a", "connected"), ("b", "failed")], true, 1),
        (&[("a", "failed"), ("b", "failed")], false, 1),
        (
            &[("a", "failed"), ("b", "failed"), ("c", "needs-auth")],
            true,
            1,
        ),
    ];
    for (pairs, loaded, said) in steps {
        assert_eq!(servers.tell(now(pairs), &log), loaded, "{pairs:?}");
        let mut told = 0;
        while let Some(Some(event)) = reader.next().now_or_never() {
            assert_eq!(event.name(), "session.mcp_server_status_changed");
            told += 1;
        }
        assert_eq!(told, said, "{pairs:?}");
    }
}
