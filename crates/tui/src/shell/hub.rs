//! The hub, from threads of their own: its socket blocks.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use legation_api::client::Closer;
use legation_api::conversation::{Event, Follow, Open, SessionView};
use legation_api::{AdminClient, AdminError, approvals, conversation, inbox, tasks};
use legation_core::Home;
use legation_core::error::chain;

use super::Happened;
use crate::app::{Answer, Ask, CONSUMER, Input, Refusal};
use crate::{Starter, TuiError};

/// How long it is until the hub is tried again.
const AGAIN: Duration = Duration::from_millis(700);
/// Requests that may wait. More are refused, which is told.
const WAITING_MAX: usize = 128;

/// The threads that talk with the hub. They end with the process.
#[derive(Debug)]
pub(crate) struct Hub {
    quick: SyncSender<Box<Ask>>,
    slow: SyncSender<Box<Ask>>,
    sessions: SyncSender<Open>,
    following: Following,
}

/// How many connections that were followed have ended: whoever asks over an older one than the last
/// would learn only then that nobody is there.
type Ends = Arc<AtomicU64>;

/// What ends the connection that is followed, so that another session can be.
type Following = Arc<Mutex<Option<Closer>>>;

/// What a connection needs.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) home: Home,
    pub(crate) version: &'static str,
}

/// The thread that follows the conversation.
struct Follower {
    place: Place,
    starter: Option<Starter>,
    open: Open,
    /// The newest entry that was told.
    after: Option<u64>,
    sessions: Receiver<Open>,
    following: Following,
    ends: Ends,
    happened: SyncSender<Happened>,
}

// === impl Hub ===

impl Hub {
    pub(crate) fn begin(
        place: &Place,
        starter: Option<Starter>,
        open: Open,
        happened: &SyncSender<Happened>,
    ) -> Result<Self, TuiError> {
        let (sessions, wanted) = sync_channel(8);
        let following = Following::default();
        let ends = Ends::default();
        let follower = Follower {
            place: place.clone(),
            starter,
            open,
            after: None,
            sessions: wanted,
            following: Arc::clone(&following),
            ends: Arc::clone(&ends),
            happened: happened.clone(),
        };
        spawn("follow", move || follower.run())?;
        Ok(Self {
            quick: asker("ask", place, &ends, happened)?,
            slow: asker("ask-slow", place, &ends, happened)?,
            sessions,
            following,
        })
    }

    /// Asks; what it comes to is told. A request that finds no room comes back.
    pub(crate) fn ask(&self, ask: Box<Ask>) -> Result<(), Box<Ask>> {
        let queue = if is_slow(&ask) {
            &self.slow
        } else {
            &self.quick
        };
        queue.try_send(ask).map_err(|error| match error {
            TrySendError::Full(ask) | TrySendError::Disconnected(ask) => ask,
        })
    }

    /// Follows another session from now on.
    pub(crate) fn follow(&self, open: Open) {
        // With more than a few wishes at once the last ones are as good as the first.
        drop(self.sessions.try_send(open));
        let following = self
            .following
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(closer) = &*following {
            closer.close();
        }
    }
}

/// What may take long must not keep a message waiting.
fn is_slow(ask: &Ask) -> bool {
    matches!(
        ask,
        Ask::Servers(_)
            | Ask::Server(_)
            | Ask::Tools { .. }
            | Ask::Enable(_)
            | Ask::Disable(_)
            | Ask::Reload(_)
            | Ask::Inbox(_)
            | Ask::Unread
            | Ask::Audit(_)
            | Ask::Sessions
            | Ask::Forget(_)
            | Ask::Undo(_)
            | Ask::Engine
            | Ask::Approvals { .. }
    )
}

pub(super) fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), TuiError> {
    let thread = std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(body);
    thread.map(drop).map_err(TuiError::Threads)
}

// === impl Follower ===

impl Follower {
    fn run(mut self) {
        let mut is_first = true;
        loop {
            let end = self.once(is_first);
            is_first = false;
            let is_over = match end {
                Ok(()) => self.another(Duration::ZERO),
                Err(why) => {
                    // A session that was left on purpose is no hub that went.
                    match self.sessions.try_recv() {
                        Ok(open) => {
                            self.turn_to(open);
                            Ok(())
                        }
                        Err(_) => {
                            let told = self.tell(Input::Gone(why));
                            told.and_then(|()| self.another(AGAIN))
                        }
                    }
                }
            };
            if is_over.is_err() {
                return;
            }
        }
    }

