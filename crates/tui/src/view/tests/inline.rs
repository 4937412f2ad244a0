//! Lines above which the scrollback is the terminal's own.

use std::num::NonZeroU16;

use expect_test::{Expect, expect};
use legation_api::tasks::Class;
use vt100::Parser;

use super::*;
use crate::app::tests::{ctrl, enter, key, press, told, write};
use crate::app::{Answer, Ask, Code, Print};
use crate::shell::{Inline, Leave};
use crate::view::{live, printed};

/// A terminal that stands in for one, and what draws on it.
struct Seen {
    parser: Parser,
    inline: Inline,
}

impl Seen {
    fn new(columns: u16, rows: u16) -> Self {
        let mut parser = Parser::new(size(rows), size(columns), 500);
        parser.process(b"$ legation\r\n");
        Self {
            parser,
            inline: Inline::new(true),
        }
    }

    fn draw(&mut self, app: &mut App) {
        let width = usize::from(app.columns) - 1;
        let said: Vec<Print> = app.take_prints();
        let lines: Vec<_> = said
            .iter()
            .flat_map(|print| printed(print, width))
            .collect();
        let out = self.inline.draw(&lines, &live(app, true));
        self.parser.process(out.as_bytes());
    }

    /// Scrollback and screen, with a mark between them and one where the cursor is.
    fn text(&mut self) -> String {
        let columns = self.parser.screen().size().1.get();
        let mut above = Vec::new();
        self.parser.screen_mut().set_scrollback(usize::MAX);
        let count = self.parser.screen().scrollback();
        for at in (1..=count).rev() {
            self.parser.screen_mut().set_scrollback(at);
            above.extend(self.parser.screen().rows(0, columns).next());
        }
        self.parser.screen_mut().set_scrollback(0);
        let screen = self.parser.screen();
        let mut rows: Vec<String> = screen.rows(0, columns).collect();
        let (row, column) = screen.cursor_position();
        if !screen.hide_cursor() {
            let row = &mut rows[usize::from(row)];
            let mut at = 0;
            let mut used = 0;
            for sign in row.chars() {
                if used >= usize::from(column) {
                    break;
                }
                used += crate::text::columns(sign.encode_utf8(&mut [0; 4]));
                at += sign.len_utf8();
            }
            let blank = usize::from(column).saturating_sub(used);
            row.insert_str(at, &format!("{}_", " ".repeat(blank)));
        }
        above.push("~~~".to_owned());
        above.extend(rows);
        let rows: Vec<&str> = above.iter().map(|row| row.trim_end()).collect();
        rows.join("\n").trim_end().to_owned()
    }
}

fn size(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).expect("a window has a size")
}

fn check(columns: u16, wanted: &Expect) {
    let mut seen = Seen::new(columns, 24);
    let mut app = sized(columns, 24);
    example(&mut app, |app| seen.draw(app));
    write(&mut app, "and then?");
    seen.draw(&mut app);
    wanted.assert_eq(&seen.text());
}

