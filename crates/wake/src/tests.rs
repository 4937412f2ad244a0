//! Who is told of what, with sessions that live and die.

use std::path::PathBuf;

use legation_core::Wall;
use legation_core::process::Kin;

use crate::{Board, BoardFile, Notice, SessionKey, Stage, Talk};

const SECOND: i64 = 1_000;

fn key(id: &str) -> SessionKey {
    let client = id.split_once('-').map_or(id, |(client, _)| client);
    SessionKey {
        client: client.to_owned(),
        id: id.to_owned(),
    }
}

/// A process that is gone: nothing was started before the system.
fn gone() -> Kin {
    Kin {
        pid: i32::MAX,
        started: Some(0),
    }
}

fn notice(seq: u64) -> Notice {
    Notice {
        seq,
        id: format!("m{seq}"),
        channel: "teams".to_owned(),
        chat: "chat".to_owned(),
        folder: None,
        lane: "teams".to_owned(),
    }
}

fn unread(_notice: &Notice) -> bool {
    false
}

/// Sessions that wait, each with this process as its waker, the last the one
/// that did something last.
fn waiting(sessions: &[(&str, &str)]) -> Board {
    let mut board = Board::default();
    for (at, (id, folder)) in sessions.iter().enumerate() {
        let now = Wall(i64::try_from(at).unwrap());
        let session = board.begin(&key(id), now);
        session.folder = Some(PathBuf::from(folder));
        session.process = Some(Kin::own());
        board.idle(&key(id), Some(Kin::own()), now);
    }
    board
}

/// Who takes what when everybody looks, at a time.
fn all_look(board: &mut Board, now: i64) -> Vec<(String, Vec<u64>)> {
    let keys: Vec<SessionKey> = board.sessions.iter().map(|one| one.key.clone()).collect();
    let mut told = Vec::new();
    for key in keys {
        let taken = board.take(&key, Kin::own(), Wall(now), &unread);
        if !taken.is_empty() {
            told.push((key.id.clone(), taken.iter().map(|one| one.seq).collect()));
            board.told(&key, Kin::own(), Wall(now));
        }
    }
    told
}

#[test]
fn one_session_is_told_of_one_message_once() {
    let mut board = waiting(&[("claude-1", "/a"), ("claude-2", "/b"), ("codex-1", "/c")]);
    board.came(vec![notice(1), notice(2)], 2, Wall(10));
    board.came(vec![notice(1), notice(2)], 2, Wall(11));
    assert_eq!(
        all_look(&mut board, 20),
        [("codex-1".to_owned(), vec![1, 2])]
    );
    assert!(all_look(&mut board, 30).is_empty());
    board.busy(&key("codex-1"), Wall(40));
    assert!(board.claims.is_empty());
}

#[test]
fn who_is_told_is_chosen_by_chat_then_folder_then_time() {
    let sessions = [
        ("claude-1", "/home/alex/a"),
        ("claude-2", "/home/alex/b"),
        ("codex-1", "/home/alex/c"),
    ];
    let talk = |client: &str, folder: Option<&str>| {
        Some(Talk {
            channel: "teams".to_owned(),
            chat: "chat".to_owned(),
            client: client.to_owned(),
            folder: folder.map(PathBuf::from),
            at: Wall(1),
        })
    };
    for (talk, folder, expected) in [
        (talk("claude", Some("/home/alex/a")), None, "claude-1"),
        (
            talk("claude", Some("/home/alex/a")),
            Some("/home/alex/b"),
            "claude-1",
        ),
        (talk("claude", None), None, "claude-2"),
        (
            talk("claude", Some("/elsewhere")),
            Some("/home/alex/b"),
            "claude-2",
        ),
        (talk("gemini", None), None, "codex-1"),
        (None, Some("/home/alex/a/deep/down"), "claude-1"),
        (None, Some("/elsewhere"), "codex-1"),
        (None, None, "codex-1"),
    ] {
        let mut board = waiting(&sessions);
        if let Some(talk) = talk.clone() {
            board.talked(talk);
        }
        let mut one = notice(1);
        one.folder = folder.map(PathBuf::from);
        board.came(vec![one], 1, Wall(10));
        let told = all_look(&mut board, 20);
        assert_eq!(
            told,
            [(expected.to_owned(), vec![1])],
            "{talk:?} {folder:?}"
        );
    }
}

#[test]
fn a_session_that_works_is_waited_for_when_the_message_is_its_answer() {
    let mut board = waiting(&[("claude-1", "/a"), ("claude-2", "/b")]);
    board.talked(Talk {
        channel: "teams".to_owned(),
        chat: "chat".to_owned(),
        client: "claude".to_owned(),
        folder: Some(PathBuf::from("/a")),
        at: Wall(0),
    });
    board.busy(&key("claude-1"), Wall(5));
    board.came(vec![notice(1)], 1, Wall(10));
    assert!(all_look(&mut board, 20 * SECOND).is_empty());
    let mut later = board.clone();
    board.idle(&key("claude-1"), Some(Kin::own()), Wall(21 * SECOND));
    assert_eq!(
        all_look(&mut board, 22 * SECOND),
        [("claude-1".to_owned(), vec![1])]
    );
    // Not for ever: another one is told in the end.
    assert_eq!(
        all_look(&mut later, 700 * SECOND),
        [("claude-2".to_owned(), vec![1])]
    );
}

