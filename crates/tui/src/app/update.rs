//! What the hub tells and answers, and what time brings.

use legation_api::conversation::{Event, SessionView};
use legation_api::tasks::{self, NewTask, TaskState, TaskView};

use super::{Answer, App, Ask, Cell, Effect, Item, Link, Mode, Refusal, Target, listing};

/// How often keys are told to the hub at most: it holds agents' steps back for two seconds.
const TYPING_MS: u64 = 1_000;
/// How often the hub is asked what nobody tells.
const APPROVALS_MS: u64 = 1_000;
const ENGINE_MS: u64 = 3_000;
const UNREAD_MS: u64 = 5_000;
/// How often elapsed times move on.
const SECOND_MS: u64 = 1_000;

/// When the hub is asked next.
#[derive(Debug, Default)]
pub(crate) struct Due {
    approvals_ms: u64,
    engine_ms: u64,
    unread_ms: u64,
    held_ms: u64,
    is_engine_wanted: bool,
}

// === impl Due ===

impl Due {
    pub(crate) fn next_ms(&self, now_ms: u64) -> u64 {
        let soonest = self.approvals_ms.min(self.engine_ms).min(self.unread_ms);
        soonest.clamp(now_ms + 50, now_ms + SECOND_MS)
    }
}

/// Whether it is time, and when it is next.
fn is_due(due_ms: &mut u64, now_ms: u64, every_ms: u64) -> bool {
    let is_due = now_ms >= *due_ms;
    if is_due {
        *due_ms = now_ms + every_ms;
    }
    is_due
}

// === impl App ===

impl App {
    /// A connection is there.
    pub(crate) fn opened(&mut self, session: SessionView) {
        let is_other = self
            .session
            .as_ref()
            .is_some_and(|one| one.id != session.id);
        if is_other {
            self.transcript.clear();
            self.streams.clear();
            self.show(Cell::note(&format!("conversation {}", session.id)));
            // What was meant for one conversation is not said in another.
            for text in self.queue.take_held() {
                self.show(Cell::note(&format!(
                    "it waited in the other conversation and was not sent: {text}"
                )));
                self.composer.keep(&text);
            }
        }
        let was_gone = matches!(self.link, Link::Gone(_));
        // What is worked on is told again.
        self.queue.clear();
        self.session = Some(session);
        self.link = Link::Live;
        self.is_live = false;
        self.due = Due::default();
        if was_gone && !is_other {
            self.show(Cell::note("the hub answers again"));
        }
    }

    pub(crate) fn gone(&mut self, why: String) {
        let is_new = !matches!(self.link, Link::Gone(_));
        if is_new && self.link == Link::Live {
            self.show(Cell::note(&format!(
                "the hub is gone ({why}); nothing is lost, and what goes on is shown once it is back"
            )));
        }
        // What a hub was writing when it went is written again or told as an entry.
        self.streams.clear();
        self.link = Link::Gone(why);
    }

    pub(crate) fn told(&mut self, event: Event) {
        match event {
            Event::Message { message } => self.message(Cell::of(*message)),
            Event::Delta { task_id, text } => {
                if let Some(print) = self.streams.delta(&task_id, &text) {
                    self.print(print);
                }
            }
            Event::Reasoning { task_id, text } => self.streams.thought(&task_id, &text),
            Event::Task { task } => self.task(*task),
            Event::Live {} => {
                self.is_live = true;
                self.ask_tasks();
            }
            // Whoever follows begins again after the last entry that was told.
            Event::Lagged {} => self.streams.clear(),
        }
    }

    fn message(&mut self, cell: Cell) {
        let before = self.transcript.add(cell.clone());
        let was_shown = before.as_ref().is_some_and(Cell::is_over);
        // The terminal's scrollback cannot be changed: what runs is shown once it is over, and
        // words that were shown are shown again only when they were broken off then.
        let is_more = before.is_some_and(|before| before.is_partial && before.piece != cell.piece);
        if !cell.is_over() || (was_shown && !is_more) {
            return;
        }
        for print in self.streams.said(&cell) {
            self.print(print);
        }
    }

