//! What keys do.

use super::{App, Code, Effect, Item, Key, Mode, Target};

/// Lines by which a page moves.
const PAGE: usize = 15;

// === impl App ===

impl App {
    pub(crate) fn key(&mut self, key: Key) {
        self.last_key_ms = self.now_ms;
        if key.ctrl && self.everywhere(key) {
            return;
        }
        match self.mode.clone() {
            Mode::Compose => self.compose_key(key),
            Mode::Tasks { selected } => self.tasks_key(key, selected),
            Mode::Approval(_) => self.approval_key(key),
            Mode::Help => self.mode = Mode::Compose,
            Mode::Pager { up, is_unfolded } => self.pager_key(key, up, is_unfolded),
        }
    }

    /// Keys that mean the same in every mode; whether it was one.
    fn everywhere(&mut self, key: Key) -> bool {
        match key.code {
            Code::Char('c') => self.leave(),
            Code::Char('z') => self.effects.push_back(Effect::Suspend),
            Code::Char('l') => self.effects.push_back(Effect::Redraw),
            Code::Char('p') => self.pause(),
            Code::Char('t') => {
                self.mode = match self.mode {
                    Mode::Tasks { .. } => Mode::Compose,
                    _ => Mode::Tasks { selected: 0 },
                }
            }
            Code::Char('o') => {
                self.mode = match self.mode {
                    Mode::Pager { .. } => Mode::Compose,
                    _ => Mode::Pager {
                        up: 0,
                        is_unfolded: true,
                    },
                }
            }
            Code::Char('y') => self.approval(None),
            _ => return false,
        }
        true
    }

    /// The first press keeps what is written where it can be had back; the second ends.
    fn leave(&mut self) {
        if self.twice('c') {
            self.effects.push_back(Effect::Quit);
            return;
        }
        self.mode = Mode::Compose;
        self.target = Target::Conversation;
        let text = self.composer.take();
        if !text.is_empty() {
            self.composer.keep(&text);
        }
        let held = match self.queue.held() {
            0 => String::new(),
            1 => "; 1 message that waits here is lost then".to_owned(),
            count => format!("; {count} messages that wait here are lost then"),
        };
        self.say(format!("Ctrl-C again ends; tasks go on in the hub{held}"));
    }

    fn compose_key(&mut self, key: Key) {
        let before = self.composer.text().len();
        match key.code {
            Code::Enter if key.alt || key.shift => self.composer.insert("\n"),
            Code::Enter => self.enter(),
            Code::Tab if self.composer.text().starts_with('/') => self.complete(),
            Code::Tab => {
                let text = self.composer.take();
                if self.target == Target::Conversation && !text.trim().is_empty() {
                    self.composer.keep(&text);
                    self.send_later(text.trim());
                } else {
                    self.composer.set(&text);
                }
            }
            Code::Esc => self.escape(),
            Code::Char('?') if self.composer.is_empty() => self.mode = Mode::Help,
            Code::Char(sign) if key.ctrl => self.edit_by_letter(sign),
            Code::Char('b') if key.alt => self.composer.word_left(),
            Code::Char('f') if key.alt => self.composer.word_right(),
            Code::Char(sign) => self.composer.insert(sign.encode_utf8(&mut [0; 4])),
            Code::Backspace if key.alt || key.ctrl => self.composer.rub_word(),
            Code::Backspace => self.composer.backspace(),
            Code::Delete => self.composer.delete(),
            Code::Left if key.ctrl || key.alt => self.composer.word_left(),
            Code::Right if key.ctrl || key.alt => self.composer.word_right(),
            Code::Left => self.composer.left(),
            Code::Right => self.composer.right(),
            Code::Up => self.composer.up(),
            Code::Down => self.composer.down(),
            Code::Home => self.composer.home(),
            Code::End => self.composer.end(),
            Code::PageUp => {
                self.mode = Mode::Pager {
                    up: PAGE,
                    is_unfolded: false,
                }
            }
            Code::PageDown | Code::BackTab => {}
        }
        if self.composer.text().len() > before {
            self.typing();
        }
    }

    fn edit_by_letter(&mut self, letter: char) {
        match letter {
            'j' => self.composer.insert("\n"),
            'a' => self.composer.home(),
            'e' => self.composer.end(),
            'b' => self.composer.left(),
            'f' => self.composer.right(),
            'w' => self.composer.rub_word(),
            'u' => self.composer.rub_line(),
            'k' => self.composer.cut_line(),
            'd' if self.composer.is_empty() => self.effects.push_back(Effect::Quit),
            'd' => self.composer.delete(),
            'r' => self.answer_mode(),
            _ => {}
        }
    }