    /// One connection, until it ends.
    fn once(&mut self, is_first: bool) -> Result<(), String> {
        let failed = |error: AdminError| chain(&error);
        let mut client =
            AdminClient::at_terminal(&self.place.home, self.place.version).map_err(failed)?;
        if client.is_none()
            && is_first
            && let Some(starter) = &self.starter
        {
            starter()?;
            client =
                AdminClient::at_terminal(&self.place.home, self.place.version).map_err(failed)?;
        }
        let mut client = client.ok_or("no hub runs")?;
        // What was wished for while there was no connection.
        while let Ok(open) = self.sessions.try_recv() {
            self.turn_to(open);
        }
        let session: SessionView = client.call(&self.open).map_err(failed)?;
        // A hub that comes back opens the same one, and begins no new one again.
        self.open = Open {
            workspace: None,
            session: Some(session.id.clone()),
            new: false,
        };
        let follow = Follow {
            session: Some(session.id.clone()),
            after: self.after,
        };
        let gone = |()| "the terminal is over".to_owned();
        self.tell(Input::Opened(Box::new(session))).map_err(gone)?;
        let closer = client.closer().map_err(|error| error.to_string())?;
        self.hold(Some(closer));
        // A wish that came before there was anything to close has closed nothing.
        if let Ok(open) = self.sessions.try_recv() {
            self.hold(None);
            self.turn_to(open);
            return Ok(());
        }
        let happened = self.happened.clone();
        let after = &mut self.after;
        let (mut is_live, mut is_unread) = (false, false);
        let end = client.follow(&follow, |event| {
            if let Event::Message { message } = &event {
                *after = (*after).max(Some(message.seq));
            }
            is_live |= matches!(event, Event::Live {});
            let is_lagged = matches!(event, Event::Lagged {});
            is_unread |= is_lagged && !is_live;
            let told = happened.send(Happened::Input(Input::Told(Box::new(event))));
            match told.is_err() || is_lagged {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        self.hold(None);
        self.ends.fetch_add(1, Ordering::SeqCst);
        if is_unread {
            // Tried again after a pause, and not at once and for ever.
            return Err("it cannot read the conversation".to_owned());
        }
        end.map(drop).map_err(failed)
    }

    fn hold(&self, closer: Option<Closer>) {
        *self
            .following
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = closer;
    }

    fn tell(&self, input: Input) -> Result<(), ()> {
        self.happened.send(Happened::Input(input)).map_err(drop)
    }

    /// Waits, unless another session is wanted.
    fn another(&mut self, wait: Duration) -> Result<(), ()> {
        match self.sessions.recv_timeout(wait) {
            Ok(open) => self.turn_to(open),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(()),
        }
        Ok(())
    }

    fn turn_to(&mut self, open: Open) {
        self.open = open;
        self.after = None;
    }
}

/// A thread that asks, one request after the other.
fn asker(
    name: &str,
    place: &Place,
    ends: &Ends,
    happened: &SyncSender<Happened>,
) -> Result<SyncSender<Box<Ask>>, TuiError> {
    let (queue, asks) = sync_channel::<Box<Ask>>(WAITING_MAX);
    let (place, ends, happened) = (place.clone(), Arc::clone(ends), happened.clone());
    spawn(name, move || {
        let mut client = None;
        let mut known = 0;
        while let Ok(ask) = asks.recv() {
            let now = ends.load(Ordering::SeqCst);
            if now != known {
                (client, known) = (None, now);
            }
            let answer = answer(&place, &mut client, &ask);
            let told = Input::Answered(ask, Box::new(answer));
            if happened.send(Happened::Input(told)).is_err() {
                return;
            }
        }
    })?;
    Ok(queue)
}

fn answer(place: &Place, kept: &mut Option<AdminClient>, ask: &Ask) -> Result<Answer, Refusal> {
    let mut client = match kept.take() {
        Some(client) => client,
        None => match AdminClient::at_terminal(&place.home, place.version) {
            Ok(Some(client)) => client,
            Ok(None) => return Err(refusal("no hub runs; nothing was done".to_owned(), None)),
            Err(error) => return Err(refusal(chain(&error), error.hint())),
        },
    };
    let answer = asked(&mut client, ask);
    match answer {
        Err(error) if !matches!(error, AdminError::Remote(_)) => Err(Refusal {
            is_lost: matches!(error, AdminError::Gone),
            ..refusal(chain(&error), error.hint())
        }),
        answer => {
            *kept = Some(client);
            answer.map_err(|error| refusal(chain(&error), error.hint()))
        }
    }
}

pub(super) fn refusal(message: String, hint: Option<String>) -> Refusal {
    Refusal {
        message,
        hint,
        is_lost: false,
    }
}

fn asked(client: &mut AdminClient, ask: &Ask) -> Result<Answer, AdminError> {
    let task = |task: tasks::TaskView| Answer::Task(Box::new(task));
    Ok(match ask {
        Ask::Submit(request) => task(client.call(request)?),
        Ask::Cancel(request) => task(client.call(request)?),
        Ask::Reply(request) => task(client.call(request)?),
        Ask::Steer(request) => task(client.call(request)?),
        Ask::Edit(request) => task(client.call(request)?),
        Ask::Tasks(request) => Answer::Tasks(client.call(request)?),
        Ask::Undo(request) => Answer::Undone(client.call(request)?),
        Ask::Typing(request) => done(client.call(request)?),
        Ask::Engine => Answer::Engine(Box::new(client.call(&tasks::EngineStatus {})?)),
        Ask::Approvals { .. } => Answer::Approvals(client.call(&approvals::List {})?),
        Ask::Approval(request) => Answer::Approval(Box::new(client.call(request)?)),
        Ask::Approve(request) => Answer::Approved(client.call(request)?),
        Ask::Certify(request) => done(client.call(request)?),
        Ask::Servers(request) => Answer::Servers(client.call(request)?),
        Ask::Server(request) => Answer::Server(Box::new(client.call(request)?)),
        Ask::Tools { request, .. } => Answer::Tools(client.call(request)?),
        Ask::Enable(request) => done(client.call(request)?),
        Ask::Disable(request) => done(client.call(request)?),
        Ask::Reload(request) => done(client.call(request)?),
        Ask::Unread => Answer::Inbox(client.call(&inbox::Pull {
            consumer: CONSUMER.to_owned(),
            limit: 1,
            mark_consumed: false,
            ..inbox::Pull::default()
        })?),
        Ask::Inbox(request) => Answer::Inbox(client.call(request)?),
        Ask::Audit(request) => Answer::Audit(client.call(request)?),
        Ask::Sessions => Answer::Sessions(client.call(&conversation::Sessions {})?),
        Ask::Forget(request) => done(client.call(request)?),
    })
}

fn done(_: legation_api::Done) -> Answer {
    Answer::Done
}
