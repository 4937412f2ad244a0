//! A conversation of any length that is drawn without a terminal, for whoever measures frames.

use legation_api::conversation::{Body, Event, MessageView, SessionView, Source};
use legation_api::tasks::ToolCallView;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use crate::app::{App, Choices, Code, Input, Key};
use crate::shell::Inline;
use crate::view::{Cache, frame, live, printed};

/// The task whose answer is being written.
const TASK: &str = "task_1";

/// A state with what draws it.
#[derive(Debug)]
pub struct Stage {
    app: App,
    cache: Cache,
    inline: Inline,
    buffer: Buffer,
    frames: u64,
}

// === impl Stage ===

impl Stage {
    /// A conversation of so many entries: questions, answers in Markdown, calls.
    #[must_use]
    pub fn with(entries: u64, columns: u16, rows: u16, is_full: bool) -> Self {
        let choices = Choices {
            is_full,
            ..Choices::default()
        };
        let mut stage = Self {
            app: App::new(choices, columns, rows),
            cache: Cache::default(),
            inline: Inline::new(true),
            buffer: Buffer::empty(Rect::new(0, 0, columns, rows)),
            frames: 0,
        };
        stage.put(Input::Opened(Box::new(session())));
        for seq in 0..entries {
            stage.put(Input::Told(Box::new(entry(seq))));
        }
        stage.put(Input::Told(Box::new(Event::Live {})));
        stage.app.take_prints();
        stage
    }

    fn put(&mut self, input: Input) {
        // What is to be asked is nobody's business here.
        drop(self.app.update(self.frames * 16, input));
    }

    /// A key is pressed and a part of an answer comes; what was drawn then: bytes, or cells.
    pub fn frame(&mut self) -> usize {
        self.frames += 1;
        let ends_line = self.frames.is_multiple_of(8);
        let text = if ends_line {
            "words.\n\n"
        } else {
            "some **more** "
        };
        self.put(Input::Told(Box::new(Event::Delta {
            task_id: TASK.to_owned(),
            text: text.to_owned(),
        })));
        self.put(Input::Key(Key {
            code: match self.frames.is_multiple_of(60) {
                true => Code::Esc,
                false => Code::Char('x'),
            },
            ctrl: false,
            alt: false,
            shift: false,
        }));
        let prints = self.app.take_prints();
        if !self.app.choices.is_full {
            let width = usize::from(self.app.columns) - 1;
            let lines: Vec<_> = prints
                .iter()
                .flat_map(|print| printed(print, width))
                .collect();
            return self.inline.draw(&lines, &live(&self.app, true)).len();
        }
        let mut next = Buffer::empty(self.buffer.area);
        let _: crate::view::Drawn = frame(&self.app, &mut self.cache, &mut next);
        let changed = self.buffer.diff(&next).len();
        self.buffer = next;
        changed
    }

    /// The window gets another width, as while it is dragged.
    pub fn resize(&mut self, columns: u16) {
        let rows = self.app.rows;
        self.buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
        self.put(Input::Resize { columns, rows });
    }
}

fn session() -> SessionView {
    SessionView {
        id: "ses_1".to_owned(),
        workspace: None,
        title: "a conversation".to_owned(),
        created: String::new(),
        active: String::new(),
        messages: 0,
        entities: Vec::new(),
        current: true,
    }
}

fn entry(seq: u64) -> Event {
    let answer = "I'll create the **Board** class.\n\n- `get_piece`\n- `set_piece`\n\n\
                  ```python\nclass Board:\n    def get_piece(self, at):\n        return self.grid[at]\n```\n\n\
                  | file | lines |\n|---|---|\n| src/board.py | 145 |\n";
    let text = |text: &str| Body::Text {
        text: text.to_owned(),
        partial: false,
    };
    let (source, body) = match seq % 3 {
        0 => (
            Source::Human,
            text("Implement the Board class in src/board.py, with tests."),
        ),
        1 => (Source::Model, text(answer)),
        _ => (
            Source::Model,
            Body::Tool {
                call_id: format!("call_{seq}"),
                call: ToolCallView {
                    tool: "write_file".to_owned(),
                    status: "success".to_owned(),
                    path: Some("src/board.py".to_owned()),
                    command: None,
                    exit_code: None,
                    lines: Some(145),
                    result_uri: None,
                },
                arguments: "{}".to_owned(),
                result: "145 lines".to_owned(),
            },
        ),
    };
    Event::Message {
        message: Box::new(MessageView {
            seq,
            session: "ses_1".to_owned(),
            task_id: Some(format!("task_{}", seq / 3 + 2)),
            source,
            at: String::new(),
            entities: Vec::new(),
            body,
        }),
    }
}
