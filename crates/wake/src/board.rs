//! The board: sessions, what waits to be told, and who is told.

use std::path::{Path, PathBuf};
use std::time::Duration;

use legation_core::Wall;
use legation_core::process::Kin;
use serde::{Deserialize, Serialize};

/// Most sessions; of more, those that did nothing for longest are forgotten.
const SESSIONS_MAX: usize = 256;
/// Most messages that wait to be told; of more, the oldest only wait to be read.
pub const CLAIMS_MAX: usize = 1_000;
/// Most chats of which it is known who talked last.
const TALKS_MAX: usize = 256;
/// How long a session has, from being told to doing something about it. It is
/// longer than any client needs to start a turn, and short for a person who waits.
const CONFIRM: Duration = Duration::from_secs(30);
/// How long a message waits while the only ones who could be told work on
/// something. A turn that its human broke off ends without a word, so that who
/// seems to work may have nothing to do; and clients take a prompt meanwhile.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a message waits for the session that it is an answer to, while that
/// session works on something else.
const HOLD: Duration = Duration::from_secs(10 * 60);
/// How long a session is kept that does nothing and of which no process is known.
const FORGET: Duration = Duration::from_secs(24 * 60 * 60);

/// A session: the client, as `legation connect` names it, and the client's own
/// name of the session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SessionKey {
    /// The client.
    pub client: String,
    /// The client's id of the session.
    pub id: String,
}

/// A session of an agent that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Which.
    pub key: SessionKey,
    /// The folder it works in.
    pub folder: Option<PathBuf>,
    /// Where its client takes prompts, for clients that have such a place.
    pub endpoint: Option<String>,
    /// The process of the client; the entry ends with it.
    pub process: Option<Kin>,
    /// When it last did something.
    pub active: Wall,
    /// Whether it works on something now.
    pub busy: bool,
    /// The process that waits to wake it.
    pub waker: Option<Kin>,
    /// It was told something and nothing came of it.
    #[serde(default)]
    pub deaf: bool,
}

/// A message, as far as it matters who is told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Its place in the inbox.
    pub seq: u64,
    /// Its id.
    pub id: String,
    /// Its channel.
    pub channel: String,
    /// The conversation it belongs to.
    pub chat: String,
    /// The folder it is about, where its sender said so.
    pub folder: Option<PathBuf>,
    /// In which of its channel's records it is found by readers.
    pub lane: String,
}

/// A message that waits until a session has been told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The message.
    pub notice: Notice,
    /// Since when.
    pub since: Wall,
    /// Whose it is.
    pub stage: Stage,
}

/// How far a claim is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Nobody's.
    Open,
    /// A waker is about to tell it to its session; nobody's again if it dies.
    Taken {
        /// The session.
        by: SessionKey,
        /// The waker.
        waker: Kin,
    },
    /// The session was told and has not done anything since.
    Told {
        /// The session.
        to: SessionKey,
        /// When.
        at: Wall,
    },
}

/// Who talked in a chat last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Talk {
    /// The chat's channel.
    pub channel: String,
    /// The chat.
    pub chat: String,
    /// The client.
    pub client: String,
    /// The folder that the client's session worked in.
    pub folder: Option<PathBuf>,
    /// When.
    pub at: Wall,
}

/// All that the wakers share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Board {
    /// Up to which record of the inbox there are claims; `None` before the first.
    pub through: Option<u64>,
    /// What runs.
    pub sessions: Vec<Session>,
    /// What waits, oldest first.
    pub claims: Vec<Claim>,
    /// Who talked where.
    pub talks: Vec<Talk>,
}

/// A session that will hear what it is told, now or when it is done. The system is
/// asked for it once, however many messages there are.
#[derive(Debug, Clone, Copy)]
struct Hearing<'b> {
    session: &'b Session,
    has_waker: bool,
}

// === impl Session ===

impl Session {
    fn is_at(&self, folder: &Path) -> bool {
        self.folder.as_deref() == Some(folder)
    }

    /// How near its folder is to another: the fewer steps, the nearer.
    fn distance(&self, folder: &Path) -> Option<usize> {
        let own = self.folder.as_deref()?;
        let steps = |from: &Path, to: &Path| Some(from.strip_prefix(to).ok()?.components().count());
        steps(folder, own).or_else(|| steps(own, folder))
    }
}

// === impl Claim ===

impl Claim {
    fn is_old(&self, than: Duration, now: Wall) -> bool {
        now.0.saturating_sub(self.since.0) >= millis(than)
    }
}

