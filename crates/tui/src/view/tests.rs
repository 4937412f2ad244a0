//! What people see: the screen and the scrollback above it, at three widths.
//!
//! What is written is read by a terminal of its own, so that the bytes are tested and not what
//! they are made of.

mod inline;
mod whole;

use legation_api::conversation::Source;
use legation_api::tasks::{Class, TaskState, TokenUsage};

use crate::app::tests::{app, call, delta, news, task, text, waiting, works};
use crate::app::{App, Input};

pub(super) const WIDTHS: [u16; 3] = [40, 80, 120];

/// The example of two who share a conversation with a model, up to its last question; `step` is
/// called after everything that happens.
pub(super) fn example(app: &mut App, mut step: impl FnMut(&mut App)) {
    let client = || Source::Client("claude-code".to_owned());
    let mut say = |app: &mut App, event| {
        news(app, event);
        step(app);
    };
    say(
        app,
        text(1, "h1", Source::Human, "Help me build a chess application"),
    );
    say(
        app,
        delta(
            "h1",
            "I'll help you design a chess application. It needs:\n\n- a `Board`\n- pieces and their ",
        ),
    );
    let answer = "I'll help you design a chess application. It needs:\n\n- a `Board`\n- pieces and their moves\n\n\
                  | module | what |\n|---|---|\n| src/board.py | the 8x8 grid |\n| src/moves.py | legal moves |";
    say(app, text(2, "h1", Source::Model, answer));
    let words =
        "Implement the Board class in src/board.py with 8x8 grid, get_piece, set_piece methods.";
    say(app, text(3, "a1", client(), words));
    let mut board = task("a1", Class::Agent, TaskState::InProgress);
    board.title = words.to_owned();
    board.model = Some("local/qwen3-coder".to_owned());
    board.token_usage = Some(TokenUsage {
        input: Some(1250),
        output: Some(3400),
    });
    say(
        app,
        legation_api::conversation::Event::Task {
            task: Box::new(board.clone()),
        },
    );
    say(app, delta("a1", "I'll create the Board class...\n"));
    say(
        app,
        text(4, "a1", Source::Model, "I'll create the Board class..."),
    );
    say(app, call(5, "a1", "running", ""));
    say(app, call(5, "a1", "success", "145 lines written"));
    let code = "```python\nclass Board:\n    def get_piece(self, at):\n        return self.grid[at]\n```\n";
    say(app, delta("a1", code));
    say(
        app,
        text(
            6,
            "a1",
            Source::Model,
            &format!("{code}\nCreated Board class with 145 lines."),
        ),
    );
    board.status = TaskState::Completed;
    say(
        app,
        legation_api::conversation::Event::Task {
            task: Box::new(board),
        },
    );
    say(
        app,
        text(7, "h2", Source::Human, "What did Claude Code ask for?"),
    );
    works(app, "h2", Class::Human);
    say(app, delta("h2", "Claude Code requested I implement a Bo"));
    let mut queued = task("a2", Class::Agent, TaskState::Queued);
    queued.title = "Write tests for the Board class".to_owned();
    say(
        app,
        legation_api::conversation::Event::Task {
            task: Box::new(queued),
        },
    );
}

/// A state of this size.
pub(super) fn sized(columns: u16, rows: u16) -> App {
    let mut app = app();
    crate::app::tests::told(&mut app, Input::Resize { columns, rows });
    app
}