    /// Words from now on are for the task that asks.
    fn answer_mode(&mut self) {
        let asking = self.queue.asking().map(|task| task.task_id.clone());
        match asking {
            Some(id) => self.target = Target::Answer(id),
            None => self.say("no task asks anything"),
        }
    }

    pub(crate) fn enter(&mut self) {
        let text = self.composer.take();
        let target = std::mem::replace(&mut self.target, Target::Conversation);
        let trimmed = text.trim();
        if trimmed.is_empty() {
            self.target = target;
            return;
        }
        self.composer.keep(&text);
        // Two slashes are one that begins no command.
        match trimmed.strip_prefix('/') {
            Some(rest) if target == Target::Conversation && !rest.starts_with('/') => {
                self.command(trimmed);
            }
            Some(rest) if target == Target::Conversation => self.send(rest, target),
            _ => self.send(trimmed, target),
        }
    }

    /// Leaves what the words are for; else interrupts what is worked on. No word is lost by it.
    fn escape(&mut self) {
        if self.target != Target::Conversation {
            let text = self.composer.take();
            self.composer.keep(&text);
            self.target = Target::Conversation;
            return;
        }
        if let Some(id) = self.queue.own_active().map(|task| task.task_id.clone()) {
            self.cancel(&id, "interrupted at the terminal");
            return;
        }
        let agents = self.queue.active();
        let Some((id, source)) = agents.map(|task| (task.task_id.clone(), task.source.clone()))
        else {
            return;
        };
        match self.twice('e') {
            true => self.cancel(&id, "interrupted at the terminal"),
            false => self.say(format!(
                "Esc again cancels the task of {source}; Ctrl-P only holds it back"
            )),
        }
    }

    fn tasks_key(&mut self, key: Key, selected: usize) {
        let count = self.queue.items().len();
        let selected = selected.min(count.saturating_sub(1));
        let is_moving = key.alt || key.shift;
        match key.code {
            Code::Up | Code::Down if is_moving => {
                self.move_item(selected, key.code == Code::Up);
            }
            Code::Char('K') => self.move_item(selected, true),
            Code::Char('J') => self.move_item(selected, false),
            Code::Up | Code::Char('k') => self.select(selected.saturating_sub(1)),
            Code::Down | Code::Char('j') => {
                self.select((selected + 1).min(count.saturating_sub(1)))
            }
            Code::Esc | Code::Char('q') => self.mode = Mode::Compose,
            Code::Enter => self.show_item(selected),
            Code::Char('e') => self.edit_item(selected),
            Code::Char('s') => self.steer_item(selected),
            Code::Char('r') => {
                self.mode = Mode::Compose;
                self.answer_mode();
            }
            Code::Char('x') | Code::Delete => self.cancel_item(selected),
            Code::Char('?') => self.mode = Mode::Help,
            _ => {}
        }
    }

    fn select(&mut self, selected: usize) {
        self.mode = Mode::Tasks { selected };
    }

    fn pager_key(&mut self, key: Key, up: usize, is_unfolded: bool) {
        let up = match key.code {
            Code::Up | Code::Char('k') => up + 1,
            Code::Down | Code::Char('j') => up.saturating_sub(1),
            Code::PageUp | Code::Char('b') => up + PAGE,
            Code::PageDown | Code::Char(' ') => up.saturating_sub(PAGE),
            Code::Home | Code::Char('g') => usize::MAX / 2,
            Code::End | Code::Char('G') => 0,
            Code::Char('o') | Code::Enter => {
                self.mode = Mode::Pager {
                    up,
                    is_unfolded: !is_unfolded,
                };
                return;
            }
            Code::Esc | Code::Char('q') => {
                self.mode = Mode::Compose;
                return;
            }
            _ => up,
        };
        self.mode = Mode::Pager { up, is_unfolded };
    }

    pub(crate) fn paste(&mut self, text: &str) {
        self.last_key_ms = self.now_ms;
        if self.mode == Mode::Compose {
            self.composer.insert(&crate::text::clean(text));
            self.typing();
        }
    }

    /// A line, where lines are read.
    pub(crate) fn line(&mut self, line: &str) {
        let line = crate::text::clean(line);
        if !self.is_answer(line.trim()) {
            self.composer.set(&line);
            self.enter();
        }
    }

    /// What is selected in the queue.
    pub(crate) fn item(&self, selected: usize) -> Option<Item<'_>> {
        self.queue.items().get(selected).copied()
    }
}