    fn task(&mut self, task: TaskView) {
        if self
            .session
            .as_ref()
            .is_some_and(|one| one.id != task.session)
        {
            return;
        }
        let (id, status) = (task.task_id.clone(), task.status);
        let was = self.queue.task(&id).map(|task| task.status);
        // What it asks, and why it failed, is an entry of the conversation too.
        if status == TaskState::InputRequired && was != Some(status) {
            self.say(match self.choices.is_plain {
                true => "a task asks something: /answer TEXT answers it",
                false => "a task asks something: Ctrl-R answers it",
            });
        }
        let has_failed = status == TaskState::Failed && was.is_some();
        if let Some(hint) = task.hint.as_ref().filter(|_| has_failed) {
            self.show(Cell::note(&format!("what can be done: {hint}")));
        }
        let is_own = task.class == tasks::Class::Human;
        if self.queue.put(task) && is_own {
            self.outstanding = self.outstanding.saturating_sub(1);
        }
        match status {
            TaskState::InProgress => {}
            TaskState::Queued | TaskState::Preempted | TaskState::InputRequired => {
                self.streams.resting(&id);
            }
            TaskState::Completed | TaskState::Failed | TaskState::Cancelled => {
                self.streams.over(&id);
            }
        }
    }

    fn ask_tasks(&mut self) {
        let session = self.session.as_ref().map(|session| session.id.clone());
        self.ask(Ask::Tasks(tasks::List {
            open: true,
            session,
            limit: None,
        }));
    }

    /// The model is asked for by the person and not by the clock.
    pub(crate) fn ask_engine_shown(&mut self) {
        self.due.is_engine_wanted = true;
        self.ask(Ask::Engine);
    }

    /// Hands words to whom they are for.
    pub(crate) fn send(&mut self, text: &str, target: Target) {
        match target {
            Target::Edit(task_id) => self.ask(Ask::Edit(tasks::Edit {
                task_id,
                message: Some(text.to_owned()),
                before: None,
            })),
            Target::EditHeld(number) => {
                if !self.queue.rewrite(number, text) {
                    self.say("it is not held any more; Up has your words");
                }
            }
            Target::Steer(id) => self.steer(&id, text),
            Target::Answer(id) => self.reply(&id, text),
            Target::Conversation => {
                // One's own answer that is being written is told more; anything else steps aside.
                match self.queue.own_active().map(|task| task.task_id.clone()) {
                    Some(id) => self.steer(&id, text),
                    None => self.submit(text),
                }
            }
        }
    }

    fn submit(&mut self, text: &str) {
        let (provider, model) = match &self.model {
            Some((provider, model)) => (Some(provider.clone()), model.clone()),
            None => (None, None),
        };
        self.outstanding += 1;
        self.submitting += 1;
        self.ask(Ask::Submit(tasks::Submit {
            task: NewTask {
                message: text.to_owned(),
                session: self.session.as_ref().map(|session| session.id.clone()),
                provider,
                model,
                ..NewTask::default()
            },
            workspace: self.choices.workspace.clone(),
        }));
    }

    /// A key was pressed: agents' steps that have not begun wait for a moment.
    pub(crate) fn typing(&mut self) {
        let is_soon = self
            .last_typing_ms
            .is_some_and(|last| self.now_ms < last + TYPING_MS);
        // A command is not said to anybody.
        if is_soon || self.composer.text().starts_with('/') {
            return;
        }
        if let (Some(session), Link::Live) = (&self.session, &self.link) {
            let session = session.id.clone();
            self.last_typing_ms = Some(self.now_ms);
            self.ask(Ask::Typing(tasks::Typing { session }));
        }
    }

    /// Holds back the agents' next steps, or lets them go on.
    pub(crate) fn pause(&mut self) {
        self.is_held = !self.is_held;
        self.due.held_ms = 0;
        self.say(match self.is_held {
            true => "agents' next steps wait while this terminal is open; Ctrl-P or /pause lets them go on",
            false => "agents' tasks go on",
        });
    }

    /// What time brings.
    pub(crate) fn settle(&mut self) {
        if self.link == Link::Live {
            self.ask_by_the_clock();
            if let Some(held) = self.queue.ripe().filter(|_| self.is_live) {
                self.submit(&held.text);
            }
        }
        self.bring_up();
        if self.lines_over && self.outstanding == 0 && self.is_live {
            self.effects.push_back(Effect::Quit);
        }
    }

