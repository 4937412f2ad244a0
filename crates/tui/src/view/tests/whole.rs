//! The whole screen.

use expect_test::{Expect, expect};
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;

use super::*;
use crate::app::tests::{ctrl, key, press};
use crate::app::{Code, Mode};
use crate::view::{Cache, frame};

fn seen(app: &App, cache: &mut Cache) -> (String, Option<usize>) {
    let backend = TestBackend::new(app.columns, app.rows);
    let mut terminal = Terminal::new(backend).expect("a terminal");
    let mut top = None;
    let drawn = terminal.draw(|canvas| {
        let drawn = frame(app, cache, canvas.buffer_mut());
        if let Some(cursor) = drawn.cursor {
            canvas.set_cursor_position(cursor);
        }
        top = drawn.top;
    });
    drawn.expect("drawn");
    let text = terminal.backend().to_string();
    let rows = text.lines().map(|row| row.trim_matches('"').trim_end());
    (rows.collect::<Vec<&str>>().join("\n"), top)
}

fn check(columns: u16, wanted: &Expect) {
    let mut app = sized(columns, 24);
    app.choices.is_full = true;
    example(&mut app, |_| ());
    wanted.assert_eq(&seen(&app, &mut Cache::default()).0);
}

#[test]
fn the_example_in_40_columns() {
    check(
        40,
        &expect![[r#"

        [claude-code] Implement the Board class
          in src/board.py with 8x8 grid,
          get_piece, set_piece methods.

        [legation] I'll create the Board
          class...
          [write_file: src/boar…] ok, 145 lines

            class Board:
                def get_piece(self, at):
                    return self.grid[at]

          Created Board class with 145 lines.

        [you] What did Claude Code ask for?

        [legation] Claude Code requested I
          implement a Bo
        * [you] title of h2 12 s
          1. [claude-code] Write tests for the…
        >
        1 queued | chess
        Esc interrupt  Ctrl-P hold"#]],
    );
}

#[test]
fn the_example_in_80_columns() {
    check(
        80,
        &expect![[r#"
            -------------|-------------
            src/board.py | the 8x8 grid
            src/moves.py | legal moves

        [claude-code] Implement the Board class in src/board.py with 8x8 grid,
          get_piece, set_piece methods.

        [legation] I'll create the Board class...
          [write_file: src/board.py] ok, 145 lines

            class Board:
                def get_piece(self, at):
                    return self.grid[at]

          Created Board class with 145 lines.

        [you] What did Claude Code ask for?

        [legation] Claude Code requested I implement a Bo
        * [you] title of h2 12 s
          1. [claude-code] Write tests for the Board class
        >
        1 queued | chess
        Esc interrupt  Ctrl-P hold  Ctrl-T tasks  ? help  Ctrl-C twice end"#]],
    );
}

#[test]
fn the_example_in_120_columns() {
    check(
        120,
        &expect![[r#"
            module       | what
            -------------|-------------
            src/board.py | the 8x8 grid
            src/moves.py | legal moves

        [claude-code] Implement the Board class in src/board.py with 8x8 grid, get_piece, set_piece methods.

        [legation] I'll create the Board class...
          [write_file: src/board.py] ok, 145 lines

            class Board:
                def get_piece(self, at):
                    return self.grid[at]

          Created Board class with 145 lines.

        [you] What did Claude Code ask for?

        [legation] Claude Code requested I implement a Bo
        * [you] title of h2 12 s
          1. [claude-code] Write tests for the Board class
        >
        1 queued | chess
        Esc interrupt  Ctrl-P hold  Ctrl-T tasks  ? help  Ctrl-C twice end"#]],
    );
}

#[test]
fn the_conversation_is_read_from_its_end_to_its_beginning() {
    let mut app = sized(60, 16);
    example(&mut app, |_| ());
    let mut cache = Cache::default();
    press(&mut app, ctrl('o'));
    expect![[r#"
        [legation] I'll create the Board class...
          [write_file: src/board.py] ok, 145 lines
            {"path":"src/board.py"}
            145 lines written

            class Board:
                def get_piece(self, at):
                    return self.grid[at]

          Created Board class with 145 lines.

        [you] What did Claude Code ask for?

        [legation] Claude Code requested I implement a Bo
        1 queued | chess
        Esc back  Up Down PgUp PgDn move  o fold"#]]
    .assert_eq(&seen(&app, &mut cache).0);
    press(&mut app, key(Code::Home));
    let (text, top) = seen(&app, &mut cache);
    assert!(text.contains("[you] Help me build"), "{text}");
    app.read_to_the_top(top.expect("its beginning is seen"));
    press(&mut app, key(Code::Down));
    let (text, top) = seen(&app, &mut cache);
    assert_eq!(top, None, "{text}");
    press(&mut app, key(Code::Esc));
    assert_eq!(app.mode, Mode::Compose);
}

#[test]
fn an_entry_that_changes_is_drawn_anew() {
    let mut app = sized(60, 16);
    app.choices.is_full = true;
    let mut cache = Cache::default();
    news(&mut app, call(5, "a1", "running", ""));
    assert!(
        seen(&app, &mut cache)
            .0
            .contains("[write_file: src/board.py] ...")
    );
    news(&mut app, call(5, "a1", "error", "no such folder"));
    let (text, _) = seen(&app, &mut cache);
    assert!(text.contains("[write_file: src/board.py] failed"), "{text}");
    assert!(!text.contains("no such folder"), "{text}");
    press(&mut app, ctrl('o'));
    assert!(seen(&app, &mut cache).0.contains("no such folder"));
}