// === impl Board ===

impl Board {
    /// The entry of a session.
    #[must_use]
    pub fn session(&self, key: &SessionKey) -> Option<&Session> {
        self.sessions.iter().find(|session| session.key == *key)
    }

    /// A session begins, or shows itself again.
    pub fn begin(&mut self, key: &SessionKey, now: Wall) -> &mut Session {
        let at = match self.sessions.iter().position(|one| one.key == *key) {
            Some(at) => at,
            None => {
                self.make_room();
                self.sessions.push(Session {
                    key: key.clone(),
                    folder: None,
                    endpoint: None,
                    process: None,
                    active: now,
                    busy: false,
                    waker: None,
                    deaf: false,
                });
                self.sessions.len() - 1
            }
        };
        let session = &mut self.sessions[at];
        session.active = now;
        session
    }

    fn make_room(&mut self) {
        if self.sessions.len() < SESSIONS_MAX {
            return;
        }
        let idlest = self.sessions.iter().min_by_key(|one| one.active);
        let idlest = idlest.map(|one| one.key.clone());
        self.sessions
            .retain(|one| Some(&one.key) != idlest.as_ref());
    }

    /// A session does something: what it was told has arrived.
    pub fn busy(&mut self, key: &SessionKey, now: Wall) {
        let session = self.begin(key, now);
        session.busy = true;
        session.deaf = false;
        self.claims
            .retain(|claim| !matches!(&claim.stage, Stage::Told { to, .. } if to == key));
    }

    /// A session has nothing to do, and a process waits to wake it. Of two that
    /// wait for one session, the later one does.
    pub fn idle(&mut self, key: &SessionKey, waker: Option<Kin>, now: Wall) {
        let session = self.begin(key, now);
        session.busy = false;
        session.deaf = false;
        if waker.is_some() {
            session.waker = waker;
        }
        // What it was told while it worked is what it can do something about only now.
        for claim in &mut self.claims {
            if let Stage::Told { to, at } = &mut claim.stage
                && to == key
            {
                *at = now;
            }
        }
    }

    /// A session has ended; what it was told last and did nothing about is for
    /// others.
    pub fn end(&mut self, key: &SessionKey) {
        self.sessions.retain(|one| one.key != *key);
        self.sweep(Wall(0));
    }

    /// Who talked in a chat last.
    pub fn talked(&mut self, talk: Talk) {
        self.talks
            .retain(|one| (&one.channel, &one.chat) != (&talk.channel, &talk.chat));
        if self.talks.len() >= TALKS_MAX {
            self.talks.remove(0);
        }
        self.talks.push(talk);
    }

    /// Messages came in, all there are up to a record. Those that were known before
    /// change nothing.
    pub fn came(&mut self, notices: Vec<Notice>, through: u64, now: Wall) {
        let known = self.through.max(Some(0)).unwrap_or(0);
        self.through = Some(through.max(known));
        for notice in notices {
            if notice.seq <= known {
                continue;
            }
            self.claims.push(Claim {
                notice,
                since: now,
                stage: Stage::Open,
            });
        }
        let beyond = self.claims.len().saturating_sub(CLAIMS_MAX);
        self.claims.drain(..beyond);
    }

    /// Another inbox stands where the one was whose messages are known, and its last
    /// record is this one: its numbers begin anew. Whoever notices that later changes
    /// nothing.
    pub fn begun_anew(&mut self, newest: u64) {
        if self.through.is_some_and(|through| through > newest) {
            self.through = Some(0);
            self.claims.clear();
        }
    }

    /// Forgets sessions whose processes are gone, and gives back what they were
    /// told, what dead wakers took, and what nothing came of.
    pub fn sweep(&mut self, now: Wall) {
        self.sessions.retain(|session| match session.process {
            Some(process) => process.lives(),
            None => now.0.saturating_sub(session.active.0) < millis(FORGET),
        });
        let late = |busy: bool| {
            now.0
                .saturating_sub(millis(if busy { HOLD } else { CONFIRM }))
        };
        for claim in &mut self.claims {
            let given_back = match &claim.stage {
                Stage::Open => false,
                Stage::Taken { by, waker } => {
                    !waker.lives() || !self.sessions.iter().any(|one| one.key == *by)
                }
                Stage::Told { to, at } => {
                    let told = self.sessions.iter_mut().find(|one| one.key == *to);
                    told.is_none_or(|session| {
                        // One that works does what it was told when it is done.
                        let silent = at.0 < late(session.busy);
                        session.deaf |= silent;
                        silent
                    })
                }
            };
            if given_back {
                claim.stage = Stage::Open;
            }
        }
    }