    fn ask_by_the_clock(&mut self) {
        let now = self.now_ms;
        if is_due(&mut self.due.approvals_ms, now, APPROVALS_MS) {
            self.ask(Ask::Approvals { is_shown: false });
        }
        if is_due(&mut self.due.engine_ms, now, ENGINE_MS) {
            self.ask(Ask::Engine);
        }
        if is_due(&mut self.due.unread_ms, now, UNREAD_MS) {
            self.ask(Ask::Unread);
        }
        if self.is_held
            && is_due(&mut self.due.held_ms, now, TYPING_MS)
            && let Some(session) = &self.session
        {
            let session = session.id.clone();
            self.ask(Ask::Typing(tasks::Typing { session }));
        }
    }

    pub(crate) fn answered(&mut self, ask: Ask, answer: Result<Answer, Refusal>) {
        if matches!(ask, Ask::Submit(_)) {
            self.submitting = self.submitting.saturating_sub(1);
        }
        match answer {
            Ok(answer) => self.succeeded(&ask, answer),
            Err(_) if ask.is_quiet() => {}
            Err(refusal) => self.refused(ask, &refusal),
        }
    }

    fn succeeded(&mut self, ask: &Ask, answer: Answer) {
        let lines = match (ask, answer) {
            (Ask::Tasks(list), Answer::Tasks(answer)) if list.open => {
                let session = self.session.as_ref().map(|session| &session.id);
                // What was asked in another conversation says nothing of this one.
                if list.session.as_ref() == session {
                    self.queue.replace(answer.tasks);
                    // Of those that are not named the end was told while nobody listened.
                    let open = self.queue.own() + self.submitting;
                    self.outstanding = self.outstanding.min(open);
                }
                return;
            }
            (_, Answer::Tasks(answer)) => listing::tasks(&answer.tasks),
            (_, Answer::Task(task)) => return self.task(*task),
            (Ask::Undo(undo), Answer::Undone(answer)) => listing::undone(undo, &answer),
            (_, Answer::Engine(engine)) => {
                let lines = listing::engine(&engine, self.model.as_ref());
                self.engine = Some(*engine);
                match std::mem::take(&mut self.due.is_engine_wanted) {
                    true => lines,
                    false => return,
                }
            }
            (Ask::Approvals { is_shown }, Answer::Approvals(answer)) => {
                let lines = listing::approvals(&answer);
                let is_shown = *is_shown;
                self.approvals_are(answer.waiting);
                match is_shown {
                    true => lines,
                    false => return,
                }
            }
            (_, Answer::Approval(waiting)) => return self.look_at(*waiting),
            (Ask::Approve(given), Answer::Approved(answered)) => {
                vec![listing::answered(&given.id, &answered.answer)]
            }
            (Ask::Certify(given), Answer::Done) => {
                vec![format!("{} is certified", given.id)]
            }
            (_, Answer::Servers(answer)) => listing::servers(&answer),
            (_, Answer::Server(answer)) => listing::server(&answer),
            (Ask::Tools { words, .. }, Answer::Tools(answer)) => listing::tools(words, &answer),
            (Ask::Unread, Answer::Inbox(answer)) => {
                let read = u64::try_from(answer.messages.len()).unwrap_or(u64::MAX);
                self.unread = answer.unread_remaining.saturating_add(read);
                return;
            }
            (_, Answer::Inbox(answer)) => {
                self.unread = answer.unread_remaining;
                listing::inbox(&answer)
            }
            (_, Answer::Audit(answer)) => listing::audit(&answer),
            (_, Answer::Sessions(answer)) => listing::sessions(&answer.sessions),
            (Ask::Enable(given), _) => vec![format!("{} is enabled", given.name)],
            (Ask::Disable(given), _) => vec![format!("{} is disabled", given.name)],
            (Ask::Reload(given), _) => {
                let name = given.name.as_deref().unwrap_or("every server");
                vec![format!("{name} was started anew")]
            }
            (Ask::Forget(given), _) => vec![format!("{} is deleted", given.session)],
            _ => return,
        };
        self.show(Cell::listing(lines));
    }

