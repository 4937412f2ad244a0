//! What is watched, and how often it is read.

use std::time::Duration;

use legation_core::{Clock as _, SystemClock, Wall};
use legation_entra::chat::{Chat, Listed};

use crate::teams::pace::Pace;
use crate::teams::watched::Watched;

#[test]
fn a_chat_is_read_as_often_as_people_talk_in_it() {
    let start = SystemClock.now();
    let at = |seconds: u64| start + Duration::from_secs(seconds);
    let mut pace = Pace::new(start);
    assert_eq!(pace.due(), start);
    for (now, news, next) in [
        (0, true, 5),
        (119, false, 124),
        (121, false, 136),
        (599, false, 614),
        (600, false, 660),
        (9_000, false, 9_060),
        (9_060, true, 9_065),
    ] {
        pace.was_read(news, at(now));
        assert_eq!(pace.due(), at(next), "{now}");
    }
    pace.was_read(false, at(20_000));
    assert_eq!(pace.due(), at(20_060));
    pace.talk(at(20_010));
    assert_eq!(pace.due(), at(20_015), "somebody was written to");
    pace.talk(at(20_012));
    assert_eq!(pace.due(), at(20_015), "talking more makes it no later");
    pace.failed(Duration::from_secs(300), at(20_020));
    assert_eq!(pace.due(), at(20_320));
    pace.failed(Duration::ZERO, at(20_020));
    assert_eq!(pace.due(), at(20_025));
}

fn listed(id: &str) -> Listed {
    Listed {
        chat: Chat {
            id: id.to_owned(),
            me: "agent".to_owned(),
            human: "human".to_owned(),
            human_name: "Alex Sample".to_owned(),
        },
        title: format!("chat {id}"),
    }
}

#[test]
fn accounts_that_find_chats_at_once_lose_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("watched_chats.json");
    std::thread::scope(|scope| {
        for number in 0..16 {
            let (path, id) = (&path, format!("chat {number}"));
            scope.spawn(move || {
                let found = Watched::found(path, "work", vec![listed(&id)], Wall(0));
                assert_eq!(found.unwrap().len(), 1);
            });
        }
    });
    let file: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(file.as_object().unwrap().len(), 16, "{file}");
}

#[test]
fn what_is_found_is_watched_until_its_owner_says_no() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("watched_chats.json");
    let found = |ids: &[&str]| {
        let chats = ids.iter().map(|id| listed(id)).collect();
        Watched::found(&path, "work", chats, Wall(0)).map(|all| {
            let ids = all.into_iter().map(|one| one.chat.id);
            ids.collect::<Vec<_>>()
        })
    };
    assert_eq!(found(&[]).unwrap(), [""; 0]);
    assert!(!path.exists(), "nothing to write");
    assert_eq!(found(&["a", "b"]).unwrap(), ["a", "b"]);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(file["a"]["title"], "chat a");
    assert_eq!(file["a"]["added_at"], "1970-01-01T00:00:00.000Z");
    file["a"]["watched"] = false.into();
    file["old"] = serde_json::json!({ "title": "", "added_at": "", "account": "home" });
    std::fs::write(&path, file.to_string()).unwrap();
    assert_eq!(found(&["a", "b", "c"]).unwrap(), ["b", "c"]);
    assert_eq!(
        found(&["a", "old"]).unwrap(),
        ["old"],
        "watched unless it says no"
    );
    std::fs::write(&path, "{ broken").unwrap();
    let error = found(&["b"]).unwrap_err().to_string();
    assert!(error.contains("watched_chats.json"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{ broken");
}