#[test]
fn the_example_in_40_columns() {
    check(
        40,
        &expect![[r#"
        $ legation

        [you] Help me build a chess application

        [legation] I'll help you design a chess
          application. It needs:

          - a `Board`
          - pieces and their moves

            module       | what
            -------------|-------------
            src/board.py | the 8x8 grid
            src/moves.py | legal moves
        ~~~

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
        > and then?_
        1 queued | chess
        Enter add to it  Tab after it"#]],
    );
}

#[test]
fn the_example_in_80_columns() {
    check(
        80,
        &expect![[r#"
        $ legation

        [you] Help me build a chess application

        [legation] I'll help you design a chess application. It needs:

          - a `Board`
          - pieces and their moves

            module       | what
        ~~~
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
        > and then?_
        1 queued | chess
        Enter add to it  Tab after it  Esc interrupt  Ctrl-P hold  Ctrl-T tasks"#]],
    );
}

#[test]
fn the_example_in_120_columns() {
    check(
        120,
        &expect![[r#"
        $ legation

        [you] Help me build a chess application

        [legation] I'll help you design a chess application. It needs:

          - a `Board`
          - pieces and their moves

        ~~~
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
        > and then?_
        1 queued | chess
        Enter add to it  Tab after it  Esc interrupt  Ctrl-P hold  Ctrl-T tasks  Ctrl-C twice end"#]],
    );
}

fn asked(columns: u16, wanted: &Expect) {
    let mut seen = Seen::new(columns, 24);
    let mut app = sized(columns, 24);
    works(&mut app, "a1", Class::Agent);
    app.now_ms = 10_000;
    let list = legation_api::approvals::ListAnswer {
        waiting: vec![waiting("ap1", "approval")],
        ..Default::default()
    };
    let answer = Box::new(Ok(Answer::Approvals(list)));
    told(
        &mut app,
        Input::Answered(Box::new(Ask::Approvals { is_shown: false }), answer),
    );
    app.now_ms += 1_000;
    seen.draw(&mut app);
    wanted.assert_eq(&seen.text());
}

#[test]
fn an_approval_in_40_columns() {
    asked(
        40,
        &expect![[r#"
        ~~~
        $ legation
        * [claude-code] title of a1 12 s
        approval ap1 waits for you
        who: delegate for claude-code
        calls: workspace/edit
        for: personal
        because: it changes a file (rule
        rungs.edit)
        @@ -1,2 +1,2 @@
         a = 1
        -b = 2
        +b = 3
        with:
        {"path":"src/board.py","old_string":"a
        = 1\nb = 2\n","new_string":"a = 1\nb =
        3\n"}
        digest: abab-abab
        until: 2026-01-28T10:10:00Z
        1 once  2 session  3 deny
        1 approval waits | chess
        y once  n no  1-9 that answer"#]],
    );
}

#[test]
fn an_approval_in_80_columns() {
    asked(
        80,
        &expect![[r#"
        ~~~
        $ legation
        * [claude-code] title of a1 12 s
        approval ap1 waits for you
        who: delegate for claude-code
        calls: workspace/edit
        for: personal
        because: it changes a file (rule rungs.edit)
        @@ -1,2 +1,2 @@
         a = 1
        -b = 2
        +b = 3
        with: {"path":"src/board.py","old_string":"a = 1\nb = 2\n","new_string":"a =
        1\nb = 3\n"}
        digest: abab-abab
        until: 2026-01-28T10:10:00Z
        1 once  2 session  3 deny
        1 approval waits | chess
        y once  n no  1-9 that answer  Esc later"#]],
    );
}

#[test]
fn an_approval_in_120_columns() {
    asked(
        120,
        &expect![[r#"
        ~~~
        $ legation
        * [claude-code] title of a1 12 s
        approval ap1 waits for you
        who: delegate for claude-code
        calls: workspace/edit
        for: personal
        because: it changes a file (rule rungs.edit)
        @@ -1,2 +1,2 @@
         a = 1
        -b = 2
        +b = 3
        with: {"path":"src/board.py","old_string":"a = 1\nb = 2\n","new_string":"a = 1\nb = 3\n"}
        digest: abab-abab
        until: 2026-01-28T10:10:00Z
        1 once  2 session  3 deny
        1 approval waits | chess
        y once  n no  1-9 that answer  Esc later"#]],
    );
}

#[test]
fn the_queue_and_the_help_in_40_columns() {
    let mut seen = Seen::new(40, 24);
    let mut app = sized(40, 24);
    example(&mut app, |_| ());
    app.take_prints();
    write(&mut app, "later");
    press(&mut app, key(Code::Tab));
    press(&mut app, ctrl('t'));
    press(&mut app, key(Code::Down));
    seen.draw(&mut app);
    expect![[r#"
        ~~~
        $ legation

        [legation] Claude Code requested I
          implement a Bo
        * [you] title of h2 12 s
          [you] works: title of h2
        > [claude-code] queued: Write tests fo…
          [you] waits here: later
        2 queued | chess
        Esc back  x cancel  Enter show  e edit"#]]
    .assert_eq(&seen.text());
    press(&mut app, key(Code::Esc));
    write(&mut app, "/m");
    seen.draw(&mut app);
    expect![[r#"
        ~~~
        $ legation

        [legation] Claude Code requested I
          implement a Bo
        * [you] title of h2 12 s
          1. [claude-code] Write tests for the…
          2. [you] (waits here) later
          /mcp list|show|search|add|edit|delet…
          /model [PROVIDER[/MODEL]|default]: t…
        > /m_
        2 queued | chess
        Enter do it  Tab complete"#]]
    .assert_eq(&seen.text());
}

#[test]
fn no_text_of_anybody_moves_the_cursor_or_paints() {
    let evil = "a\u{1b}[2J\u{1b}[H\u{1b}]0;pwned\u{7}\u{9b}31mb\r\u{8}\u{8}c\u{202e}d &#27;[5mx `\u{1b}[5m`";
    for source in [
        Source::Human,
        Source::Client(evil.to_owned()),
        Source::Model,
        Source::System,
    ] {
        let mut seen = Seen::new(80, 24);
        let mut app = sized(80, 24);
        seen.draw(&mut app);
        news(&mut app, text(1, "t", source, evil));
        news(&mut app, delta("t", evil));
        let mut bad = task("t", Class::Agent, TaskState::InProgress);
        (bad.title, bad.source) = (evil.to_owned(), evil.to_owned());
        (bad.model, bad.progress) = (Some(evil.to_owned()), Some(evil.to_owned()));
        bad.question = Some(evil.to_owned());
        news(
            &mut app,
            legation_api::conversation::Event::Task {
                task: Box::new(bad),
            },
        );
        news(&mut app, call(2, "t", "success", evil));
        told(&mut app, Input::Paste(evil.to_owned()));
        app.say(evil);
        let said: Vec<Print> = app.take_prints();
        let lines: Vec<_> = said.iter().flat_map(|print| printed(print, 79)).collect();
        let out = seen.inline.draw(&lines, &live(&app, true));
        // What is left of the sequences are those that this program makes.
        let mut rest = out.as_str();
        while let Some(at) = rest.find('\u{1b}') {
            let after = &rest[at + 1..];
            let end = after
                .find(|sign: char| sign.is_ascii_alphabetic())
                .expect("an end");
            let sequence = &after[..=end];
            let is_ours = sequence.ends_with(['m', 'A', 'B', 'C', 'J', 'K'])
                || matches!(sequence, "[?2026h" | "[?2026l" | "[?25h" | "[?25l");
            let is_known = !matches!(sequence, "[2J" | "[5m" | "[H");
            assert!(is_ours && is_known, "{sequence:?} in {out:?}");
            rest = &after[end + 1..];
        }
        let others = out
            .chars()
            .filter(|sign| sign.is_control() && !matches!(sign, '\u{1b}' | '\r' | '\n'));
        assert_eq!(others.count(), 0, "{out:?}");
        seen.parser.process(out.as_bytes());
        assert!(seen.text().contains("$ legation"), "what stood there stays");
    }
}

#[test]
fn what_was_said_stands_in_the_scrollback_once_however_it_came() {
    for columns in WIDTHS {
        let mut seen = Seen::new(columns, 12);
        let mut app = sized(columns, 12);
        for number in 0..60_u64 {
            let words = format!("Answer number {number}.\n\nIts second paragraph.");
            let id = format!("t{number}");
            news(
                &mut app,
                text(
                    number * 2,
                    &id,
                    Source::Human,
                    &format!("question {number}"),
                ),
            );
            for piece in words.as_bytes().chunks(7) {
                news(
                    &mut app,
                    delta(&id, std::str::from_utf8(piece).expect("ASCII")),
                );
                seen.draw(&mut app);
            }
            news(&mut app, text(number * 2 + 1, &id, Source::Model, &words));
            seen.draw(&mut app);
            if number % 7 == 0 {
                write(&mut app, "some words that are written\n");
                press(&mut app, ctrl('j'));
                seen.draw(&mut app);
                press(&mut app, ctrl('c'));
                seen.draw(&mut app);
            }
        }
        let end = seen.inline.leave(Leave::Clear);
        seen.parser.process(end.as_bytes());
        let all = seen.text();
        assert!(all.starts_with("$ legation\n"), "{all}");
        for number in 0..60 {
            for words in [
                format!("[you] question {number}\n"),
                format!("[legation] Answer number {number}.\n"),
            ] {
                assert_eq!(
                    all.matches(&words).count(),
                    1,
                    "{words:?} at {columns}: {all}"
                );
            }
        }
        assert_eq!(all.matches("Its second paragraph.").count(), 60, "{all}");
        assert!(!all.contains("Ctrl-C"), "the live lines are gone: {all}");
    }
}

#[test]
fn a_narrower_window_leaves_no_pieces_behind() {
    let mut seen = Seen::new(80, 24);
    let mut app = sized(80, 24);
    news(&mut app, text(1, "t", Source::Human, "short"));
    seen.draw(&mut app);
    for columns in [60, 40, 80, 120, 40] {
        seen.parser.screen_mut().set_size(size(24), size(columns));
        (app.columns, app.rows) = (columns, 24);
        let out = seen.inline.resized(usize::from(columns));
        seen.parser.process(out.as_bytes());
        seen.draw(&mut app);
        let text = seen.text();
        assert!(text.contains("\n> "), "{text}");
        assert_eq!(text.matches("\n> ").count(), 1, "{text}");
    }
}

#[test]
fn words_are_seen_where_they_are_written() {
    let mut seen = Seen::new(40, 12);
    let mut app = sized(40, 12);
    enter(&mut app, "one");
    app.take_prints();
    write(
        &mut app,
        "請檢查這個合併請求好嗎謝謝 and some more words than fit",
    );
    for _ in 0..5 {
        press(&mut app, key(Code::Left));
    }
    seen.draw(&mut app);
    expect![[r#"
        ~~~
        $ legation
        > 請檢查這個合併請求好嗎謝謝 and some
          more words tha_n fit
        chess
        Enter send  Ctrl-C twice end"#]]
    .assert_eq(&seen.text());
}
