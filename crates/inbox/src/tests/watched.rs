//! Which chats are watched.

use legation_core::Wall;

use crate::{WatchedChats, WatchedError};

fn add(file: &WatchedChats, ids: &[&str]) -> Result<Vec<String>, WatchedError> {
    let titles: Vec<String> = ids.iter().map(|id| format!("chat {id}")).collect();
    let chats = ids.iter().copied().zip(titles.iter().map(String::as_str));
    let all = file.found("work", chats, Wall(0))?;
    let watched = all.into_iter().filter(|one| one.is_watched);
    Ok(watched.map(|one| one.id).collect())
}

#[test]
fn accounts_that_find_chats_at_once_lose_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("watched_chats.json");
    std::thread::scope(|scope| {
        for number in 0..16 {
            // A file of its own each, as processes have.
            let file = WatchedChats::at(&path);
            scope.spawn(move || add(&file, &[&format!("chat {number}")]).unwrap());
        }
    });
    assert_eq!(WatchedChats::at(&path).list().unwrap().len(), 16);
}

#[test]
fn what_is_found_is_watched_until_somebody_says_no() {
    let folder = tempfile::tempdir().unwrap();
    let file = WatchedChats::at(folder.path().join("watched_chats.json"));
    assert_eq!(add(&file, &[]).unwrap(), [""; 0]);
    assert!(!file.path().exists(), "nothing to write");
    assert_eq!(add(&file, &["a", "b"]).unwrap(), ["a", "b"]);
    let text = std::fs::read_to_string(file.path()).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["a"]["title"], "chat a");
    assert_eq!(json["a"]["added_at"], "1970-01-01T00:00:00.000Z");
    json["a"]["watched"] = false.into();
    json["old"] = serde_json::json!({ "title": "", "added_at": "", "account": "home" });
    std::fs::write(file.path(), json.to_string()).unwrap();
    let all = add(&file, &["a", "b", "c"]).unwrap();
    assert_eq!(all, ["b", "c", "old"], "watched unless it says no");
    std::fs::write(file.path(), "{ broken").unwrap();
    let error = add(&file, &["b"]).unwrap_err();
    assert!(matches!(error, WatchedError::Broken { .. }), "{error}");
    assert!(error.to_string().contains("watched_chats.json"), "{error}");
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "{ broken");
}

#[test]
fn watching_anew_begins_at_that_time_and_tells_those_who_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = WatchedChats::at(folder.path().join("watched_chats.json"));
    let unknown = file.set("a", false, Wall(0)).unwrap_err();
    assert!(matches!(unknown, WatchedError::Unknown { .. }), "{unknown}");
    add(&file, &["a"]).unwrap();
    let mut changes = file.clone().changes();
    changes.mark_unchanged();
    let before = file.stamp();
    let set = |is_watched, at| {
        let (chat, is_change) = file.set("a", is_watched, Wall(at)).unwrap();
        assert_eq!(chat.is_watched, is_watched);
        (is_change, chat.since)
    };
    assert_eq!(set(true, 1_000), (false, None), "it was watched");
    assert!(!changes.has_changed().unwrap());
    assert_eq!(set(false, 2_000), (true, None));
    assert!(changes.has_changed().unwrap());
    assert_ne!(file.stamp(), before);
    assert_eq!(set(false, 3_000), (false, None));
    assert_eq!(
        add(&file, &["a"]).unwrap(),
        [""; 0],
        "it is not found again"
    );
    assert_eq!(set(true, 4_000), (true, Some(Wall(4_000))));
    assert_eq!(set(true, 5_000), (false, Some(Wall(4_000))));
    let all = file.list().unwrap();
    assert_eq!((all.len(), all[0].since), (1, Some(Wall(4_000))));
}