    /// What was written comes back, so that nobody writes it twice.
    fn refused(&mut self, ask: Ask, refusal: &Refusal) {
        let (words, target) = match ask {
            Ask::Submit(submit) => {
                self.outstanding = self.outstanding.saturating_sub(1);
                (Some(submit.task.message), Target::Conversation)
            }
            Ask::Steer(steer) => (Some(steer.text), Target::Conversation),
            Ask::Reply(reply) => (Some(reply.text), Target::Answer(reply.task_id)),
            Ask::Edit(edit) => (edit.message, Target::Edit(edit.task_id)),
            _ => (None, Target::Conversation),
        };
        let text = match refusal.is_lost {
            true => format!("{refusal}; it may have been done all the same"),
            false => refusal.to_string(),
        };
        self.show(Cell::note(&text));
        // What nobody knows the fate of is not put where Enter would send it again.
        let is_free = self.composer.is_empty() && self.target == Target::Conversation;
        if let Some(words) = words
            && is_free
            && !refusal.is_lost
            && !self.choices.is_plain
        {
            self.composer.set(&words);
            self.target = target;
        }
    }

    pub(crate) fn show_item(&mut self, selected: usize) {
        let lines = match self.item(selected) {
            Some(Item::Task(task)) => listing::task(task),
            Some(Item::Held(held)) => vec![format!("held here: {}", held.text)],
            None => return,
        };
        self.mode = Mode::Compose;
        self.show(Cell::listing(lines));
    }

    pub(crate) fn edit_item(&mut self, selected: usize) {
        let (text, target) = match self.item(selected) {
            Some(Item::Task(task)) if task.status == TaskState::Queued => {
                let target = Target::Edit(task.task_id.clone());
                let own = self.composer.kept(&task.title);
                match own.filter(|_| task.class == tasks::Class::Human) {
                    Some(text) => (text.to_owned(), target),
                    // The hub tells no more of a task that has not begun.
                    None => {
                        let title = task.title.clone();
                        self.say(
                            "this is how it begins; what you send takes the place of all of it",
                        );
                        (title, target)
                    }
                }
            }
            Some(Item::Task(_)) => {
                self.say("it has begun: s says something to it, x calls it off");
                return;
            }
            Some(Item::Held(held)) => (held.text.clone(), Target::EditHeld(held.number)),
            None => return,
        };
        let written = self.composer.take();
        if !written.is_empty() {
            self.composer.keep(&written);
        }
        self.mode = Mode::Compose;
        self.composer.set(&text);
        self.target = target;
    }

    pub(crate) fn steer_item(&mut self, selected: usize) {
        let Some(Item::Task(task)) = self.item(selected) else {
            return;
        };
        self.target = Target::Steer(task.task_id.clone());
        self.mode = Mode::Compose;
    }

    pub(crate) fn cancel_item(&mut self, selected: usize) {
        match self.item(selected) {
            Some(Item::Task(task)) => {
                let id = task.task_id.clone();
                self.cancel(&id, "cancelled at the terminal");
            }
            Some(Item::Held(held)) => {
                let (number, text) = (held.number, held.text.clone());
                self.composer.keep(&text);
                self.queue.unhold(number);
            }
            None => {}
        }
    }

    pub(crate) fn move_item(&mut self, selected: usize, is_up: bool) {
        let beside = match is_up {
            true => selected.saturating_sub(1),
            false => selected + 1,
        };
        match self.item(selected) {
            Some(Item::Held(held)) => {
                let number = held.number;
                self.queue.move_held(number, is_up);
            }
            Some(Item::Task(task)) => {
                let id = task.task_id.clone();
                let Some((task_id, before)) = self.queue.moved(&id, is_up) else {
                    self.say("only tasks of one kind that wait change places");
                    return;
                };
                self.ask(Ask::Edit(tasks::Edit {
                    task_id,
                    message: None,
                    before: Some(before),
                }));
                self.ask_tasks();
            }
            None => return,
        }
        let last = self.queue.items().len().saturating_sub(1);
        self.mode = Mode::Tasks {
            selected: beside.min(last),
        };
    }
}