#[test]
fn one_that_only_seems_to_work_is_told_in_the_end() {
    let mut board = waiting(&[("claude-1", "/a")]);
    board.busy(&key("claude-1"), Wall(5));
    board.came(vec![notice(1)], 1, Wall(10));
    assert!(all_look(&mut board, 50 * SECOND).is_empty());
    let told = [("claude-1".to_owned(), vec![1])];
    assert_eq!(all_look(&mut board, 61 * SECOND), told);
    // It may be at work after all, and is left in peace.
    assert!(all_look(&mut board, 120 * SECOND).is_empty());
}

#[test]
fn what_a_dead_waker_took_is_given_back() {
    let mut board = waiting(&[("claude-1", "/a"), ("claude-2", "/b")]);
    board.came(vec![notice(1)], 1, Wall(10));
    board.idle(&key("claude-2"), Some(gone()), Wall(11));
    board.claims[0].stage = Stage::Taken {
        by: key("claude-2"),
        waker: gone(),
    };
    assert_eq!(all_look(&mut board, 20), [("claude-1".to_owned(), vec![1])]);
}

#[test]
fn what_a_session_was_told_before_it_died_is_given_back() {
    for ended_by_hook in [true, false] {
        let mut board = waiting(&[("claude-1", "/a"), ("claude-2", "/b")]);
        board.came(vec![notice(1)], 1, Wall(10));
        assert_eq!(all_look(&mut board, 20), [("claude-2".to_owned(), vec![1])]);
        match ended_by_hook {
            true => board.end(&key("claude-2")),
            false => board.begin(&key("claude-2"), Wall(21)).process = Some(gone()),
        }
        assert_eq!(all_look(&mut board, 30), [("claude-1".to_owned(), vec![1])]);
        assert!(board.session(&key("claude-2")).is_none());
    }
}

#[test]
fn a_session_that_does_nothing_when_told_is_not_told_again_until_it_lives() {
    let mut board = waiting(&[("claude-1", "/a"), ("claude-2", "/b")]);
    board.came(vec![notice(1)], 1, Wall(10));
    assert_eq!(all_look(&mut board, 20), [("claude-2".to_owned(), vec![1])]);
    assert!(all_look(&mut board, 20 * SECOND).is_empty());
    assert_eq!(
        all_look(&mut board, 40 * SECOND),
        [("claude-1".to_owned(), vec![1])]
    );
    board.busy(&key("claude-1"), Wall(41 * SECOND));
    board.came(vec![notice(2)], 2, Wall(42 * SECOND));
    assert!(all_look(&mut board, 43 * SECOND).is_empty());
    board.busy(&key("claude-2"), Wall(44 * SECOND));
    board.idle(&key("claude-2"), Some(Kin::own()), Wall(45 * SECOND));
    assert_eq!(
        all_look(&mut board, 46 * SECOND),
        [("claude-2".to_owned(), vec![2])]
    );
}

#[test]
fn what_was_told_to_one_that_works_is_its_own_when_it_is_done() {
    let told = || {
        let mut board = waiting(&[("claude-1", "/a")]);
        board.busy(&key("claude-1"), Wall(5));
        board.came(vec![notice(1)], 1, Wall(10));
        assert_eq!(all_look(&mut board, 61 * SECOND).len(), 1);
        board.idle(&key("codex-1"), Some(Kin::own()), Wall(90 * SECOND));
        board.idle(&key("claude-1"), Some(Kin::own()), Wall(100 * SECOND));
        assert!(all_look(&mut board, 101 * SECOND).is_empty());
        board
    };
    let mut works = told();
    works.busy(&key("claude-1"), Wall(102 * SECOND));
    assert!(works.claims.is_empty());
    let mut read = told();
    let taken = read.take(
        &key("claude-1"),
        Kin::own(),
        Wall(102 * SECOND),
        &|_notice| true,
    );
    assert!(taken.is_empty() && read.claims.is_empty());
    let mut silent = told();
    assert_eq!(
        all_look(&mut silent, 131 * SECOND),
        [("codex-1".to_owned(), vec![1])]
    );
}

#[test]
fn a_session_without_a_known_process_is_kept_for_a_day_of_silence() {
    const DAY: i64 = 86_400 * SECOND;
    let mut board = waiting(&[("claude-1", "/a")]);
    board.begin(&key("claude-1"), Wall(0)).process = None;
    board.sweep(Wall(DAY - 1));
    assert_eq!(board.sessions.len(), 1);
    board.sweep(Wall(DAY));
    assert!(board.sessions.is_empty());
}