    /// Takes what this session is to be told now. `is_read` says of a message
    /// that the session's client has read it already, so that there is nothing to
    /// tell any more, and nothing to give to others of what it was told.
    pub fn take(
        &mut self,
        key: &SessionKey,
        waker: Kin,
        now: Wall,
        is_read: &dyn Fn(&Notice) -> bool,
    ) -> Vec<Notice> {
        self.sweep(now);
        let ready = self.session(key);
        let ready = ready.filter(|one| !one.deaf && one.waker == Some(waker));
        let Some(busy) = ready.map(|one| one.busy) else {
            return Vec::new();
        };
        let hearing = self.sessions.iter().filter_map(Hearing::of);
        let hearing: Vec<Hearing<'_>> = hearing.collect();
        let mut taken = Vec::new();
        self.claims.retain_mut(|claim| {
            match &claim.stage {
                Stage::Open => {}
                Stage::Told { to, .. } if to == key => return !is_read(&claim.notice),
                Stage::Told { .. } | Stage::Taken { .. } => return true,
            }
            let early = busy && !claim.is_old(PATIENCE, now);
            if early || choose(&hearing, &self.talks, claim, now) != Some(key) {
                return true;
            }
            if is_read(&claim.notice) {
                return false;
            }
            taken.push(claim.notice.clone());
            claim.stage = Stage::Taken {
                by: key.clone(),
                waker,
            };
            true
        });
        taken
    }

    /// What a waker took has been told to its session.
    pub fn told(&mut self, key: &SessionKey, waker: Kin, now: Wall) {
        for claim in &mut self.claims {
            if matches!(&claim.stage, Stage::Taken { by, waker: who } if by == key && *who == waker)
            {
                claim.stage = Stage::Told {
                    to: key.clone(),
                    at: now,
                };
            }
        }
    }

    /// What a waker took could not be told: it is for others, until the session
    /// shows that it hears.
    pub fn give_back(&mut self, key: &SessionKey, waker: Kin) {
        for claim in &mut self.claims {
            if matches!(&claim.stage, Stage::Taken { by, waker: who } if by == key && *who == waker)
            {
                claim.stage = Stage::Open;
            }
        }
        if let Some(session) = self.sessions.iter_mut().find(|one| one.key == *key) {
            session.deaf = true;
        }
    }
}

// === impl Hearing ===

impl<'b> Hearing<'b> {
    fn of(session: &'b Session) -> Option<Self> {
        let has_waker = session.waker.is_some_and(Kin::lives);
        (!session.deaf && (session.busy || has_waker)).then_some(Self { session, has_waker })
    }
}

/// Who is to be told: the session that talked in the chat last, else the one
/// that works where the message is about, else the one that did something
/// last and has nothing to do now.
fn choose<'b>(
    hearing: &[Hearing<'b>],
    talks: &[Talk],
    claim: &Claim,
    now: Wall,
) -> Option<&'b SessionKey> {
    let (held, patient) = (!claim.is_old(HOLD, now), !claim.is_old(PATIENCE, now));
    // One that works on something else is waited for, but not for ever.
    let wanted = || {
        let all = hearing.iter().map(|one| one.session);
        all.filter(|one| !one.busy || held)
    };
    let notice = &claim.notice;
    let talk = talks
        .iter()
        .find(|talk| talk.channel == notice.channel && talk.chat == notice.chat);
    let talked = talk.and_then(|talk| {
        wanted()
            .filter(|one| one.key.client == talk.client)
            .filter(|one| talk.folder.as_deref().is_none_or(|at| one.is_at(at)))
            .max_by_key(|one| one.active)
    });
    let near = || {
        let folder = notice.folder.as_deref()?;
        wanted()
            .filter_map(|one| Some((one.distance(folder)?, one)))
            .min_by_key(|(distance, one)| (*distance, std::cmp::Reverse(one.active)))
            .map(|(_, one)| one)
    };
    let latest = || {
        let ready = |one: &&Hearing<'_>| !one.session.busy || !patient && one.has_waker;
        let ready = hearing.iter().filter(ready).map(|one| one.session);
        ready.max_by_key(|one| (!one.busy, one.active))
    };
    talked.or_else(near).or_else(latest).map(|one| &one.key)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
