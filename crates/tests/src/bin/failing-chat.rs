//! The terminal of `legation chat` with parts that fail when a file appears: arguments are a data
//! directory in which no hub runs, the file, `loop` or `thread`, and `inline` or `fullscreen`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use legation_core::{Clock, Home, SharedClock, SystemClock, Wall};
use legation_tui::{Options, Parts, Starter};

/// A clock of the thread that draws.
#[derive(Debug)]
struct FailingClock(PathBuf);

// === impl FailingClock ===

impl Clock for FailingClock {
    fn now(&self) -> Instant {
        fail_where_wanted(&self.0);
        SystemClock.now()
    }

    fn wall(&self) -> Wall {
        SystemClock.wall()
    }
}

fn fail_where_wanted(file: &Path) {
    assert!(!file.exists(), "it fails on purpose");
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [home, file, place, screen] = &words[..] else {
        return ExitCode::from(2);
    };
    let file = PathBuf::from(file);
    let is_thread = place == "thread";
    let clock: SharedClock = match is_thread {
        true => Arc::new(SystemClock),
        false => Arc::new(FailingClock(file.clone())),
    };
    let starter: Option<Starter> = is_thread.then(|| {
        let wait: Starter = Box::new(move || {
            loop {
                fail_where_wanted(&file);
                std::thread::park_timeout(Duration::from_millis(20));
            }
        });
        wait
    });
    let shown = legation_tui::run(Parts {
        home: Home::at(PathBuf::from(home)),
        version: "test",
        clock,
        starter,
        outside: &|_| {},
        options: Options {
            is_full: screen == "fullscreen",
            ..Options::default()
        },
    });
    match shown {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