#[test]
fn what_was_read_meanwhile_wakes_nobody() {
    let mut board = waiting(&[("claude-1", "/a")]);
    board.came(vec![notice(1), notice(2)], 2, Wall(10));
    let read = |notice: &Notice| notice.seq == 1;
    let taken = board.take(&key("claude-1"), Kin::own(), Wall(20), &read);
    assert_eq!(taken.iter().map(|one| one.seq).collect::<Vec<_>>(), [2]);
    assert_eq!(board.claims.len(), 1);
}

#[test]
fn what_could_not_be_told_is_for_others() {
    let mut board = waiting(&[("codex-1", "/a"), ("codex-2", "/b")]);
    board.came(vec![notice(1)], 1, Wall(10));
    let taken = board.take(&key("codex-2"), Kin::own(), Wall(20), &unread);
    assert_eq!(taken.len(), 1);
    board.give_back(&key("codex-2"), Kin::own());
    assert_eq!(all_look(&mut board, 30), [("codex-1".to_owned(), vec![1])]);
}

#[test]
fn only_the_latest_waker_of_a_session_takes() {
    let mut board = waiting(&[("claude-1", "/a")]);
    board.came(vec![notice(1)], 1, Wall(10));
    let earlier = Kin {
        started: Some(1),
        ..Kin::own()
    };
    assert!(
        board
            .take(&key("claude-1"), earlier, Wall(20), &unread)
            .is_empty()
    );
}

#[test]
fn a_crowd_of_messages_is_bounded() {
    let mut board = waiting(&[]);
    board.came((1..=1_500).map(notice).collect(), 1_500, Wall(10));
    assert_eq!(board.claims.len(), 1_000);
    assert_eq!(board.claims[0].notice.seq, 501);
    assert_eq!(board.through, Some(1_500));
}

#[test]
fn a_board_is_kept_and_a_broken_one_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let file = BoardFile::at(&folder.path().join("wake"));
    let mut lock = file.lock().unwrap();
    lock.board = waiting(&[("claude-1", "/a")]);
    lock.board.came(vec![notice(7)], 7, Wall(10));
    let kept = lock.board.clone();
    lock.save().unwrap();
    assert_eq!(file.lock().unwrap().board, kept);
    std::fs::write(file.folder().join("board.json"), "{half").unwrap();
    assert_eq!(file.lock().unwrap().board, Board::default());
}

#[test]
fn many_at_once_take_each_message_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = BoardFile::at(folder.path());
    let ids: Vec<String> = (0..8).map(|at| format!("claude-{at}")).collect();
    let sessions: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), "/a")).collect();
    let mut lock = file.lock().unwrap();
    lock.board = waiting(&sessions);
    lock.save().unwrap();
    let mut taken: Vec<u64> = std::thread::scope(|scope| {
        let wakers: Vec<_> = ids
            .iter()
            .map(|id| {
                let file = &file;
                scope.spawn(move || {
                    let mut seen = Vec::new();
                    for round in 1..=25 {
                        let mut lock = file.lock().unwrap();
                        lock.board.came(vec![notice(round)], round, Wall(10));
                        let key = key(id);
                        let new = lock.board.take(&key, Kin::own(), Wall(20), &unread);
                        seen.extend(new.iter().map(|one| one.seq));
                        lock.board.told(&key, Kin::own(), Wall(20));
                        lock.save().unwrap();
                    }
                    seen
                })
            })
            .collect();
        wakers
            .into_iter()
            .flat_map(|waker| waker.join().unwrap())
            .collect()
    });
    // What none of them looked at again is still there for the one it belongs to.
    let mut lock = file.lock().unwrap();
    taken.extend(
        all_look(&mut lock.board, 30)
            .into_iter()
            .flat_map(|one| one.1),
    );
    taken.sort_unstable();
    assert_eq!(taken, (1..=25).collect::<Vec<u64>>());
}

#[test]
fn messages_of_another_inbox_wake_somebody_though_their_numbers_are_old() {
    let mut board = waiting(&[("claude-1", "/a")]);
    board.came(vec![notice(9)], 9, Wall(10));
    // An inbox that grew past what is known here is the same one.
    board.begun_anew(9);
    assert_eq!(all_look(&mut board, 20), [("claude-1".to_owned(), vec![9])]);
    board.begun_anew(2);
    assert!(
        board.claims.is_empty(),
        "what is not there any more is nobody's"
    );
    board.came(vec![notice(1), notice(2)], 2, Wall(30));
    // Who notices later changes nothing.
    board.begun_anew(2);
    assert_eq!(
        all_look(&mut board, 40),
        [("claude-1".to_owned(), vec![1, 2])]
    );
}
